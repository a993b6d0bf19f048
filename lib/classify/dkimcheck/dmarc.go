package dkimcheck

import (
	"errors"
	"slices"
	"strings"

	"pulse/lib/shared/address"
	"pulse/lib/shared/envelope"
)

// maxQueries bounds the walk up the tree (RFC 9989 §4.10). From a name of as many labels or
// more the first step goes to its last seven labels.
const maxQueries = 8

// dmarc looks for the record that applies to the domain of From. If that record does not
// ask for the very domain, it also looks up the Organizational Domains by which the
// signatures of other domains are compared.
func (k *check) dmarc() envelope.DMARC {
	author := address.Fold(k.from)
	r, err := k.applied(author)
	switch {
	case err != nil:
		return err.dmarc()
	case r == nil:
		return envelope.DMARC{Result: envelope.DMARCNone}
	}
	d := r.result(author)
	if d.Result == envelope.DMARCFound && !d.Strict {
		for _, s := range k.found {
			k.place(s, &d)
		}
	}
	return d
}

// place fills in the Organizational Domains by which a good signature of a domain other
// than From's is compared (RFC 9989 §4.4.1). If one can't be found out, the signature
// proves nothing.
func (k *check) place(s *signature, d *envelope.DMARC) {
	if s.Result != envelope.DKIMPass || address.Equal(s.Domain, k.from) {
		return
	}
	ours, err := k.organization(address.Fold(k.from))
	theirs, err2 := k.organization(address.Fold(s.Domain))
	switch {
	case err != nil:
		s.Result, s.Why = err.verdict()
	case err2 != nil:
		s.Result, s.Why = err2.verdict()
	default:
		d.Organizational, s.Organizational = ours, theirs
	}
}

// recordError is the reason why the record of a domain is not known.
type recordError struct {
	domain string
	err    error
}

func (e *recordError) dmarc() envelope.DMARC {
	if errors.Is(e.err, ErrTemporary) {
		return envelope.DMARC{Result: envelope.DMARCTempError, Domain: e.domain}
	}
	return envelope.DMARC{Result: envelope.DMARCPermError, Domain: e.domain}
}

// verdict is for a signature whose Organizational Domain hangs on that record.
func (e *recordError) verdict() (envelope.Verdict, string) {
	if errors.Is(e.err, ErrTemporary) {
		return envelope.DKIMTempError, "DNS gives no answer for the DMARC record of " + e.domain
	}
	return envelope.DKIMPermError, "the DMARC record of " + e.domain + " can't be read, or there are several"
}

// applied returns the record that applies to a domain: its own, else that of its
// Organizational Domain, else that of the public suffix (RFC 9989 §4.10.1). It is nil if
// there is none.
func (k *check) applied(domain string) (*policyRecord, *recordError) {
	if own, err := k.record(domain); own != nil || err != nil {
		return own, err
	}
	found, err := k.walk(domain)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	org := organizational(domain, found)
	if i := slices.IndexFunc(found, func(r *policyRecord) bool { return r.domain == org }); i >= 0 {
		return found[i], nil
	}
	return found[len(found)-1], nil
}

// organization returns the Organizational Domain of a domain.
func (k *check) organization(domain string) (string, *recordError) {
	found, err := k.walk(domain)
	return organizational(domain, found), err
}

// walk returns the records of a domain and of those above it, nearest first, up to the
// first that says whether it is a public suffix (RFC 9989 §4.10).
func (k *check) walk(domain string) (found []*policyRecord, err *recordError) {
	for _, name := range upward(domain) {
		r, err := k.record(name)
		switch {
		case err != nil:
			return nil, err
		case r == nil:
			continue
		}
		found = append(found, r)
		if r.psd() != "" {
			break
		}
	}
	return found, nil
}

// organizational returns the Organizational Domain of a domain from the records that a walk
// from it found (RFC 9989 §4.10.2).
func organizational(domain string, found []*policyRecord) string {
	org := domain
	for _, r := range found {
		if r.psd() == "y" && r.domain != domain {
			return below(r.domain, domain)
		}
		org = r.domain
	}
	return org
}

// below returns the part of a domain that is one label longer than a domain above it.
func below(parent, domain string) string {
	rest := strings.TrimSuffix(domain, "."+parent)
	return domain[strings.LastIndexByte(rest, '.')+1:]
}

// upward returns the names that a walk asks about: the domain and those above it, down to
// one label.
func upward(domain string) []string {
	list := []string{domain}
	labels := strings.Split(domain, ".")
	for up := labels[max(1, len(labels)-maxQueries+1):]; len(up) > 0; up = up[1:] {
		list = append(list, strings.Join(up, "."))
	}
	return list
}

// record returns the record of one domain, nil if it has none. RFC 9989 §4.10 discards
// several; here they are an error, so that a record above, which may ask for less, does not
// take their place. So is one that has a tag twice.
func (k *check) record(domain string) (*policyRecord, *recordError) {
	texts, err := k.dns.txt("_dmarc." + domain)
	texts = slices.DeleteFunc(slices.Clone(texts), func(s string) bool { return !isPolicy(s) })
	if err == nil && len(texts) == 0 {
		return nil, nil
	}
	if err == nil && len(texts) > 1 {
		err = errSeveral
	}
	if err != nil {
		return nil, &recordError{domain, err}
	}
	r := &policyRecord{domain: domain}
	if r.tags, err = readPolicy(texts[0]); err != nil {
		return nil, &recordError{domain, err}
	}
	return r, nil
}

// errSeveral reports a domain with several DMARC records.
var errSeveral = errors.New("there are several DMARC records")
