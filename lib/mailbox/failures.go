package mailbox

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/emersion/go-imap/v2"

	"pulse/lib/source"
)

const (
	maxReconnects = 9  // of one run; one message costs three at most
	maxSuspects   = 10 // in a row
	maxWitnesses  = 10 // messages that are looked at to find one that may be served
)

// trouble is what a run knows of messages on which the server fails: it refuses them,
// ends the connection, falls silent, or answers with what can't be read. Such a message
// is given up only once the server has served another one after it failed: a server
// that is ill fails on all of them, and then none may be passed by.
type trouble struct {
	served     uint32    // UID that was served last
	suspects   []suspect // it failed on them twice, ascending; not yielded yet
	first      error     // why it failed for the first time
	reconnects int
	worn       bool // it has connected as often as it may
}

// suspect is a message on which the server failed twice, and why.
type suspect struct {
	uid uint32
	why error
}

// some fetches messages, all at once. If the server fails it asks for one alone at a
// time, until the one is found on which it fails.
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
// failed on one twice it returns the others.
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
		err = finalError{f.first} // the message is out, and what followed it is no message's doing
	}
	return failed, err
}

// expungeIssued is said of a message that was removed meanwhile (RFC 5530 §3).
const expungeIssued imap.ResponseCode = "EXPUNGEISSUED"

func gone(err error) bool {
	var refused *imap.Error
	return errors.As(err, &refused) && refused.Code == expungeIssued
}

// resume takes an error of a FETCH that may be about one message: it closes the
// connection if that is of no use any more. Other errors end the run.
func (f *fetcher) resume(err error) error {
	var ours finalError
	why := f.why(err)
	switch {
	case errors.As(err, &ours):
		return err
	case f.ctx.Err() != nil, errors.Is(why, ErrReadWrite), errors.Is(why, ErrCommand), errors.Is(why, ErrReplaced):
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

// reopen connects again if there is no connection. UIDs must still mean what they did.
// Its errors are final.
func (f *fetcher) reopen() error {
	if f.guard != nil {
		return nil
	}
	if f.reconnects == maxReconnects {
		f.worn = true
		return finalError{f.first}
	}
	f.reconnects++
	box, err := f.open()
	if err == nil && box.UIDValidity != f.validity {
		err = ErrReplaced
	}
	if err != nil {
		return finalError{f.why(err)}
	}
	return nil
}

// suspect notes one more. Many in a row are settled before there are more.
func (f *fetcher) suspect(s suspect) error {
	f.suspects = append(f.suspects, s)
	if len(f.suspects) < maxSuspects {
		return nil
	}
	return f.settle()
}

// settle gives up the suspects that no other message has followed if the server serves
// one that came before. A mailbox of a single message has no other.
func (f *fetcher) settle() error {
	if f.messages > 1 {
		if err := f.proveWell(); err != nil {
			return err
		}
	}
	return f.giveUp()
}

// proveWell fails unless the server serves a message that is no suspect. It asks for
// another one as long as the server only refuses, and keeps the connection.
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

// witness returns a message that is no suspect and was not tried: the one that was served last, or any
// one, by lot. The server may die on it too, and a run has one try: the same one each
// time would stop the mailbox for good.
func (f *fetcher) witness(tried []uint32) (uint32, error) {
	if f.served != 0 && len(tried) == 0 {
		return f.served, nil
	}
	if err := f.reopen(); err != nil {
		return 0, err
	}
	first := 1 + rand.Uint32N(max(f.messages, maxWitnesses)-maxWitnesses+1)
	last := min(first+maxWitnesses-1, f.messages)
	data, err := f.client.UIDSearch(&imap.SearchCriteria{SeqNum: []imap.SeqSet{{{Start: first, Stop: last}}}}, nil).Wait()
	if err != nil {
		return 0, err
	}
	uids, err := new(plan).uids(data)
	uids = slices.DeleteFunc(uids, func(uid uint32) bool {
		return slices.Contains(tried, uid) || slices.ContainsFunc(f.suspects, func(s suspect) bool { return s.uid == uid })
	})
	if len(uids) == 0 {
		return 0, cmp.Or(err, error(finalError{f.first}))
	}
	return uids[rand.IntN(len(uids))], nil
}

// giveUp yields the suspects as messages that can't be had.
func (f *fetcher) giveUp() error {
	for _, s := range f.suspects {
		m := &source.Message{Source: f.Address.String(), UID: s.uid, UIDValidity: f.validity, Unavailable: s.why}
		if err := f.emit(m); err != nil {
			return err
		}
	}
	f.suspects = f.suspects[:0]
	return nil
}
