package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"

	"pulse/lib/fetch/gmail/gmailtest"
	"pulse/lib/fetch/jmap/cyrustest"
	"pulse/lib/fetch/jmap/jmaptest"
	"pulse/lib/shared/cmdline/cmdlinetest"
	"pulse/lib/shared/sandbox"
)

// TestJMAPQueue: a mailbox of a real server goes through the whole pipeline as it is installed
// and confined. The queue's position makes the next run begin after it, and nothing on the
// server changes.
func TestJMAPQueue(t *testing.T) {
	srv := cyrustest.Start(t)
	dir := t.TempDir()
	if err := cmdlinetest.Build(dir, "pulse-fetch", "pulse-classify", "pulse-authorize", "pulse-queue"); err != nil {
		t.Fatal(err)
	}
	c := srv.Dial(t)
	add := func(subject string, received time.Time) {
		t.Helper()
		text := fmt.Sprintf("From: me@example.com\r\nSubject: %s\r\nMessage-ID: <%s@example.com>\r\n\r\nbody\r\n", subject, subject)
		if err := cyrustest.Append(c, "INBOX", []byte(text), received); err != nil {
			t.Fatal(err)
		}
	}
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	line := `set -o pipefail; export PULSE_POLICY=policy.toml PULSE_QUEUE=queue
[ -e policy.toml ] || (umask 077; pulse-authorize init --owner me@example.com --agent agent@example.com >policy.toml; pulse-queue init --queue queue)
pulse-fetch --auth plain --tls-ca ` + srv.CA + ` --password-env PULSE_TEST_PASSWORD jmap:https://me@` + srv.JMAP + `/ | pulse-classify | pulse-authorize | pulse-queue add | jq -r .message.subject`
	next := func(want string) {
		t.Helper()
		cmd := exec.Command("bash", "-c", line)
		cmd.Dir = work
		cmd.Env = append(os.Environ(), "PULSE_TEST_PASSWORD="+cyrustest.Password, "PATH="+dir+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		got := strings.Fields(string(out))
		slices.Sort(got) // those of one second have no order
		if err != nil || strings.Join(got, " ") != want {
			t.Fatalf("%q, %v, want %q", got, err, want)
		}
	}
	now := time.Now().Truncate(time.Second)
	add("old", now.Add(-50*time.Hour))
	add("a", now.Add(-time.Hour))
	add("b", now.Add(-20*time.Minute))
	next("a b")
	next("")
	add("c", now.Add(-time.Minute))
	next("c")
	add("d", now.Add(-time.Minute)) // in the same second
	next("c d")
	next("")
	if data, err := c.Select("INBOX", nil).Wait(); err != nil || data.NumMessages != 5 {
		t.Errorf("%+v, %v", data, err)
	}
	if seen, err := c.UIDSearch(&imap.SearchCriteria{Flag: []imap.Flag{imap.FlagSeen}}, nil).Wait(); err != nil || len(seen.AllUIDs()) > 0 {
		t.Errorf("seen: %v, %v", seen, err)
	}
}

// TestGmailQueue: the same for the Gmail API, with its history id as the position.
func TestGmailQueue(t *testing.T) {
	srv := gmailtest.Start(t)
	testOnlyGmail = srv.API()
	t.Cleanup(func() { testOnlyGmail = nil })
	dir, now := t.TempDir(), time.Now()
	ca := certificate(t, srv.Certificate().Raw)
	t.Setenv("PULSE_TEST_PASSWORD", gmailtest.Token)
	if err := cmdlinetest.Build(dir, "pulse-classify", "pulse-authorize", "pulse-queue"); err != nil {
		t.Fatal(err)
	}
	pipe := func(line string, in io.Reader) string {
		t.Helper()
		cmd := exec.Command("bash", "-c", line)
		cmd.Dir, cmd.Stdin = dir, in
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "PULSE_POLICY=policy.toml", "PULSE_QUEUE=queue")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.Join(strings.Fields(string(out)), " ")
	}
	pipe("umask 077; pulse-authorize init --owner me@example.com --agent agent@example.com >policy.toml; pulse-queue init", nil)
	next := func(want string) {
		t.Helper()
		messages, status, stderr := run(t, "--queue", dir+"/queue", "--tls-ca", ca, "--password-env", "PULSE_TEST_PASSWORD", "gmail:me@example.com")
		var in bytes.Buffer
		for _, m := range messages {
			if m["source"] != "gmail:me@example.com/INBOX" {
				t.Errorf("source %v", m["source"])
			}
			if err := json.NewEncoder(&in).Encode(map[string]any{"message": m}); err != nil {
				t.Fatal(err)
			}
		}
		if got := pipe("pulse-classify | pulse-authorize | pulse-queue add | jq -r .message.subject", &in); status != 0 || stderr != "" || got != want {
			t.Fatalf("%q, status %d, %s, want %q", got, status, stderr, want)
		}
	}
	mail := func(s string) string { return "From: me@example.com\r\nSubject: " + s + "\r\n\r\nbody\r\n" }
	srv.Add(now.Add(-time.Hour), "INBOX", mail("a"), mail("b"))
	next("a b")
	next("")
	srv.Add(now.Add(-time.Hour), "INBOX", mail("c"))
	next("c")
	srv.Expired = true
	next("a b c") // from the time of the last one
	srv.Expired = false
	srv.Add(now, "INBOX", mail("d"))
	next("d")
}

func certificate(t *testing.T, der []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ca.pem")
	cmd := exec.Command("openssl", "x509", "-inform", "DER", "-out", path)
	cmd.Stdin = bytes.NewReader(der)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// TestHostileJMAP: the program as it is installed, confined, against a server that wants to fill
// its memory, or makes it connect for each message. What it may reach is one host.
func TestHostileJMAP(t *testing.T) {
	dir := t.TempDir()
	if err := cmdlinetest.Build(dir, "pulse-fetch"); err != nil {
		t.Fatal(err)
	}
	large := 25<<20 - 100
	flood := func(begin, s string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, err := io.WriteString(w, begin)
			for chunk := strings.Repeat(s, 1+8192/len(s)); err == nil; {
				_, err = io.WriteString(w, chunk)
			}
		}
	}
	email := func(size int) func(s *jmaptest.Server) {
		return func(s *jmaptest.Server) {
			pages := 0
			s.OnCall("Email/get", func(map[string]any) any {
				if pages++; pages > 1 {
					return map[string]any{"list": []any{}}
				}
				return map[string]any{"list": []any{map[string]any{"id": "e1", "blobId": "be1", "size": size, "receivedAt": s.Now},
					map[string]any{"id": "e0", "blobId": "be0", "size": len(jmaptest.Text("e0")), "receivedAt": s.Now.Add(-time.Hour)}}}
			})
			s.OnPath("/blob/acc/be1", func(w http.ResponseWriter, r *http.Request) {
				io.WriteString(w, "Subject: e1\r\n\r\n")
				io.CopyN(w, lines{}, int64(size-15))
			})
		}
	}
	for _, tt := range []struct {
		name    string
		do      func(s *jmaptest.Server)
		flags   string
		records int
		status  int
	}{
		{"honest", func(*jmaptest.Server) {}, "", 2, 0},
		{"a connection for each request", func(s *jmaptest.Server) { s.Config.SetKeepAlivesEnabled(false) }, "--limit 30", 30, 0},
		{"a message as large as can be", email(large), "--scope full", 2, 0},
		{"a message larger than that", email(40 << 20), "--scope full", 2, 0},
		{"ids without end", func(s *jmaptest.Server) {
			s.OnPath("/api", flood(`{"methodResponses":[["Mailbox/get",{"list":[`, `{"id":"a"},`))
		}, "", 0, 75},
		{"short ids without end", func(s *jmaptest.Server) { s.OnPath("/api", flood(`{"methodResponses":[["x",["`, `","`)) }, "", 0, 75},
		{"deep JSON", func(s *jmaptest.Server) { s.OnPath("/api", flood(``, `[`)) }, "", 0, 75},
		{"a session without end", func(s *jmaptest.Server) { s.OnPath("/jmap/session", flood(`{"x":"`, `x`)) }, "", 0, 75},
		{"another host", func(s *jmaptest.Server) {
			v := s.Session()
			v["apiUrl"] = "https://evil.example/"
			s.OnPath("/jmap/session", func(w http.ResponseWriter, r *http.Request) { jmaptest.Answer(w, v) })
		}, "", 0, 1},
		{"an answer that nobody asked for", func(s *jmaptest.Server) {
			for i := range 2 {
				s.OnPath(fmt.Sprintf("/blob/acc/be%d", i), func(w http.ResponseWriter, r *http.Request) {
					c, _, err := w.(http.Hijacker).Hijack()
					if err != nil {
						t.Error(err)
						return
					}
					defer c.Close()
					text := jmaptest.Text(fmt.Sprint("e", i))
					fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s\x1b[2J%s", len(text), text, r.Header.Get("Authorization"))
				})
			}
		}, "", 2, 0},
		{"another token", func(s *jmaptest.Server) {
			s.OnPath("/api", func(w http.ResponseWriter, r *http.Request) {
				http.Error(w, "\x1b[2J"+r.Header.Get("Authorization"), http.StatusUnauthorized)
			})
		}, "", 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := jmaptest.Start(t, max(2, tt.records))
			tt.do(s)
			u, err := url.Parse(s.URL)
			if err != nil {
				t.Fatal(err)
			}
			cmd := measured(dir, jmaptest.Token, append([]string{"--tls-ca", s.CA}, append(strings.Fields(tt.flags), "jmap:https://me%40example.com@"+u.Host+"/")...)...)
			out, errs := bounded(t, cmd, tt.status)
			if n := bytes.Count(out.Bytes(), []byte("\n")); n != tt.records {
				t.Errorf("%d records, want %d: %s", n, tt.records, errs.String())
			}
			if said := errs.String(); strings.ContainsAny(said, "\x1b") || strings.Contains(said, jmaptest.Token) || len(said) > 1000 {
				t.Errorf("said %q", said)
			}
		})
	}
}

// measured returns a command that runs the pulse-fetch in dir, whose password or token is secret,
// and tells how much memory it held.
func measured(dir, secret string, args ...string) *exec.Cmd {
	argv := append([]string{"measure", filepath.Join(dir, "pulse-fetch"), "--timeout", "10m", "--password-env", "PULSE_TEST_PASSWORD"}, args...)
	cmd := exec.Command(os.Args[0], argv...)
	cmd.Env = append(os.Environ(), "PULSE_TEST_PASSWORD="+secret)
	return cmd
}

// bounded runs such a command, which must end with a status and have held no more memory than any
// run may.
func bounded(t *testing.T, cmd *exec.Cmd, status int) (out, errs *bytes.Buffer) {
	t.Helper()
	var rss bytes.Buffer
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, errs
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.ExtraFiles = []*os.File{w}
	err = cmd.Run()
	w.Close()
	io.Copy(&rss, r)
	if got := cmd.ProcessState.ExitCode(); got != status {
		t.Errorf("%v, want %d: %s", err, status, errs.String())
	}
	var held int
	if _, err := fmt.Sscan(rss.String(), &held); err != nil || held < 1000 || held > mostMemory {
		t.Errorf("held %d KiB, %v", held, err)
	}
	return out, errs
}

// lines is text without end.
type lines struct{}

func (lines) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// TestConfinedBeforeTheFirstWord: when the server gets its first request, and so before anything
// of it was read, the program is confined, and can only connect again through its second process.
func TestConfinedBeforeTheFirstWord(t *testing.T) {
	dir := t.TempDir()
	if err := cmdlinetest.Build(dir, "pulse-fetch"); err != nil {
		t.Fatal(err)
	}
	s := jmaptest.Start(t, 1)
	pid, status := make(chan int, 1), make(chan string, 1)
	s.OnPath(jmaptest.WellKnown, func(w http.ResponseWriter, r *http.Request) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", <-pid))
		status <- fmt.Sprint(string(b), err)
		http.NotFound(w, r)
	})
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(dir, "pulse-fetch"), "--tls-ca", s.CA, "--password-env", "PULSE_TEST_PASSWORD", "jmap:https://me%40example.com@"+u.Host+"/")
	cmd.Env = append(os.Environ(), "PULSE_TEST_PASSWORD="+jmaptest.Token)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid <- cmd.Process.Pid
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("%v", err)
	}
	if got := <-status; strings.Contains(got, "\nSeccomp:\t2\n") != sandbox.Here().Seccomp {
		t.Errorf("%s", got)
	}
}

// TestHosts: messages that lie at another host are read from there if that was named, from inside
// the sandbox; if not, that host is not even asked.
func TestHosts(t *testing.T) {
	dir := t.TempDir()
	if err := cmdlinetest.Build(dir, "pulse-fetch"); err != nil {
		t.Fatal(err)
	}
	s, blobs := jmaptest.Start(t, 2), jmaptest.Start(t, 2)
	v := s.Session()
	v["downloadUrl"] = blobs.URL + "/blob/{accountId}/{blobId}"
	s.OnPath("/jmap/session", func(w http.ResponseWriter, r *http.Request) { jmaptest.Answer(w, v) })
	host := func(s *jmaptest.Server) string { return strings.TrimPrefix(s.URL, "https://") }
	for _, named := range []bool{false, true} {
		args := []string{"--tls-ca", s.CA, "--password-env", "PULSE_TEST_PASSWORD", "jmap:https://me%40example.com@" + host(s) + "/"}
		if named {
			args = append(args, "--hosts", "unused.example,"+host(blobs))
		}
		cmd := exec.Command(filepath.Join(dir, "pulse-fetch"), args...)
		cmd.Env = append(os.Environ(), "PULSE_TEST_PASSWORD="+jmaptest.Token)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		asked := blobs.Sent()
		if named && (err != nil || bytes.Count(out, []byte("\n")) != 2 || len(asked) != 2) {
			t.Errorf("%v, asked %q: %s", err, asked, errs.String())
		}
		if !named && (cmd.ProcessState.ExitCode() != 1 || len(asked) > 0 || !strings.Contains(errs.String(), "hint: --hosts "+host(blobs)+" lets it")) {
			t.Errorf("%v, asked %q: %s", err, asked, errs.String())
		}
	}
}
