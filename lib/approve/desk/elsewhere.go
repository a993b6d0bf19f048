package desk

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"pulse/lib/approve/answers"
	"pulse/lib/approve/sshsig"
	"pulse/lib/queue"
	"pulse/lib/queue/consent"
	"pulse/lib/queue/door"
	"pulse/lib/queue/store"
	"pulse/lib/shared/address"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
)

// statementHint is what to type to get a line that can be signed.
const statementHint = "pulse-approve statement "

// Statement is what a person reads about a task before they sign an answer elsewhere, and
// the line that they sign.
func Statement(s door.Store, p *policy.Policy, holders Holder, id string, no bool) (lines []string, statement []byte, err error) {
	shown, lines, err := (&Desk{Queue: s, Policy: p, named: true, holders: holders}).Look(id)
	if err == nil && shown.Task.State != task.Awaiting {
		err = fault.Failedf("pulse-queue show "+shown.Task.ID,
			"task %s awaits nobody: it is %s", shown.Task.ID, shown.Task.State)
	}
	if err != nil {
		return nil, nil, err
	}
	a, err := asked(s, &shown, p)
	if err != nil {
		return nil, nil, err
	}
	if err := approval.Timely("what could be signed", a.Given, a.Expires, time.Now()); err != nil {
		return nil, nil, fault.Failedf("pulse-approve yes "+shown.Task.ID+", at a terminal", "task %s: %w", shown.Task.ID, err)
	}
	return lines, toSign(&a, no), nil
}

// asked returns the yes that is asked for from elsewhere.
func asked(s store.Store, shown *queue.Stored, p *policy.Policy) (a approval.Approval, err error) {
	err = s.View(func(v store.View) error {
		c, err := queue.ClockOf(v, time.Now())
		a = queue.Asked(shown, &c, p.Limits.ReviewExpires)
		return err
	})
	return a, err
}

func toSign(a *approval.Approval, no bool) []byte {
	if no {
		return a.Refusal()
	}
	return a.Statement()
}

// Taker takes answers that were signed elsewhere. They need neither a terminal nor a code:
// the signature proves more than both, and the account that brings it only has to be able to
// write the queue.
type Taker struct {
	Queue   door.Store
	policy  *policy.Policy
	signers sshsig.Signers
	holders func(name string) approval.Holder
	c       *cli.Context

	left string           // what the task still waits for to which a yes was taken last
	done map[string]error // lines that a listed key signed, and why one more signature does nothing
}

// Take opens the queue for signed answers. It refuses inside a run, and where a signature
// would not count.
func Take(c *cli.Context) (*Taker, error) {
	p, err := cmdline.Policy(c)
	if err != nil {
		return nil, err
	}
	t := &Taker{policy: p, c: c, done: map[string]error{}}
	if err := t.counts(); err != nil {
		return nil, err
	}
	if t.Queue, err = QueueOutside(c); err != nil {
		return nil, err
	}
	if t.holders, err = Holders(t.Queue.Keeper()); err == nil {
		err = t.Queue.Writable()
	}
	if err == nil {
		err = cmdline.Unconfined(c, "a signature is checked by ssh-keygen")
	}
	if err != nil {
		t.Queue.Close()
		return nil, err
	}
	return t, nil
}

// counts returns nil if a signature counts under the policy, as far as that is known here:
// which account the workers have, only run knows.
func (t *Taker) counts() error {
	if err := Keyed(t.policy); err != nil {
		return err
	}
	if approval.Level(t.policy.Approval.Require) == approval.User {
		if err := GuardUser(t.policy); err != nil {
			return err
		}
	}
	tool, err := sshsig.Tool()
	if err != nil {
		return fault.Usagef("apt-get install openssh-client", "%w", err)
	}
	t.signers = sshsig.Signers{Tool: tool, File: t.policy.Approval.AllowedSigners}
	return usable(&t.signers)
}

// Close closes the queue.
func (t *Taker) Close() { t.Queue.Close() }

// Answer records a person's yes or no to a task. The line is made again from the task: what
// was signed must be exactly that. An empty reason of a no is filled in.
func (t *Taker) Answer(id string, no bool, reason string, signed *answers.Answer) error {
	if err := t.known(signed.Armor, signed.Line, statementHint+escape.ASCII(id)); err != nil {
		return err
	}
	shown, err := t.waiting(id)
	if err != nil {
		return t.final(signed.Line, err)
	}
	hint := statementHint + shown.Task.ID
	if no {
		hint += " --no"
	}
	a, err := asked(t.Queue, &shown, t.policy)
	if err != nil {
		return err
	}
	if err = differs(signed.Line, &a, no); err == nil {
		err = approval.Timely("the answer", a.Given, a.Expires, time.Now())
	}
	if err != nil {
		return t.final(signed.Line, fault.Refusedf(hint, "%w", err))
	}
	if a.Signer, err = t.signer(signed.Armor, toSign(&a, no), hint); err != nil {
		return err
	}
	a.By, a.Signature, a.Holder = a.Signer, signed.Armor, holder(t.Queue.Keeper())
	now := time.Now()
	err = queue.Update(t.Queue, func(tx *queue.Tx) (err error) {
		if err := a.Sound(now); err != nil {
			return fault.Refusedf(hint, "%w", err)
		}
		if t.left = ""; !no {
			t.left, err = t.run().Agree(tx, &shown, a, now)
			return err
		}
		if reason == "" {
			reason = "refused with a signature of " + a.Signer
		}
		return queue.Deny(tx, &shown, a.By, a.Level, reason, now)
	})
	if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrCorrupt) || errors.Is(err, consent.ErrNotGood) {
		return fault.Refusedf("pulse-queue show "+shown.Task.ID, "%w", err)
	}
	return err
}

// run is what judges a yes that is taken.
func (t *Taker) run() *queue.Run {
	return &queue.Run{Policy: t.policy, Blind: true, Holder: t.holders, Signed: &signed{ctx: t.c.Context, signers: t.signers}}
}

// Left returns what a task still waits for to which a yes was taken last; the empty string: nothing.
func (t *Taker) Left() string { return t.left }

// known returns why an answer needs no further look. Anybody may bring whatever they write,
// and copies of what a person signed, as often as they like: the first are refused before
// the queue is read or ssh-keygen is started, and of the others one is looked at. Without a
// line there is nothing to look at yet.
func (t *Taker) known(armor string, line []byte, hint string) error {
	if line == nil {
		return nil
	}
	if err := t.judged(t.signers.Refuse(armor, line), hint); err != nil {
		return err
	}
	return t.done[string(line)]
}

// final keeps an error that holds for every further signature over a line.
func (t *Taker) final(line []byte, err error) error {
	if line != nil && fault.KindOf(err) == fault.Refused {
		t.done[string(line)] = err
	}
	return err
}

// waiting loads the task that an id names, which must wait for a person.
func (t *Taker) waiting(id string) (shown queue.Stored, err error) {
	if id, err = queue.Whole(t.Queue, id); err != nil {
		return shown, Unknown(err)
	}
	err = t.Queue.View(func(v store.View) (err error) {
		shown, err = queue.Find(v, id)
		return err
	})
	if err == nil && shown.Task.State != task.Awaiting {
		err = fault.Refusedf("pulse-queue show "+id, "task %s awaits nobody: it is %s", id, shown.Task.State)
	}
	return shown, Unknown(err)
}

// differs says why a line that came with a signature is not the one that is asked for now.
// Without a line, only the signature can tell.
func differs(line []byte, asked *approval.Approval, no bool) error {
	if line == nil || string(line) == string(toSign(asked, no)) {
		return nil
	}
	l, err := approval.ParseLine(line)
	switch {
	case err != nil:
		return err
	case l.Approval == nil:
		return errors.New("what was signed is no answer to a task")
	case l.No != no && l.No:
		return errors.New("what was signed is a no")
	case l.No != no:
		return errors.New("what was signed is a yes")
	}
	a := l.Approval
	switch {
	case a.Task != asked.Task:
		return fmt.Errorf("it was signed for task %s", escape.Message(a.Task))
	case a.Digest != asked.Digest || a.Action != asked.Action || !slices.Equal(a.Target, asked.Target):
		return errors.New("it was signed for other bytes, another action or other targets")
	case a.Nonce != asked.Nonce || !a.Given.Equal(asked.Given):
		return errors.New("it was signed for an earlier question: the task came to wait again since")
	}
	return errors.New("it was signed when the policy had another limits.review_expires")
}

// signer returns the name under which allowed_signers has the key that signed the line.
func (t *Taker) signer(armor string, line []byte, hint string) (who string, err error) {
	if err = t.signers.Refuse(armor, line); err == nil {
		who, err = t.signers.Principal(t.c.Context, armor, t.policy.Approval.Names()...)
	}
	if err == nil {
		err = t.signers.Verify(t.c.Context, who, armor, line)
	}
	return who, t.judged(err, hint)
}

// judged is the error of a signature that was judged, or could not be.
func (t *Taker) judged(err error, hint string) error {
	switch {
	case errors.Is(err, sshsig.ErrUnknown), errors.Is(err, sshsig.ErrBad):
		if err := usable(&t.signers); err != nil { // while somebody edits it, nobody can tell
			return err
		}
		return fault.Refusedf(hint, "it is not a signature that counts over this line: %w", err)
	case err != nil:
		return fault.Temporaryf("", "%w", err)
	}
	return nil
}

// Grant records a grant that a person signed elsewhere.
func (t *Taker) Grant(g approval.Grant, armor string) error {
	const hint = statementHint + "--grant TARGET"
	return t.once(&ahead{hint, g.ID, g.Given, g.Expires, g.Statement(), armor}, func(who string) (record, error) {
		g.By, g.Signer, g.Level, g.Signature = who, who, approval.Signature, armor
		return func(tx *queue.Tx, now time.Time) error { return queue.Grant(tx, g, now) }, g.Sound(time.Now())
	})
}

// Session opens a session that a person signed elsewhere. It began when its line was made.
func (t *Taker) Session(s approval.Session, armor string) error {
	const hint = statementHint + "--session SENDER --for 1h --max 5"
	i := slices.IndexFunc(t.policy.Owners, func(o string) bool { return address.Equal(o, s.Sender) })
	life := s.Expires.Sub(s.Opened)
	switch {
	case i < 0:
		return fault.Refusedf("owners in the policy: man 5 pulse-policy",
			"%s: %s is no owner", t.policy.Name, escape.ASCII(s.Sender))
	case life < approval.LeastSession || life > approval.MostSession || s.Max < 1 || s.Max > approval.MostUses:
		return fault.Refusedf(hint, "it is not a session that can be opened")
	}
	return t.once(&ahead{hint, s.ID, s.Opened, s.Expires, s.Statement(), armor}, func(who string) (record, error) {
		s.By, s.Signer, s.Level, s.Signature, s.Left = who, who, approval.Signature, armor, s.Max
		return func(tx *queue.Tx, now time.Time) error { return queue.TakeSession(tx, s, now) }, s.Sound(time.Now())
	})
}

// ahead is a yes that was signed ahead, and what to type for another one.
type ahead struct {
	hint, id       string
	given, expires time.Time
	line           []byte
	armor          string
}

// record records it in an Update.
type record = func(*queue.Tx, time.Time) error

// once records what was given ahead, if it was never recorded before: the log is read for
// that before ssh-keygen is started.
func (t *Taker) once(a *ahead, signedBy func(who string) (record, error)) error {
	if err := approval.Timely("what was signed", a.given, a.expires, time.Now()); err != nil {
		return fault.Refusedf(a.hint, "%w", err)
	}
	if err := t.known(a.armor, a.line, a.hint); err != nil {
		return err
	}
	rest, err := queue.Anew(t.Queue, a.id, a.given)
	if err == nil {
		err = t.onceNew(a, rest, signedBy)
	}
	if errors.Is(err, queue.ErrRecorded) {
		return t.final(a.line, fault.Refusedf("pulse-approve grants; "+a.hint, "%w: it counts once", err))
	}
	return err
}

// onceNew is once for what the log does not have yet.
func (t *Taker) onceNew(a *ahead, rest func(*queue.Tx) error, signedBy func(who string) (record, error)) error {
	who, err := t.signer(a.armor, a.line, a.hint)
	if err != nil {
		return err
	}
	record, err := signedBy(who)
	if err != nil {
		return fault.Refusedf(a.hint, "%w", err)
	}
	return queue.Update(t.Queue, func(tx *queue.Tx) error {
		if err := rest(tx); err != nil {
			return err
		}
		return record(tx, time.Now())
	})
}

// mostText bounds what is read of a file of answers, in bytes.
const mostText = 16 << 20

// ReadAnswers reads the text of a file, or of stdin for "-".
func ReadAnswers(c *cli.Context, name string) ([]byte, error) {
	if name == "-" {
		return bounded(c.App.Reader, name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return bounded(f, name)
}

// ReadSpooled is ReadAnswers for a name that others may have chosen: anything but a regular
// file is an error, because a FIFO or a device could keep the reader waiting for ever.
func ReadSpooled(c *cli.Context, name string) ([]byte, error) {
	if name == "-" {
		return ReadAnswers(c, name)
	}
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file", name)
	}
	if err != nil {
		return nil, err
	}
	return bounded(f, name)
}

// bounded reads to the end, which must come before mostText.
func bounded(in io.Reader, name string) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(in, mostText+1))
	if err == nil && len(b) > mostText {
		err = fmt.Errorf("%s: larger than %d MiB", name, mostText>>20)
	}
	return b, err
}

// Same reports whether two spellings are of one target under the policy.
func (t *Taker) Same(a, b string) bool { return t.policy.Outbound.Same(a, b) }
