package suggest

import (
	"errors"
	"slices"
	"strings"

	"pulse/lib/classify/authres"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/address"
	"pulse/lib/shared/envelope"
)

// source stands for one receiver, as far as the name of a source tells: an IMAP account,
// a Maildir, an mbox, or all single files together.
type source struct {
	name      string // pattern for [[receiver]]
	example   string // the first message.source
	mails     int
	firsts    []*first
	uncounted int   // mails beyond maxFirsts
	signed    tally // mails that pulse-fetch --dkim checked
	ownSigned tally // the owner's among these
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
	top     int      // mails with the field above every Received field
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

// results holds the identity of a message under each of the policies.
type results [len(alignments)]identity.Identity

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

// count counts the domain that the message says it is from, and where its fields stand.
func (f *first) count(m *envelope.Message, sender string) {
	f.mails++
	f.place(m)
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

// place counts where the fields stand. A server puts its Received field on top of the
// message that it was sent (RFC 5321 §4.4), so the sender did not write what stands
// above all of them.
func (f *first) place(m *envelope.Message) {
	fields, received, top := 0, 0, false
	for i := range m.Headers {
		switch address.Fold(m.Headers[i].Name) {
		case "received":
			received++
		case fieldName:
			fields++
			top = top || fields == 1 && received == 0
		}
	}
	if top && received > 0 {
		f.top++
	}
	if fields > 1 {
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
