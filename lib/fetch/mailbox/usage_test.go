package mailbox

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pulse/lib/fetch/source"
	"pulse/lib/shared/fault"
)

func TestParseAddress(t *testing.T) {
	for in, want := range map[string]string{
		"imaps://me@imap.example.com/INBOX":               "imaps://me@imap.example.com/INBOX",
		"imaps://me@imap.example.com":                     "imaps://me@imap.example.com/INBOX",
		"imaps://me@imap.example.com/inbox":               "imaps://me@imap.example.com/INBOX",
		"imaps://me@IMAP.Example.com:993/INBOX":           "imaps://me@imap.example.com/INBOX",
		"imaps://me@imap.example.com:1993/INBOX":          "imaps://me@imap.example.com:1993/INBOX",
		"imaps://me@example.com@imap.example.com/INBOX":   "imaps://me%40example.com@imap.example.com/INBOX",
		"imaps://me%40example.com@imap.example.com/INBOX": "imaps://me%40example.com@imap.example.com/INBOX",
		"imaps://me@imap.example.com/Archive/2026 old":    "imaps://me@imap.example.com/Archive/2026%20old",
		"imaps://me@imap.example.com/Gel%C3%B6scht":       "imaps://me@imap.example.com/Gel%C3%B6scht",
		"imaps://me@[::1]:993/x":                          "imaps://me@[::1]/x",
		"imap://me@127.0.0.1:143/INBOX":                   "imap://me@127.0.0.1/INBOX",
		"IMAPS://me@h/INBOX":                              "imaps://me@h/INBOX",
	} {
		a, err := ParseAddress(in)
		if err != nil || a.String() != want {
			t.Errorf("%s: %s, %v; want %s", in, a, err, want)
		}
		if b, err := ParseAddress(a.String()); err != nil || b != a {
			t.Errorf("%s: parses as %+v, %v", a, b, err)
		}
	}
	for _, in := range []string{
		"imaps://me:hunter2@h/INBOX", "imaps://me:@h/INBOX", "imaps://h/INBOX", "imaps://@h/INBOX", "imaps://me@/INBOX",
		"imaps:me@h", "imaps://me@h/INBOX?x=hunter2", "imaps://me@h/INBOX#x", "imaps://me@h:hunter2/INBOX",
		"imaps://me@h/a%0d%0ab", "imaps://m%00e@h/a", "http://me@h/", "imaps://me@h/%zz",
	} {
		_, err := ParseAddress(in)
		if err == nil || fault.KindOf(err) != fault.Usage || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func TestLoopback(t *testing.T) {
	for host, ok := range map[string]bool{
		"127.0.0.1": true, "127.9.9.9": true, "::1": true, "localhost": true,
		"localhost.example.com": false, "192.0.2.1": false, "0.0.0.0": false, "127.1": false, "": false,
	} {
		if err := (Address{Host: host}).Loopback(); (err == nil) != ok {
			t.Errorf("%s: %v", host, err)
		}
	}
}

func TestParseSearch(t *testing.T) {
	for _, in := range []string{
		"", "ALL", "unseen", "FROM alice", `FROM "alice b" TO c CC d BCC e SUBJECT "" BODY x TEXT y`,
		"HEADER X-A b", "SINCE 1-Feb-2026 BEFORE 2026-03-01 ON 2-Mar-2026 SENTSINCE 2026-01-01 SENTBEFORE 2026-01-01 SENTON 2026-01-01",
		"LARGER 1 SMALLER 2", "KEYWORD $Junk UNKEYWORD a-b", "NOT SEEN", "OR FROM a (TO b CC c)", "((()))",
		"NOT (OR SEEN UNFLAGGED)", `SUBJECT "("`, `SUBJECT "a\"b"`, "FROM ü",
	} {
		if _, err := ParseSearch(in); err != nil {
			t.Errorf("%s: %v", in, err)
		}
	}
	for _, in := range []string{
		"FORM alice", "FROM", "FROM (", "OR SEEN", "NOT", "(SEEN", "SEEN)", ")", `"SEEN"`, `FROM "a`, "SINCE yesterday",
		"SINCE 2026-02-30", "LARGER x", "LARGER -1", "LARGER 0", "KEYWORD \\Seen", "UID 1:*", "1:5", "RECENT", "MODSEQ 1",
		"FROM a\r\nT9 DELETE INBOX", "FROM \"a\x00\"", "HEADER x", "UNALL", "UN", strings.Repeat("NOT ", 20) + "SEEN", "\u017fEEN",
	} {
		if _, err := ParseSearch(in); err == nil {
			t.Errorf("%q passes", in)
		}
	}
	s, err := ParseSearch("SMALLER 100 FROM a LARGER 5")
	if err != nil || s.criteria.Smaller != 100 || s.criteria.Larger != 5 {
		t.Errorf("%+v, %v", s.criteria, err)
	}
	if s, _ := ParseSearch("  "); !s.empty() {
		t.Error("blanks are a search")
	}
}

func TestSplitWords(t *testing.T) {
	for in, want := range map[string][]string{
		"pass show mail":    {"pass", "show", "mail"},
		"  a\tb  ":          {"a", "b"},
		"a 'b c' \"d e\"":   {"a", "b c", "d e"},
		`a\ b "c\"d" 'e\f'`: {"a b", `c"d`, `e\f`},
		"a '' \"\"":         {"a", "", ""},
		"a'b'\"c\"":         {"abc"},
		"echo $HOME; `x` *": {"echo", "$HOME;", "`x`", "*"},
	} {
		if got, err := splitWords(in); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "  ", "'a", "\"a", "'' a"} {
		if got, err := splitWords(in); err == nil {
			t.Errorf("%q: %q", in, got)
		}
	}
}

func TestSecret(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		os.Chmod(path, mode)
		return path
	}
	t.Setenv("PULSE_TEST_SECRET", "hunter2")
	t.Setenv("PULSE_TEST_EMPTY", "")
	for _, tt := range []struct {
		name   string
		secret Secret
		ok     bool
	}{
		{"file", Secret{File: file("a", "hunter2\n", 0o600)}, true},
		{"first line", Secret{File: file("b", "hunter2\nlogin: me\n", 0o400)}, true},
		{"CRLF, no line end", Secret{File: file("c", "hunter2\r\n", 0o600)}, true},
		{"environment", Secret{Env: "PULSE_TEST_SECRET"}, true},
		{"command", Secret{Command: "printf 'hunter2\\nmore\\n'"}, true},
		{"none", Secret{}, false},
		{"two", Secret{Env: "PULSE_TEST_SECRET", File: filepath.Join(dir, "a")}, false},
		{"group may read", Secret{File: file("d", "hunter2", 0o640)}, false},
		{"others may read", Secret{File: file("e", "hunter2", 0o604)}, false},
		{"absent", Secret{File: filepath.Join(dir, "absent")}, false},
		{"directory", Secret{File: dir}, false},
		{"empty file", Secret{File: file("f", "\nhunter2\n", 0o600)}, false},
		{"NUL", Secret{File: file("g", "hunter2\x00", 0o600)}, false},
		{"CR", Secret{File: file("h", "hunt\rer2", 0o600)}, false},
		{"large", Secret{File: file("i", strings.Repeat("hunter2", 1+maxPassword/7), 0o600)}, false},
		{"unset", Secret{Env: "PULSE_TEST_UNSET"}, false},
		{"empty variable", Secret{Env: "PULSE_TEST_EMPTY"}, false},
		{"command fails", Secret{Command: "sh -c 'echo hunter2; exit 1'"}, false},
		{"no such command", Secret{Command: "/does/not/exist hunter2"}, false},
		{"the password for a variable", Secret{Env: "hunter2"}, false},
		{"the password for a file", Secret{File: "hunter2"}, false},
		{"the password for a path", Secret{File: "/hunter2"}, false},
		{"the password for a command", Secret{Command: "hunter2"}, false},
		{"the password for a program", Secret{Command: "/hunter2"}, false},
		{"a child keeps the pipe open", Secret{Command: "sh -c 'sleep 1000 & echo hunter2'"}, true},
		{"a daemon keeps the pipe open", Secret{Command: "sh -c 'setsid sleep 5 & echo hunter2'"}, true},
		{"a daemon keeps all open", Secret{Command: "sh -c 'setsid sleep 5 2>&1 & echo hunter2'"}, true},
		{"no shell", Secret{Command: "echo hunter2 > /dev/null; false"}, false},
		{"endless command", Secret{Command: "yes hunter2"}, false},
		{"silent command", Secret{Command: "true"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var stderr bytes.Buffer
			got, err := tt.secret.Read(context.Background(), &stderr)
			if tt.ok {
				if err != nil || got != "hunter2" {
					t.Errorf("%q, %v", got, err)
				}
				return
			}
			if tt.name == "no shell" { // the words are arguments of echo
				if err != nil || got != "hunter2 > /dev/null; false" {
					t.Errorf("%q, %v", got, err)
				}
				return
			}
			if err == nil || fault.KindOf(err) != fault.Usage {
				t.Fatalf("%.20q, %v", got, err)
			}
			if strings.Contains(err.Error()+fault.HintOf(err), "hunter2") {
				t.Errorf("the error shows the password: %v", err)
			}
		})
	}
}

// TestSecretTimeout: a password command that takes too long is cut short, even if a process
// that it has started goes on. That is temporary: the command need not be wrong.
func TestSecretTimeout(t *testing.T) {
	for _, command := range []string{"sleep 1000", "sh -c 'echo hunter2; sleep 1000; :'", "sh -c 'trap : TERM INT; read x </dev/zero'"} {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		begin := time.Now()
		got, err := (Secret{Command: command}).Read(ctx, io.Discard)
		cancel()
		if got != "" || err == nil || fault.KindOf(err) != fault.Temporary || !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %q, %v", command, got, err)
		}
		if time.Since(begin) > patience {
			t.Errorf("%s: took %v", command, time.Since(begin))
		}
	}
}

// TestSecretFamily: what a password command starts ends with it, however it ends. A process
// in a session of its own, such as an agent, lives on.
func TestSecretFamily(t *testing.T) {
	dir := t.TempDir()
	pids := filepath.Join(dir, "pids")
	for _, tt := range []struct {
		command string
		timeout time.Duration
		lives   bool
	}{
		{"sleep 1000 & echo $! >>PIDS; echo hunter2", patience, false},
		{"sleep 1000 >/dev/null 2>&1 & echo $! >>PIDS; echo hunter2", patience, false},
		{"(trap : TERM INT HUP; while :; do sleep 1000; done) & echo $! >>PIDS; (sleep 1000 & echo $! >>PIDS); echo hunter2", patience, false},
		{"echo $$ >>PIDS; sleep 1000 & echo $! >>PIDS; wait", 500 * time.Millisecond, false},
		{"setsid -f sh -c 'echo $$ >>PIDS; exec sleep 1000' >/dev/null 2>&1; while [ ! -s PIDS ]; do :; done; echo hunter2", patience, true},
		{"exit 1", patience, false},
	} {
		script := filepath.Join(dir, "script")
		if err := os.WriteFile(script, []byte(strings.ReplaceAll(tt.command, "PIDS", pids)), 0o600); err != nil {
			t.Fatal(err)
		}
		var b []byte
		for limit := tt.timeout; len(b) == 0 && limit <= patience; limit *= 2 { // as long as a busy machine takes to start it
			ctx, cancel := context.WithTimeout(context.Background(), limit)
			got, err := (Secret{Command: "sh " + script}).Read(ctx, io.Discard)
			if (got == "hunter2") != (err == nil) || (ctx.Err() != nil) != (tt.timeout < patience) {
				t.Errorf("%s: %q, %v, %v", tt.command, got, err, ctx.Err())
			}
			cancel()
			b, _ = os.ReadFile(pids)
		}
		os.Remove(pids)
		if (len(b) == 0) != (tt.command == "exit 1") {
			t.Errorf("%s: started nothing", tt.command)
		}
		for word := range strings.FieldsSeq(string(b)) {
			pid, err := strconv.Atoi(word)
			if err != nil {
				t.Fatal(err)
			}
			if alive := syscall.Kill(pid, 0) == nil; alive != tt.lives {
				t.Errorf("%s: process %d lives: %v", tt.command, pid, alive)
			}
			if tt.lives {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
}

// TestSecretAfterAStop: what a command printed is read, also if this process could not begin to read before the
// time for that was over, and though somebody holds the pipe open.
func TestSecretAfterAStop(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if err := r.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"hunter2\n", "", strings.Repeat("x", maxPassword+1)} {
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
		if got := printed(r); got != text {
			t.Errorf("%d bytes of %d", len(got), len(text))
		}
	}
}

// TestSecretFile: a file is used only if no other user may read it, or put another one in
// its place anywhere on the way to it. Reading it can't hang.
func TestSecretFile(t *testing.T) {
	base := t.TempDir()
	if err := os.Chmod(base, 0o700); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(base, name) }
	for name, prepare := range map[string]func() error{
		"group may read the file":     func() error { return os.Chmod(at("d/file"), 0o640) },
		"all may write the file":      func() error { return os.Chmod(at("d/file"), 0o602) },
		"group may write its dir":     func() error { return os.Chmod(at("d"), 0o770) },
		"all may write the dir above": func() error { return os.Chmod(base, 0o707) },
		"a FIFO":                      func() error { return errors.Join(os.Remove(at("d/file")), syscall.Mkfifo(at("d/file"), 0o600)) },
		"a device":                    func() error { return errors.Join(os.Remove(at("d/file")), os.Symlink("/dev/zero", at("d/file"))) },
		"a link to one others read":   func() error { return errors.Join(os.Chmod(at("d/file"), 0o644), relink(at("d/file"), at("d/real"))) },
		"a link in an open dir":       func() error { return errors.Join(os.Chmod(at("d"), 0o777), relink(at("d/file"), at("real"))) },
		"a link into an open dir": func() error {
			return errors.Join(os.Mkdir(at("o"), 0o700), os.Chmod(at("o"), 0o777), relink(at("d/file"), at("o/real")))
		},
		"a link to a link to nothing":  func() error { return errors.Join(os.Remove(at("d/file")), os.Symlink("file", at("d/file"))) },
		"":                             func() error { return nil },
		"a link that only we can move": func() error { return relink(at("d/file"), at("real")) },
	} {
		t.Run(name, func(t *testing.T) {
			for _, clean := range []string{"d", "o", "real"} {
				os.RemoveAll(at(clean))
			}
			err := errors.Join(os.Chmod(base, 0o700), os.Mkdir(at("d"), 0o700), os.WriteFile(at("d/file"), []byte("hunter2\n"), 0o600), prepare())
			if err != nil {
				t.Fatal(err)
			}
			got, err := (Secret{File: at("d/file")}).Read(context.Background(), io.Discard)
			if name == "" || name == "a link that only we can move" {
				if err != nil || got != "hunter2" {
					t.Errorf("%q, %v", got, err)
				}
				return
			}
			if got != "" || err == nil || fault.KindOf(err) != fault.Usage || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// relink moves a file and puts a link in its place.
func relink(from, to string) error {
	return errors.Join(os.Rename(from, to), os.Symlink(to, from))
}

// TestSecretStderr: what a password command writes to its standard error reaches the user.
func TestSecretStderr(t *testing.T) {
	var stderr bytes.Buffer
	if _, err := (Secret{Command: "sh -c 'echo locked >&2; exit 3'"}).Read(context.Background(), &stderr); err == nil || stderr.String() != "locked\n" {
		t.Errorf("%q, %v", stderr.String(), err)
	}
}

// TestSecretStderrHostile: what it writes may be a server's text, and goes into a log.
func TestSecretStderrHostile(t *testing.T) {
	const script = `sh -c 'printf "a\\033[2J\\342\\200\\256b\\n\\nc" >&2; exit 3'`
	for live, want := range map[bool]string{false: "a\\x1b[2J\\u202eb\n\nc\n", true: "a\x1b[2J\u202eb\n\nc"} {
		var stderr bytes.Buffer
		_, err := (Secret{Command: script, Live: live}).Read(t.Context(), &stderr)
		if err == nil || stderr.String() != want {
			t.Errorf("at a terminal %v: %q, %v", live, stderr.String(), err)
		}
	}
}

// TestSecretRefused: a command says that the provider refuses, or that it failed for now, in its
// own words, which are in the error alone. Any other end is a mistake of the command line.
func TestSecretRefused(t *testing.T) {
	for _, tt := range []struct {
		script  string
		kind    fault.Kind
		refused bool
		want    string // the error and its hint
		passed  string // what reaches the user besides
	}{
		{"exit 77", fault.Failed, true, "--password-command sh: it was refused|", ""},
		{"echo gone >&2; exit 77", fault.Failed, true, "--password-command sh: gone|", ""},
		{"echo x: error: gone >&2; echo x: hint: come back >&2; echo bye >&2; exit 77", fault.Failed, true, "--password-command sh: gone|come back", ""},
		{"echo one >&2; echo two >&2; exit 75", fault.Temporary, false, "--password-command sh: two|", ""},
		{"echo hunter2; exit 75", fault.Temporary, false, "--password-command sh: it failed for now|", ""},
		{"echo one >&2; exit 78", fault.Usage, false, "--password-command sh: exit status 78|run it by hand", "one\n"},
		{"head -c 200000 /dev/zero >&2; exit 77", fault.Failed, true, "", ""},
		{"echo noted >&2; echo hunter2", 0, false, "", "noted\n"},
	} {
		for _, live := range []bool{false, true} {
			var stderr bytes.Buffer
			_, err := (Secret{Command: "sh -c '" + tt.script + "'", Live: live}).Read(t.Context(), &stderr)
			var refused source.Refused
			switch {
			case tt.kind == 0 && err != nil, tt.kind != 0 && (err == nil || fault.KindOf(err) != tt.kind || errors.As(err, &refused) != tt.refused):
				t.Errorf("%s: %v", tt.script, err)
			case tt.want != "" && err.Error()+"|"+fault.HintOf(err) != tt.want:
				t.Errorf("%s: %v (%s)", tt.script, err, fault.HintOf(err))
			}
			if !live && stderr.String() != tt.passed || live && !strings.Contains(stderr.String(), tt.passed) {
				t.Errorf("%s, at a terminal %v: said %.80q", tt.script, live, stderr.String())
			}
		}
	}
}
