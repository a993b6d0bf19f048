package dkimcheck

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"pulse/lib/classify/taglist"
	"pulse/lib/shared/address"
	"pulse/lib/shared/envelope"
)

// policyRecord is a DMARC Policy Record (RFC 9989 §4.7).
type policyRecord struct {
	domain string // where it was found, in lower case
	tags   taglist.List
}

// errTwice voids a record as it voids any tag-list (RFC 6376 §3.2).
var errTwice = errors.New("a tag of the DMARC record stands there twice")

// isPolicy reports whether a TXT record is about DMARC: its first tag is v, and the value
// exactly DMARC1 (RFC 9989 §4.8).
func isPolicy(record string) bool {
	first, _, _ := strings.Cut(record, ";")
	name, value, ok := strings.Cut(first, "=")
	return ok && strings.TrimRight(name, " \t") == "v" && strings.Trim(value, " \t") == "DMARC1"
}

// readPolicy reads the tags of a record that is about DMARC. A tag that can't be read is
// ignored (RFC 9989 §4.8).
func readPolicy(record string) (list taglist.List, err error) {
	for text := range strings.SplitSeq(record, ";") {
		tags, err := taglist.Parse(text)
		if err != nil {
			continue
		}
		for _, tag := range tags {
			if _, twice := list.Get(tag.Name); twice {
				return nil, errTwice
			}
			list = append(list, tag)
		}
	}
	return list, nil
}

// word returns the value of a tag in lower case: the words of RFC 9989 §4.8 match in any
// case. It is empty if the tag is absent.
func (r *policyRecord) word(tag string) string { return address.Fold(r.tags.Or(tag, "")) }

// psd returns y if the record says that its domain is a public suffix, and n if it says
// that the domain is an organization of its own; else it is empty. A top-level domain is a
// public suffix even if it does not say so. Otherwise all that is registered below it would
// be one organization.
func (r *policyRecord) psd() string {
	psd := r.word("psd")
	switch {
	case strings.IndexByte(r.domain, '.') < 0:
		return "y"
	case psd == "y", psd == "n":
		return psd
	}
	return ""
}

// result returns what the record says to a domain that it applies to. If the policy is
// absent or one of them can't be read, the record counts as p=none if it asks for reports,
// and otherwise as no record (RFC 9989 §4.10.1). Tags that it does not look at, such as t,
// fo and the former pct, rf and ri, never change what passes.
func (r *policyRecord) result(author string) envelope.DMARC {
	d := envelope.DMARC{
		Result: envelope.DMARCFound, Domain: r.domain,
		Policy: r.word("p"), Strict: r.word("adkim") == "s",
	}
	switch {
	case !r.requests() && !r.reports():
		return envelope.DMARC{Result: envelope.DMARCNone, Domain: r.domain}
	case !r.requests():
		d.Policy = "none"
	case r.domain != author && r.word("sp") != "":
		d.Policy = r.word("sp")
	}
	return d
}

// requests reports whether p is there, and p, sp and np can be read.
func (r *policyRecord) requests() bool {
	for _, tag := range []string{"p", "sp", "np"} {
		if _, ok := r.tags.Get(tag); !ok && tag != "p" {
			continue
		}
		if !slices.Contains([]string{"none", "quarantine", "reject"}, r.word(tag)) {
			return false
		}
	}
	return true
}

// reports reports whether rua has a valid URI.
func (r *policyRecord) reports() bool {
	for text := range strings.SplitSeq(r.tags.Or("rua", ""), ",") {
		u, err := url.Parse(strings.Trim(text, " \t"))
		if err == nil && u.Scheme != "" && (u.Opaque != "" || u.Host != "") {
			return true
		}
	}
	return false
}
