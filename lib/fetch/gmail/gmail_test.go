package gmail

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pulse/lib/fetch/gmail/gmailtest"
	"pulse/lib/fetch/https"
	"pulse/lib/fetch/message"
	"pulse/lib/fetch/pull"
	"pulse/lib/fetch/secure"
	"pulse/lib/fetch/source"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/fault"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// open returns a mailbox of the server.
func open(t *testing.T, s *gmailtest.Server, label string) *pull.Mailbox {
	t.Helper()
	a, err := ParseAddress(gmailtest.User + "/" + label)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	c := &https.Client{
		Hosts: []string{s.API().Host}, Authorization: "Bearer " + gmailtest.Token, RootCAs: secure.Pool(roots),
		Limits: &https.Limits{Dial: 10 * time.Minute, Idle: 10 * time.Minute, Whole: 10 * time.Minute},
	}
	return &pull.Mailbox{
		Name: a.String(), Client: c, From: source.Start{Now: now, Resume: true},
		Box: &Box{Address: a, Client: c, Reader: source.NewReader(1000), API: s.API().JoinPath(a.API().Path)},
	}
}

func mail(subject string) string { return "Subject: " + subject + "\r\n\r\nbody\r\n" }

func subject(m *source.Message) string {
	if m.Unavailable != nil {
		return m.Name + "!"
	}
	return strings.TrimPrefix(strings.Split(string(m.Header), "\r\n")[0], "Subject: ")
}

// each reads a mailbox and returns the subjects, and where a queue would go on.
func each(t *testing.T, s *pull.Mailbox) (list []string, p audit.Position, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	err = s.Each(ctx, func(m *source.Message) error {
		list = append(list, subject(m))
		p = audit.Position{Source: m.Source, UIDValidity: m.UIDValidity, UID: m.UID, Received: m.Received}
		return nil
	})
	return list, p, err
}

// TestGmail: the first run by time, the next ones by history, and by time again when the
// history has expired.
func TestGmail(t *testing.T) {
	s := gmailtest.Start(t)
	s.PageSize = 2
	s.Add(now.Add(-49*time.Hour), "INBOX", mail("old"))
	for i := range 5 {
		s.Add(now.Add(-time.Duration(5-i)*time.Hour), "INBOX", mail(fmt.Sprint("a", i)))
	}
	s.Add(now.Add(-time.Minute), "Label_7", mail("list"))
	box := open(t, s, "")
	got, p, err := each(t, box)
	if err != nil || strings.Join(got, " ") != "a0 a1 a2 a3 a4" {
		t.Fatalf("first run: %q, %v", got, err)
	}
	next := func(what, want string, change func(*source.Start)) {
		t.Helper()
		box := open(t, s, "inbox")
		box.From.Known, box.From.Position = true, p
		if change != nil {
			change(&box.From)
		}
		got, q, err := each(t, box)
		if err != nil || strings.Join(got, " ") != want {
			t.Fatalf("%s: %q, %v, want %q", what, got, err, want)
		}
		if len(got) > 0 {
			p = q
		}
	}
	next("nothing new", "", nil)
	id := s.Add(now, "Label_7", mail("other"))[0]
	s.Add(now, "INBOX", mail("b0"))
	s.Add(now, "INBOX", mail("b1"), mail("b2"))
	s.Add(now, "INBOX", mail("b3"))
	gone := s.Add(now, "INBOX", mail("gone"))[0]
	s.Delete(gone)
	next("limit", "b0", func(from *source.Start) { from.Limit = 1 })
	next("one change is not parted", "b1 b2", func(from *source.Start) { from.Limit = 1 })
	next("the rest", "b3", nil)
	s.Move(id, "INBOX")
	next("moved into it, however old", "other", nil)
	next("nothing new", "", nil)
	late := s.Add(now, "INBOX", mail("moved away"))[0]
	s.Move(late, "TRASH")
	next("moved away", "", nil)
	s.Expired = true
	s.Add(now.Add(time.Minute), "INBOX", mail("c0"))
	next("expired", "other b0 b1 b2 b3 c0", nil)
	s.Expired = false
	next("history again", "", nil)
	for _, sent := range s.Sent() {
		if !strings.HasPrefix(sent, "GET ") {
			t.Errorf("sent %s", sent)
		}
	}
}

// TestStopped: a run that is stopped after any message goes on where it was, in both ways.
func TestStopped(t *testing.T) {
	for _, history := range []bool{false, true} {
		s := gmailtest.Start(t)
		box := open(t, s, "")
		if history {
			s.Add(now.Add(-time.Hour), "INBOX", mail("first"))
			_, p, err := each(t, box)
			if err != nil || p.UIDValidity != 2 {
				t.Fatalf("%+v, %v", p, err)
			}
			box.From.Known, box.From.Position = true, p
		}
		s.Add(now.Add(-time.Minute), "INBOX", mail("m0"), mail("m1"))
		s.Add(now.Add(-time.Minute), "INBOX", mail("m2"))
		s.Add(now.Add(-time.Minute), "INBOX", mail("m3"), mail("m4"), mail("m5"))
		for stop := range 7 {
			seen := map[string]bool{}
			p, known := box.From.Position, box.From.Known
			one := open(t, s, "")
			one.From = box.From
			enough := errors.New("enough")
			n := 0
			if err := one.Each(t.Context(), func(m *source.Message) error {
				if n++; n > stop {
					return enough
				}
				seen[subject(m)] = true
				p, known = audit.Position{UIDValidity: m.UIDValidity, UID: m.UID, Received: m.Received}, true
				return nil
			}); err != nil && err != enough {
				t.Fatal(err)
			}
			rest := open(t, s, "")
			rest.From.Position, rest.From.Known = p, known
			list, _, err := each(t, rest)
			for _, one := range list {
				seen[one] = true
			}
			if err != nil || len(seen) != 6 {
				t.Errorf("history %v, stopped after %d: %d messages, %v", history, stop, len(seen), err)
			}
		}
	}
}

// TestMetadata: a token that reads header fields only gives the same header block; for text it
// is refused, with what to type.
func TestMetadata(t *testing.T) {
	s := gmailtest.Start(t)
	raw := "Received: from a\r\n by b\r\nSubject: x\r\nX:y\r\n\r\nbody\r\n"
	s.Add(now.Add(-time.Hour), "INBOX", raw)
	s.Metadata = true
	box := open(t, s, "")
	_, _, err := each(t, box)
	if err == nil || fault.KindOf(err) != fault.Failed || !strings.Contains(fault.HintOf(err), "--scope headers") {
		t.Errorf("%v (%s)", err, fault.HintOf(err))
	}
	box = open(t, s, "")
	box.Box.(*Box).Headers = true
	box.Box.(*Box).Reader = source.NewReader(0)
	if err := box.Each(t.Context(), func(m *source.Message) error {
		if got := string(m.Header); got != "Received: from a\r\n by b\r\nSubject: x\r\nX: y\r\n\r\n" || m.Size != int64(len(raw)) || !m.Partial {
			t.Errorf("%q %+v", got, m.Raw)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	for _, h := range []header{{"", "x"}, {"A:B", "x"}, {"A\n", "x"}, {"A", "\x00 x"}} {
		if line, err := h.String(); err == nil {
			t.Errorf("%+v is %q", h, line)
		}
	}
	for value, want := range map[string]bool{
		"x": false, "x\r\n y": false, "x\r\n\ty": false, "x\n y": true, "x\r y": true, "x\r\nFrom: owner@example.com": true,
		"x\nFrom: owner@example.com": true, "x\rFrom: owner@example.com": true, "x\r\n\r\ny": true, "x\n\n": true, "x\r\n": true, "\r\r\n y": true,
	} {
		line, err := header{"A", value}.String()
		m := message.Parse(message.Raw{Header: []byte(line + "\r\n"), CRLF: true}, message.Options{Scope: envelope.Headers})
		if err != nil || len(m.Headers) != 1 || slices.Contains(m.Defects, envelope.LineEnds) != want {
			t.Errorf("%q is %q, %v: %+v, %q", value, line, err, m.Headers, m.Defects)
		}
	}
}

// TestTooLarge: a message that is too large is read as far as it takes to see that.
func TestTooLarge(t *testing.T) {
	s := gmailtest.Start(t)
	s.Add(now.Add(-time.Hour), "INBOX", mail("x")+strings.Repeat("x", message.MaxMessage+400<<10))
	for _, window := range []int64{0, message.MaxMessage + 1} {
		box := open(t, s, "")
		box.Box.(*Box).Reader = source.NewReader(window)
		box.Client.Limits = nil // the server takes its time to make such an answer
		if err := box.Each(t.Context(), func(m *source.Message) error {
			if m.Unavailable != nil || m.Size <= message.MaxMessage || !m.Partial {
				t.Errorf("window %d: %d bytes, %v", window, m.Size, m.Unavailable)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
}

// TestUndated: messages of which the server does not say when they came are between the others; it
// is asked again. If it says so of none, it is ill.
func TestUndated(t *testing.T) {
	s := gmailtest.Start(t)
	for i := range 12 {
		s.Add(now.Add(-time.Duration(12-i)*time.Hour), "INBOX", mail(fmt.Sprint("s", i)))
	}
	fail := func(first, last int) {
		for i := range 12 {
			key := fmt.Sprintf("messages/18c%013x?minimal", i)
			delete(s.Override, key)
			if first <= i && i < last {
				s.Override[key] = func(w http.ResponseWriter, r *http.Request) { gmailtest.Refuse(w, 500, "backendError", "") }
			}
		}
	}
	fail(0, 2)
	if got, _, err := each(t, open(t, s, "")); err != nil || len(got) != 12 || got[2] != "s2" && got[0] != "s2" || got[11] != "s11" {
		t.Errorf("%q, %v", got, err)
	}
	fail(0, 12)
	if got, _, err := each(t, open(t, s, "")); err == nil || fault.KindOf(err) != fault.Temporary || len(got) > 0 {
		t.Errorf("%q, %v", got, err)
	}
}

// TestLabel: by the name that a person sees.
func TestLabel(t *testing.T) {
	s := gmailtest.Start(t)
	s.Add(now.Add(-time.Hour), "Label_7", mail("x"))
	for label, want := range map[string]int{"Lists/Go": 1, "Label_7": 1, "inbox": 0} {
		if got, _, err := each(t, open(t, s, label)); err != nil || len(got) != want {
			t.Errorf("%s: %q, %v", label, got, err)
		}
	}
	if _, _, err := each(t, open(t, s, "Nothing")); err == nil || fault.KindOf(err) != fault.Failed {
		t.Errorf("%v", err)
	}
}

// TestPages: only a page with a message of the mailbox that is too old ends a list before its last
// page does. One that is empty, or whose messages were archived since, says nothing of the rest.
func TestPages(t *testing.T) {
	for _, tt := range []struct {
		name  string
		pages []string // names of messages, "/" after an archived one
		want  string
		asked int
	}{
		{"an empty page first", []string{"", "a b"}, "b a", 2},
		{"empty pages between", []string{"a", "", "", "b"}, "b a", 4},
		{"archived since", []string{"x/ y/", "a"}, "a", 2},
		{"archived since, and old", []string{"a", "old/", "b"}, "b a", 3},
		{"gone since", []string{"a", "gone", "b"}, "b a", 3},
		{"the same again", []string{"a", "a", "b"}, "b a", 3},
		{"an old one among new ones", []string{"old a", "b"}, "b a", 2},
		{"old ones", []string{"a", "old", "b"}, "a", 2},
		{"an old one and an archived one", []string{"a", "x/ old", "b"}, "a", 2},
		{"nothing", []string{"", "", ""}, "", 3},
	} {
		s := gmailtest.Start(t)
		list, asked := map[string]string{"gone": "18cffffffffffff0"}, 0
		for _, page := range tt.pages {
			for _, name := range strings.Fields(page) {
				received := now.Add(-time.Duration(1+len(s.Sent())+len(list)) * time.Minute)
				if strings.HasPrefix(name, "old") {
					received = now.Add(-72 * time.Hour)
				}
				if list[name] == "" {
					list[name] = s.Add(received, "INBOX", mail(name))[0]
				}
				if strings.HasSuffix(name, "/") {
					s.Move(list[name], "ARCHIVE")
				}
			}
		}
		s.Override["messages?"] = func(w http.ResponseWriter, r *http.Request) {
			n, _ := strconv.Atoi(r.URL.Query().Get("pageToken"))
			asked++
			var ids []string
			for _, name := range strings.Fields(tt.pages[n]) {
				ids = append(ids, `{"id":"`+list[name]+`"}`)
			}
			next := ""
			if n+1 < len(tt.pages) {
				next = `,"nextPageToken":"` + strconv.Itoa(n+1) + `"`
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"messages":[%s]%s}`, strings.Join(ids, ","), next)
		}
		got, _, err := each(t, open(t, s, ""))
		if err != nil || strings.Join(got, " ") != tt.want || asked != tt.asked {
			t.Errorf("%s: %q after %d pages, %v, want %q after %d", tt.name, got, asked, err, tt.want, tt.asked)
		}
	}
}

// TestHostile: as lib/fetch/jmap has it, with what is Google's own.
func TestHostile(t *testing.T) {
	evil := "\x1b[2J owned " + gmailtest.Token
	refuse := func(code int, reason string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { gmailtest.Refuse(w, code, reason, evil) }
	}
	say := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, text)
		}
	}
	const m1 = "messages/18c0000000000001"
	for _, tt := range []struct {
		name, path string
		do         http.HandlerFunc
		kind       fault.Kind // 0: it goes on
		want       string
		hint       string
	}{
		{"401", "profile?", refuse(401, "authError"), fault.Failed, "", "get a new token"},
		{"too many", "profile?", refuse(403, "userRateLimitExceeded"), fault.Temporary, "", "run again"},
		{"another scope", "profile?", refuse(403, "insufficientPermissions"), fault.Failed, "", "gmail.readonly"},
		{"another reason", "profile?", refuse(403, evil), fault.Failed, "", ""},
		{"500", "messages?", refuse(500, "backendError"), fault.Temporary, "", ""},
		{"pages without end", "messages?", say(`{"nextPageToken":"x","messages":[{"id":"18c0000000000001"}]}`), fault.Temporary, "", ""},
		{"empty pages without end", "messages?", say(`{"nextPageToken":"x"}`), fault.Temporary, "", ""},
		{"a message of another id", m1 + "?minimal", say(`{"id":"x","internalDate":"1"}`), 0, "s0 18c0000000000001! s2", ""},
		{"a message that is refused when it is looked at", m1 + "?minimal", refuse(500, "backendError"), 0, "s0 18c0000000000001! s2", ""},
		{"401 of a message", m1 + "?minimal", refuse(401, "authError"), fault.Failed, "", "get a new token"},
		{"no date", m1 + "?minimal", say(`{"id":"18c0000000000001","internalDate":"-1"}`), 0, "s0 18c0000000000001! s2", ""},
		{"an id that is a path", "messages?", say(`{"messages":[{"id":"../../x"}]}`), fault.Temporary, "", ""},
		{"not base64", m1 + "?raw", say(`{"raw":"a b"}`), 0, "s0 18c0000000000001! s2", ""},
		{"cut", m1 + "?raw", say(`{"raw":"aaaa`), 0, "s0 18c0000000000001! s2", ""},
		{"no message", m1 + "?raw", say(`{"id":"x"}`), 0, "s0 18c0000000000001! s2", ""},
		{"a member without end", m1 + "?raw", func(w http.ResponseWriter, r *http.Request) { forever(w, `{"x":"`) }, 0, "s0 18c0000000000001! s2", ""},
		{"gone", m1 + "?raw", refuse(404, "notFound"), fault.Temporary, "s0 s2", "run again"},
		{"refused alone", m1 + "?raw", refuse(500, "backendError"), 0, "s0 18c0000000000001! s2", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := gmailtest.Start(t)
			for i := range 3 {
				s.Add(now.Add(-time.Duration(3-i)*time.Hour), "INBOX", mail(fmt.Sprint("s", i)))
			}
			s.Override[tt.path] = tt.do
			box := open(t, s, "")
			got, _, err := each(t, box)
			if strings.Join(got, " ") != tt.want || (err == nil) != (tt.kind == 0) {
				t.Fatalf("%q, %v, want %q", got, err, tt.want)
			}
			if err == nil {
				return
			}
			said := err.Error() + fault.HintOf(err)
			if fault.KindOf(err) != tt.kind || !strings.HasPrefix(err.Error(), box.Name) || !strings.Contains(fault.HintOf(err), tt.hint) ||
				strings.Contains(said, gmailtest.Token) || strings.Contains(said, "owned") {
				t.Errorf("%v: %v (%s)", fault.KindOf(err), err, fault.HintOf(err))
			}
		})
	}
}

func forever(w http.ResponseWriter, begin string) {
	_, err := io.WriteString(w, begin)
	for chunk := strings.Repeat("x", 8192); err == nil; {
		_, err = io.WriteString(w, chunk)
	}
}

func TestRaw(t *testing.T) {
	std := base64.StdEncoding.EncodeToString([]byte("a?>~\xff"))
	for in, want := range map[string]string{
		`{"raw":"YQ=="}`:                          "a",
		`{"raw":"YQ"}`:                            "a",
		`{"raw":"YQ\u003d\u003D"}`:                "a",
		` {"id":{"raw":"x"}, "raw" : "-_8" , "x"`: "\xfb\xff",
		`{"raw":""}`:                              "",
		`{"raw":"` + std + `"}`:                   "!",
		`{"raw":"Y=Q="}`:                          "!",
		`{"raw":"Y"}`:                             "!",
		`{"raw":5}`:                               "!",
		`{"raw":"YQ==`:                            "!",
		`["raw","YQ=="]`:                          "!",
		`{}`:                                      "!",
	} {
		r, err := rawReader(strings.NewReader(in))
		var got []byte
		if err == nil {
			got, err = io.ReadAll(r)
		}
		if (err != nil) != (want == "!") || err == nil && string(got) != want {
			t.Errorf("%s: %q, %v", in, got, err)
		}
	}
}

// FuzzRaw: any message comes back, and any bytes end.
func FuzzRaw(f *testing.F) {
	f.Add([]byte("From: a\r\n\r\n"), `{"raw":"YQ\u003d"`)
	f.Fuzz(func(t *testing.T, message []byte, junk string) {
		text := `{"id":"x","raw":"` + base64.URLEncoding.EncodeToString(message) + `"}`
		r, err := rawReader(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || !slices.Equal(got, message) {
			t.Fatalf("%q gives %q, %v", message, got, err)
		}
		if r, err := rawReader(strings.NewReader(junk)); err == nil {
			if got, _ := io.ReadAll(r); len(got) > len(junk) {
				t.Fatalf("%d bytes from %d", len(got), len(junk))
			}
		}
	})
}

func TestAddress(t *testing.T) {
	for in, want := range map[string]string{
		"You@Gmail.com":              "gmail:you@gmail.com/INBOX",
		"you@gmail.com/":             "gmail:you@gmail.com/INBOX",
		"you+a@gmail.com/Lists/Go x": "gmail:you+a@gmail.com/Lists/Go x",
		"you":                        "",
		"":                           "",
		"you:hunter2@gmail.com":      "",
		"you@gmail.com:hunter2":      "",
		"you@gmail.com/a\nb":         "",
		"you@gmail.com?x=/../INBOX":  "",
		"//you@gmail.com/INBOX":      "",
	} {
		a, err := ParseAddress(in)
		if err == nil && a.String() != want || err != nil && want != "" {
			t.Errorf("%q: %v, %v", in, a, err)
		}
		if err != nil && (fault.KindOf(err) != fault.Usage || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%q: %v", in, err)
		}
	}
}
