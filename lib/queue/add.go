package queue

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"pulse/lib/authorize/decision"
	"pulse/lib/classify/identity"
	"pulse/lib/queue/clock"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/record"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// Quota is the reason of a rejection because a sender has too many open tasks already.
const Quota = "sender_quota"

// Batch collects records and adds them to a store in one Update. It keeps them in memory
// until then.
type Batch struct {
	Store   store.Store
	Unsafe  bool // the queue accepts what --unsafe-allow-all decided
	Pending int  // how many open tasks a sender may have
	Now     func() time.Time

	Keep   time.Duration // how long a record that the policy rejects is kept; 0: not at all
	Unkept string        // why none can be kept now, as in audit.Line.NotKept; empty: one can
	Spare  int64         // how many bytes of the disk those of one batch may take

	Require approval.Level // the least level of a session that counts

	Sandbox string // what confines the command that adds, for the log

	NotBefore time.Time // the tasks are not started earlier; zero: at once

	// Open is set while more of the same input may follow. No position moves until it has ended,
	// because only then is it certain that nothing comes that lies before it.
	Open bool

	items []*item
	size  int
	last  map[mailbox]store.Position // of the record of each mailbox that was put last
	read  []store.Position           // how far what was put goes, by source
}

// mailbox is where UIDs can be compared. With Timed all of a source is one.
type mailbox struct {
	source   string
	validity uint32
}

func mailboxOf(p *store.Position) mailbox {
	if p.UIDValidity&audit.Timed != 0 || p.UIDValidity == 0 {
		return mailbox{source: p.Source}
	}
	return mailbox{p.Source, p.UIDValidity}
}

// ErrOrder means that a record lies before one of the same source that came earlier. Had the
// position moved to that one, nobody would fetch again what a filter left out or put elsewhere.
var ErrOrder = errors.New("it lies before an earlier record of this source")

// item is a record on its way in.
type item struct {
	Content
	id      string
	names   []string // ids under which the queue may know it, id first
	content string   // the name by its content under which the queue may know it
	raw     []byte   // without `task` and `extract`
	receipt task.Task

	twin       bool // another mail took the name by content
	wasRefused bool // it was refused before, and comes from where it was kept
}

// NewBatch returns an empty batch.
func NewBatch(s store.Store, unsafe bool, pending int, now func() time.Time) *Batch {
	return &Batch{Store: s, Unsafe: unsafe, Pending: pending, Now: now, Require: approval.Terminal}
}

// The bounds of a batch. A commit costs a constant number of syncs, 7 at most; a batch is in memory
// twice, once while the next is read: with 500 records of 4 kB add takes 43 MB, with 125 it takes 25,
// in the same time.
const (
	maxBatch      = 125
	maxBatchBytes = 2 << 20
)

// Full reports whether the batch must be committed before the next Put.
func (b *Batch) Full() bool { return len(b.items) >= maxBatch || b.size >= maxBatchBytes }

// Put adds a record to the batch. It is an error if the record was not decided on, or if
// --unsafe-allow-all let it through and this queue does not accept that.
func (b *Batch) Put(rec *record.Record) error {
	c, err := read(rec)
	if errors.Is(err, record.ErrMissing) {
		return fault.Failedf("pulse-fetch … | pulse-classify | pulse-authorize | pulse-queue add", "%w", err)
	}
	if err != nil {
		return err
	}
	if c.Decision.Reason == decision.Unsafe && !b.Unsafe {
		return fault.Refusedf("pulse-queue init --unsafe makes a queue for trials",
			"%w", rec.Bad(errors.New("decided by --unsafe-allow-all, and this queue does not take that")))
	}
	it := &item{Content: c, raw: foreign(rec), wasRefused: wasRefused(rec)}
	if it.id, err = c.ID(); err != nil {
		return rec.Bad(err)
	}
	if err := it.again(rec); err != nil {
		return err
	}
	if err := b.follow(it, rec); err != nil {
		return err
	}
	it.names, it.content = it.Content.names(it.id)
	b.items = append(b.items, it)
	b.size += len(it.raw)
	return nil
}

// follow notes how far a record goes in its source. It must not lie before the one that came
// earlier, unless a queue has printed it: a list has an order of its own.
func (b *Batch) follow(it *item, rec *record.Record) error {
	m := it.Message
	if m == nil || m.UID == 0 || it.wasRefused {
		return nil
	}
	p := positionOf(m)
	if last, ok := b.last[mailboxOf(&p)]; ok && !rec.Has(task.Member) && p.Precedes(&last) {
		return fault.Failedf("keep the order of the records, as parallel -k does, and run all of it again: no position has moved",
			"%w", rec.Bad(fmt.Errorf("UID %d after UID %d: %w", p.UID, last.UID, ErrOrder)))
	}
	if b.last == nil {
		b.last = map[mailbox]store.Position{}
	}
	if !rec.Has(task.Member) {
		b.last[mailboxOf(&p)] = p
	}
	b.read = furthest(b.read, p)
	return nil
}

// again gives a record that a queue has printed the id that it had, where no other member names
// it: it was submitted, or was kept without the text that is in the name of a refused mail. Added
// again it is known, and not a second task.
func (it *item) again(rec *record.Record) error {
	if it.Identity.Via != identity.ViaSubmit && !it.wasRefused || !rec.Has(task.Member) {
		return nil
	}
	id, err := task.Named(rec)
	it.id = id
	return err
}

// Take empties the batch and returns what it held, which may be committed while more is
// put into b.
func (b *Batch) Take() *Batch {
	full := *b
	full.read = slices.Clone(b.read)
	b.items, b.size = nil, 0
	return &full
}

// Idle reports whether there is nothing to commit.
func (b *Batch) Idle() bool { return len(b.items) == 0 && (b.Open || len(b.read) == 0) }

// Commit adds the batch to the store, durably, and then calls receipt for every record in
// order, with the record and its `task` member; line is good until receipt returns. The
// batch is empty afterwards, whatever happened.
func (b *Batch) Commit(receipt func(line []byte) error) error {
	if b.Idle() {
		return nil
	}
	items := b.items
	b.items, b.size = nil, 0
	if err := Update(b.Store, func(tx *Tx) error { return b.stage(tx, items) }); err != nil {
		return err
	}
	var line []byte
	for _, it := range items {
		line = record.AppendMember(line[:0], it.raw, task.Member, it.receipt.Append(nil))
		if err := receipt(line); err != nil {
			return err
		}
	}
	return nil
}

func (b *Batch) stage(tx *Tx, items []*item) error {
	in := intake{Batch: b, tx: tx, seen: map[string]task.Task{}, settled: map[string]bool{}}
	in.spare = b.Spare
	in.all, in.kept, in.counts = items, map[string]audit.Line{}, tx.Counts()
	var err error
	if in.clock, err = ClockOf(tx, b.Now()); err != nil {
		return err
	}
	in.now = in.clock.Now
	if in.sessions, err = sessions(tx, &in.clock); err != nil {
		return err
	}
	if err := in.countPending(items); err != nil {
		return err
	}
	var ids []string
	for _, it := range items {
		if ids = append(ids, it.names...); it.content != "" {
			ids = append(ids, it.content)
		}
	}
	if err := tx.Look(ids, false); err != nil {
		return err
	}
	for _, it := range items {
		if err := in.take(it); err != nil {
			return err
		}
	}
	for i := 0; i < len(b.read) && !b.Open; i++ {
		tx.Position(b.read[i], in.now)
	}
	return nil
}

// positionOf returns the position after a message. Its time is not one that was still to come when
// the message was fetched: a run that begins there would find nothing until then.
func positionOf(m *envelope.Message) store.Position {
	p := store.Position{Source: m.Source, UIDValidity: m.UIDValidity, UID: m.UID, Received: m.Received}
	if !m.Fetched.IsZero() && p.Received.After(m.Fetched) {
		p.Received = m.Fetched
	}
	return p
}

// intake adds the records of a batch in one Update.
type intake struct {
	*Batch
	tx      *Tx
	now     time.Time
	clock   clock.Clock
	seen    map[string]task.Task // added in this Update, by id and by name
	pending map[store.Key]int    // open tasks of the senders in this batch

	sessions map[string]*approval.Session // with the uses that this Update leaves
	settled  map[string]bool              // proposals whose receipt this Update logged

	all    []*item
	kept   map[string]audit.Line // refused records: the last line of this Update about them
	logged map[string]audit.Line // what was kept before, as the log says; nil: not read
	counts store.Counts          // of what is kept, with what this Update changes
	spare  int64                 // how many bytes of the disk records of this batch may still take
}

func (in *intake) take(it *item) error {
	known, err := in.known(it)
	if it.wasRefused {
		in.refuseAgain(it, known)
		return err
	}
	if err != nil {
		return err
	}
	if known {
		return errors.Join(in.label(it), in.settle(it))
	}
	it.receipt = task.Task{ID: it.id, Kind: it.Kind(), Created: in.now}
	it.receipt.Change = task.Change{Since: in.now, Reason: string(it.Decision.Reason)}
	if it.receipt.Link, err = in.link(it); err != nil {
		return err
	}
	switch {
	case it.Decision.Outcome == terms.Reject:
		err = in.refuse(it)
	case it.counted() && in.pending[store.KeyOf(it.Identity.Sender)] >= in.quota(it):
		it.receipt.Reason = Quota
		err = in.refuse(it)
	default:
		err = in.accept(it) // a refusal does not use up the id: a better copy may follow
	}
	return err
}

// known reports whether the queue knows the task already, under any of its names, and fills in
// its receipt.
func (in *intake) known(it *item) (bool, error) {
	for _, id := range it.names {
		if known, err := in.knows(it, id); known || err != nil {
			return known, err
		}
	}
	if it.content == "" {
		return false, nil
	}
	id, err := in.seen[it.content].ID, error(nil)
	if id == "" {
		id, err = NameOf(in.tx, it.content)
	}
	if id == "" || err != nil {
		return false, err
	}
	if it.twin, err = in.isTwin(it, id); it.twin || err != nil {
		return false, err
	}
	return in.knows(it, id)
}

// isTwin reports whether the task that has the name by the content of a mail is of another mail.
func (in *intake) isTwin(it *item, id string) (bool, error) {
	for _, first := range in.all {
		if first.id == id {
			return it.twinOf(&first.Content), nil
		}
	}
	st, err := in.tx.Where(id)
	if st == "" || err != nil {
		return false, err
	}
	first, err := Load(in.tx, st, id)
	if errors.Is(err, store.ErrCorrupt) {
		return false, nil // nobody can tell, and nothing is to be added twice
	}
	return err == nil && it.twinOf(&first.Content), err
}

// knows reports whether the queue knows a task of this id, and fills in its receipt.
func (in *intake) knows(it *item, id string) (bool, error) {
	if t, ok := in.seen[id]; ok {
		it.receipt = t
		return true, nil
	}
	st, err := in.tx.Where(id)
	if err != nil {
		return false, err
	}
	if st == "" {
		last, err := PrunedOf(in.tx, id)
		it.receipt = task.Task{ID: id, Kind: it.Kind(), State: last}
		it.receipt.Reason = string(task.Pruned)
		return last != "", err
	}
	stored, err := Load(in.tx, st, id)
	if errors.Is(err, store.ErrCorrupt) {
		err = nil // it is known all the same, and must not be added twice
	}
	it.receipt = stored.Task
	return true, err
}

// refuseAgain fills in the receipt of a record that was refused before, and changes nothing
// else. The receipt of a task that was added meanwhile says so, too, because the record in it has
// no text either.
func (in *intake) refuseAgain(it *item, known bool) {
	if !known {
		it.receipt = task.Task{ID: it.id, Kind: it.Kind(), State: task.Rejected, Created: in.now}
		it.receipt.Change = task.Change{Since: in.now, Reason: reasonWasRefused}
	}
	it.receipt.Refused = true
}

func (in *intake) refuse(it *item) error {
	it.receipt.State = task.Rejected
	line := it.describe(audit.Line{Time: in.now, Event: task.Refused, Task: it.id})
	line.Change.Reason, line.Sandbox, line.Link = it.receipt.Reason, in.Sandbox, it.receipt.Link
	kept, err := in.keep(it, &line)
	if err != nil {
		return err
	}
	listed := true
	if it.Identity.Effect() { // the line is the receipt of a proposal: it must not be left out after the first 1,000 of a day
		err = in.tx.logKept(line, kept)
	} else {
		listed, err = in.tx.Refuse(line, kept)
	}
	if listed && kept != nil {
		in.noteKept(&line)
	}
	return err
}

func (in *intake) accept(it *item) error {
	t := &it.receipt
	t.State, t.NotBefore = task.Awaiting, in.NotBefore
	if it.Standing() != "" {
		t.NotBefore = store.Forever
	}
	if it.Decision.Outcome == terms.Allow && !it.Outward() {
		t.State = task.Scheduled
	}
	if err := errors.Join(in.spend(it), in.accepted(it.id)); err != nil {
		return err
	}
	file := append(record.AppendMember(nil, it.raw, task.Member, t.AppendFixed(nil)), '\n')
	t.Digest = task.Digest(file)
	line := it.describe(audit.Line{Time: in.now, Event: task.Added, Task: t.ID, To: t.State, Digest: t.Digest})
	line.Change, line.Sandbox, line.Link = t.Change, in.Sandbox, t.Link
	in.seen[it.id] = *t
	if line.KnownAs = it.takes(); it.twin {
		line.KnownAs = ""
	} else if line.KnownAs != "" {
		in.seen[line.KnownAs] = *t
	}
	if it.counted() {
		in.pending[store.KeyOf(it.Identity.Sender)]++
	}
	return errors.Join(in.tx.Add(file, line), in.label(it))
}

// label gives the root of a task the labels that the record says it has. A record that was
// restored, or comes from another queue, may know more than the queue, and never less counts.
func (in *intake) label(it *item) error {
	if len(it.Identity.Labels) == 0 {
		return nil
	}
	s := Stored{Task: it.receipt, Content: it.Content}
	return s.label(in.tx, it.Identity.Labels, in.now)
}

// counted reports whether the record counts against its sender's quota, because it came as
// a message. Effects don't, nor do asks that this machine's own user submits.
func (c *Content) counted() bool { return c.Kind() == task.Ask && c.Message != nil }

// quota returns how many open tasks the sender of a record may have. Anyone can send a message
// that could not be checked, and anyone who has one mail of the sender can send it on a thousand
// times with another value of a field that is not signed: such messages get half, so that the
// sender keeps the rest.
func (in *intake) quota(it *item) int {
	switch it.Decision.Reason {
	case decision.Unchecked, decision.FieldUnsigned, decision.TextUnproven:
		return max(1, in.Pending/2)
	}
	return in.Pending
}

// countPending counts the open tasks of the senders of the records.
func (in *intake) countPending(items []*item) error {
	in.pending = map[store.Key]int{}
	for _, it := range items {
		if it.counted() && it.Decision.Outcome != terms.Reject && !it.wasRefused {
			in.pending[store.KeyOf(it.Identity.Sender)] = 0
		}
	}
	if len(in.pending) == 0 {
		return nil
	}
	return in.tx.Pending(in.pending)
}
