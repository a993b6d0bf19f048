package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/cmdline/cmdlinetest"
)

// measure runs a command and writes the most memory it held, in KiB, to descriptor 3.
// It is a process of its own because Linux counts for a child what its parent held
// when it was started, and a test holds much.
func measure(argv []string) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
	fmt.Fprint(os.NewFile(3, "answer"), cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
	os.Exit(cmd.ProcessState.ExitCode())
}

// answers is what a server says to each command, or, before that, to a FETCH of these
// UIDs ("FETCH 1:2"); what is not there gets an honest answer. TAG stands for the
// command's tag.
type answers map[string]func(w io.Writer, tag string)

func text(s string) func(io.Writer, string) {
	return func(w io.Writer, tag string) { io.WriteString(w, strings.ReplaceAll(s, "TAG", tag)) }
}

// flood says begin, and then s for as long as somebody listens.
func flood(begin, s string) func(io.Writer, string) {
	return func(w io.Writer, _ string) {
		_, err := io.WriteString(w, begin)
		for chunk := strings.Repeat(s, 1+8192/len(s)); err == nil; {
			_, err = io.WriteString(w, chunk)
		}
	}
}

// One bare LF or CR of a server is a defect, in the header and in the body.
func TestBareLineEnds(t *testing.T) {
	for _, tt := range []struct{ header, body, defects string }{
		{"A: b\r\n\r\n", "body\r\n", "[]"},
		{"A: b\r\nB: c\n\r\n", "body\r\n", `["line_ends"]`},
		{"A: b\n\n", "body\r\n", `["line_ends"]`},
		{"A: b\rB: c\r\n\r\n", "body\r\n", `["control_in_header","line_ends"]`},
		{"A: b\r\n\r\n", "bo\ndy\r\n", `["line_ends"]`},
		{"A: b\r\n\r\n", "bo\rdy\r\n", `["line_ends"]`},
	} {
		say := fmt.Sprintf("* 1 FETCH (UID 1 INTERNALDATE \"21-Nov-2026 11:00:00 +0000\" RFC822.SIZE %d BODY[HEADER]<0> {%d}\r\n%s BODY[TEXT]<0> {%d}\r\n%s)\r\nTAG OK\r\n",
			len(tt.header+tt.body), len(tt.header), tt.header, len(tt.body), tt.body)
		addr := answers{"SEARCH": text("* SEARCH 1\r\nTAG OK\r\n"), "FETCH": text(say)}.serve(t)
		t.Setenv("PULSE_TEST_PASSWORD", "secret-of-the-test")
		var out, errs bytes.Buffer
		status := cmdline.Run(context.Background(), app(), []string{"pulse-fetch", "--insecure-loopback", "--password-env", "PULSE_TEST_PASSWORD", "imap://me@" + addr + "/INBOX"}, nil, &out, &errs)
		if status != 0 || !strings.Contains(out.String(), `"defects":`+tt.defects) {
			t.Errorf("%q %q: %d %s%s", tt.header, tt.body, status, out.String(), errs.String())
		}
	}
}

// fetched begins a FETCH response with a header; the rest is the caller's.
func fetched(uid, size int) string {
	return fmt.Sprintf("* %d FETCH (UID %d INTERNALDATE \""+received+"\" RFC822.SIZE %d BODY[HEADER]<0> {8}\r\nA: b\r\n\r\n BODY[TEXT]<0> ", uid, uid, size)
}

// received is an hour ago: a policy refuses what is old.
var received = time.Now().Add(-time.Hour).Format("02-Jan-2006 15:04:05 -0700")

const body = "{4}\r\nbody)\r\n"

var honest = answers{
	"CAPABILITY": text("* CAPABILITY IMAP4rev1\r\nTAG OK\r\n"),
	"LOGIN":      text("TAG OK [CAPABILITY IMAP4rev1] in\r\n"),
	"EXAMINE":    text("* 2 EXISTS\r\n* OK [UIDVALIDITY 7] x\r\nTAG OK [READ-ONLY] done\r\n"),
	"SEARCH":     text("* SEARCH 1 2\r\nTAG OK\r\n"),
	"FETCH":      text(fetched(1, 12) + body + fetched(2, 12) + body + "TAG OK\r\n"),
	"LOGOUT":     text("* BYE bye\r\nTAG OK\r\n"),
}

// hangUp ends the connection.
func hangUp(w io.Writer, _ string) { w.(net.Conn).Close() }

// serve answers one connection after the other and returns where.
func (a answers) serve(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			a.answer(conn)
			conn.Close()
		}
	}()
	t.Cleanup(func() { ln.Close(); <-done })
	return ln.Addr().String()
}

func (a answers) answer(conn net.Conn) {
	io.WriteString(conn, "* OK [CAPABILITY IMAP4rev1] hello\r\n")
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		words := strings.Fields(strings.Replace(lines.Text(), " UID ", " ", 1))
		if len(words) < 2 {
			continue
		}
		say := a[strings.Join(words[1:min(3, len(words))], " ")]
		for _, from := range []answers{a, honest} {
			if say == nil {
				say = from[words[1]]
			}
		}
		if say != nil {
			say(conn, words[0])
		}
	}
}

const mostMemory = 64 << 10 // KiB

// Whatever a server sends, the program, as it is installed, ends with 75 or 1, holds
// less than 64 MB, has written whole records or none, and what it says of the server
// can do nothing to a terminal.
func TestHostileIMAP(t *testing.T) {
	dir := t.TempDir()
	if err := cmdlinetest.Build(dir, "pulse-fetch"); err != nil {
		t.Fatal(err)
	}
	first := fetched(1, 12) + body
	large := 25<<20 - 100
	for _, tt := range []struct {
		name    string
		answers answers
		flags   string
		records int
		status  int
	}{
		{"honest", nil, "", 2, 0},
		{"a message as large as can be", answers{"FETCH": text(fetched(1, large+8) + fmt.Sprintf("{%d}\r\n%s)\r\n", large, strings.Repeat("x\n", large/2)) + fetched(2, 12) + body + "TAG OK\r\n")}, "--dkim", 2, 0},
		{"a message larger than that", answers{"FETCH": text(fetched(1, 99<<20) + fmt.Sprintf("{%d}\r\n%s)\r\n", 25<<20+1, strings.Repeat("x", 25<<20+1)) + fetched(2, 12) + body + "TAG OK\r\n")}, "--dkim", 2, 0},
		{"deep nesting", answers{"FETCH": flood(first+"* 2 FETCH (UID 2 BODYSTRUCTURE ", "(")}, "", 1, 75},
		{"a quoted string without end", answers{"FETCH": flood(first+"* 2 FETCH (UID 2 ENVELOPE (\"", "x")}, "", 1, 75},
		{"a line without end", answers{"SEARCH": flood("* OK ", "x")}, "", 0, 75},
		{"a literal of a gigabyte", answers{"FETCH": flood(first+fetched(2, 12)+"{1000000000}\r\n", "x")}, "", 1, 75},
		{"a literal of a gigabyte, --dkim", answers{"FETCH": flood(first+fetched(2, 12)+"{1000000000}\r\n", "x")}, "--dkim", 1, 75},
		{"literals without end", answers{"EXAMINE": flood("* LIST (", "{9999}\r\n"+strings.Repeat("x", 9999)+" ")}, "", 0, 75},
		{"alerts without end", answers{"LOGIN": flood("", "* OK [ALERT] \x1b[2J\x1b]0;owned\x07\u202e\r\n")}, "", 0, 75},
		{"continuations without end", answers{"FETCH": flood(first, "+ more\r\n")}, "", 1, 75},
		{"flags without end", answers{"FETCH": flood(first, "* 2 FETCH (UID 2 FLAGS ("+strings.Repeat("a ", 30_000)+"))\r\n")}, "", 1, 75},
		{"capabilities without end", answers{"LOGIN": flood("", "* CAPABILITY"+strings.Repeat(" A=B", 15_000)+"\r\n")}, "", 0, 75},
		{"a search without end", answers{"SEARCH": flood("* SEARCH", " 4294967295 1")}, "", 0, 75},
		{"searches without end", answers{"SEARCH": flood("", "* SEARCH"+strings.Repeat(" 4294967294 1", 500)+"\r\n")}, "", 0, 75},
		{"all UIDs that are allowed", answers{"SEARCH": func(w io.Writer, tag string) {
			fmt.Fprintf(w, "* ESEARCH (TAG %q) UID ALL 1:3999999\r\n%s OK\r\n", tag, tag)
		}, "FETCH": text("TAG OK\r\n")}, "", 0, 75},
		{"a million UIDs", answers{"SEARCH": func(w io.Writer, tag string) {
			b := bufio.NewWriter(w)
			b.WriteString("* SEARCH")
			for i := range 1_000_000 {
				fmt.Fprintf(b, " %d", 2*i+1)
			}
			fmt.Fprintf(b, "\r\n%s OK\r\n", tag)
			b.Flush()
		}, "FETCH": text("TAG OK\r\n")}, "", 0, 75},
		{"a terminal's escapes in NO", answers{"EXAMINE": text("TAG NO \x1b[2J\x1b]0;owned\x07 \u202eno\u200b secret-of-the-test\r\n")}, "", 0, 1},
		{"a password repeated", answers{"LOGIN": text("TAG BAD what is LOGIN me SECRET-of-the-test\r\n")}, "", 0, 1},
		{"a message that kills it", answers{"FETCH 1:2": hangUp, "FETCH 2": hangUp, "FETCH 1": text(first + "TAG OK\r\n")}, "", 2, 0},
		{"a message that kills it, --dkim", answers{"FETCH 1:2": hangUp, "FETCH 2": hangUp, "FETCH 1": text(first + "TAG OK\r\n")}, "--dkim", 2, 0},
		{"all messages kill it", answers{"FETCH": hangUp}, "", 0, 75},
		{"a message that it refuses in a terminal's escapes", answers{"FETCH 1:2": hangUp, "FETCH 2": text("TAG NO \x1b[2J\u202eSECRET-of-the-test\r\n"), "FETCH 1": text(first + "TAG OK\r\n")}, "", 2, 0},
		{"a cut message", answers{"FETCH": func(w io.Writer, _ string) {
			io.WriteString(w, first+fetched(2, 12)+"{4000}\r\nbody")
			w.(net.Conn).Close()
		}}, "", 1, 75},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := measured(dir, "secret-of-the-test", append([]string{"--insecure-loopback"}, append(strings.Fields(tt.flags), "imap://me@"+tt.answers.serve(t)+"/INBOX")...)...)
			out, errs := bounded(t, cmd, tt.status)
			records := bytes.SplitAfter(out.Bytes(), []byte("\n"))
			if len(records) != tt.records+1 || len(records[tt.records]) > 0 {
				t.Fatalf("%d records and %d bytes, want %d", len(records)-1, len(records[len(records)-1]), tt.records)
			}
			for _, rec := range records[:tt.records] {
				if !json.Valid(rec) {
					t.Errorf("a record in pieces: %.200s", rec)
				}
			}
			if said := errs.String(); strings.ContainsAny(said, "\x1b\x07\u202e\u200b") || strings.Contains(strings.ToLower(said), "secret-of") || len(said) > 1000 {
				t.Errorf("said %q", said)
			}
		})
	}
}
