package jmap

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/fetch/https"
	"pulse/lib/fetch/jmap/jmaptest"
	"pulse/lib/fetch/pull"
	"pulse/lib/fetch/secure"
	"pulse/lib/fetch/source"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/fault"
)

const token = jmaptest.Token

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// serve starts a server whose clock is that of the tests.
func serve(t *testing.T, n int) *jmaptest.Server {
	s := jmaptest.Start(t, n)
	s.Now = now
	return s
}

// open returns a mailbox of the server.
func open(t *testing.T, s *jmaptest.Server, rest string) *pull.Mailbox {
	t.Helper()
	u, _ := url.Parse(s.URL)
	a, err := ParseAddress("https://me%40example.com@" + u.Host + rest)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	c := &https.Client{Hosts: []string{a.Host}, Authorization: "Bearer " + token, RootCAs: secure.Pool(roots), Posts: Posts}
	return &pull.Mailbox{
		Name: a.String(), Client: c, From: source.Start{Now: now, Limit: 100},
		Box: &Box{Address: a, Client: c, Reader: source.NewReader(1000)},
	}
}

// subjects reads a mailbox; what is unavailable ends with "!".
func subjects(t *testing.T, s *pull.Mailbox) (list []string, err error) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	err = s.Each(ctx, func(m *source.Message) error {
		if m.Unavailable != nil {
			list = append(list, m.Name+"!")
			return nil
		}
		if m.Source != s.Name || m.Partial || m.Size != int64(len(m.Header)) || !m.CRLF || m.UID == 0 {
			t.Errorf("%+v", m)
		}
		list = append(list, strings.TrimPrefix(strings.Split(string(m.Header), "\r\n")[0], "Subject: "))
		return nil
	})
	return list, err
}

func names(first, last int) (list []string) {
	for i := first; i < last; i++ {
		list = append(list, fmt.Sprintf("e%d", i))
	}
	return list
}

func TestJMAP(t *testing.T) {
	s := serve(t, 20) // more than one page
	for _, tt := range []struct {
		rest string
		from source.Start
		want []string
	}{
		{"", source.Start{Now: now, Limit: 100}, names(0, 20)},
		{"/", source.Start{Now: now}, names(10, 20)},
		{"/jmap/session#inbox", source.Start{Now: now, Limit: 3}, names(17, 20)},
		{"#Lists/Go", source.Start{Now: now}, nil},
		{"#INBOX", source.Start{Now: now, Resume: true}, names(0, 20)},
		{"#INBOX", source.Start{Now: now, Resume: true, Limit: 3}, names(0, 3)},
	} {
		box := open(t, s, tt.rest)
		box.From = tt.from
		if got, err := subjects(t, box); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s %+v: %q, %v", tt.rest, tt.from, got, err)
		}
	}
	for _, sent := range s.Sent() {
		if !strings.HasPrefix(sent, "GET ") && sent != "POST /api" && !slices.Contains(methods, sent) {
			t.Errorf("sent %s", sent)
		}
	}
}

// TestOnlyReads: whatever the program would send, nothing that writes leaves it.
func TestOnlyReads(t *testing.T) {
	s := serve(t, 1)
	box := open(t, s, "")
	if err := box.Box.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Sent()
	var into any
	for _, method := range []string{"Email/set", "Email/import", "Mailbox/set", "EmailSubmission/set", "Email/copy", "Blob/copy", "Core/echo", "email/query", ""} {
		err := box.Box.(*Box).ask(t.Context(), call{"Email/get", object{}, &into}, call{method, object{}, &into})
		if sent := s.Sent(); err == nil || len(sent) > 0 {
			t.Errorf("%s: %v, sent %q", method, err, sent)
		}
	}
	for _, body := range []string{``, `{}`, `{"methodCalls":[]}`, `{"methodCalls":[["Email/get",{}]]}`, `{"methodCalls":[[1,{},"a"]]}`} {
		if Posts([]byte(body)) == nil {
			t.Errorf("%q may be sent", body)
		}
	}
	plain := &https.Client{Hosts: box.Client.Hosts, Authorization: "x", RootCAs: box.Client.RootCAs}
	if err := plain.PostJSON(t.Context(), box.Box.(*Box).api, []byte("{}"), &into); err == nil || len(s.Sent()) > 0 {
		t.Errorf("a client that posts nothing: %v", err)
	}
}

func forever(w http.ResponseWriter, begin, s string) {
	io.WriteString(w, begin)
	for chunk := strings.Repeat(s, 1+8192/len(s)); ; {
		if _, err := io.WriteString(w, chunk); err != nil {
			return
		}
	}
}

// TestHostile: whatever a server answers, a run ends, with an error of the right class that
// repeats neither the token nor the server's words, or goes on without the message.
func TestHostile(t *testing.T) {
	evil := "\x1b[2J owned " + token
	status := func(code int, field, value string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(field, value)
			http.Error(w, evil, code)
		}
	}
	raw := func(kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			io.WriteString(w, body)
		}
	}
	method := func(name string, result any) func(*jmaptest.Server) {
		return func(s *jmaptest.Server) { s.OnCall(name, func(map[string]any) any { return result }) }
	}
	path := func(path string, f http.HandlerFunc) func(*jmaptest.Server) {
		return func(s *jmaptest.Server) { s.OnPath(path, f) }
	}
	session := func(change func(map[string]any)) func(*jmaptest.Server) {
		return func(s *jmaptest.Server) {
			v := s.Session()
			change(v)
			s.OnPath("/jmap/session", func(w http.ResponseWriter, r *http.Request) { jmaptest.Answer(w, v) })
		}
	}
	blob := func(f http.HandlerFunc) func(*jmaptest.Server) { return path("/blob/acc/be1", f) }
	ids := make([]string, 10_000)
	for i := range ids {
		ids[i] = "e1"
	}
	one := map[string]any{"id": "e1", "blobId": "be1", "size": 20, "receivedAt": now.Format(time.RFC3339)}
	for _, tt := range []struct {
		name string
		do   func(*jmaptest.Server)
		kind fault.Kind // 0: it goes on
		want string     // what comes all the same
		hint string
	}{
		{"honest", func(*jmaptest.Server) {}, 0, "e0 e1 e2", ""},
		{"401", path("/jmap/session", status(401, "WWW-Authenticate", token)), fault.Failed, "", "get a new token"},
		{"403", path("/api", status(403, "X", "")), fault.Failed, "", "the token must allow"},
		{"404", path("/jmap/session", status(404, "X", "")), fault.Failed, "", "pulse-fetch(1)"},
		{"429", path("/api", status(429, "Retry-After", "120")), fault.Temporary, "", "run again in 2m0s"},
		{"429 with a date", path("/api", status(429, "Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT")), fault.Temporary, "", "run again in 24h0m0s"},
		{"too much at once", path("/api", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(400)
			io.WriteString(w, `{"type":"urn:ietf:params:jmap:error:limit","limit":"maxConcurrentRequests","detail":"`+token+`"}`)
		}), fault.Temporary, "", "run again later"},
		{"a request that is none", path("/api", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(400)
			io.WriteString(w, `{"type":"urn:ietf:params:jmap:error:notRequest"}`)
		}), fault.Failed, "", ""},
		{"503", path("/api", status(503, "Retry-After", evil)), fault.Temporary, "", ""},
		{"redirect elsewhere", path(wellKnown, status(302, "Location", "https://evil.example/"+token)), fault.Failed, "", "use the URL"},
		{"redirect to http", path(wellKnown, status(302, "Location", "http://127.0.0.1/")), fault.Failed, "", ""},
		{"redirect without end", path(wellKnown, status(302, "Location", wellKnown)), fault.Temporary, "", ""},
		{"redirect of a POST", path("/api", status(307, "Location", "/api2")), fault.Failed, "", ""},
		{"not JSON", path("/jmap/session", raw("text/html", "<html>"+evil)), fault.Temporary, "", ""},
		{"broken JSON", path("/jmap/session", raw("application/json", `{"username":"`+evil)), fault.Temporary, "", ""},
		{"other JSON", path("/jmap/session", raw("application/json", `[1]`)), fault.Temporary, "", ""},
		{"deep JSON", path("/jmap/session", raw("application/json", strings.Repeat("[", 1<<20))), fault.Temporary, "", ""},
		{"endless JSON", path("/jmap/session", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			forever(w, `{"username":"`, "x")
		}), fault.Temporary, "", ""},
		{"an endless header", path("/jmap/session", func(w http.ResponseWriter, r *http.Request) {
			c, _, _ := w.(http.Hijacker).Hijack()
			defer c.Close()
			for err := error(nil); err == nil; {
				_, err = io.WriteString(c, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 8192))
			}
		}), fault.Temporary, "", ""},
		{"not HTTP", path("/jmap/session", func(w http.ResponseWriter, r *http.Request) {
			c, _, _ := w.(http.Hijacker).Hijack()
			io.WriteString(c, "HTTP/1.1 "+token+"\r\n\r\n")
			c.Close()
		}), fault.Temporary, "", ""},
		{"a slow drip", path("/jmap/session", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, "{")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}), fault.Temporary, "", ""},
		{"silence", path("/jmap/session", func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), fault.Temporary, "", ""},
		{"another user", session(func(v map[string]any) { v["username"] = evil }), fault.Failed, "", "names the user"},
		{"no mail", session(func(v map[string]any) { v["primaryAccounts"] = map[string]string{} }), fault.Temporary, "", ""},
		{"requests elsewhere", session(func(v map[string]any) { v["apiUrl"] = "https://api.example.com/x" }), fault.Failed, "", "--hosts api.example.com lets it"},
		{"downloads elsewhere", session(func(v map[string]any) { v["downloadUrl"] = "https://blobs.example.com:8443/{blobId}" }), fault.Failed, "", "--hosts blobs.example.com:8443 lets it"},
		{"http", session(func(v map[string]any) { v["apiUrl"] = "http://127.0.0.1/" }), fault.Temporary, "", ""},
		{"no INBOX", method("Mailbox/get", map[string]any{"list": []any{}}), fault.Failed, "", "#INBOX"},
		{"mailboxes alike", method("Mailbox/get", map[string]any{"list": []any{map[string]any{"id": "m1"}, map[string]any{"id": "m1"}}}), fault.Temporary, "", ""},
		{"mailboxes in a circle", method("Mailbox/get", map[string]any{"list": []any{map[string]any{"id": "m1", "parentId": "m1"}}}), fault.Failed, "", ""},
		{"refusal", method("Email/query", jmaptest.Failure(evil)), fault.Failed, "", "the token must allow"},
		{"failure", method("Email/query", jmaptest.Failure("serverUnavailable")), fault.Temporary, "", "run again"},
		{"more ids than asked for", method("Email/query", map[string]any{"ids": ids}), fault.Temporary, "", ""},
		{"an id twice", method("Email/query", map[string]any{"ids": ids[:2]}), fault.Temporary, "", ""},
		{"another place", method("Email/query", map[string]any{"position": 5, "ids": ids[:1]}), fault.Temporary, "", ""},
		{"pages without end", func(s *jmaptest.Server) {
			s.OnCall("Email/query", func(args map[string]any) any {
				return map[string]any{"queryState": "1", "position": args["position"], "ids": ids[:1]}
			})
			s.OnCall("Email/get", func(map[string]any) any { return map[string]any{"list": []any{one}} })
		}, fault.Temporary, "", ""},
		{"changes without end", func(s *jmaptest.Server) {
			n := 0
			s.OnCall("Email/query", func(args map[string]any) any {
				n++
				return map[string]any{"queryState": fmt.Sprint(n), "position": args["position"], "ids": ids[:1]}
			})
			s.OnCall("Email/get", func(map[string]any) any { return map[string]any{"list": []any{one}} })
		}, fault.Temporary, "", "run again"},
		{"a message that was not asked for", method("Email/get", map[string]any{"list": []any{map[string]any{"id": "x", "blobId": "y", "size": 1, "receivedAt": now}}}), fault.Temporary, "", ""},
		{"an id that is none", method("Email/get", map[string]any{"list": []any{map[string]any{"id": "e1", "blobId": "../" + evil, "size": 1, "receivedAt": now}}}), fault.Temporary, "", ""},
		{"no answers", path("/api", raw("application/json", `{"methodResponses":[]}`)), fault.Temporary, "", ""},
		{"a blob too short", blob(raw("message/rfc822", "Subject: e1\r\n")), 0, "e0 e1! e2", ""},
		{"a blob too long", blob(raw("message/rfc822", jmaptest.Text("e1")+"x")), 0, "e0 e1! e2", ""},
		{"an endless blob", blob(func(w http.ResponseWriter, r *http.Request) { forever(w, jmaptest.Text("e1"), "x") }), 0, "e0 e1! e2", ""},
		{"a blob that is cut", blob(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, "Sub")
		}), 0, "e0 e1! e2", ""},
		{"no blob", blob(status(404, "X", "")), 0, "e0 e1! e2", ""},
		{"a blob that kills it", blob(func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }), 0, "e0 e1! e2", ""},
		{"a blob elsewhere", blob(status(302, "Location", "https://evil.example/"+token)), 0, "e0 e1! e2", ""},
		{"a blob for another token", blob(status(401, "X", "")), fault.Failed, "e0", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, 3)
			tt.do(s)
			box := open(t, s, "")
			box.Client.Limits = &https.Limits{Dial: 10 * time.Minute, Idle: 10 * time.Minute, Whole: 10 * time.Minute}
			if tt.name == "silence" || tt.name == "a slow drip" { // others may be slow, as this machine may
				box.Client.Limits.Idle = time.Second
			}
			got, err := subjects(t, box)
			if strings.Join(got, " ") != tt.want || (err == nil) != (tt.kind == 0) {
				t.Fatalf("%q, %v, want %q", got, err, tt.want)
			}
			if err == nil {
				return
			}
			said := err.Error() + fault.HintOf(err)
			if fault.KindOf(err) != tt.kind || !strings.HasPrefix(err.Error(), box.Name) || !strings.Contains(fault.HintOf(err), tt.hint) {
				t.Errorf("%v: %v (%s)", fault.KindOf(err), err, fault.HintOf(err))
			}
			if strings.Contains(said, token) || strings.Contains(said, "owned") || len(said) > 500 {
				t.Errorf("said %q", said)
			}
		})
	}
}

// TestMissing: a message that is in the list, and of which the server says no more, is reported
// when all others were given, and the next run begins before it.
func TestMissing(t *testing.T) {
	for _, notFound := range [][]string{nil, {"e2"}} {
		for resume, want := range map[bool]string{true: "e0+,e1,e3", false: "e0,e1,e3"} {
			s := serve(t, 4)
			var page []string
			s.OnCall("Email/get", func(map[string]any) any {
				list := []any{}
				for i := range 4 {
					id := fmt.Sprint("e", i)
					if i != 2 && slices.Contains(page, id) {
						list = append(list, map[string]any{"id": id, "blobId": "b" + id, "size": len(jmaptest.Text(id)), "receivedAt": now.Add(time.Duration(i-4) * time.Hour)})
					}
				}
				if page == nil {
					return map[string]any{"list": list}
				}
				return map[string]any{"list": list, "notFound": notFound}
			})
			s.OnCall("Email/query", func(args map[string]any) any {
				page = names(0, 4)
				if !resume {
					slices.Reverse(page)
				}
				if args["position"] != 0.0 {
					page = nil
				}
				return map[string]any{"queryState": "1", "position": args["position"], "ids": page}
			})
			box := open(t, s, "")
			box.From.Resume = resume
			var got []string
			err := box.Each(t.Context(), func(m *source.Message) error {
				id := m.Name
				if m.UID != 0 {
					id += "+"
				}
				got = append(got, id)
				return nil
			})
			if strings.Join(got, ",") != want || err == nil || fault.KindOf(err) != fault.Temporary || !strings.Contains(err.Error(), "1 messages vanished") {
				t.Errorf("%v, resume %v: %q, %v", notFound, resume, got, err)
			}
		}
	}
}

// TestNeverFound: messages that the server goes on to list and not to find stop nobody. What came
// after them is given in every run, whatever the limit. After an hour they are unavailable, the
// runs go on, and nothing is given again.
func TestNeverFound(t *testing.T) {
	s := serve(t, 0)
	at := func(i int) time.Time { return now.Add(time.Duration(i) * time.Minute) }
	page := []int{} // of what was listed last
	s.OnCall("Email/query", func(args map[string]any) any {
		after, _ := time.Parse(time.RFC3339, fmt.Sprint(args["filter"].(map[string]any)["after"]))
		page = page[:0]
		ids := []string{}
		for i := range 7 {
			if args["position"] == 0.0 && !at(i).Before(after) {
				page, ids = append(page, i), append(ids, fmt.Sprint("e", i))
			}
		}
		if args["sort"].([]any)[0].(map[string]any)["isAscending"] == false {
			slices.Reverse(ids)
		}
		return map[string]any{"queryState": "1", "position": args["position"], "ids": ids}
	})
	s.OnCall("Email/get", func(map[string]any) any {
		list, not := []any{}, []string{}
		for _, i := range page {
			id := fmt.Sprint("e", i)
			if i == 2 || i == 3 {
				not = append(not, id)
				continue
			}
			list = append(list, map[string]any{"id": id, "blobId": "b" + id, "size": len(jmaptest.Text(id)), "receivedAt": at(i)})
		}
		return map[string]any{"list": list, "notFound": not}
	})
	from := source.Start{Resume: true, Limit: 1}
	for _, step := range []struct {
		ago  time.Duration // since what follows the missing ones
		want string
		kind fault.Kind
	}{
		{10 * time.Minute, "e0", fault.Temporary},
		{10 * time.Minute, "e1 e4 e5 e6", fault.Temporary}, // e2 may have come in the second of e1
		{time.Hour, "e1 e4 e5 e6", fault.Temporary},
		{time.Hour + time.Second, "e1", 0},
		{time.Hour + time.Second, "e2!", 0},
		{time.Hour + time.Minute, "e3!", 0},
		{time.Hour + time.Minute, "e4", 0},
		{time.Hour + time.Minute, "e5", 0},
		{2 * time.Hour, "e6", 0},
		{2 * time.Hour, "", 0},
	} {
		box := open(t, s, "")
		from.Now = at(4).Add(step.ago)
		box.From = from
		var got []string
		err := box.Each(t.Context(), func(m *source.Message) error {
			name := m.Name
			if m.Unavailable != nil {
				name += "!"
			}
			if got = append(got, name); m.UID != 0 {
				from.Position, from.Known = audit.Position{UIDValidity: m.UIDValidity, UID: m.UID, Received: m.Received}, true
			}
			return nil
		})
		if strings.Join(got, " ") != step.want || (err == nil) != (step.kind == 0) || err != nil && fault.KindOf(err) != step.kind {
			t.Fatalf("%v: %q, %v, want %q", step.ago, got, err, step.want)
		}
	}
}

func TestAddress(t *testing.T) {
	for in, want := range map[string]string{
		"https://me@Example.com":                          "jmap:https://me@example.com/#INBOX",
		"https://me@example.com:443/":                     "jmap:https://me@example.com/#INBOX",
		"https://me%40a.example@example.com/x/y#Lists/Go": "jmap:https://me%40a.example@example.com/x/y#Lists/Go",
		"https://me@example.com/.well-known/jmap#inbox":   "jmap:https://me@example.com/#INBOX",
		"https://me@[::1]:8443/#a b":                      "jmap:https://me@[::1]:8443/#a%20b",
		"http://me@example.com/":                          "",
		"https://example.com/":                            "",
		"https://me@/":                                    "",
		"https://me:hunter2@example.com/":                 "",
		"https://me@example.com/?x":                       "",
		"https://me@example.com/#a%0ab":                   "",
		"me@example.com":                                  "",
		"https://me:hun%zz@example.com":                   "",
	} {
		a, err := ParseAddress(in)
		if err == nil && a.String() != want || err != nil && want != "" {
			t.Errorf("%s: %v, %v", in, a, err)
		}
		if err != nil && (fault.KindOf(err) != fault.Usage || strings.Contains(err.Error(), "hun")) {
			t.Errorf("%s: %v", in, err)
		}
	}
}
