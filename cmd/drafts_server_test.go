package cmd_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pulse/lib/fetch/mailbox/dovecottest"
)

// web is a certificate of 127.0.0.1, and whom to trust for it.
type web struct {
	certs []tls.Certificate
	ca    []byte
}

func newWeb(t *testing.T) web {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	s.Close()
	return web{s.TLS.Certificates, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})}
}

// before puts a server of its own before the mailbox, or in its place, and makes the
// sender talk to it.
func (d *drafter) before(t *testing.T, serve func(net.Conn)) {
	t.Helper()
	w := newWeb(t)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: w.certs})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	d.url, d.ca = "imaps://me@"+listener.Addr().String()+"/", filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(d.ca, w.ca, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(conn)
		}
	}()
}

// dial connects to the mailbox itself.
func (d *drafter) dial() (*tls.Conn, error) {
	roots := x509.NewCertPool()
	ca, err := os.ReadFile(d.CA)
	if err != nil {
		return nil, err
	}
	roots.AppendCertsFromPEM(ca)
	return tls.Dial("tcp", d.Addr, &tls.Config{RootCAs: roots})
}

// relay passes on what the sender says to the mailbox, byte for byte, and what that
// answers. At the cut, said has been passed on, and the sender is killed; cut is nil once
// that happened.
type relay struct {
	d    *drafter
	mu   sync.Mutex
	cut  func(said []byte) (pass int, kill bool)
	dies func()        // kills the sender
	held chan struct{} // what is not passed on at the cut is passed on when this is closed; nil: never
	said func(string)  // sees what the mailbox says to the sender; nil: nobody does
	wg   sync.WaitGroup
}

func (r *relay) serve(client net.Conn) {
	r.wg.Add(1)
	defer r.wg.Done()
	defer client.Close()
	server, err := r.d.dial()
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		b := make([]byte, 64<<10)
		for {
			n, err := server.Read(b)
			if n > 0 && r.said != nil {
				r.said(string(b[:n]))
			}
			if _, werr := client.Write(b[:n]); err != nil || werr != nil {
				client.Close()
				return
			}
		}
	}()
	var all []byte
	passed := 0
	b := make([]byte, 64<<10)
	for {
		n, err := client.Read(b)
		if err != nil {
			return
		}
		all = append(all, b[:n]...)
		r.mu.Lock()
		pass, kill := len(all), false
		if r.cut != nil {
			if pass, kill = r.cut(all); kill {
				r.cut = nil
			}
		}
		r.mu.Unlock()
		if _, err := server.Write(all[passed:pass]); err != nil {
			return
		}
		if passed = pass; kill {
			r.dies()
			if r.held != nil {
				<-r.held
				server.Write(append(all[passed:], "q LOGOUT\r\n"...))
				io.Copy(io.Discard, server) // until it has done what it was told
			}
			return
		}
	}
}

// at cuts after so many bytes.
func at(n int) func([]byte) (int, bool) {
	return func(said []byte) (int, bool) { return min(n, len(said)), len(said) >= n }
}

// TestDraftOnceAfterAnyDeath: attempts are killed at points all over what they say to the
// server, and repeated; in the end each draft is there once.
func TestDraftOnceAfterAnyDeath(t *testing.T) {
	d := newDrafter(t, folders...)
	const points = 20
	request := `"target":"bob@partner.example","args":{"text":"` + strings.Repeat("one line of it\\n", 20) + `"}`
	total := 0
	whole := &relay{d: d, cut: func(said []byte) (int, bool) { total = len(said); return total, false }}
	d.before(t, whole.serve)
	d.takes(t, effect(fmt.Sprintf("%032x", points+1), request))
	if total < 500 {
		t.Fatalf("it said %d bytes", total)
	}
	var all sync.WaitGroup // not t.Parallel: each waits for seconds, and needs nearly no CPU
	for i := range points {
		mine, record := *d, effect(fmt.Sprintf("%032x", i), request)
		first := &relay{d: d, cut: at(1 + i*(total-1)/(points-1))}
		mine.before(t, first.serve)
		cmd := mine.command(t, record)
		first.dies = func() { cmd.Process.Kill() }
		all.Go(func() {
			if err := cmd.Run(); err == nil || cmd.ProcessState.Exited() {
				t.Errorf("attempt %d did not die: %v", i, err)
			}
			first.wg.Wait()
			for range 2 {
				mine.takes(t, again(record))
			}
		})
	}
	all.Wait()
	list := d.in(t, ".Drafts")
	for i := range points {
		found := 0
		for _, m := range list {
			if strings.Contains(m.text, fmt.Sprintf("Message-ID: <%032x@", i)) {
				found++
			}
		}
		if found != 1 {
			t.Errorf("the draft of attempt %d is there %d times", i, found)
		}
	}
	if len(list) != points+1 {
		t.Errorf("%d drafts", len(list))
	}
}

// TestDraftWaitsForAnotherUnderWay: the draft of an attempt that died is stored only when
// the next attempt has already looked for it in vain.
func TestDraftWaitsForAnotherUnderWay(t *testing.T) {
	d := newDrafter(t, folders...)
	record := effect(taskID, toBob)
	held := make(chan struct{})
	// Everything but the end of the literal's line is passed on.
	first := &relay{d: d, held: held, cut: func(said []byte) (int, bool) {
		_, literal, begun := bytes.Cut(said, []byte(" APPEND "))
		if begun && bytes.HasSuffix(literal, []byte("=\r\n\r\n")) {
			return len(said) - 2, true
		}
		return len(said), false
	}}
	d.before(t, first.serve)
	cmd := d.command(t, record)
	first.dies = func() { cmd.Process.Kill() }
	if cmd.Run() == nil || cmd.ProcessState.Exited() {
		t.Fatal("the first attempt did not die")
	}
	if list := d.in(t, ".Drafts"); len(list) != 0 {
		t.Fatalf("%q", list)
	}
	var once sync.Once
	looked := 0
	second := &relay{d: d, said: func(said string) {
		if looked += strings.Count(said, "* SEARCH"); looked >= 3 { // drafts, sent, trash
			once.Do(func() { close(held) })
		}
	}}
	d.before(t, second.serve)
	d.takes(t, again(record))
	first.wg.Wait()
	if list := d.in(t, ".Drafts"); len(list) != 1 || looked < 4 {
		t.Errorf("%d drafts, looked %d times", len(list), looked)
	}
}

// TestDraftOfAKilledRun: run and its sender die, the next run makes the draft, or finds it.
func TestDraftOfAKilledRun(t *testing.T) {
	script, err := filepath.Abs(draftsScript)
	if err != nil {
		t.Fatal(err)
	}
	for name, mark := range map[string]string{"before it": "EXAMINE", "after it": "LOGOUT"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, folders...)
			d := &drafter{Server: h.Server, dir: h.dir}
			h.deliver(t, 1, 1)
			h.must(t, h.fetch("")+" | pulse-classify | pulse-authorize | pulse-queue add")
			h.write(t, "proposed", `{"action":"write_local","tool":"mail.draft","target":"bob@partner.example","args":{"text":"hi"}}`+"\n")
			h.must(t, "pulse-queue run --proposals -- cat proposed && pulse-queue outbox | pulse-authorize | pulse-queue add")
			r := &relay{d: d, cut: func(said []byte) (int, bool) { return len(said), bytes.Contains(said, []byte(mark)) }}
			d.before(t, r.serve)
			run := func() *exec.Cmd {
				cmd := exec.Command(filepath.Join(bin, "pulse-queue"), "run", "--queue", h.queue, "--policy", filepath.Join(h.dir, "policy.toml"), "--effect", "write_local", "--",
					script, "--password-file", filepath.Join(h.dir, "password"), "--tls-ca", d.ca, d.url)
				return cmd
			}
			cmd := run()
			r.dies = func() { killTree(cmd.Process.Pid) }
			if err := cmd.Run(); err == nil || cmd.ProcessState.Exited() {
				t.Fatalf("run did not die: %v", err)
			}
			r.wg.Wait()
			for range 2 {
				if out, err := run().CombinedOutput(); err != nil || len(out) > 0 {
					t.Errorf("%v: %s", err, out)
				}
			}
			if list := d.in(t, ".Drafts"); len(list) != 1 {
				t.Errorf("%d drafts", len(list))
			}
			if out := h.must(t, `pulse-queue list --all --json | jq -r 'select(.request.tool == "mail.draft") | .task.state, .task.restarts'`); out != "completed\n1\n" {
				t.Error(out)
			}
			h.must(t, "pulse-queue verify")
		})
	}
}

// killTree kills a process and all below it, and returns once they are gone.
func killTree(pid int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	var below []int
	for _, path := range tasks {
		list, _ := os.ReadFile(path)
		for _, field := range strings.Fields(string(list)) {
			var child int
			fmt.Sscan(field, &child)
			below = append(below, child)
		}
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	for _, child := range below {
		killTree(child)
	}
	ended := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(ended, -1); err != unix.EINTR {
			return
		}
	}
}

// TestDraftAndTheNetwork: what is for now is 75, what a person has to mend is not, and no
// server can keep the sender, fill its memory, or write to the terminal.
func TestDraftAndTheNetwork(t *testing.T) {
	d := newDrafter(t, folders...)
	record := effect(taskID, toBob)
	is := func(t *testing.T, d *drafter, want int, says string, flags ...string) {
		t.Helper()
		status, said := d.give(t, record, flags...)
		if status != want || !strings.Contains(said, says) || strings.Count(said, "\n") != 1 || len(said) > 1000 ||
			strings.ContainsFunc(said, func(c rune) bool { return c != '\n' && (c < ' ' || c > '~') }) || strings.Contains(said, dovecottest.Password) {
			t.Errorf("exit %d, want %d: %q, want %q", status, want, said, says)
		}
	}
	closed := *d
	closed.url = "imaps://me@127.0.0.1:1/"
	is(t, &closed, 75, "no connection")
	distrusted := *d
	distrusted.ca = filepath.Join(d.dir, "other.pem")
	if err := os.WriteFile(distrusted.ca, newWeb(t).ca, 0o600); err != nil {
		t.Fatal(err)
	}
	is(t, &distrusted, 1, "certificate")
	misnamed := *d
	misnamed.url = strings.Replace(d.url, "127.0.0.1", "localhost", 1)
	is(t, &misnamed, 1, "certificate")
	wrong := *d
	wrong.dir = t.TempDir()
	wrong.secret(t, "wr\"o\\ng ü") // not plain, so it is a literal
	is(t, &wrong, 1, "refuses the login: [AUTHENTICATIONFAILED]")
	way := filepath.Join(t.TempDir(), "way")
	is(t, d, 75, "no connection", "--socket", way)
	listener, err := net.Listen("unix", way)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", d.Addr)
		if err != nil {
			return
		}
		go io.Copy(conn, server)
		io.Copy(server, conn)
	}()
	closed.takes(t, record, "--socket", way)
	d.one(t, ".Drafts")
}

// script is what a hostile server says, line by line: to the greeting, and to each command.
// TAG in it is the tag of the command.
type script []string

func (s script) serve(conn net.Conn) {
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Minute))
	lines := bufio.NewReader(conn)
	tag, line := "", ""
	for i, say := range s {
		var err error
		switch literal := 0; {
		case i > 0 && strings.HasPrefix(s[i-1], "+"):
			fmt.Sscanf(line[strings.LastIndex(line, "{")+1:], "%d", &literal)
			_, err = io.CopyN(io.Discard, lines, int64(literal+2))
		case i > 0:
			line, err = lines.ReadString('\n')
			tag, _, _ = strings.Cut(line, " ")
		}
		if err != nil {
			return
		}
		if _, err := io.WriteString(conn, strings.ReplaceAll(say, "TAG", tag)); err != nil {
			return
		}
	}
	io.Copy(io.Discard, lines) // until the sender has enough
}

func TestDraftAndAHostileServer(t *testing.T) {
	const hello, ok = "* OK hello\r\n", "TAG OK done\r\n"
	caps := "* CAPABILITY IMAP4rev1\r\n" + ok
	one := "* LIST (\\Drafts) \"/\" Drafts\r\n" + ok
	none := "* SEARCH\r\n" + ok
	for name, c := range map[string]struct {
		says   script
		status int
		want   string
	}{
		"hangs at once":            {script{""}, 75, "--timeout is over"},
		"hangs later":              {script{hello, ok, ""}, 75, "--timeout is over"},
		"a byte at a time, no end": {script{"* OK " + strings.Repeat("x", 60000)}, 75, "--timeout is over"},
		"a long line":              {script{"* OK " + strings.Repeat("x", 1<<20)}, 1, "too long"},
		"many lines":               {script{hello, strings.Repeat("* OK junk\r\n", 1<<20)}, 1, "too much"},
		"a huge literal":           {script{hello, ok, caps, "* LIST (\\Drafts) \"/\" {999999999}\r\n"}, 1, "too long"},
		"many literals":            {script{hello, strings.Repeat("* X {60000}\r\n"+strings.Repeat("x", 60000)+"\r\n", 100)}, 1, "too much"},
		"a literal in literals":    {script{hello, "* X " + strings.Repeat("{60000}\r\n"+strings.Repeat("x", 60000), 100) + "\r\n"}, 1, "too"},
		"bye":                      {script{"* BYE \x1b[2Jno\r\n"}, 75, `ends the session: \x1b[2Jno`},
		"bye later":                {script{hello, "* BYE full\r\n"}, 75, "ends the session: full"},
		"hangs in a line":          {script{hello, "TAG"}, 75, "--timeout is over"},
		"knows us":                 {script{"* PREAUTH hello\r\n"}, 1, "does not begin"},
		"another protocol":         {script{"220 mail.example ESMTP\r\n"}, 1, "does not begin"},
		"another tag":              {script{hello, "x9 OK done\r\n"}, 1, "does not answer"},
		"goes on unasked":          {script{hello, "+ go on\r\n"}, 1, "does not answer"},
		"refuses the login":        {script{hello, "TAG NO [AUTHENTICATIONFAILED] \xe2\x80\xaeno\r\n"}, 1, `refuses the login: [AUTHENTICATIONFAILED] \xe2\x80\xaeno`},
		"repeats the password":     {script{hello, "TAG BAD what is LOGIN \"me\" \"" + dovecottest.Password + "\"\r\n"}, 1, "refuses the login: its words are not repeated"},
		"no login now":             {script{hello, "TAG NO [UNAVAILABLE] later\r\n"}, 75, "refuses the login"},
		"no folders":               {script{hello, ok, caps, "TAG NO none\r\n"}, 1, "refuses a command"},
		"a folder without a name":  {script{hello, ok, caps, "* LIST (\\Drafts) \"/\"  \r\n" + ok}, 64, "names 0 folders"},
		"a folder over two lines":  {script{hello, ok, caps, "* LIST (\\Drafts) \"/\" {12}\r\nx\r\nq LOGOUT \r\n" + ok}, 1, "can not be read"},
		"no such folder now":       {script{hello, ok, caps, one, "TAG NO [INUSE] later\r\n"}, 75, "refuses the folder"},
		"no search":                {script{hello, ok, caps, one, ok, "TAG BAD what\r\n"}, 1, "refuses the folder"},
		"no draft":                 {script{hello, ok, caps, one, ok, none, "TAG NO never\r\n"}, 1, "refuses the draft: never"},
		"over quota":               {script{hello, ok, caps, one, ok, none, "+ go on\r\n", "TAG NO [OVERQUOTA] full\r\n"}, 75, "refuses the draft"},
		"takes nothing":            {script{hello, ok, caps, one, ok, none, ok}, 1, "does not answer"},
		"a name in a literal": {script{hello, ok, caps, "* OK so\r\n* LIST (\\HasNoChildren \\Drafts) NIL {8}\r\nmy \"own\"\r\n* 3 EXISTS\r\n" + ok,
			"* FLAGS ()\r\n" + ok, none, "+ go on\r\n", "* 1 EXISTS\r\n" + ok, ok}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &drafter{dir: t.TempDir()}
			d.secret(t, dovecottest.Password)
			d.before(t, c.says.serve)
			timeout := "5m"
			if strings.HasPrefix(c.want, "--timeout") {
				timeout = "3s"
			}
			cmd := d.command(t, effect(taskID, toBob), "--timeout", timeout)
			out, _ := cmd.CombinedOutput()
			status, said := cmd.ProcessState.ExitCode(), string(out)
			if c.status == 0 && status == 0 && said == "" {
				return
			}
			if status != c.status || !strings.HasPrefix(said, "drafts: no") || !strings.Contains(said, c.want) || strings.Count(said, "\n") != 1 || len(said) > 1000 ||
				strings.ContainsFunc(said, func(c rune) bool { return c != '\n' && (c < ' ' || c > '~') }) {
				t.Errorf("exit %d, want %d: %q, want %q", status, c.status, said, c.want)
			}
		})
	}
}
