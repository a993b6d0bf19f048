package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
)

// terminal is a login of an account of the machine, at a terminal of the machine.
type terminal struct {
	cmd  *exec.Cmd
	file *os.File

	mu   sync.Mutex
	more *sync.Cond
	text []byte // what was shown and not yet waited for
	end  error  // why nothing more will be shown
}

// login starts the shell that the account has.
func (m *machine) login(account string) (*terminal, error) {
	t := &terminal{cmd: m.inside(context.Background(), "TERM=xterm", "su", "--pty", "--login", account)}
	t.more = sync.NewCond(&t.mu)
	var err error
	t.cmd.SysProcAttr.Setsid, t.cmd.SysProcAttr.Setctty = true, true
	t.file, err = pty.StartWithAttrs(t.cmd, &pty.Winsize{Rows: 50, Cols: 200}, t.cmd.SysProcAttr)
	if err != nil {
		return nil, err
	}
	go t.read()
	// A command that fails says so, as does each prompt.
	if err := t.types(`trap 'printf "\033]failed\a"' ERR; PROMPT_COMMAND='printf "\033]prompt\a"'` + "\r"); err != nil {
		return nil, err
	}
	return t, t.prompted()
}

var (
	prompt = regexp.MustCompile(`\x1b]prompt\x07`)
	failed = []byte("\x1b]failed\x07")
)

// prompted waits for the prompt of bash. It is an error if a command failed before.
func (t *terminal) prompted() error {
	shown, _, err := t.until(prompt)
	if err == nil && bytes.Contains([]byte(shown), failed) {
		err = fmt.Errorf("a command fails:\n%s", shown)
	}
	return err
}

func (t *terminal) read() {
	buf := make([]byte, 4096)
	for {
		n, err := t.file.Read(buf)
		t.mu.Lock()
		t.text = append(t.text, buf[:n]...)
		t.end = err
		t.more.Broadcast()
		t.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// types is what a person types, or pastes.
func (t *terminal) types(text string) error {
	_, err := io.WriteString(t.file, text)
	return err
}

// until waits until something is shown that fits, and returns everything up to its end, and
// the groups that fit.
func (t *terminal) until(want *regexp.Regexp) (shown string, groups []string, err error) {
	late := false
	timer := time.AfterFunc(patience, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		late = true
		t.more.Broadcast()
	})
	defer timer.Stop()
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		if at := want.FindSubmatchIndex(t.text); at != nil {
			for i := 2; i < len(at); i += 2 {
				groups = append(groups, string(t.text[at[i]:at[i+1]]))
			}
			shown = string(t.text[:at[1]])
			t.text = t.text[at[1]:]
			return shown, groups, nil
		}
		if late || t.end != nil {
			return "", nil, fmt.Errorf("the terminal does not show %s:\n%s", want, t.text)
		}
		t.more.Wait()
	}
}

// close ends the session: su does not by a hangup.
func (t *terminal) close() {
	_ = syscall.Kill(-t.cmd.Process.Pid, syscall.SIGKILL)
	_ = t.cmd.Wait()
	_ = t.file.Close()
}
