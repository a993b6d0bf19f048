package desk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"pulse/lib/approve/ledger"
	"pulse/lib/approve/sshsig"
	"pulse/lib/queue/consent"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/safefile"
)

// Guard returns nil if only root can change what makes a signed approval good: the
// policy, the keys that count, the ledger of what was spent, and ssh-keygen. A worker
// that is root, or the account that starts it (runner), could change them. A policy by
// which no signature counts is an error.
func Guard(p *policy.Policy, worker, runner int) error {
	if err := Keyed(p); err != nil {
		return err
	}
	if worker == 0 || worker == runner {
		return fault.Usagef("as root: pulse-queue run --as USER -- CMD",
			"approval.require is %s, and the worker would be uid %d, which could write the ledger of signatures",
			p.Approval.Require, worker)
	}
	if _, err := guarded(p); err != nil {
		return err
	}
	return guardLedger(p.Approval.Ledger)
}

// GuardUser returns why a signature proves nothing under a policy that requires level user,
// as far as that is known without the account of the workers; nil if it proves something, or
// if the policy names no keys.
func GuardUser(p *policy.Policy) error {
	const worker, root = -1, 0
	if p.Approval.AllowedSigners == "" {
		return nil
	}
	if err := Guard(p, worker, root); err != nil {
		return fmt.Errorf("approval.require is user, and a signature proves nothing here: %w", err)
	}
	return nil
}

// Keyed returns nil if the policy says whose signatures count.
func Keyed(p *policy.Policy) error {
	if p.Approval.AllowedSigners == "" {
		return fault.Usagef("man 5 pulse-policy",
			"%s: approval.allowed_signers is not set, so no signature counts", p.Name)
	}
	return nil
}

// guarded returns the path of ssh-keygen, if only root and owners can change it, the
// policy and the keys that count.
func guarded(p *policy.Policy, owners ...uint32) (tool string, err error) {
	if tool, err = sshsig.Tool(); err != nil {
		return "", fault.Usagef("apt-get install openssh-client", "%w", err)
	}
	for _, f := range []struct{ what, path string }{
		{"policy", p.Name}, {"approval.allowed_signers", p.Approval.AllowedSigners}, {"ssh-keygen", tool},
	} {
		err := safefile.Guarded(f.path, owners...)
		if errors.Is(err, fs.ErrNotExist) && f.path == p.Approval.AllowedSigners {
			return "", unusable(err) // as any other that can't be read
		}
		if err != nil {
			return "", exposed("root", f.what, f.path, err)
		}
	}
	return tool, nil
}

// exposed is the error of a file that accounts other than these can change.
func exposed(accounts, what, path string, err error) error {
	return fault.Usagef("ls -ld "+path+", which "+accounts+" alone may change, and every directory above",
		"%s: %w", what, err)
}

// guardLedger is Guard for the ledger, which may be missing until it is needed, and which
// other accounts need not be able to see.
func guardLedger(path string, owners ...uint32) error {
	err := safefile.Guarded(path, owners...)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err = os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
			return fault.Usagef("as root: mkdir -m 700 "+filepath.Dir(path), "approval.ledger: %w", err)
		}
	}
	if err == nil || errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 {
		return nil
	}
	return exposed("root", "approval.ledger", path, err)
}

// signed checks signed approvals with ssh-keygen, and spends them in the ledger.
type signed struct {
	ctx     context.Context
	signers sshsig.Signers
	ledger  ledger.Ledger
	later   error // why it can't tell now, or nil
}

// SignedFor returns what checks the signatures for a run whose workers have this uid, or
// nil if none counts there: the policy requires less than level user, or it requires that
// and Guard says why a signature proves nothing.
func SignedFor(ctx context.Context, p *policy.Policy, worker int) (consent.Signed, error) {
	return signedIf(ctx, p, func() (string, error) {
		if err := Guard(p, worker, os.Geteuid()); err != nil {
			return "", err
		}
		return sshsig.Tool()
	})
}

// signedIf returns what checks signatures if guard, which returns the path of ssh-keygen,
// finds nothing wrong. Only a policy that requires signatures makes it an error if guard
// does, or if the keys can't be read.
func signedIf(ctx context.Context, p *policy.Policy, guard func() (tool string, err error)) (consent.Signed, error) {
	level := approval.Level(p.Approval.Require)
	if level != approval.Signature && level != approval.User {
		return nil, nil
	}
	tool, err := guard()
	s := &signed{ctx, sshsig.Signers{Tool: tool, File: p.Approval.AllowedSigners}, ledger.Ledger{Path: p.Approval.Ledger}, nil}
	if err == nil {
		err = usable(&s.signers)
	}
	switch {
	case err == nil:
		return s, nil
	case level == approval.Signature:
		return nil, err
	case fault.KindOf(err) == fault.Temporary: // somebody edits the keys: what is signed has to wait
		return &signed{later: err}, nil
	}
	return nil, nil
}

// SignedHere is SignedFor for an account that spends a grant itself: root or the owner of
// the ledger. The policy, the keys and the ledger may belong to that account.
func SignedHere(ctx context.Context, p *policy.Policy) (consent.Signed, error) {
	return signedIf(ctx, p, func() (string, error) {
		if err := Keyed(p); err != nil {
			return "", err
		}
		me := uint32(os.Geteuid())
		tool, err := guarded(p, me)
		if err != nil {
			return "", err
		}
		if err := guardLedger(p.Approval.Ledger, me); err != nil {
			return "", err
		}
		err = writable(p.Approval.Ledger)
		if errors.Is(err, fs.ErrPermission) {
			return "", fault.Refusedf(
				"as root: pulse-approve consume TARGET; or leave it to pulse-queue run --effect external_send",
				"approval.require is signature, and this account can't write the ledger: %w", err)
		}
		return tool, err
	})
}

// writable returns nil if this account may write a file, or make it.
func writable(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return unix.Access(filepath.Dir(path), unix.W_OK|unix.X_OK)
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// Check implements consent.Signed.
func (s *signed) Check(proofs []approval.Proof, now time.Time) error {
	if s.later != nil {
		return s.later
	}
	// The cheap check comes first: an account that can write the queue can forge thousands.
	if err := notGood(s.ledger.Check(uses(proofs)...)); err != nil {
		return err
	}
	for i := range proofs {
		p := &proofs[i]
		err := s.signers.Verify(s.ctx, p.Signer, p.Signature, p.Statement)
		if !errors.Is(err, sshsig.ErrBad) {
			if err != nil {
				return err
			}
			continue
		}
		// While somebody edits the file, nobody can tell.
		if err := usable(&s.signers); err != nil {
			return err
		}
		return fmt.Errorf("%w: %w", consent.ErrNotGood, err)
	}
	return nil
}

// Spend implements consent.Signed.
func (s *signed) Spend(proofs []approval.Proof, now time.Time) error {
	return notGood(s.ledger.Spend(now, uses(proofs)...))
}

// Return implements consent.Signed.
func (s *signed) Return(proofs []approval.Proof, now time.Time) error {
	return s.ledger.Return(now, uses(proofs)...)
}

// Names implements consent.Signed.
func (s *signed) Names(armor string) ([]string, error) {
	if s.later != nil {
		return nil, s.later
	}
	names, err := s.signers.Names(armor)
	if errors.Is(err, sshsig.ErrUnknown) || errors.Is(err, sshsig.ErrBad) {
		err = fmt.Errorf("%w: %w", consent.ErrNotGood, err)
	}
	return names, err
}

// uses returns what is spent of proofs. Two people who signed one line, because that was asked of both,
// spend it together.
func uses(proofs []approval.Proof) (list []ledger.Use) {
	for i := range proofs {
		p := &proofs[i]
		if slices.ContainsFunc(proofs[:i], func(other approval.Proof) bool {
			return other.Signer != p.Signer && bytes.Equal(other.Statement, p.Statement)
		}) {
			continue
		}
		list = append(list, ledger.Use{
			Nonces: p.Nonces, Task: p.Task, Given: p.Given, Expires: p.Expires, Again: p.Again,
		})
	}
	return list
}

// notGood adds consent.ErrNotGood to a no of the ledger; any other error says nothing about
// the approval.
func notGood(err error) error {
	for _, no := range []error{ledger.ErrSpent, ledger.ErrSuperseded, ledger.ErrForgotten} {
		if errors.Is(err, no) {
			return fmt.Errorf("%w: %w", consent.ErrNotGood, err)
		}
	}
	return err
}

// usable returns nil if the file of allowed signers can say whose keys count. An error is
// not a judgement on any signature.
func usable(s *sshsig.Signers) error {
	if err := s.Usable(); err != nil {
		return unusable(err)
	}
	return nil
}

func unusable(err error) error {
	return fault.Temporaryf("ssh-keygen(1), ALLOWED SIGNERS; one line is: "+
		`me@example.com namespaces="pulse-approve" ssh-ed25519 AAAA…`, "approval.allowed_signers: %w", err)
}
