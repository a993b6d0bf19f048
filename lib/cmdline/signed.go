package cmdline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"pulse/lib/approval"
	"pulse/lib/fault"
	"pulse/lib/ledger"
	"pulse/lib/policy"
	"pulse/lib/queue"
	"pulse/lib/safefile"
	"pulse/lib/sshsig"
)

// Guard returns nil if nobody but root can change what makes a signed approval good:
// the policy, the keys that count, the ledger of what was spent, and ssh-keygen. A
// worker that is root, or the account that starts it (runner), could. It holds for a
// policy that requires signatures; any other is an error.
func Guard(p *policy.Policy, worker, runner int) error {
	if approval.Level(p.Approval.Require) != approval.Signature {
		return fault.Usagef("man 5 pulse-policy", "%s: approval.require is %s", p.Name, p.Approval.Require)
	}
	if worker == 0 || worker == runner {
		return fault.Usagef("as root: pulse-queue run --as USER -- CMD",
			"approval.require is signature, and the worker would be uid %d, which could write the ledger of signatures", worker)
	}
	tool, err := sshsig.Tool()
	if err != nil {
		return fault.Usagef("apt-get install openssh-client", "%w", err)
	}
	for _, f := range []struct{ what, path string }{
		{"policy", p.Name}, {"approval.allowed_signers", p.Approval.AllowedSigners}, {"ssh-keygen", tool},
	} {
		if err := safefile.Guarded(f.path); err != nil {
			return fault.Usagef("ls -ld "+f.path+", which root alone may change, and every directory above", "%s: %w", f.what, err)
		}
	}
	return guardLedger(p.Approval.Ledger)
}

// guardLedger is Guard of the ledger, which need not be there yet, and which nobody
// else has to be able to look for.
func guardLedger(path string) error {
	err := safefile.Guarded(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err = os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
			return fault.Usagef("as root: mkdir -m 700 "+filepath.Dir(path), "approval.ledger: %w", err)
		}
	}
	if err == nil || errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 {
		return nil
	}
	return fault.Usagef("ls -ld "+path+", which root alone may change, and every directory above", "approval.ledger: %w", err)
}

// Signed checks signed approvals with ssh-keygen, and spends them in the ledger.
type Signed struct {
	ctx     context.Context
	signers sshsig.Signers
	ledger  ledger.Ledger
}

// SignedFor returns what a run needs whose workers are of a uid, or nil for a policy
// that requires no signatures.
func SignedFor(ctx context.Context, p *policy.Policy, worker int) (queue.Signed, error) {
	if approval.Level(p.Approval.Require) != approval.Signature {
		return nil, nil
	}
	if err := Guard(p, worker, os.Geteuid()); err != nil {
		return nil, err
	}
	tool, err := sshsig.Tool()
	if err != nil {
		return nil, err
	}
	return &Signed{ctx, sshsig.Signers{Tool: tool, File: p.Approval.AllowedSigners}, ledger.Ledger{Path: p.Approval.Ledger}}, nil
}

// Check implements queue.Signed.
func (s *Signed) Check(a *approval.Approval, now time.Time) error {
	if err := a.Sound(now); err != nil {
		return fmt.Errorf("%w: %w", queue.ErrNotGood, err)
	}
	// What is cheap comes first: who can write the queue can forge thousands.
	err := s.ledger.Check(a.Nonce, a.Task, a.Given)
	if errors.Is(err, ledger.ErrSpent) || errors.Is(err, ledger.ErrSuperseded) {
		return fmt.Errorf("%w: %w", queue.ErrNotGood, err)
	}
	if err != nil {
		return err
	}
	err = s.signers.Verify(s.ctx, a.Signer, a.Signature, a.Statement())
	if errors.Is(err, sshsig.ErrBad) {
		return fmt.Errorf("%w: %w", queue.ErrNotGood, err)
	}
	return err
}

// Spend implements queue.Signed.
func (s *Signed) Spend(a *approval.Approval, now time.Time) error {
	return s.ledger.Spend(a.Nonce, a.Task, a.Given, now)
}

// Return implements queue.Signed.
func (s *Signed) Return(a *approval.Approval, now time.Time) error {
	return s.ledger.Return(a.Nonce, a.Task, now)
}
