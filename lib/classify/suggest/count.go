package suggest

import (
	"errors"
	"slices"
	"strings"

	"pulse/lib/classify/authres"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/address"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
)

// source stands for one receiver, as far as the name of a source tells: an IMAP account,
// a Maildir, an mbox, or all single files together.
type source struct {
	name      string // pattern for [[receiver]]
	example   string // the first message.source
	mails     []*envelope.Message
	firsts    []*first
	uncounted int            // mails beyond maxFirsts
	ids       map[string]int // mails that hold a field with the id, wherever it stands
	tops      map[string]int // those of them that hold one above every Received field
	checked   int            // mails that pulse-fetch checked itself
	servers   int            // mails with fields of Microsoft's own servers
}

// look counts what the mails of the source have in common.
func (src *source) look(s *Survey) {
	src.ids, src.tops = map[string]int{}, map[string]int{}
	for _, m := range src.mails {
		if m.DKIM != nil {
			src.checked++
		}
		p := placesOf(m)
		if p.microsoft {
			src.servers++
		}
		for _, id := range p.ids {
			src.ids[id]++
		}
		if p.received {
			for _, id := range p.above {
				src.tops[id]++
			}
		}
		kind, id := firstField(m)
		f := src.first(kind, id)
		if f == nil {
			src.uncounted++
			continue
		}
		f.mails++
		f.place(&p)
		w := way{verdict: policy.ByFirst, ids: []string{id}, evidence: policy.ByAuthRes}
		if kind != byID {
			w.ids[0] = "none.invalid"
		}
		found := classify(m, w.policies())
		f.domain(found[0].Sender)
		f.all.add(m, &found)
		if s.owns(found[0].Sender) {
			f.own.add(m, &found)
		}
	}
}

// kind tells what the first Authentication-Results field of a message looks like.
type kind int

const (
	byID kind = iota
	none
	oddName
	noID
	unreadable
)

func (k kind) String() string {
	return [...]string{"", "(no such field)", "(odd field name)", "(no authserv-id)", "(can't be read)"}[k]
}

// first holds the counts for all mails with the same first field.
type first struct {
	kind    kind
	id      string // if kind is byID
	mails   int
	domains []string // different domains of From
	more    bool     // domains is full
	top     int      // mails with the field, and none of another id, above every Received field
	several int      // mails with more than one Authentication-Results field
	all     tally
	own     tally // the owner's among all
}

// tally counts how many mails are verified, and why the others are not.
type tally struct {
	mails    int
	verified [len(alignments)]int
	reasons  map[identity.Reason]int // why not, under strict
	signers  map[string]int          // domains that signed mail which only relaxed verifies
}

func (t *tally) add(m *envelope.Message, found *results) {
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
		d := signer(m, strict)
		if _, known := t.signers[d]; known || len(t.signers) < maxSigners {
			t.signers[strings.Clone(d)]++
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

func (s *source) first(k kind, id string) *first {
	if len(id) > maxName {
		id = id[:maxName] + "..."
	}
	for _, f := range s.firsts {
		if f.kind == k && f.id == id {
			return f
		}
	}
	if len(s.firsts) == maxFirsts {
		return nil
	}
	f := &first{kind: k, id: strings.Clone(id)}
	s.firsts = append(s.firsts, f)
	return f
}

// domain counts the domain that the message says it is from.
func (f *first) domain(sender string) {
	_, domain, err := address.Split(sender)
	domain = address.Fold(domain)
	switch {
	case err != nil || slices.Contains(f.domains, domain):
	case len(f.domains) == maxDomains:
		f.more = true
	default:
		f.domains = append(f.domains, strings.Clone(domain))
	}
}

const fieldName = "authentication-results"

// places says where the fields of a message stand.
type places struct {
	ids       []string // different ids of its fields, wherever they stand
	above     []string // those of fields above every Received field
	fields    int
	received  bool
	microsoft bool // it has a field that servers of Microsoft write
}

// placesOf reads the names and ids of the fields. A server puts its Received field on top
// of the message that it was sent (RFC 5321 §4.4), so the sender did not write what
// stands above all of them, unless the server orders the fields anew.
func placesOf(m *envelope.Message) (p places) {
	for i := range m.Headers {
		switch address.Fold(m.Headers[i].Name) {
		case "received":
			p.received = true
		case "x-ms-exchange-organization-authas":
			p.microsoft = true
		case fieldName:
			if p.fields++; p.fields > maxFields {
				continue
			}
			id := idOf(&m.Headers[i])
			if !slices.Contains(p.ids, id) {
				p.ids = append(p.ids, id)
			}
			if !p.received && !slices.Contains(p.above, id) {
				p.above = append(p.above, id)
			}
		}
	}
	return p
}

// idOf returns the authserv-id of a field, or nothing.
func idOf(f *envelope.Field) string {
	one := envelope.Message{Headers: []envelope.Field{*f}}
	_, err := authres.First(one.Fields, "")
	if other := (*authres.PinError)(nil); errors.As(err, &other) && len(other.ID) <= maxName {
		return other.ID
	}
	return ""
}

// place counts whether the fields on top are of one server alone.
func (f *first) place(p *places) {
	if p.received && len(p.above) == 1 && p.above[0] == f.id {
		f.top++
	}
	if p.fields > 1 {
		f.several++
	}
}

// firstField returns the kind and the id of the first Authentication-Results field,
// where the receiver's verdict should stand.
func firstField(m *envelope.Message) (kind, string) {
	_, err := authres.First(m.Fields, "")
	var other *authres.PinError
	switch {
	case errors.As(err, &other):
		return byID, other.ID
	case errors.Is(err, authres.ErrNone):
		return none, ""
	case errors.Is(err, authres.ErrName):
		return oddName, ""
	}
	for i := range m.Headers {
		if address.Fold(m.Headers[i].Name) == fieldName {
			if resultFirst(m.Headers[i].Value) {
				return noID, ""
			}
			break
		}
	}
	return unreadable, ""
}

// resultFirst reports whether a field begins with method=result where the id
// should stand.
func resultFirst(value string) bool {
	word := strings.TrimLeft(value, " \t\r\n")
	if end := strings.IndexAny(word, " \t\r\n;("); end >= 0 {
		word = word[:end]
	}
	return strings.IndexByte(word, '=') > 0
}
