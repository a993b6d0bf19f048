// Package machine is what scripts/test-deploy and scripts/test-machines have in common: commands in
// a machine that lives in namespaces of its own, the blocks of the manual page that are pasted there
// as they stand, and mail.
//
// Invariant: a block is what a reader of the page sees. Caveat: Blocks knows only the characters of
// roff that the page uses.
package machine

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

// Patience is how long a command may take that should take seconds, while others work here.
const Patience = 10 * time.Minute

// Machine is known by its first process, as it is numbered here; 0: it is off.
type Machine struct{ Leader int }

// Inside returns a command that is run as root in the machine. It ends when this process does.
func (m *Machine) Inside(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "nsenter", append([]string{"-t", fmt.Sprint(m.Leader), "-a", "--", "env", "-i",
		"PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "TERM=dumb", "HOME=/root"}, args...)...)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c
}

// Sh runs lines of bash as root in the machine and returns what they print. The first that fails
// ends them, and is an error.
func (m *Machine) Sh(lines string) (string, error) {
	if m.Leader == 0 {
		return "", fmt.Errorf("the machine is off: %s", lines)
	}
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	c := m.Inside(ctx, "bash", "-euo", "pipefail", "-c", lines)
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	if err := c.Run(); err != nil {
		return out.String(), fmt.Errorf("%s\n%w\n%s%s", lines, err, out.String(), said.String())
	}
	return out.String(), nil
}

// Sit seats a person at a terminal of the machine, in which a command runs, until end.
func (m *Machine) Sit(args ...string) (p *cmdlinetest.Person, end func(), err error) {
	c := m.Inside(context.Background(), args...)
	if p, err = cmdlinetest.SitAt(c, 200, 200); err != nil {
		return nil, nil, err
	}
	p.Patience = Patience
	return p, func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // su does not end by a hangup
		_ = c.Wait()
		p.Leave()
	}, nil
}

// Put writes a file, and the folders above it.
func Put(path, text string, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	err := os.WriteFile(path, []byte(text), mode)
	if err == nil {
		err = os.Chmod(path, mode)
	}
	return err
}

const (
	Owner    = "you@example.com"
	Receiver = "mx.example.com" // what the provider's server calls itself
)

// Letter is a mail as the receiver puts it into a mailbox: of an author whose domain signed it,
// unless it is forged. The id is the left half of its Message-ID.
func Letter(from, subject, id string, forged bool) string {
	_, domain, _ := strings.Cut(from, "@")
	verdict := "dkim=pass header.d=" + domain + " header.s=s1 header.b=Zm9vYmFy; dmarc=pass header.from=" + domain
	if forged {
		verdict = "dkim=none; dmarc=fail header.from=" + domain
	}
	return "Authentication-Results: " + Receiver + "; " + verdict + "\n" +
		"DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=" + domain + "; s=s1;\n" +
		"\th=from:to:cc:subject:date:message-id; bh=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=; b=Zm9vYmFyEfGh\n" +
		"From: " + from + "\nTo: " + Owner + "\nSubject: " + subject + "\n" +
		"Date: " + time.Now().Format(time.RFC1123Z) + "\nMessage-ID: <" + id + "@" + domain + ">\n\nWhat is new?\n"
}
