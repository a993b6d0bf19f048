package main

import (
	"bytes"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"pulse/lib/fetch/message"
	"pulse/lib/shared/envelope"
)

const pin = "mx.example.com"

// stamp is the field that a receiver writes on top.
const stamp = "Authentication-Results: " + pin + "; dkim=none; spf=pass smtp.mailfrom=elsewhere.example; dmarc=none header.from=elsewhere.example\n"

// received is the field that every server adds.
const received = "Received: from a.elsewhere.example by " + pin + "; Sat, 21 Nov 2026 06:55:00 +0000\n"

// without removes the fields that match from a mail.
func without(pattern string) func(string) string {
	field := regexp.MustCompile(`(?m)^` + pattern + `.*\n([ \t].*\n)*`)
	return func(mail string) string {
		header, body, _ := strings.Cut(mail, "\n\n")
		return field.ReplaceAllString(header+"\n", "") + "\n" + body
	}
}

// printed runs mail and returns what it prints, and the nonce.
func printed(t *testing.T, args ...string) (mail, nonce string) {
	t.Helper()
	var out, note bytes.Buffer
	if status := run(append([]string{"mail", "--to", "me@example.com", "--from", "me@elsewhere.example"}, args...), nil, &out, &note); status != 0 {
		t.Fatalf("exit status %d: %s", status, &note)
	}
	nonce = regexp.MustCompile(`--nonce ([0-9a-f]{32})\n$`).FindStringSubmatch(note.String())[1]
	return out.String(), nonce
}

// fetched returns the records of mails, as pulse-fetch writes them.
func fetched(mails ...string) io.Reader {
	var b []byte
	for _, mail := range mails {
		raw := []byte(strings.ReplaceAll(mail, "\n", "\r\n"))
		m := message.Parse(message.Raw{Header: raw, Size: int64(len(raw))}, message.Options{Scope: envelope.Snippet})
		b = append(m.Append(append(b, `{"message":`...)), "}\n"...)
	}
	return bytes.NewReader(b)
}

func ask(t *testing.T, in io.Reader, args ...string) (status int, out string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = run(append([]string{"check"}, args...), in, &stdout, &stderr)
	return status, stdout.String() + stderr.String()
}

func TestReceivers(t *testing.T) {
	ours := `(?i:authentication-results)[ \t]*:\s*(\([^)]*\)\s*|\(a \(b \\\) c\)\)\s*)?` + regexp.QuoteMeta(pin) + `[\s;(]`
	all := `(?i:authentication-results)[ \t]*:`
	tests := []struct {
		name    string
		receive func(string) string
		args    []string
		status  int
		says    string
	}{
		{"strips its own id however it is spelled", func(m string) string { return stamp + received + without(ours)(m) }, nil,
			0, "\ntrusted: first-wins and the pin held"},
		{"strips nothing", func(m string) string { return stamp + received + m }, nil,
			1, "first-wins and the pin held, but of the forged fields that arrived"},
		{"strips the exact spelling only", func(m string) string {
			return stamp + received + without("Authentication-Results: "+regexp.QuoteMeta(pin)+";")(m)
		}, nil, 1, "name in lower case               if it stood first: BELIEVED"},
		{"strips nothing and writes below what was sent", func(m string) string {
			return received + strings.Replace(m, "From: ", stamp+"From: ", 1)
		}, nil, 1, "did NOT hold"},
		{"writes nothing", func(m string) string { return received + m }, nil, 1, "FORGED"},
		{"writes nothing and strips all", func(m string) string { return received + without(all)(m) }, nil,
			1, "there is no Authentication-Results field"},
		{"strips all", func(m string) string { return stamp + received + without(all)(m) }, nil,
			1, "not shown: no forged field of any id arrived"},
		{"strips all, and nobody else could have", func(m string) string { return stamp + received + without(all)(m) }, []string{"--direct"},
			0, "\ntrusted: "},
		{"renames all", func(m string) string {
			return stamp + received + regexp.MustCompile(`(?mi)^authentication-results[ \t]*:`).ReplaceAllString(m, "X-Old-Authentication-Results:")
		}, nil, 1, "not read: it has another name"},
		{"has another name", func(m string) string {
			return strings.ReplaceAll(stamp, pin, "mx2.example.com") + received + without(ours)(m)
		}, nil, 1, "the receiver calls itself mx2.example.com"},
		{"has a hostile name", func(m string) string {
			return strings.ReplaceAll(stamp, pin, "\"\u202emx\"") + received + without(ours)(m)
		}, nil, 1, `the receiver calls itself "\u202emx"`},
		{"writes what can't be read", func(m string) string {
			return strings.ReplaceAll(stamp, "dkim=none", "dkim==") + received + without(ours)(m)
		}, nil, 1, "own field can't be read"},
		{"leaves blanks before the colon", func(m string) string {
			return stamp + received + without(`(?i:authentication-results):\s*(\([^)]*\)\s*|\(a \(b \\\) c\)\)\s*)?`+regexp.QuoteMeta(pin)+`[\s;(]`)(m)
		}, nil, 0, "blank before the colon           if it stood first: refused"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			mail, nonce := printed(t, "--pin", pin)
			status, out := ask(t, fetched(stamp+"From: somebody@example.net\n\nelse\n", tt.receive(mail)), append(tt.args, "--nonce", nonce)...)
			if status != tt.status || !strings.Contains("\n"+out, tt.says) {
				t.Errorf("exit status %d, want %d; it does not say %q:\n%s", status, tt.status, tt.says, out)
			}
		})
	}
}

// If two copies arrive, one without the receiver's field decides.
func TestEveryCopyCounts(t *testing.T) {
	mail, nonce := printed(t, "--pin", pin)
	good := stamp + received + without(`(?i:authentication-results)`)(mail)
	if status, out := ask(t, fetched(good, good), "--nonce", nonce, "--direct"); status != 0 {
		t.Error(out)
	}
	if status, out := ask(t, fetched(good, received+mail), "--nonce", nonce, "--direct"); status != 1 {
		t.Error(out)
	}
}

// Without --pin the answer is the name to pin for the next probe.
func TestPinUnknown(t *testing.T) {
	mail, nonce := printed(t)
	in := stamp + received + without(`(?i:authentication-results)`)(mail)
	if status, out := ask(t, fetched(in), "--nonce", nonce, "--direct"); status != 1 || !strings.Contains(out, "--pin "+pin) {
		t.Errorf("exit status %d:\n%s", status, out)
	}
}

// Every forgery of the list is in the mail once, and found again.
func TestAllAreSent(t *testing.T) {
	mail, nonce := printed(t, "--pin", pin, "--broken")
	p := probe{broken: true}
	for n, f := range p.forgeries() {
		if strings.Count(mail, tag(nonce, n)) != 1 {
			t.Errorf("%s: not in the mail once", f.what)
		}
	}
	_, out := ask(t, fetched(stamp+mail), "--nonce", nonce)
	if !strings.Contains(out, "30 of 31 arrived") || !strings.Contains(out, "malformed_header") {
		t.Errorf("all but the folded name should be found, and that as a defect:\n%s", out)
	}
}

func TestNobodyElsesProbe(t *testing.T) {
	mail, nonce := printed(t, "--pin", pin)
	_, other := printed(t)
	for _, in := range []string{stamp + received, mail} {
		if status, out := ask(t, fetched(in), "--nonce", other); status != 1 || !strings.Contains(out, "no record is a probe with this nonce") {
			t.Errorf("exit status %d:\n%s", status, out)
		}
	}
	if nonce == other {
		t.Error("the same nonce twice")
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		nil, {"male"}, {"mail"}, {"mail", "--to", "me"}, {"mail", "--to", "me@example.com", "--pin", "a b"},
		{"mail", "--to", "me@example.com", "x"}, {"mail", "--too", "x"}, {"check"}, {"check", "--nonce", "x"},
		{"mail", "--to", "me@example.com\nBcc: you@example.com"}, {"mail", "--to", "me@example.com", "--pin", "x\nBcc: you"},
	} {
		var out, errs bytes.Buffer
		if status := run(args, strings.NewReader(""), &out, &errs); status != usage || out.Len() > 0 || errs.Len() == 0 {
			t.Errorf("%q: exit status %d, %q, %q", args, status, &out, &errs)
		}
	}
	if status, out := ask(t, strings.NewReader("{"), "--nonce", strings.Repeat("0", 32)); status != 1 {
		t.Errorf("a bad record: exit status %d: %s", status, out)
	}
}

// The script hands the exit status on.
func TestScript(t *testing.T) {
	for status, args := range map[int][]string{
		usage:      {"check", "--nonce", "x"},
		notTrusted: {"check", "--nonce", strings.Repeat("0", 32)},
		trusted:    {"mail", "--to", "me@example.com"},
	} {
		cmd := exec.Command("../probe-receiver", args...)
		cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != status {
			t.Errorf("%q: exit status %d, want %d", args, got, status)
		}
	}
}
