package suggest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pulse/lib/classify/receivers"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
)

// unusable is the policy where the receiver's verdict is of no use.
const unusable = `evidence = "dkim"`

const inbox = "imaps://me@imap.example.net/INBOX"

// mail returns a message whose header begins with the fields, given as "Name: value". It
// is signed by the domain that they name, if any, else by that of From.
func mail(source, from string, fields ...string) *envelope.Message {
	m := &envelope.Message{Source: source}
	_, signer, _ := strings.Cut(from, "@")
	if _, rest, ok := strings.Cut(strings.Join(fields, " "), "header.d="); ok {
		signer = rest[:len(rest)-len(strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyz0123456789.-"))]
	}
	signature := "DKIM-Signature: v=1; d=" + strings.TrimSuffix(signer, ">") + "; s=s1; h=from:to:date; bh=AbCd; b=EfGh"
	for _, f := range append(fields, signature, "From: "+from, "To: me@example.net", "Date: Sat, 21 Nov 2026 06:55:00 +0000") {
		name, value, _ := strings.Cut(f, ":")
		m.Headers = append(m.Headers, envelope.Field{Name: name, Value: strings.TrimPrefix(value, " ")})
	}
	return m
}

const received = "Received: from a by mx.example.net; Sat, 21 Nov 2026 06:55:00 +0000"

// stamped returns mail as a receiver with an id of its own leaves it.
func stamped(id, local, domain, signer string) *envelope.Message {
	return mail(inbox, local+"@"+domain, verdictOf(id, domain, signer), received)
}

func verdictOf(id, domain, signer string) string {
	return fmt.Sprintf("Authentication-Results: %s; dkim=pass header.d=%s; spf=pass smtp.mailfrom=%s; dmarc=pass header.from=%s", id, signer, domain, domain)
}

// sent moves the field to where a sender can put it, as some servers do, too.
func sent(list []*envelope.Message) (below []*envelope.Message) {
	for _, m := range list {
		c := *m
		c.Headers = append([]envelope.Field{m.Headers[1], m.Headers[0]}, m.Headers[2:]...)
		below = append(below, &c)
	}
	return below
}

// usual returns n mails from n domains that id vouches for.
func usual(n int, id string) (list []*envelope.Message) {
	for i := range n {
		d := fmt.Sprintf("sender%d.example", i)
		list = append(list, stamped(id, "bob", d, d))
	}
	return list
}

func repeat(n int, m *envelope.Message) (list []*envelope.Message) {
	for range n {
		list = append(list, m)
	}
	return list
}

func report(t *testing.T, owner string, mails ...[]*envelope.Message) string {
	t.Helper()
	s := New(owner)
	for _, list := range mails {
		for _, m := range list {
			s.Add(m)
		}
	}
	out := s.Report()
	valid(t, out)
	return out
}

// valid checks that the report is a policy, safe to show.
func valid(t *testing.T, out string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse("report", []byte(out))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for i := range len(out) {
		if c := out[i]; c != '\n' && (c < ' ' || c > '~') {
			t.Fatalf("byte %#x in\n%s", c, out)
		}
	}
	return p
}

// lines returns the policy lines of a report.
func lines(out string) string {
	var list []string
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "#") {
			list = append(list, strings.TrimSpace(line))
		}
	}
	return strings.Join(list, "\n")
}

var broken = regexp.MustCompile("\n# +")

// flat joins the lines of the comments.
func flat(s string) string { return broken.ReplaceAllString(s, " ") }

func TestReport(t *testing.T) {
	microsoft := mail(inbox, "bob@partner.example", received, "Authentication-Results: spf=pass (sender IP is 192.0.2.1)\r\n smtp.mailfrom=partner.example; dkim=pass (signature was verified)\r\n header.d=partner.example;dmarc=pass action=none\r\n header.from=partner.example;compauth=pass reason=100")
	bare := mail(inbox, "bob@partner.example", received)
	var yahoo []*envelope.Message
	for i := range 20 {
		yahoo = append(yahoo, stamped(fmt.Sprintf("atlas%d.mail.yahoo.example", i), "bob", "partner.example", "partner.example"))
	}
	const me = "me@example.com"
	mine := stamped("mx.example.net", "me", "example.com", "mail.example.com")
	strict := stamped("mx.example.net", "me", "example.com", "example.com")
	selfsent := mail(inbox, me, received)

	tests := []struct {
		name  string
		owner string
		mails [][]*envelope.Message
		lines string
		says  string
	}{
		{"nothing", "", nil, "", "There was no mail"},
		{"a receiver that stamps", "", [][]*envelope.Message{usual(12, "mx.example.net")},
			`authserv_id = "mx.example.net"`, "stands first on 12 of 12 mails, with 12 domains in From: sender0.example"},
		{"where no sender can put it", "", [][]*envelope.Message{repeat(3, mine)},
			`authserv_id = "mx.example.net"`, "It always stands above every Received field, where no sender can put it."},
		{"two are no sample, wherever they stand", "", [][]*envelope.Message{repeat(2, mine)}, "", "2 mails of 1 From domains are too few"},
		{"numbers alone are no proof", "", [][]*envelope.Message{sent(usual(12, "mx.example.net"))},
			"", "server that receives your mail:\n# authserv_id = \"mx.example.net\"\n"},
		{"a flood is no proof", "", [][]*envelope.Message{repeat(5, bare), sent(usual(1000, "mx.evil.example"))},
			"", "warning: is that the server that receives your mail?"},
		{"too few", "", [][]*envelope.Message{sent(usual(9, "mx.example.net"))}, "", "9 mails of 9 From domains are too few"},
		{"too few domains", "", [][]*envelope.Message{sent(repeat(50, mine))}, "", "50 mails of 1 From domains are too few"},
		{"a server that leaves mail without its field, and a forgery there", "",
			[][]*envelope.Message{usual(40, "mx.example.net"), sent(usual(2, "mx.example.net"))},
			"", "warning: on 2 of these mails it stands below a Received field"},
		{"one forgery in a mailbox of a server that writes nothing", "",
			[][]*envelope.Message{repeat(30, bare), sent(usual(1, "mx.evil.example"))}, unusable, "has no Authentication-Results field"},
		{"many forgeries there", "",
			[][]*envelope.Message{repeat(15, bare), sent(usual(40, "mx.evil.example"))}, "", "no id stands first on nearly all"},
		{"a forgery beside the receiver", "",
			[][]*envelope.Message{usual(40, "mx.example.net"), sent(usual(2, "mx.evil.example"))},
			`authserv_id = "mx.example.net"`, "warning: 2 mails of this source begin otherwise"},
		{"a receiver that leaves some mail bare", "", [][]*envelope.Message{usual(40, "mx.example.net"), repeat(2, bare)},
			`authserv_id = "mx.example.net"`, "warning: 2 mails of this source have no Authentication-Results field."},
		{"one that leaves much mail bare", "", [][]*envelope.Message{usual(40, "mx.example.net"), repeat(20, bare)},
			"", "no id stands first on nearly all of this mail, as a receiver's own would: 40 of 60"},
		{"Microsoft", "", [][]*envelope.Message{repeat(12, microsoft)},
			unusable, "writes no authserv-id (Microsoft 365 does this)"},
		{"Yahoo", "", [][]*envelope.Message{yahoo}, unusable, "An id that differs from mail to mail (Yahoo, Fastmail, Yandex) can't be pinned"},
		{"no field at all", "", [][]*envelope.Message{repeat(12, bare)}, unusable, "this server writes none"},
		{"no field at all, few mails", "", [][]*envelope.Message{repeat(3, bare)}, "", "Nothing yet."},
		{"signed as a subdomain", me, [][]*envelope.Message{usual(12, "mx.example.net"), repeat(3, mine)},
			"dkim_alignment = \"relaxed\"\nauthserv_id = \"mx.example.net\"", "signed by a parent or subdomain of the domain of From: mail.example.com (3 mails)"},
		{"who signs is as unsure as the field that says so", me, [][]*envelope.Message{sent(usual(12, "mx.example.net")), sent(repeat(3, mine))},
			"", "\n# dkim_alignment = \"relaxed\"\n"},
		{"without --owner it is nobody's business", "", [][]*envelope.Message{usual(12, "mx.example.net"), repeat(3, mine)},
			`authserv_id = "mx.example.net"`, `# dkim_alignment = "relaxed"`},
		{"one neighbour of a strict owner loosens nothing", me,
			[][]*envelope.Message{usual(12, "mx.example.net"), repeat(1, strict), repeat(30, mine)},
			`authserv_id = "mx.example.net"`, `# dkim_alignment = "relaxed"`},
		{"mail to oneself carries no field", me, [][]*envelope.Message{usual(12, "mx.example.net"), repeat(9, selfsent)},
			`authserv_id = "mx.example.net"`, "There is no mail From me@example.com to judge"},
		{"two sources", "", [][]*envelope.Message{usual(12, "mx.example.net"), moved("imaps://me@imap.other.example/Archive", usual(12, "mx.other.example"))},
			"[[receiver]]\nsource      = \"imaps://me@imap.example.net/*\"\nauthserv_id = \"mx.example.net\"\n" +
				"[[receiver]]\nsource      = \"imaps://me@imap.other.example/*\"\nauthserv_id = \"mx.other.example\"", "from 24 mails of 2 sources"},
		{"the mailboxes of an account are one source", "", [][]*envelope.Message{usual(6, "mx.example.net"), moved("imaps://me@imap.example.net/Archive", usual(6, "mx.example.net"))},
			`authserv_id = "mx.example.net"`, "== imaps://me@imap.example.net/*, 12 mails"},
		{"a preset speaks for few mails", "", [][]*envelope.Message{moved("imaps://me@imap.gmail.com/INBOX", sent(usual(3, "mx.google.com")))},
			`authserv_id = "mx.google.com"`, "This is the IMAP server of Gmail, Google Workspace, which is known to write it."},
		{"a preset against the numbers", "", [][]*envelope.Message{moved("imaps://me@outlook.office365.com/INBOX", repeat(12, microsoft))},
			unusable, "This is the IMAP server of Microsoft 365, Outlook.com. What is known of it: one field without an id"},
		{"an id that is no name", "", [][]*envelope.Message{usual(12, `"mx.example.net"`)},
			unusable, "is not the name of a server"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := report(t, tt.owner, tt.mails...)
			if got := lines(out); got != tt.lines {
				t.Errorf("the lines are\n%s\nwant\n%s\nin\n%s", got, tt.lines, out)
			}
			if !strings.Contains(flat(out), tt.says) && !strings.Contains(out, tt.says) {
				t.Errorf("it does not say %q:\n%s", tt.says, out)
			}
		})
	}
}

func moved(source string, list []*envelope.Message) []*envelope.Message {
	out := make([]*envelope.Message, len(list))
	for i, m := range list {
		c := *m
		c.Source = source
		out[i] = &c
	}
	return out
}

// The printed policy verifies exactly the mails that were counted.
func TestCountsAreTrue(t *testing.T) {
	s := New("")
	for _, m := range usual(12, "mx.example.net") {
		s.Add(m)
	}
	p := valid(t, s.Report())
	if r, ok := p.Receiver(inbox); !ok || !r.Believes("mx.example.net") || len(r.AuthservIDs) != 1 {
		t.Errorf("pins %q, %v", r.AuthservIDs, ok)
	}
	if n := s.sources[0].judge().best.all.verified; n != [3]int{12, 12, 12} {
		t.Errorf("verified %v, want 12 each", n)
	}
}

func TestOwnCheck(t *testing.T) {
	checked := func(signer string) *envelope.Message {
		m := mail(inbox, "me@example.com", received)
		m.DKIM = &envelope.DKIM{From: "example.com", Signatures: []envelope.Signature{{
			Domain: signer, Result: envelope.DKIMPass, Headers: []string{"from", "to", "date"},
		}}}
		m.DKIM.DMARC.Result = envelope.DMARCFound
		return m
	}
	out := report(t, "me@example.com", repeat(12, checked("example.com")))
	if lines(out) != unusable || !strings.Contains(flat(out), "evidence \"dkim\" verifies 12 of 12 mails of yours, 12 of 12 in all. Risk: without recipients") {
		t.Error(out)
	}
	out = report(t, "me@example.com", repeat(12, checked("mail.example.com")))
	if lines(out) != unusable+"\ndkim_alignment = \"relaxed\"" || !strings.Contains(flat(out), "mail.example.com (12 mails)") {
		t.Error(out)
	}
}

// Memory is bounded: names beyond the bounds are counted, not kept.
func TestBounds(t *testing.T) {
	s := New("")
	for i := range 3 * maxFirsts {
		s.Add(stamped(fmt.Sprintf("mx%d.example.net", i), "bob", "partner.example", "partner.example"))
	}
	for i := range 3 * maxDomains {
		d := fmt.Sprintf("d%d.example", i)
		s.Add(stamped("mx0.example.net", "bob", d, d))
	}
	for i := range 3 * maxSources {
		s.Add(moved(fmt.Sprintf("maildir:%d", i), usual(1, "mx.example.net"))[0])
	}
	valid(t, s.Report())
	if len(s.sources) != maxSources || len(s.sources[0].firsts) != maxFirsts || len(s.sources[0].firsts[0].domains) != maxDomains {
		t.Errorf("%d sources, %d first fields, %d domains", len(s.sources), len(s.sources[0].firsts), len(s.sources[0].firsts[0].domains))
	}
	if s.sources[0].uncounted != 2*maxFirsts || s.unnamed != 2*maxSources+1 || !s.sources[0].firsts[0].more {
		t.Errorf("uncounted %d, unnamed %d", s.sources[0].uncounted, s.unnamed)
	}
}

// So is time: further mails are counted, not looked at.
func TestManyMails(t *testing.T) {
	s := New("")
	for range 60 {
		for _, m := range usual(100, "mx.example.net") {
			s.Add(m)
		}
	}
	huge := mail(inbox, "bob@partner.example", "X-Huge: "+strings.Repeat("x", maxBytes))
	if s.Add(huge); s.kept != maxMails || s.unread != 1001 {
		t.Errorf("%d kept, %d unread", s.kept, s.unread)
	}
	if out := s.Report(); !strings.Contains(flat(out), "warning: 1001 mails beyond the first 5000, or 64 MiB of header, not looked at") {
		t.Error(out)
	}
	s = New("")
	if s.Add(huge); s.kept != 0 || s.unread != 1 {
		t.Errorf("%d kept, %d unread", s.kept, s.unread)
	}
	valid(t, s.Report())
}

// A mailbox of 20,000 mails takes a second or two: what is beyond the bounds is counted.
func BenchmarkReport(b *testing.B) {
	list := usual(100, "mx.example.net")
	for b.Loop() {
		s := New("bob@sender1.example")
		for i := range 20000 {
			s.Add(list[i%len(list)])
		}
		if out := s.Report(); !strings.Contains(out, "beyond the first 5000") {
			b.Fatal(out)
		}
	}
}

// FuzzReport: whatever mail holds, the report is a policy in printable ASCII with no
// keys other than the known ones, and pins nothing that senders say, however many.
func FuzzReport(f *testing.F) {
	f.Add(inbox, "mx.example.net; dmarc=pass header.from=example.com; dkim=pass header.d=example.com", "me@example.com", "me@example.com")
	f.Add("maildir:\u202e\"\\\x01", "\"a\\\" \u202e\"; dmarc=pass", "a@\u212a.example", "")
	f.Add("x://*\n[limits]/", "x\r\n ; none", "<a@b>", "a@b")
	f.Fuzz(func(t *testing.T, source, value, from, owner string) {
		m := mail(source, from, received, "Authentication-Results:"+value)
		s := New(owner)
		for range 3 {
			s.Add(m)
		}
		for _, m := range sent(usual(30, "mx.evil.example")) {
			s.Add(m)
		}
		out := s.Report()
		if _, known := receivers.BySource(source); known || !utf8.ValidString(source) {
			return // known: not senders alone; not UTF-8: record refuses it
		}
		valid(t, out)
		for line := range strings.Lines(lines(out)) {
			key, _, _ := strings.Cut(line, " ")
			switch strings.TrimSpace(key) {
			case "[[receiver]]", "source", "authserv_id", "dkim_alignment", "evidence", "verdict", "":
			default:
				t.Fatalf("the line %q in\n%s", line, out)
			}
		}
		if strings.Contains("\n"+out, "\nauthserv_id") {
			t.Fatalf("pinned on the word of senders:\n%s", out)
		}
	})
}
