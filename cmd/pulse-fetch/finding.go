package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/fetch/gmail"
	"pulse/lib/fetch/jmap"
	"pulse/lib/fetch/mailbox"
	"pulse/lib/fetch/secure"
	"pulse/lib/fetch/source"
	"pulse/lib/queue/peek"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/redial"
)

// A source that can't be read is told of once, and not each time that cron tries: pulse-queue
// notes in the queue that it was told, and that it ended. It is started for that alone, so a
// run in which all is well costs nothing more. Where the queue can't note it, or there is none,
// the error is told each time.

// notes are about one source.
type notes struct {
	queue, source string
	open          bool        // the queue has a finding about it, by what was read before this process was confined
	dial          redial.Dial // how a confined process has pulse-queue started; nil: it can do so itself
}

// newNotes returns the notes about the source that the arguments name; nil if no queue has any.
func newNotes(c *cli.Context) *notes {
	n := &notes{queue: c.String("queue")}
	m := kindOf().FindStringSubmatch(c.Args().First())
	if n.queue == "" || m == nil || c.NArg() != 1 {
		return nil
	}
	switch strings.ToLower(m[1]) {
	case "imaps", "imap":
		a, err := mailbox.ParseAddress(c.Args().First())
		n.name(a.String(), err)
	case "jmap":
		a, err := jmap.ParseAddress(m[2])
		n.name(a.String(), err)
	case "gmail":
		a, err := gmail.ParseAddress(m[2])
		n.name(a.String(), err)
	}
	if n.source == "" {
		return nil
	}
	return n
}

func (n *notes) name(source string, err error) {
	if err == nil {
		n.source = source
	}
}

// noteTime bounds how long a run waits for that.
const noteTime = 20 * time.Second

// address is what package redial calls the second process's part: no host has such a name. The
// confined process can choose neither the queue nor the source.
func (n *notes) address() string {
	b, _ := json.Marshal(append([]string{n.queue, n.source}, surroundings()...)) // strings alone
	return errand + string(b)
}

const errand = "finding:"

// with returns the addresses that the second process may connect to, and its errand.
func (n *notes) with(hosts ...string) []string {
	if n == nil {
		return hosts
	}
	return append(slices.Clone(hosts), n.address())
}

// by says that this process will be confined, and what it can ask then.
func (n *notes) by(dial redial.Dial) {
	if n != nil {
		n.dial = dial
	}
}

// surroundings are what pulse-queue needs of the environment, which the second process does not
// have: where a queue and its memory are, and no secret.
func surroundings() (list []string) {
	for _, one := range os.Environ() {
		name, _, _ := strings.Cut(one, "=")
		switch {
		case name == "PATH", name == "HOME", name == "XDG_STATE_HOME", name == "SSL_CERT_FILE",
			strings.HasPrefix(name, "PG") && name != "PGPASSWORD":
			list = append(list, one)
		}
	}
	return list
}

// reach is what the second process of redial does: it connects to a host, or runs the errand.
func reach(ctx context.Context, address string) (net.Conn, error) {
	text, is := strings.CutPrefix(address, errand)
	if !is {
		return secure.Dial(ctx, address)
	}
	var list []string
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list) < 2 {
		return nil, errors.New("not an errand")
	}
	for _, one := range list[2:] {
		name, value, _ := strings.Cut(one, "=")
		if err := os.Setenv(name, value); err != nil {
			return nil, err
		}
	}
	n := notes{queue: list[0], source: list[1]}
	ours, theirs, err := pair()
	if err != nil {
		return nil, err
	}
	go n.serve(ours)
	return theirs, nil
}

// pair returns the two ends of a connection.
func pair() (a, b net.Conn, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	x, y := os.NewFile(uintptr(fds[0]), "errand"), os.NewFile(uintptr(fds[1]), "errand")
	defer x.Close()
	defer y.Close()
	a, err = net.FileConn(x)
	if err == nil {
		b, err = net.FileConn(y)
	}
	return a, b, err
}

// maxNote bounds a question and its answer, in bytes.
const maxNote = 4096

// The answers of the second process: whether a person is to be told, or nobody can remember.
const (
	yes = "yes"
	no  = "no"
)

// serve does what is asked for once.
func (n *notes) serve(conn net.Conn) {
	defer conn.Close()
	b := make([]byte, maxNote)
	size, err := conn.Read(b)
	if err != nil {
		return
	}
	code, text, open := strings.Cut(string(b[:size]), "\n")
	told, err := n.note(context.Background(), open, code, text)
	answer := no
	if told {
		answer = yes
	}
	if err != nil {
		answer = err.Error()
	}
	_, _ = io.WriteString(conn, answer)
}

// note has pulse-queue note that something is wrong, or is no longer.
func (n *notes) note(ctx context.Context, open bool, code, text string) (told bool, err error) {
	if n.dial == nil {
		ctx, cancel := context.WithTimeout(ctx, noteTime)
		defer cancel()
		return peek.Note(ctx, n.queue, open, code, n.source, text)
	}
	return n.errand(ctx, open, code, text)
}

// errand has the second process do so.
func (n *notes) errand(ctx context.Context, open bool, code, text string) (told bool, err error) {
	conn, err := n.dial(ctx, n.address())
	if err != nil {
		return false, err
	}
	defer conn.Close()
	ask := code
	if open {
		ask += "\n" + text
	}
	_, err = io.WriteString(conn, ask[:min(len(ask), maxNote)])
	if err == nil {
		err = conn.SetReadDeadline(time.Now().Add(2 * noteTime))
	}
	b := make([]byte, maxNote)
	size := 0
	if err == nil {
		size, err = conn.Read(b)
	}
	answer := string(b[:size])
	if err == nil && answer != yes && answer != no {
		err = errors.New(answer)
	}
	return answer == yes, err
}

// end returns the error with which the run ends: one that a person knows of is not printed again.
func (n *notes) end(c *cli.Context, err error) error {
	if errors.Is(err, peek.ErrTold) {
		return cmdline.Standing(c, err)
	}
	if n == nil || errors.Is(err, context.Canceled) {
		return err
	}
	ctx := context.WithoutCancel(c.Context) // the time of the run may be over
	if err == nil {
		return n.close(ctx, c)
	}
	if k := fault.KindOf(err); k != fault.Temporary && k != fault.Failed || errors.Is(err, syscall.EPIPE) {
		return err
	}
	code := peek.Unreachable
	var refused source.Refused
	if errors.As(err, &refused) {
		code = peek.Login
	}
	if told, failed := n.note(ctx, true, code, strings.ToValidUTF8(err.Error(), "?")); told || failed != nil {
		return err
	}
	return cmdline.Standing(c, err)
}

// close notes that the source can be read again, if a person was told that it can't.
func (n *notes) close(ctx context.Context, c *cli.Context) error {
	if !n.open {
		return nil
	}
	for _, code := range peek.Codes {
		told, err := n.note(ctx, false, code, "")
		if err != nil {
			return nil // the next run tries again
		}
		if told {
			cmdline.Note(c, "%s", fmt.Sprintf("ended: %s: %s can be read again", code, n.source))
		}
	}
	return nil
}
