package mailbox

import (
	"cmp"
	"math"
	"time"

	"github.com/emersion/go-imap/v2"

	"pulse/lib/fetch/source"
)

// maxUIDs bounds one search result, so that a server can't name them all.
const maxUIDs = 4_000_000

// plan is what a Start means for a mailbox as it is now.
type plan struct {
	nothing  bool
	criteria imap.SearchCriteria
	above    uint32    // only UIDs above this one
	since    time.Time // only messages received then or later
	newest   int       // only so many of the newest; 0 for all
}

func planOf(s source.Start, box *imap.SelectData, search Search) plan {
	p := plan{nothing: box.NumMessages == 0}
	switch {
	case !s.Resume:
		p.newest = cmp.Or(s.Limit, source.Newest)
		if search.empty() { // by number, so that a large mailbox need not name all its messages
			first := uint32(max(1, int64(box.NumMessages)-int64(p.newest)+1))
			p.criteria.SeqNum = []imap.SeqSet{{{Start: first, Stop: box.NumMessages}}}
		}
	case s.Known && s.Position.UIDValidity == box.UIDValidity:
		p.above = s.Position.UID
		p.nothing = p.nothing || p.above == math.MaxUint32
		p.criteria.UID = []imap.UIDSet{{{Start: imap.UID(p.above) + 1}}}
	case s.Known && !s.Position.Received.IsZero():
		p.from(s.Position.Received)
	default:
		p.from(s.Now.Add(-source.FirstRun))
	}
	and(&p.criteria, &search.criteria)
	return p
}

// from asks for what was received since t. SINCE knows only days, in the server's time zone
// (RFC 9051 §6.4.4), so a day more is asked for, and hand compares the times.
func (p *plan) from(t time.Time) {
	p.since = t.Truncate(time.Second) // INTERNALDATE has no fractions
	p.criteria.Since = t.UTC().Add(-24 * time.Hour)
}

// uids returns the UIDs that a search found, ascending. It leaves out the last message if
// that is not above: "5000:*" finds it however low its UID is.
func (p *plan) uids(data *imap.SearchData) ([]uint32, error) {
	set, _ := data.All.(imap.UIDSet)
	var list []uint32
	for _, r := range set {
		if r.Start == 0 || r.Stop < r.Start || uint64(len(list))+uint64(r.Stop-r.Start) >= maxUIDs {
			return nil, broken("a search that finds UIDs %d to %d", r.Start, r.Stop)
		}
		for uid := uint64(r.Start); uid <= uint64(r.Stop); uid++ {
			if uint32(uid) > p.above {
				list = append(list, uint32(uid))
			}
		}
	}
	if p.newest > 0 && len(list) > p.newest {
		list = list[len(list)-p.newest:]
	}
	return list, nil
}

// later makes it the plan for what comes after the messages with these UIDs.
func (p *plan) later(seen []uint32) {
	if len(seen) > 0 {
		p.above = seen[len(seen)-1]
	}
	p.nothing = p.above == math.MaxUint32
	p.criteria.SeqNum = nil
	p.criteria.UID = []imap.UIDSet{{{Start: imap.UID(p.above) + 1}}}
}
