package source

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pulse/lib/fetch/webhook"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/fault"
)

// hookSpool makes a spool, with its secrets and with files that are each a minute younger
// than the one before.
func hookSpool(t *testing.T, files map[string]string, order ...string) *Webhook {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "spool")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for i, name := range order {
		write(t, filepath.Join(dir, name), files[name])
		when := time.Unix(1614265330, 0).Add(time.Duration(i) * time.Minute)
		if err := os.Chtimes(filepath.Join(dir, name), when, when); err != nil {
			t.Fatal(err)
		}
	}
	secrets := dir + ".secrets"
	write(t, secrets, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n")
	s, err := OpenWebhook(dir, secrets)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const signedRequest = "POST /hook HTTP/1.1\r\nHost: agent.example.com\r\nFrom: me@example.com\r\nContent-Type: application/json\r\n" +
	"webhook-id: msg_p5jXN8AQM9LWM0D4loKWxJek\r\nwebhook-timestamp: 1614265330\r\n" +
	"webhook-signature: v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=\r\n\r\n" + `{"test": 2432232314}`

func TestWebhook(t *testing.T) {
	s := hookSpool(t, map[string]string{
		"b": signedRequest, "a": "content-type: text/html\n\n<p>a", "c": "no request",
		".new": signedRequest, "d.tmp": signedRequest, "z": strings.Repeat("x: y\r\n", 10) + "\r\n" + strings.Repeat("x", webhook.MaxBody+1),
	}, "b", "a", "c", ".new", "d.tmp", "z")
	before := state(t, s.Dir)
	var got []string
	err := s.Each(t.Context(), func(m *Message) error {
		if m.Source != "webhook:"+s.Dir || strings.Contains(string(m.Header), "From") {
			t.Errorf("%s: %q", m.Source, m.Header)
		}
		body := string(m.Body)
		got = append(got, fmt.Sprint(m.Hook.Verdict.Result, " ", m.Hook.ID[:7], " ", m.Hook.Size, " ", body[:min(len(body), 20)], " ", m.Received.Unix()-1614265330, " ", m.Partial))
		return nil
	})
	want := []string{
		`pass msg_p5j 20 {"test": 2432232314} 0 false`,
		`none sha256: 4 <p>a 60 false`,
		`malformed sha256: 10  120 true`,
		`malformed sha256: 1048639  300 true`,
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\n%s", err, strings.Join(got, "\n"))
	}
	if after := state(t, s.Dir); !slices.Equal(before, after) {
		t.Error("reading changed the spool")
	}
}

// TestWebhookOdd: what is not a file does not hold up requests, is neither followed nor
// waited for, and is reported.
func TestWebhookOdd(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"a link":      func(path string) error { return os.Symlink("/etc/passwd", path) },
		"a pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		s := hookSpool(t, map[string]string{"request": signedRequest}, "request")
		if err := make(filepath.Join(s.Dir, "odd")); err != nil {
			t.Fatal(err)
		}
		got, err := collect(s)
		var f *fault.Error
		if len(got) != 1 || !errors.As(err, &f) || !strings.Contains(err.Error(), "odd is not a file") {
			t.Errorf("%s: %d requests, %v", name, len(got), err)
		}
		if _, _, err := s.read("odd", nil); err == nil { // as if it came in place of a file that was listed
			t.Errorf("%s was read", name)
		}
	}
}

func TestOpenWebhook(t *testing.T) {
	s := hookSpool(t, nil)
	secrets := s.Dir + ".secrets"
	open := func(mode, secretMode os.FileMode, secrets string) error {
		if err := errors.Join(os.Chmod(s.Dir, mode), os.Chmod(s.Dir+".secrets", secretMode)); err != nil {
			t.Fatal(err)
		}
		_, err := OpenWebhook(s.Dir, secrets)
		return err
	}
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"group may write", open(0o2770, 0o600, secrets), ""},
		{"all may write", open(0o777, 0o600, secrets), "others may write it"},
		{"no secrets", open(0o700, 0o600, ""), "no secret"},
		{"secrets that others read", open(0o700, 0o640, secrets), "others may read it"},
		{"absent secrets", open(0o700, 0o600, secrets+"x"), "no such file"},
	} {
		if (c.err == nil) != (c.want == "") || c.err != nil && !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, c.err)
		}
		if f := (*fault.Error)(nil); c.err != nil && (!errors.As(c.err, &f) || f.Kind != fault.Usage) {
			t.Errorf("%s: %v is not a usage error", c.name, c.err)
		}
	}
}

// TestWebhookResultIsInTheVerdict: the whole request is verified, however little of its
// text was asked for.
func TestWebhookResultIsInTheVerdict(t *testing.T) {
	s := hookSpool(t, map[string]string{"r": signedRequest + "\n"}, "r")
	if err := s.Each(t.Context(), func(m *Message) error {
		if m.Hook.Verdict.Result != envelope.WebhookFail {
			t.Errorf("a byte more: %+v", m.Hook.Verdict)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
