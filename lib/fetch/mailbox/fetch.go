package mailbox

import (
	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"pulse/lib/fetch/message"
	"pulse/lib/fetch/source"
)

// fetch asks for one batch, calls use with each message, and returns the UIDs of those that
// did not come.
func (f *fetcher) fetch(uids []uint32, use func(*source.Message) error) (left []uint32, err error) {
	if err := f.reopen(); err != nil {
		return uids, err
	}
	var set imap.UIDSet
	a := &answer{fetcher: f, want: expected{missing: make(map[uint32]bool, len(uids))}, use: use}
	for _, uid := range uids {
		set.AddNum(imap.UID(uid))
		a.want.missing[uid] = true
	}
	f.guard.expect(a)
	err = f.client.Fetch(set, f.items()).Close()
	f.guard.expect(nil)
	if a.err != nil {
		err = a.err
	}
	for _, uid := range uids {
		if a.want.missing[uid] {
			left = append(left, uid)
		}
	}
	return left, err
}

// expected is what one FETCH asks for.
type expected struct {
	missing map[uint32]bool
	last    uint32 // UID that came last
}

// take notes a message that came. Messages must come in ascending order. Otherwise a queue
// that records how far it has read would miss one.
func (e *expected) take(uid uint32) error {
	if uid <= e.last {
		return broken("UID %d after UID %d", uid, e.last)
	}
	delete(e.missing, uid)
	e.last = uid
	return nil
}

// items returns what to ask for. It includes more of the header than is kept, which shows
// whether the header is too long.
func (f *fetcher) items() *imap.FetchOptions {
	o := &imap.FetchOptions{UID: true, InternalDate: true, RFC822Size: true}
	section := func(what imap.PartSpecifier, size int64) {
		o.BodySection = append(o.BodySection, &imap.FetchItemBodySection{
			Specifier: what, Peek: true, Partial: &imap.SectionPartial{Size: size},
		})
	}
	section(imap.PartSpecifierHeader, headerWindow)
	if f.Window > 0 {
		section(imap.PartSpecifierText, f.Window)
	}
	return o
}

// headerWindow is the largest header block and its blank line. A longer header fills it
// without a blank line, which shows that there is more.
const headerWindow = message.MaxHeader + 2

// hand yields a message if it is wanted. Before that it yields those that the server could
// not serve, because it serves again.
func (f *fetcher) hand(m *source.Message) error {
	f.served = m.UID
	if err := f.giveUp(); err != nil {
		return err
	}
	if m.Received.Before(f.plan.since) || f.enough() {
		return nil
	}
	return f.emit(m)
}

func (f *fetcher) emit(m *source.Message) error {
	f.emitted++
	if err := f.yield(m); err != nil {
		return finalError{err}
	}
	return nil
}

// unasked takes FETCH data that is not an answer. Flags come in this way when another
// client changes them; a body never does.
func (g *guard) unasked(msg *imapclient.FetchMessageData) {
	for item := msg.Next(); item != nil; item = msg.Next() {
		if _, ok := item.(imapclient.FetchItemDataBodySection); ok {
			g.fail(broken("a message that was not asked for, or twice"))
		}
	}
}
