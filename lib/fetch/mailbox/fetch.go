package mailbox

import (
	"errors"
	"io"

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
	want := expected{missing: make(map[uint32]bool, len(uids))}
	for _, uid := range uids {
		set.AddNum(imap.UID(uid))
		want.missing[uid] = true
	}
	err = f.answer(f.client.Fetch(set, f.items()), &want, use)
	for _, uid := range uids {
		if want.missing[uid] {
			left = append(left, uid)
		}
	}
	return left, err
}

// answer reads the answer to a FETCH.
func (f *fetcher) answer(
	cmd *imapclient.FetchCommand, want *expected, use func(*source.Message) error,
) error {
	for msg := cmd.Next(); msg != nil; msg = cmd.Next() {
		m, err := f.read(msg)
		if err == nil {
			err = want.take(m.UID)
		}
		if err == nil {
			err = use(m)
		}
		if err != nil {
			f.guard.fail(err) // otherwise Close would wait for all the rest
			var cut cutError
			if !errors.As(err, &cut) { // the library would read a cut literal twice, at the same time
				_ = cmd.Close() // err is why
			}
			return err
		}
	}
	return cmd.Close()
}

// expected is what one FETCH asks for.
type expected struct {
	missing map[uint32]bool
	last    uint32 // UID that came last
}

// take notes a message that came. Messages must come in ascending order. Otherwise a queue
// that records how far it has read would miss one.
func (e *expected) take(uid uint32) error {
	switch {
	case !e.missing[uid]:
		return broken("UID %d, which was not asked for", uid)
	case uid <= e.last:
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

// read collects the items of one message. Each must come exactly once.
func (f *fetcher) read(msg *imapclient.FetchMessageData) (*source.Message, error) {
	m := &source.Message{Source: f.Address.String(), UIDValidity: f.validity}
	size := int64(-1)
	seen := map[imap.PartSpecifier]bool{}
	for item := msg.Next(); item != nil; item = msg.Next() {
		switch item := item.(type) {
		case imapclient.FetchItemDataUID:
			if m.UID != 0 && m.UID != uint32(item.UID) {
				return nil, broken("one message with two UIDs")
			}
			m.UID = uint32(item.UID)
		case imapclient.FetchItemDataInternalDate:
			m.Received = item.Time.UTC()
		case imapclient.FetchItemDataRFC822Size:
			size = item.Size
		case imapclient.FetchItemDataBodySection:
			what := item.Section.Specifier
			if seen[what] {
				return nil, broken("a part of a message twice")
			}
			seen[what] = true
			if err := f.section(&item); err != nil {
				return nil, err
			}
		}
	}
	if m.UID == 0 || m.Received.IsZero() || size < 0 || !seen[imap.PartSpecifierHeader] ||
		f.Window > 0 && !seen[imap.PartSpecifierText] {
		return nil, broken("a message with parts missing")
	}
	if f.Window == 0 {
		f.body = f.body[:0]
	}
	got := int64(len(f.header) + len(f.body))
	cut := int64(len(f.body)) == f.Window && got < size
	m.Raw = message.Raw{Header: f.header, Body: f.body, Size: max(size, got), Partial: cut, CRLF: true}
	return m, nil
}

// section reads a literal into the memory of the previous message.
func (f *fetcher) section(item *imapclient.FetchItemDataBodySection) (err error) {
	if len(item.Section.Part) > 0 || len(item.Section.HeaderFields)+len(item.Section.HeaderFieldsNot) > 0 {
		return broken("a part of a message that was not asked for")
	}
	if p := item.Section.Partial; p != nil && p.Offset != 0 {
		return broken("a part of a message from the middle")
	}
	switch item.Section.Specifier {
	case imap.PartSpecifierHeader:
		f.header, err = readLiteral(f.header, item.Literal, headerWindow)
	case imap.PartSpecifierText:
		f.body, err = readLiteral(f.body, item.Literal, f.Window)
	default:
		err = broken("a part of a message that was not asked for")
	}
	return err
}

// cutError reports a literal that ended too early.
type cutError struct{ error }

func (e cutError) Unwrap() error { return e.error }

// readLiteral reads a literal, which must be as long as announced, and not longer than
// asked for. NIL counts as an empty one.
func readLiteral(buf []byte, lit imap.LiteralReader, window int64) ([]byte, error) {
	if lit == nil {
		return buf[:0], nil
	}
	if lit.Size() > window {
		return buf[:0], broken("%d bytes where at most %d were asked for", lit.Size(), window)
	}
	if int64(cap(buf)) < lit.Size() {
		buf = make([]byte, lit.Size())
	}
	buf = buf[:lit.Size()]
	if n, err := io.ReadFull(lit, buf); err != nil {
		return buf[:0], cutError{broken("a literal of %d bytes that ends after %d", lit.Size(), n)}
	}
	if n, _ := lit.Read(make([]byte, 1)); n != 0 {
		return buf[:0], broken("a literal longer than announced")
	}
	return buf, nil
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
