package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pulse/lib/shared/record"
)

// TestMain runs the tests, or a server that a test starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "serve" {
		serve(os.Args[2], os.Args[3], os.Args[4:])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// serve is a server that writes down what it gets in a directory, and offers whatever it is
// asked for. says is what it says besides, once it is initialized.
func serve(mode, dir string, says []string) {
	log, err := os.OpenFile(filepath.Join(dir, "got"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		if _, err := log.Write(line); err != nil {
			panic(err)
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ ProtocolVersion string }
		}
		if err := json.Unmarshal(line, &m); err != nil {
			panic(err)
		}
		say := func(result string) { fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result) }
		switch m.Method {
		case "initialize":
			say(`{"protocolVersion":"` + m.Params.ProtocolVersion + `","serverInfo":{"name":"s"},"instructions":"Use read.","capabilities":{"tools":{"listChanged":true},"resources":{},"prompts":{},"tasks":{}}}`)
			for _, line := range says {
				fmt.Println(line)
			}
		case "tools/list":
			tools, _ := os.ReadFile(filepath.Join(dir, "tools"))
			say(`{"tools":` + string(bytes.TrimSpace(tools)) + `,"nextCursor":"n"}`)
		case "tools/call":
			if mode == "mute" {
				continue
			}
			if mode == "floods" {
				flood()
			}
			say(toolSaid)
		case "ping":
			say(`{}`)
		}
	}
}

// toolSaid is what each tool returns.
const toolSaid = `{"content":[{"type":"text","text":"called"}],"_meta":{"a":1},"structuredContent":{"n":12345678901234567890}}`

// flood writes much before it reads on, and asks much of whoever does not read.
func flood() {
	w := bufio.NewWriter(os.Stdout)
	for i := range 20000 {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":"%d","method":"ping"}`+"\n", i)
	}
	for range 4 {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"%s"}}`+"\n", strings.Repeat("x", 1<<20))
	}
	w.Flush()
}

// verdicts is a judge. What it is asked about, it writes down; a tool that it does not know
// is not allowed. It shows every tool but those named secret.
type verdicts struct {
	mu    sync.Mutex
	asked []string
	allow map[string]bool
	hangs map[string]chan struct{} // closes once the judge was asked
	fails error
}

func (v *verdicts) Call(ctx context.Context, tool string, args record.Value) (bool, string) {
	v.mu.Lock()
	v.asked = append(v.asked, tool+" "+string(args))
	hangs, allowed := v.hangs[tool], v.allow[tool]
	v.mu.Unlock()
	if hangs != nil {
		close(hangs)
		<-ctx.Done()
		return true, "too late"
	}
	return allowed, "not " + tool
}

func (v *verdicts) Show(_ context.Context, definitions record.Value) (names []string, err error) {
	var list []struct{ Name string }
	err = json.Unmarshal([]byte(definitions), &list)
	for _, d := range list {
		if !strings.Contains(d.Name, "secret") {
			names = append(names, d.Name)
		}
	}
	return names, errors.Join(err, v.fails)
}

// session is a client at a proxy.
type session struct {
	*verdicts
	t      *testing.T
	p      *Proxy
	dir    string
	in     *os.File
	out    chan string // lines for the client
	notes  *os.File
	ended  chan struct{}
	status int
	cancel context.CancelCauseFunc
	next   int
	early  map[float64]string // answers that came before they were asked for
}

func newSession(t *testing.T) *session {
	t.Helper()
	s := &session{t: t, dir: t.TempDir(), early: map[float64]string{}, verdicts: &verdicts{allow: map[string]bool{"read": true}, hangs: map[string]chan struct{}{}}}
	notes, err := os.Create(filepath.Join(s.dir, "notes"))
	if err != nil {
		t.Fatal(err)
	}
	s.notes = notes
	s.p = &Proxy{Judge: s.verdicts, Stderr: notes, Grace: time.Minute, Wait: time.Minute}
	s.write("tools", `[]`)
	return s
}

func (s *session) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// start starts a server behind the proxy.
func (s *session) start(command ...string) {
	s.t.Helper()
	stdin, in, err := os.Pipe()
	if err != nil {
		s.t.Fatal(err)
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(s.t.Context())
	s.in, s.out, s.ended, s.cancel = in, make(chan string, 200000), make(chan struct{}), cancel
	go func() {
		defer close(s.ended)
		var err error
		if s.status, err = s.p.Run(ctx, command, stdin, stdout); err != nil {
			s.t.Error(err)
		}
		stdin.Close()
		stdout.Close()
	}()
	go func() {
		defer close(s.out)
		for r := bufio.NewReader(out); ; {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			s.out <- line
		}
	}()
	s.t.Cleanup(func() {
		in.Close()
		<-s.ended
		for range s.out {
		}
		out.Close()
		s.notes.Close()
	})
}

// begin starts the test's server, and initializes it.
func (s *session) begin(mode string, says ...string) string {
	s.t.Helper()
	s.start(append([]string{os.Args[0], "serve", mode, s.dir}, says...)...)
	return s.initialize()
}

const hello = `{"protocolVersion":"2025-11-25","capabilities":{"sampling":{},"roots":{},"elicitation":{},"tasks":{}},"clientInfo":{"name":"t","version":"1"}}`

func (s *session) initialize() string {
	s.t.Helper()
	said := s.ask("initialize", hello)
	s.line(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return said
}

func (s *session) line(text string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, text+"\n"); err != nil {
		s.t.Errorf("%v: %s", err, s.file("notes"))
	}
}

// hear returns the next line for the client; the empty string if there is none any more.
func (s *session) hear() string {
	s.t.Helper()
	select {
	case line := <-s.out:
		return line
	case <-time.After(10 * time.Minute):
		s.t.Fatalf("nothing for ten minutes: %s", s.file("notes"))
		return ""
	}
}

// request makes a request, and returns its id.
func (s *session) request(method, params string) int {
	s.t.Helper()
	s.next++
	s.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, s.next, method, params))
	return s.next
}

// ask makes a request, and returns its result, or its error.
func (s *session) ask(method, params string) string {
	s.t.Helper()
	return s.answer(s.request(method, params))
}

// answer returns the answer to a request. Answers to others that come before it are kept for their turn.
func (s *session) answer(id int) string {
	s.t.Helper()
	for {
		if got, ok := s.early[float64(id)]; ok {
			delete(s.early, float64(id))
			return got
		}
		line := s.hear()
		var a struct {
			ID            any
			Result, Error json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			s.t.Fatalf("%q: %s", line, s.file("notes"))
		}
		if of, ok := a.ID.(float64); ok {
			s.early[of] = string(a.Result) + string(a.Error)
		}
	}
}

func (s *session) call(tool, args string) string {
	s.t.Helper()
	return s.ask("tools/call", `{"name":"`+tool+`","arguments":`+args+`}`)
}

// file returns the lines of a file, none if there is no such file.
func (s *session) file(name string) []string {
	s.t.Helper()
	b, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.t.Fatal(err)
	}
	return slices.Collect(strings.Lines(string(b)))
}

// ends waits until the session has ended.
func (s *session) ends(status int) {
	s.t.Helper()
	if <-s.ended; s.status != status {
		s.t.Errorf("status %d, want %d: %s", s.status, status, s.file("notes"))
	}
}

// calls returns the calls that the server got.
func (s *session) calls() (got []string) {
	s.t.Helper()
	for _, line := range s.file("got") {
		var c struct {
			Method string
			Params struct {
				Name      string
				Arguments json.RawMessage
			}
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			s.t.Errorf("the server got %q", line)
		}
		if c.Method == "tools/call" {
			got = append(got, c.Params.Name+" "+string(c.Params.Arguments))
		}
	}
	return got
}

func (s *session) reached(calls ...string) {
	s.t.Helper()
	if got := s.calls(); !slices.Equal(got, calls) {
		s.t.Errorf("the server got the calls %q, want %q", got, calls)
	}
}

func (s *session) has(got, want string) {
	s.t.Helper()
	if !strings.Contains(got, want) {
		s.t.Errorf("%.300s: want %s", got, want)
	}
}
