package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pulse/lib/fetch/gmail/gmailtest"
	"pulse/lib/shared/cmdline/cmdlinetest"
)

const tokenScript = "../../scripts/token"

// token is one call of the script.
func (s *issuer) token(args ...string) *exec.Cmd {
	cmd := exec.Command(tokenScript, args...)
	cmd.Env = append(os.Environ(), "SSL_CERT_FILE="+s.ca)
	return cmd
}

func (s *issuer) call(args ...string) (status int, out, errs string) {
	var stdout, stderr bytes.Buffer
	cmd := s.token(args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run() // its status says it
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// gives checks that a call prints the token and nothing else.
func (s *issuer) gives(t *testing.T, path string, requests int) {
	t.Helper()
	status, out, errs := s.call(path)
	if status != 0 || out != s.access+"\n" || errs != "" {
		t.Fatalf("exit %d: %q, %q", status, out, errs)
	}
	if n := len(s.requests()); n != requests {
		t.Fatalf("the provider was asked %d times, want %d", n, requests)
	}
}

var expired = map[string]any{"issued": time.Now().Add(-3000 * time.Second).Unix()}

// TestTokenRenewed: a token is printed again until it lasts less than a run may, and is renewed
// with what the provider gave last. The file is never one that others can read.
func TestTokenRenewed(t *testing.T) {
	t.Parallel()
	for name, how := range providers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startIssuer(t, how)
			path := s.file(t, how.granted)
			s.gives(t, path, 1)
			s.gives(t, path, 1)
			for i := range 2 {
				change(t, path, expired)
				s.gives(t, path, 2+i)
			}
			change(t, path, map[string]any{"issued": time.Now().Add(time.Hour).Unix()}) // the clock went back
			s.gives(t, path, 4)
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v", info, err)
			}
			if list, _ := os.ReadDir(filepath.Dir(path)); len(list) != 1 {
				t.Errorf("left beside the file: %v", list)
			}
			want := "1//refresh-token-0"
			if how.rotates {
				want = "1//refresh-token-4"
			}
			if got := kept(t, path)["refresh_token"]; got != want {
				t.Errorf("kept %v, want %v", got, want)
			}
			for _, form := range s.requests() {
				if form.Get("scope") != how.granted || form.Get("client_id") != "client" {
					t.Errorf("asked %v", form)
				}
			}
		})
	}
}

// TestTokenAtOnce: of many that need a token at once, one renews it. A provider that takes a
// refresh token once would otherwise end the access.
func TestTokenAtOnce(t *testing.T) {
	t.Parallel()
	s := startIssuer(t, providers["fastmail"])
	path := s.file(t, s.how.granted)
	var wait sync.WaitGroup
	for range 6 {
		wait.Go(func() {
			if status, out, errs := s.call(path); status != 0 || out != s.access+"\n" {
				t.Errorf("exit %d: %q, %q", status, out, errs)
			}
		})
	}
	wait.Wait()
	s.gives(t, path, 1)
}

// TestTokenKilled: if the command is killed while the provider answers, or all that it started is
// asked to end, as a unit is, what the provider gave is kept nevertheless.
func TestTokenKilled(t *testing.T) {
	t.Parallel()
	for name, kill := range map[string]func(self int) error{
		"itself": func(self int) error { return syscall.Kill(self, syscall.SIGKILL) },
		"both": func(self int) error {
			b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", self))
			child, bad := strconv.Atoi(strings.TrimSpace(string(b)))
			if err := errors.Join(err, bad); err != nil {
				return err
			}
			for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
				if err := syscall.Kill(child, signal); err != nil {
					return err
				}
			}
			return syscall.Kill(self, syscall.SIGTERM)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testTokenKilled(t, kill)
		})
	}
}

func testTokenKilled(t *testing.T, kill func(self int) error) {
	t.Helper()
	s := startIssuer(t, providers["fastmail"])
	path := s.file(t, s.how.granted)
	asked, killed := make(chan bool), make(chan bool)
	s.says(func(w http.ResponseWriter, form url.Values) {
		asked <- true
		<-killed
		s.give(w, form)
	})
	cmd := s.token(path)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	err := kill(cmd.Process.Pid)
	_ = cmd.Wait() // it was killed
	s.says(nil)
	close(killed)
	if err != nil {
		t.Fatal(err)
	}
	s.gives(t, path, 1) // it waits for the lock of the one that goes on
}

// clock is a program that runs the script by a clock of its own: the lock of another process, the
// provider, and the disk take 100 seconds each, 140 for the last, and no time passes otherwise.
const clock = `
import fcntl, os, runpy, signal, sys, urllib.request
now = due = 0

def alarm(seconds):
    global due
    due = seconds and now + seconds

def takes(seconds, act):
    def slow(*args, **named):
        global now
        done = act(*args, **named)
        now += seconds
        if 0 < due <= now:
            os.kill(os.getpid(), signal.SIGALRM)
        return done
    return slow

signal.alarm = alarm
fcntl.flock = takes(100, fcntl.flock)
urllib.request.OpenerDirector.open = takes(100, urllib.request.OpenerDirector.open)
os.fsync = takes(140, os.fsync)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
`

// TestTokenSlow: the two minutes of the provider begin when this process has the lock, and end with
// its answer.
func TestTokenSlow(t *testing.T) {
	t.Parallel()
	s := startIssuer(t, providers["fastmail"])
	path := s.file(t, s.how.granted)
	cmd := s.token()
	cmd.Path, cmd.Args = "/usr/bin/python3", []string{"python3", "-I", "-c", clock, tokenScript, path}
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != s.access+"\n" {
		t.Errorf("%v: %s", err, out)
	}
	s.gives(t, path, 1)
}

// TestTokenRoom: nothing is asked of the provider if there is no room for what it would give.
func TestTokenRoom(t *testing.T) {
	t.Parallel()
	s := startIssuer(t, providers["fastmail"])
	path := s.file(t, s.how.granted)
	if err := os.Symlink("/dev/null", path+".new"); err != nil { // of a process that died, or somebody's
		t.Fatal(err)
	}
	cmd := s.token(path)
	cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", `ulimit -f 8; exec "$0" "$1"`, tokenScript, path}
	out, _ := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 75 || len(s.requests()) > 0 {
		t.Errorf("exit %d, asked %d: %s", cmd.ProcessState.ExitCode(), len(s.requests()), out)
	}
	s.gives(t, path, 1)
}

// TestTokenRefused: what a provider answers in place of a token, as it documents it, and what
// follows. What is secret is in no message, not even if the provider repeats it.
func TestTokenRefused(t *testing.T) {
	t.Parallel()
	aadsts := func(error, text string) string {
		return fmt.Sprintf(`{"error":%q,"error_description":"%s\r\nTrace ID: 0a7b\r\nCorrelation ID: 1c2d\r\nTimestamp: 2026-11-21 07:00:02Z","error_codes":[1]}`, error, text)
	}
	s := startIssuer(t, providers["google"])
	path := s.file(t, s.how.granted)
	fine := `"token_type":"Bearer","expires_in":3599`
	for i, tt := range []struct {
		code   int
		answer string
		status int
		said   string
	}{
		{400, providers["google"].gone, 77, "refuses: invalid_grant: Token has been expired or revoked."},
		{400, `{"error":"invalid_grant","error_description":"Bad Request"}`, 77, "invalid_grant: Bad Request"},
		{400, `{"error":"invalid_grant","error_description":"reauth related error (invalid_rapt)","error_uri":"https://support.google.com/a/answer/9368756","error_subtype":"invalid_rapt"}`, 77, "reauth related error (invalid_rapt)"},
		{401, `{"error":"deleted_client","error_description":"The OAuth client was deleted."}`, 77, "deleted_client: The OAuth client was deleted."},
		{400, providers["microsoft"].gone, 77, "AADSTS700082: The refresh token has expired due to inactivity."},
		{400, aadsts("invalid_grant", "AADSTS50173: The provided grant has expired due to it being revoked, a fresh auth token is needed."), 77, "AADSTS50173: The provided grant has expired due to it being revoked, a fresh auth token is needed.\n"},
		{400, aadsts("interaction_required", "AADSTS50076: Due to a configuration change made by your administrator you must use multi-factor authentication."), 77, "interaction_required: AADSTS50076"},
		{401, aadsts("invalid_client", "AADSTS7000222: The provided client secret keys for app are expired."), 77, "invalid_client: AADSTS7000222"},
		{400, aadsts("temporarily_unavailable", "AADSTS90033: A transient error has occurred. Please try again."), 75, "AADSTS90033"},
		{400, `{"error":"invalid_grant","temporary":true,"error_description":"The account is locked."}`, 75, "invalid_grant: The account is locked."},
		{400, `{"error":"invalid_grant","temporary":false}`, 77, "refuses: invalid_grant\n"},
		{503, `{"error":"server_error"}`, 75, "it answers 503 server_error"},
		{500, `{"error":"internal_failure"}`, 75, "it answers 500"},
		{429, `{"error":"invalid_grant"}`, 75, "it answers 429"},
		{502, "<html>Bad Gateway</html>", 75, "it answers 502 and no JSON"},
		{200, "<html>Log in to this network</html>", 75, "it answers 200 and no JSON"},
		{302, `{}`, 75, "without a token"},
		{200, `{}`, 75, "without a token"},
		{200, `[` + strings.Repeat(`[`, 30_000), 75, "no JSON"},
		{200, `{"access_token":"` + strings.Repeat("x", 70_000) + `",` + fine + `}`, 75, "no JSON"},
		{200, `{"access_token":"ya29.token\nX: y",` + fine + `}`, 75, "without a token"},
		{200, `{"access_token":"ya29.token","token_type":"mac"}`, 75, "without a token"},
		{200, `{"access_token":"ya29.token","scope":"https://mail.google.com/ ` + readonly + `",` + fine + `}`, 77, "not for what was asked"},
		{200, `{"access_token":"ya29.token","scope":"openid",` + fine + `}`, 77, "not for what was asked"},
		{400, `{"error":"invalid_grant","error_description":"bad token 1//refresh-token-0 of GOCSPX-secret-of-the-client"}`, 77, "refuses: invalid_grant\n"},
		{400, `{"error":["invalid_grant"]}`, 77, "an error that has no name"},
		{200, `{"access_token":"ya29.token","refresh_token":"\ud800","token_type":"Bearer","expires_in":` + strings.Repeat("9", 5000) + `}`, 75, "no JSON"},
		{400, `{"error":"ya29.token \u001b[2J","error_description":"\u001b[2J\u202e"}`, 77, "an error that has no name"},
	} {
		if testing.Short() && i%4 != 0 {
			continue // each starts an interpreter
		}
		s.says(func(w http.ResponseWriter, _ url.Values) {
			w.Header().Set("Location", "https://evil.example/")
			say(w, tt.code, tt.answer)
		})
		status, out, errs := s.call(path)
		if status != tt.status || out != "" || !strings.Contains(errs, tt.said) || secretIn(errs) != "" || strings.Contains(errs, "\x1b") {
			t.Errorf("%.80s: exit %d: %q, %q", tt.answer, status, out, errs)
		}
		if again := `scripts/token' --authorize '`; strings.Contains(errs, again) != (tt.status == 77) {
			t.Errorf("%.80s: hint: %q", tt.answer, errs)
		}
	}
	s.says(nil)
	s.gives(t, path, len(s.requests())+1) // nothing of that was kept
	s.Close()
	change(t, path, expired)
	if status, _, errs := s.call(path); status != 75 || !strings.Contains(errs, "refused") {
		t.Errorf("exit %d: %q", status, errs)
	}
}

// TestTokenUsage: a file that others may read or that is something else, and command lines that
// are not understood. None of that reaches a provider.
func TestTokenUsage(t *testing.T) {
	t.Parallel()
	s := startIssuer(t, providers["google"])
	path := s.file(t, s.how.granted)
	link, fifo := filepath.Join(t.TempDir(), "link"), filepath.Join(t.TempDir(), "fifo")
	if err := exec.Command("mkfifo", fifo).Run(); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{}, {""}, {path, path}, {"--token", path}, {"-h"}, {"--authorize"}, {"--authorize", "yahoo", link},
		{"--authorize", "google", path}, {"--authorize", "google", "--x"}, {link}, {fifo}, {"/dev/zero"}, {t.TempDir()},
		{"--authorize", "google", filepath.Join(link, "x")},
	} {
		if status, out, errs := s.call(args...); status != 64 || out != "" || !strings.Contains(errs, "token: error: ") || strings.Contains(errs, "Traceback") {
			t.Errorf("%q: exit %d: %q, %q", args, status, out, errs)
		}
	}
	for name, members := range map[string]map[string]any{
		"no scope": {"scope": ""}, "a number": {"refresh_token": 1}, "not HTTPS": {"endpoint": "http://127.0.0.1/"}, "a time": {"issued": "now"},
		"no text": {"client_id": json.RawMessage(`"\ud800"`)},
	} {
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		change(t, path, members)
		if status, _, errs := s.call(path); status != 64 || !strings.Contains(errs, "not a file that token --authorize made") {
			t.Errorf("%s: exit %d: %q", name, status, errs)
		}
		if err := os.WriteFile(path, before, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{link}, {"--authorize", link}} {
		if _, _, errs := s.call(args...); !strings.Contains(errs, "scripts/token' --authorize google|microsoft '"+link+"'\n") {
			t.Errorf("%q: %q", args, errs)
		}
	}
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(path), 0o775); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{path}, {"--authorize", path}, {"--authorize", "google", path + "-new"}} {
		if status, _, errs := s.call(args...); status != 64 || !strings.Contains(errs, "hint: chmod go-w '") {
			t.Errorf("%q: exit %d: %q", args, status, errs)
		}
	}
	if err := errors.Join(os.Chmod(filepath.Dir(path), 0o755), os.Chmod(path, 0o640)); err != nil {
		t.Fatal(err)
	}
	if status, _, errs := s.call(link); status != 64 || !strings.Contains(errs, "hint: chmod 600 '") {
		t.Errorf("exit %d: %q", status, errs)
	}
	if n := len(s.requests()); n != 0 {
		t.Errorf("the provider was asked %d times", n)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	s.gives(t, link, 1)
	if at, err := os.Readlink(link); err != nil || at != path {
		t.Errorf("the link is %q, %v", at, err)
	}
}

// TestTokenAuthorize: a person opens the address in a browser and pastes the one that it ends at.
// What they paste counts only if it answers this request.
func TestTokenAuthorize(t *testing.T) {
	t.Parallel()
	s := startIssuer(t, providers["google"])
	s.takes("")
	path := s.file(t, s.how.granted)
	if status, _, _ := s.call(path); status != 77 {
		t.Fatalf("exit %d", status)
	}
	for _, tt := range []struct {
		paste  string // STATE stands for that of the request
		status int
		said   string
	}{
		{"http://localhost:49152/?state=x&code=the-code-of-the-test", 77, "not the answer to this request"},
		{"http://localhost:49152/?code=the-code-of-the-test", 77, "not the answer to this request"},
		{"https://evil.example/?state=STATE&code=the-code-of-the-test", 77, "not the answer to this request"},
		{"http://localhost:49152/?state=%C3%A9&code=x", 77, "not the answer to this request"},
		{"http://localhost:49152/?state=STATE&error=access_denied", 77, "the provider refuses: access_denied"},
		{"http://localhost:49152/?state=STATE", 77, "that address has no code"},
		{"http://localhost:49152/?state=STATE&code=another-code", 77, "refuses: invalid_grant"},
		{"http://localhost:49152/?state=STATE&code=the-code-of-the-test&scope=x#", 0, ""},
	} {
		cmd := s.token("--authorize", path)
		p, err := cmdlinetest.SitAt(cmd, 24, 2000)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Sees(`(https://\S+)`)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Sees(`Paste its address here: `); err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(got[1])
		q := u.Query()
		if err != nil || u.Path != "/authorize" || q.Get("prompt") != "consent" || q.Get("scope") != readonly || len(q.Get("code_challenge")) != 43 || q.Get("code_challenge_method") != "S256" || secretIn(got[1]) != "" {
			t.Fatalf("%v %v", u, err)
		}
		if err := p.Type(strings.ReplaceAll(tt.paste, "STATE", q.Get("state")) + "\n"); err != nil {
			t.Fatal(err)
		}
		status, screen := p.Wait()
		if status != tt.status || !strings.Contains(string(screen), tt.said) {
			t.Errorf("%s: exit %d: %s", tt.paste, status, screen)
		}
	}
	form := s.requests()[len(s.requests())-1]
	if form.Get("redirect_uri") != "http://localhost:49152" || len(form.Get("code_verifier")) < 43 {
		t.Errorf("asked %v", form)
	}
	s.gives(t, path, len(s.requests()))
	change(t, path, expired)
	s.gives(t, path, len(s.requests())+1)
}

// TestTokenMakesFile: the first time, the person types what the provider has given for the client;
// the secret is not shown.
func TestTokenMakesFile(t *testing.T) {
	t.Parallel()
	s := startIssuer(t, providers["google"])
	path := filepath.Join(t.TempDir(), "new")
	p, err := cmdlinetest.SitAt(s.token("--authorize", "google", path), 24, 2000)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Leave()
	for _, step := range [][2]string{{"client id: ", "client\n"}, {"client secret, empty if there is none: ", clientSecret + "\n"}} {
		if _, err := p.Sees(step[0]); err != nil {
			t.Fatal(err)
		}
		if err := p.Type(step[1]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Sees(`https://accounts\.google\.com/o/oauth2/v2/auth\?access_type=offline&prompt=consent&response_type=code&client_id=client&.*gmail\.readonly`); err != nil {
		t.Fatal(err)
	}
	if err := p.Type("no\n"); err != nil {
		t.Fatal(err)
	}
	status, screen := p.Wait()
	if again := "scripts/token' --authorize google '"; status != 77 || secretIn(string(screen)) != "" || !strings.Contains(string(screen), again) {
		t.Errorf("exit %d: %s", status, screen)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("%v", err)
	}
	cmd := s.token("--authorize", "google", path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, _ := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 77 || !strings.Contains(string(out), "only a person at a terminal") {
		t.Errorf("%s", out)
	}
}

// TestTokenFinding: an access that was revoked is told once as a refused login, with what to type,
// and once when it is over. A provider that is away is told as a server that is away.
func TestTokenFinding(t *testing.T) {
	mail := gmailtest.Start(t)
	testOnlyGmail = mail.API()
	t.Cleanup(func() { testOnlyGmail = nil })
	s := startIssuer(t, providers["google"])
	s.access = gmailtest.Token
	path := s.file(t, s.how.granted)
	ca := certificate(t, mail.Certificate().Raw)
	queue := filepath.Join(t.TempDir(), "queue")
	if out, err := exec.Command("pulse-queue", "init", "--queue", queue).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	mail.Add(time.Now(), "INBOX", "From: me@example.com\r\n\r\nbody\r\n")
	t.Setenv("SSL_CERT_FILE", s.ca)
	fetch := func(status int, said string) {
		t.Helper()
		script, err := filepath.Abs(tokenScript)
		if err != nil {
			t.Fatal(err)
		}
		command := fmt.Sprintf("%s %q", script, path)
		records, got, stderr := run(t, "--queue", queue, "--tls-ca", ca, "--password-command", command, "gmail:me@example.com")
		if got != status || len(records) != 0 && status != 0 || said == "" && stderr != "" || !strings.Contains(stderr, said) || secretIn(stderr) != "" {
			t.Fatalf("exit %d, %d records: %q, want %q", got, len(records), stderr, said)
		}
	}
	fetch(0, "")
	s.takes("")
	fetch(0, "") // the token still holds
	change(t, path, expired)
	fetch(1, "pulse-fetch: error: --password-command token: 127.0.0.1 refuses: invalid_grant: Token has been expired or revoked.\npulse-fetch: hint: ")
	fetch(1, "")
	fetch(1, "")
	s.takes("1//refresh-token-7")
	change(t, path, map[string]any{"refresh_token": "1//refresh-token-7"}) // as token --authorize does
	fetch(0, "pulse-fetch: ended: login: gmail:me@example.com/INBOX can be read again\n")
	fetch(0, "")
	s.says(func(w http.ResponseWriter, _ url.Values) { say(w, 503, `{}`) })
	change(t, path, expired)
	fetch(75, "127.0.0.1: it answers 503")
	fetch(75, "")
}
