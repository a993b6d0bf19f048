// Package mailbox reads a mailbox over IMAP without changing anything: no flag, not
// even \Recent.
//
// Invariant: a guard on the connection lets out only the few commands that read, and lets
// in no response that could exhaust the library that parses it. A password or token
// leaves only over TLS, or to this machine, and no error repeats one. Memory is bounded by
// one message. Caveat: what a server says about dates, sizes and UIDs is believed as long
// as the server does not contradict itself.
package mailbox

import (
	"cmp"
	"context"
	"errors"
	"net"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"pulse/lib/fetch/secure"
	"pulse/lib/fetch/source"
	"pulse/lib/shared/fault"
)

// Mailbox is a mailbox on a server (RFC 3501, RFC 9051). It is opened with EXAMINE
// and read with BODY.PEEK; no flag changes, not even \Recent.
type Mailbox struct {
	Address  Address
	Plain    bool // without TLS, and only to this machine; not with Address.TLS
	Auth     Auth
	Password string        // or an OAuth token, depending on Auth
	RootCAs  *secure.Roots // nil for those of the system
	Window   int64         // bytes of the body that are wanted
	Search   Search        // a further condition on the messages, which the server applies
	From     source.Start
	Wait     time.Duration // for a message if there is none; 0 for not at all

	// Outdated reports whether a run that has waited must leave what came to the next run, because
	// whatever decides about it is outdated. It may be nil.
	Outdated func() bool

	// Connected is called once there is a connection, before anything is read from it.
	// Its error ends the run. It may be nil.
	Connected func() error

	// Redial connects to Address again in the same run. If it is nil, Mailbox connects as
	// it did the first time.
	Redial func(context.Context) (net.Conn, error)

	// Pause is called before a read that may have to wait for the server, after all messages
	// that came before were yielded. Its error ends the connection. It may be nil.
	Pause func() error

	testOnlyLimits *limits
	testOnlyIdling func()                  // called once the server has agreed to an IDLE
	testOnlyConn   func(net.Conn) net.Conn // wraps each connection to the server
}

// batch is how many messages one FETCH asks for: enough that the round trip costs
// nothing, few enough that the command line stays short.
const batch = 200

// Each implements source.Source. If messages vanish while they are fetched, the error is
// temporary and counts them, after all others were yielded. A message on which the server
// fails is yielded with Unavailable set.
func (s *Mailbox) Each(ctx context.Context, yield func(*source.Message) error) error {
	f := fetcher{Mailbox: s, name: s.Address.String(), ctx: ctx, yield: yield, waiting: waiting{news: make(chan struct{}, 1)}}
	defer f.close()
	err := f.run()
	var ours finalError
	if errors.As(err, &ours) {
		return ours.error
	}
	if err != nil {
		return f.why(err)
	}
	return nil
}

func (s *Mailbox) limits() limits {
	if s.testOnlyLimits != nil {
		return *s.testOnlyLimits
	}
	return defaultLimits
}

// finalError is an error that Each returns as it is: yield returned it, or it was explained
// already.
type finalError struct{ error }

// fetcher is one run, over one connection as long as the server keeps it.
type fetcher struct {
	*Mailbox
	name    string // of the mailbox, as it stands in message.source
	ctx     context.Context
	guard   *guard // nil if not connected
	client  *imapclient.Client
	unwatch func() bool // ends the watch over ctx
	yield   func(*source.Message) error

	validity uint32
	messages uint32 // in the mailbox
	plan     plan
	waiting
	emitted  int
	vanished []uint32 // asked for and not sent
	header   []byte
	body     []byte

	failures
}

// open connects, logs in and opens the mailbox.
func (f *fetcher) open() (*imap.SelectData, error) {
	conn, err := f.dial(f.ctx, f.validity != 0)
	if err != nil {
		return nil, err
	}
	l := f.limits()
	if f.reconnects > 0 { // else a few messages on which it falls silent use up the time of a run
		l.idle /= 3
	}
	g := newGuard(conn, l)
	g.out.waits = f.Wait > 0
	f.guard, f.unwatch = g, context.AfterFunc(f.ctx, func() { conn.Close() })
	f.client = imapclient.New(g, &imapclient.Options{
		UnilateralDataHandler: &imapclient.UnilateralDataHandler{Fetch: g.unasked, Mailbox: f.changed},
	})
	if err := f.login(f.client); err != nil {
		return nil, err
	}
	if err := f.learnIdle(); err != nil {
		return nil, err
	}
	box, err := f.examine()
	if err == nil {
		f.messages = box.NumMessages
	}
	return box, err
}

func (f *fetcher) close() {
	if f.guard == nil {
		return
	}
	f.client.Close()
	f.unwatch()
	f.guard = nil
}

// why explains an error, by the connection as it is now if there is one.
func (f *fetcher) why(err error) error {
	if f.guard == nil {
		return f.explain(f.ctx, &guard{}, err)
	}
	return f.explain(f.ctx, f.guard, err)
}

func (f *fetcher) run() error {
	box, err := f.open()
	if err != nil {
		return err
	}
	f.validity = box.UIDValidity
	f.plan = planOf(f.From, box, f.Search)
	for more := true; more; {
		if err := f.pass(); err != nil {
			return err
		}
		if more, err = f.wait(); err != nil {
			return err
		}
		more = more && (f.Outdated == nil || !f.Outdated())
	}
	if err := f.finish(); err != nil {
		return err
	}
	return f.pauseAfter()
}

// pass fetches what there is now.
func (f *fetcher) pass() error {
	uids, err := f.search()
	if err != nil {
		return err
	}
	err = f.all(uids)
	if len(f.suspects) > 0 && (err == nil || f.exhausted) {
		f.reconnects = min(f.reconnects, maxReconnects-1) // one more, to settle what is left
		err = cmp.Or(f.settle(), err)
	}
	return err
}

// all fetches the messages, a batch at a time.
func (f *fetcher) all(uids []uint32) error {
	for len(uids) > 0 && !f.enough() {
		n := min(len(uids), batch)
		if left := f.From.Limit - f.emitted - len(f.suspects); f.From.Limit > 0 {
			n = min(n, left)
		}
		if err := f.some(uids[:n]); err != nil {
			return err
		}
		uids = uids[n:]
	}
	return nil
}

func (f *fetcher) enough() bool {
	return f.From.Limit > 0 && f.emitted+len(f.suspects) >= f.From.Limit
}

// examine opens the mailbox. The guard makes sure that it is read-only.
func (f *fetcher) examine() (*imap.SelectData, error) {
	box, err := f.client.Select(f.Address.Mailbox, &imap.SelectOptions{ReadOnly: true}).Wait()
	var refused *imap.Error
	if errors.As(err, &refused) &&
		refused.Code != imap.ResponseCodeUnavailable && refused.Code != imap.ResponseCodeInUse {
		return nil, fault.Failedf("the part after the host names the mailbox, for example /INBOX",
			"the server does not open the mailbox: %s", f.silent(refused.Text))
	}
	if err == nil && box.UIDValidity == 0 {
		err = broken("a mailbox without UIDVALIDITY")
	}
	return box, err
}

// search returns the UIDs to fetch, ascending. An empty mailbox is searched only once the run has
// waited, because the server may not have announced what came.
func (f *fetcher) search() (uids []uint32, err error) {
	f.forget()
	if !f.plan.nothing && (f.messages > 0 || !f.until.IsZero()) {
		data, err := f.client.UIDSearch(&f.plan.criteria, nil).Wait()
		if err != nil {
			return nil, err
		}
		if uids, err = f.plan.uids(data); err != nil {
			return nil, err
		}
	}
	f.plan.later(uids)
	return uids, nil
}

// finish makes sure that the UIDs still mean what they meant at the beginning.
func (f *fetcher) finish() error {
	if err := f.reopen(); err != nil {
		return err
	}
	box, err := f.examine()
	if err != nil {
		return err
	}
	if box.UIDValidity != f.validity {
		return fault.Temporaryf("run again", "%w", errReplaced)
	}
	f.guard.hurry()
	_ = f.client.Logout().Wait() // all is read, whatever the server answers
	if n := len(f.vanished); n > 0 {
		return fault.Temporaryf("run again; the next run goes on after them",
			"%d messages vanished while they were fetched, the first is UID %d", n, f.vanished[0])
	}
	return nil
}
