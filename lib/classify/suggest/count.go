package suggest

import (
	"slices"
	"strings"

	"pulse/lib/classify/identity"
	"pulse/lib/shared/address"
	"pulse/lib/shared/envelope"
)

// source stands for one receiver, as far as the name of a source tells: an IMAP account,
// a Maildir, an mbox, or all single files together.
type source struct {
	name      string // pattern for [[receiver]]
	example   string // the first message.source
	mails     []*seen
	firsts    []*first
	uncounted int            // mails beyond maxFirsts
	ids       map[string]int // mails that hold a field with the id, wherever it stands
	tops      map[string]int // those of them that hold one above every Received field
	checked   int            // mails that pulse-fetch checked itself
	servers   int            // mails with fields of Microsoft's own servers
}

// count counts what the mails of the source have in common.
func (src *source) count() {
	src.ids, src.tops = map[string]int{}, map[string]int{}
	for _, m := range src.mails {
		if m.DKIM != nil {
			src.checked++
		}
		if m.microsoft {
			src.servers++
		}
		for _, id := range m.ids {
			src.ids[id]++
			if m.received && slices.Contains(m.above, id) {
				src.tops[id]++
			}
		}
		if f := src.first(m.kind, m.id); f != nil {
			f.add(m)
		} else {
			src.uncounted++
		}
	}
}

// first holds the counts for all mails with the same first field.
type first struct {
	kind    kind
	id      string // if kind is byID
	mails   int
	own     int      // the owner's among them
	domains []string // different domains of From
	more    bool     // domains is full
	top     int      // mails with the field, and none of another id, above every Received field
	several int      // mails with more than one Authentication-Results field
}

func (f *first) add(m *seen) {
	f.mails++
	if m.own {
		f.own++
	}
	if m.received && len(m.above) == 1 && m.above[0] == f.id {
		f.top++
	}
	if m.fields > 1 {
		f.several++
	}
	_, domain, err := address.Split(m.sender)
	domain = address.Fold(domain)
	switch {
	case err != nil || slices.Contains(f.domains, domain):
	case len(f.domains) == maxDomains:
		f.more = true
	default:
		f.domains = append(f.domains, strings.Clone(domain))
	}
}

// first returns the counts for a first field, or nil if there are too many.
func (src *source) first(k kind, id string) *first {
	for _, f := range src.firsts {
		if f.kind == k && f.id == id {
			return f
		}
	}
	if len(src.firsts) == maxFirsts {
		return nil
	}
	f := &first{kind: k, id: id}
	src.firsts = append(src.firsts, f)
	return f
}

// bare returns the counts for mail without a field.
func (src *source) bare() *first {
	for _, f := range src.firsts {
		if f.kind == none {
			return f
		}
	}
	return new(first)
}

// lead returns the counts for the most frequent first field.
func (src *source) lead() *first {
	lead := new(first)
	for _, f := range src.firsts {
		if f.mails > lead.mails {
			lead = f
		}
	}
	return lead
}

// tally counts how many mails are verified, and why the others are not.
type tally struct {
	mails    int
	verified [len(alignments)]int
	reasons  map[identity.Reason]int // why not, under strict
	signers  map[string]int          // domains that signed mail which only relaxed verifies
}

func (t *tally) add(m *seen, found *results) {
	t.mails++
	for i := range found {
		if found[i].Verified {
			t.verified[i]++
		}
	}
	strict := &found[0]
	if strict.Verified {
		return
	}
	if t.reasons == nil {
		t.reasons, t.signers = map[identity.Reason]int{}, map[string]int{}
	}
	t.reasons[strict.Reason]++
	if found[1].Verified {
		d := signer(m.Message, strict)
		if _, known := t.signers[d]; known || len(t.signers) < maxSigners {
			t.signers[d]++
		}
	}
}

// signer returns the domain that signed a message which is verified only under relaxed
// alignment.
func signer(m *envelope.Message, strict *identity.Identity) string {
	if strict.Reason != identity.SignatureNotAligned {
		return address.Fold(strict.Auth.DKIMDomain)
	}
	for _, s := range m.DKIM.Signatures {
		if identity.Near(s.Domain, m.DKIM.From) {
			return address.Fold(s.Domain)
		}
	}
	return ""
}

// account returns the pattern of all sources that share the receiver of source: the
// mailboxes of an IMAP account, or all single files, which are samples.
func account(source string) string {
	if strings.HasPrefix(source, "file:") {
		return "file:*"
	}
	scheme, rest, found := strings.Cut(source, "://")
	if authority, _, slash := strings.Cut(rest, "/"); found && slash {
		return scheme + "://" + authority + "/*"
	}
	return source
}
