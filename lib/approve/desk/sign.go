package desk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"pulse/lib/approve/sshsig"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
)

// KeyFlag returns the flag --key.
func KeyFlag() cli.Flag {
	return &cli.StringFlag{
		Name:    "key",
		EnvVars: []string{"PULSE_KEY"},
		Usage:   "`FILE` the key to sign a yes with, where the policy requires it; default: $PULSE_KEY",
	}
}

// Answer is what a person is asked for.
type Answer int

const (
	// No takes something back: anyone with a terminal may.
	No Answer = iota
	// Yes must be of the level that the policy requires.
	Yes
	// Correcting is a yes to what a person changes in an editor, which is started unconfined.
	Correcting
)

// pen is what a person signs with.
type pen struct {
	signers sshsig.Signers
	key     string
}

// penFor returns what a person signs this answer with; nil if it need not be signed. It
// fails before anything is asked if the signature could not be made or would not count.
func penFor(c *cli.Context, p *policy.Policy, a Answer) (*pen, error) {
	level := approval.Level(p.Approval.Require)
	if a == No || level != approval.Signature { // what an account proves, enough checks
		return nil, nil
	}
	tool, err := sshsig.Tool()
	if err != nil {
		return nil, fault.Refusedf("apt-get install openssh-client", "%w", err)
	}
	key := c.String("key")
	if key == "" {
		return nil, fault.Refusedf("--key ~/.ssh/id_ed25519_sk; ssh-keygen -t ed25519-sk makes one",
			"%s: approval.require is %s, and neither --key nor PULSE_KEY names a key", p.Name, level)
	}
	if _, err := os.Stat(key); err != nil {
		return nil, fault.Refusedf("ssh-keygen -t ed25519-sk -f "+key, "--key: %w", err)
	}
	if _, err := os.Stat(p.Approval.AllowedSigners); errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Temporaryf(allow(p.Approval.AllowedSigners, key), "approval.allowed_signers: %w", err)
	}
	with := &pen{sshsig.Signers{Tool: tool, File: p.Approval.AllowedSigners}, key}
	return with, usable(&with.signers)
}

// allow returns the hint how to make a key count.
func allow(file, key string) string {
	public := sshsig.Public(key)
	if public == "" {
		public = "ssh-ed25519 AAAA…, as ssh-keygen -y -f " + key + " prints it"
	}
	return fmt.Sprintf("append to %s: me@example.com namespaces=%q %s", file, sshsig.Namespace, public)
}

// sign lets the person sign an approval, if the policy requires it.
func (d *Desk) sign(a *approval.Approval) error {
	return d.Sign(a.Statement, &a.Level, &a.Signer, &a.Signature)
}

// Sign lets the person sign a statement, if the policy requires it, and sets the level,
// the signer and the signature. It verifies the signature first, so that none is recorded
// that run would not accept.
func (d *Desk) Sign(statement func() []byte, level *approval.Level, signer, signature *string) error {
	if d.pen == nil {
		return nil
	}
	s := &d.pen.signers
	terminal, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return fault.Refusedf("", "%w", err)
	}
	defer terminal.Close()
	armor, err := sshsig.Sign(d.Context(), s.Tool, d.pen.key, statement(), terminal)
	if err != nil {
		return fault.Refusedf("ssh-add -L lists what an agent holds; a token wants its touch",
			"%w: nothing was changed", err)
	}
	who, err := s.Principal(d.Context(), armor, d.Policy.Approval.Names()...)
	if err == nil {
		err = s.Verify(d.Context(), who, armor, statement())
	}
	if errors.Is(err, sshsig.ErrUnknown) || errors.Is(err, sshsig.ErrBad) {
		return fault.Refusedf(allow(s.File, d.pen.key), "%s does not count: %w: nothing was changed",
			strings.TrimSuffix(d.pen.key, ".pub"), err)
	}
	if err != nil {
		return fault.Refusedf("", "%w: nothing was changed", err)
	}
	*level, *signer, *signature = approval.Signature, who, armor
	return nil
}

// Signs reports whether a yes at this desk is signed. A signed yes has times in whole
// seconds.
func (d *Desk) Signs() bool { return d.pen != nil }
