package dkimcheck

import (
	"errors"
	"strings"

	"github.com/emersion/go-msgauth/dmarc"

	"pulse/lib/classify/taglist"
	"pulse/lib/shared/envelope"
)

// maxLabels bounds the walk up to the record. From a longer name the first step goes
// to its last seven labels.
const maxLabels = 8

// dmarc looks for the record of the domain of From, and then of its parents of at
// least two labels; the nearest counts. With this walk DMARC's revision replaces the
// list of public suffixes of RFC 7489 §3.2. The organizational domain need not be
// found, because only two things are used: that there is a record, and its adkim, which
// can only tighten.
func (k *check) dmarc() envelope.DMARC {
	for _, domain := range upward(k.from) {
		records, err := k.dns.txt("_dmarc." + domain)
		switch {
		case errors.Is(err, ErrTemporary):
			return envelope.DMARC{Result: envelope.DMARCTempError, Domain: domain}
		case err != nil:
			return envelope.DMARC{Result: envelope.DMARCPermError, Domain: domain}
		}
		if found := policies(records); len(found) > 0 {
			return read(found, domain, domain == k.from)
		}
	}
	return envelope.DMARC{Result: envelope.DMARCNone}
}

// upward returns the domain and its parents.
func upward(domain string) []string {
	list := []string{domain}
	labels := strings.Split(domain, ".")
	for up := labels[max(1, len(labels)-maxLabels+1):]; len(up) >= 2; up = up[1:] {
		list = append(list, strings.Join(up, "."))
	}
	return list
}

// policies returns the records that are about DMARC (RFC 7489 §6.6.3).
func policies(records []string) (found []string) {
	for _, r := range records {
		rest, ok := strings.CutPrefix(r, "v=DMARC1")
		if ok && (rest == "" || strings.IndexByte(" \t;", rest[0]) >= 0) {
			found = append(found, r)
		}
	}
	return found
}

// read reads the only record. Several records are a permerror, and so is a tag given
// twice, of which go-msgauth would take the last.
func read(found []string, domain string, own bool) envelope.DMARC {
	d := envelope.DMARC{Result: envelope.DMARCPermError, Domain: domain}
	if len(found) > 1 {
		return d
	}
	if _, err := taglist.Parse(found[0]); err != nil {
		return d
	}
	r, err := dmarc.Parse(found[0])
	if err != nil {
		return d
	}
	d.Result, d.Policy = envelope.DMARCFound, string(r.Policy)
	if !own && r.SubdomainPolicy != "" {
		d.Policy = string(r.SubdomainPolicy)
	}
	d.Strict = r.DKIMAlignment == dmarc.AlignmentStrict
	return d
}
