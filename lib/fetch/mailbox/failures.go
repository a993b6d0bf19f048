package mailbox

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/emersion/go-imap/v2"

	"pulse/lib/fetch/source"
)

const (
	maxReconnects = 9  // in one run; one message costs three at most
	maxSuspects   = 10 // in a row
	maxWitnesses  = 10 // messages that are tried to find one that the server serves
)

// failures is what a run knows about messages on which the server fails: it refuses them,
// ends the connection, falls silent, or answers with what can't be read. Such a message
// is given up only once the server has served another one after it failed. A server that
// is ill fails on all messages, and then none of them may be skipped.
type failures struct {
	served     uint32    // UID that was served last
	suspects   []suspect // messages on which the server failed twice, ascending; not yielded yet
	first      error     // why the server failed for the first time
	reconnects int
	exhausted  bool // the run has connected as often as it may
}

// suspect is a message on which the server failed twice, and why.
type suspect struct {
	uid uint32
	why error
}

// some fetches messages, all at once. If the server fails, it asks for one at a time, until
// it has found the one on which the server fails.
func (f *fetcher) some(uids []uint32) error {
	for len(uids) > 0 {
		if len(uids) > 1 {
			left, err := f.fetch(uids, f.hand)
			if err == nil {
				f.vanished = append(f.vanished, left...)
				return nil
			}
			if uids = left; len(left) == 0 {
				return err
			}
			if err := f.resume(err); err != nil {
				return err
			}
		}
		rest, err := f.alone(uids)
		if err != nil {
			return err
		}
		uids = rest
	}
	return nil
}

// alone fetches one message after the other, each at most twice. Once the server has
// failed on one twice, it returns those that are left.
func (f *fetcher) alone(uids []uint32) (rest []uint32, err error) {
	for i, uid := range uids {
		failed, err := f.attempt(uid)
		if err == nil && failed != nil {
			failed, err = f.attempt(uid)
		}
		if err != nil {
			return nil, err
		}
		if failed != nil {
			return uids[i+1:], f.suspect(suspect{uid, failed})
		}
	}
	return nil, nil
}

// attempt fetches one message. failed says why the server could not serve it; err ends
// the run.
func (f *fetcher) attempt(uid uint32) (failed, err error) {
	left, err := f.fetch([]uint32{uid}, f.hand)
	switch {
	case err == nil || len(left) > 0 && gone(err):
		f.vanished = append(f.vanished, left...)
		return nil, nil
	}
	failed = f.why(err)
	if err = f.resume(err); err == nil && len(left) == 0 {
		err = finalError{f.first} // the message came, so the failure after it is not about a message
	}
	return failed, err
}

// expungeIssued is the code for a message that was removed meanwhile (RFC 5530 §3).
const expungeIssued imap.ResponseCode = "EXPUNGEISSUED"

func gone(err error) bool {
	var refused *imap.Error
	return errors.As(err, &refused) && refused.Code == expungeIssued
}

// resume takes an error of a FETCH. If it may be about one message, resume returns nil, and
// closes the connection if that can't be used any more. Other errors end the run.
func (f *fetcher) resume(err error) error {
	var ours finalError
	why := f.why(err)
	switch {
	case errors.As(err, &ours):
		return err
	case f.ctx.Err() != nil,
		errors.Is(why, errReadWrite), errors.Is(why, errCommand), errors.Is(why, errReplaced):
		return finalError{why}
	case errors.Is(why, errFlood):
		return finalError{cmp.Or(f.first, why)}
	}
	f.first = cmp.Or(f.first, why)
	var refused *imap.Error
	if !errors.As(err, &refused) || f.guard.Err() != nil || f.guard.farewell() != "" {
		f.close()
	}
	return nil
}

// reopen connects again if there is no connection. The UIDs must still mean what they meant
// before. Its errors are final.
func (f *fetcher) reopen() error {
	if f.guard != nil {
		return nil
	}
	if f.reconnects == maxReconnects {
		f.exhausted = true
		return finalError{f.first}
	}
	f.reconnects++
	box, err := f.open()
	if err == nil && box.UIDValidity != f.validity {
		err = errReplaced
	}
	if err != nil {
		return finalError{f.why(err)}
	}
	return nil
}

// suspect notes one more message. If there are many in a row, it settles them first.
func (f *fetcher) suspect(s suspect) error {
	f.suspects = append(f.suspects, s)
	if len(f.suspects) < maxSuspects {
		return nil
	}
	return f.settle()
}

// settle gives up the suspects after which no other message came, if the server serves one
// that is not a suspect. In a mailbox with a single message there is none to ask for.
func (f *fetcher) settle() error {
	if f.messages > 1 {
		if err := f.proveWell(); err != nil {
			return err
		}
	}
	return f.giveUp()
}

// proveWell fails unless the server serves a message that is not a suspect. It asks for
// another one as long as the server only refuses and keeps the connection.
func (f *fetcher) proveWell() error {
	for tried := []uint32{}; len(tried) < maxWitnesses && (len(tried) == 0 || f.guard != nil); {
		uid, err := f.witness(tried)
		if err != nil {
			return err
		}
		left, err := f.fetch([]uint32{uid}, func(*source.Message) error { return nil })
		if err == nil && len(left) == 0 {
			return nil
		}
		if err != nil {
			if err := f.resume(err); err != nil {
				return err
			}
		}
		tried = append(tried, uid)
	}
	return finalError{f.first}
}

// witness returns a message that is not a suspect and was not tried: the one that was
// served last, or a random one. The server may die on it, too, and a run has only one try.
// If it were the same message each time, no run would ever get further.
func (f *fetcher) witness(tried []uint32) (uint32, error) {
	if f.served != 0 && len(tried) == 0 {
		return f.served, nil
	}
	if err := f.reopen(); err != nil {
		return 0, err
	}
	first := 1 + rand.Uint32N(max(f.messages, maxWitnesses)-maxWitnesses+1)
	last := min(first+maxWitnesses-1, f.messages)
	criteria := imap.SearchCriteria{SeqNum: []imap.SeqSet{{{Start: first, Stop: last}}}}
	data, err := f.client.UIDSearch(&criteria, nil).Wait()
	if err != nil {
		return 0, err
	}
	uids, err := new(plan).uids(data)
	uids = slices.DeleteFunc(uids, func(uid uint32) bool {
		suspected := slices.ContainsFunc(f.suspects, func(s suspect) bool { return s.uid == uid })
		return suspected || slices.Contains(tried, uid)
	})
	if len(uids) == 0 {
		return 0, cmp.Or(err, error(finalError{f.first}))
	}
	return uids[rand.IntN(len(uids))], nil
}

// giveUp yields the suspects as messages that are unavailable.
func (f *fetcher) giveUp() error {
	for _, s := range f.suspects {
		m := &source.Message{
			Source: f.Address.String(), UID: s.uid, UIDValidity: f.validity, Unavailable: s.why,
		}
		if err := f.emit(m); err != nil {
			return err
		}
	}
	f.suspects = f.suspects[:0]
	return nil
}
