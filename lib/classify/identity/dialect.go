package identity

import (
	"slices"

	"pulse/lib/classify/authres"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
)

// dialect says what is known of how a receiver writes its fields, so that a field which
// it didn't write stands out. It is found by the authserv-id: the operator need not know.
type dialect struct {
	ids      string            // glob for the names of this receiver
	only     string            // glob for those of them that it writes today; empty: all
	single   bool              // it writes one field
	together bool              // dkim and dmarc stand in one field
	first    string            // the name in the topmost field
	by       map[string]string // the name under which it writes the results of a method
	anywhere bool              // its field stands below what the sender wrote
	grouped  bool              // fields of one name stand together, the sender's too
	address  bool              // header.from is the very address in From
	bare     bool              // a dkim=pass names no domain
	inside   string            // the domain of its hosts that no name in authserv_id covers
}

// dialects were seen in mail.
var dialects = [...]dialect{
	{ids: "*.messagingengine.com", together: true, inside: "internal"}, // Fastmail
	{ids: "*.yahoo.com", only: "*.*.yahoo.com", single: true},          // Yahoo and AOL
	{ids: "*.icloud.com", first: "bimi.icloud.com",
		by: map[string]string{"dmarc": "dmarc.icloud.com", "dkim": "dkim-verifier.icloud.com"}},
	{ids: "*.protonmail.ch", only: "mail.protonmail.ch", grouped: true}, // senders' fields with the former names stay
	{ids: "*.mail.ru", only: "mxs.mail.ru", single: true, anywhere: true, address: true},
	{ids: "mx.zohomail.*", single: true, bare: true},
}

// ordinary is the dialect of all others: every method in a field of its own, or all in one,
// under one name (OpenDKIM with OpenDMARC, Posteo, ik.me, Exim, rspamd).
var ordinary dialect

func dialectOf(id string) *dialect {
	for i := range dialects {
		if policy.Match(dialects[i].ids, id) {
			return &dialects[i]
		}
	}
	return &ordinary
}

// silent reports whether an id belongs to a receiver that leaves some mail without a
// field, where a forged one stands alone.
func silent(id string) bool {
	return slices.ContainsFunc([]string{"gmx.net", "web.de", "yandex.net", "yandex.ru", "disroot.org", "riseup.net", "mailo.com",
		"buzon.uy", "e.email"}, func(domain string) bool { return within(id, domain) })
}

// has reports whether the receiver writes this id of its own.
func (d *dialect) has(id string) bool { return d.only == "" || policy.Match(d.only, id) }

// unlike says what in the fields of a set the receiver would not have written; empty if
// nothing stands out.
func (d *dialect) unlike(own []field, m *envelope.Message) string {
	dkim, dmarc := holding(own, "dkim"), holding(own, "dmarc")
	switch {
	case d.single && len(own) > 1:
		return "there are several, and it writes one"
	case d.first != "" && own[0].id != d.first:
		return "the first is not by " + d.first
	case slices.ContainsFunc(own, func(f field) bool { return !d.named(&f, own[0].id) }):
		return "their names do not fit together"
	case len(dkim) > 1 && (d.by == nil || results(own, "dkim") != signatures(m) || !allPass(own, "dkim")):
		return "dkim results stand in several of them"
	case d == &ordinary && len(own) > 1 && len(dmarc) == 1 && mixed(&own[dmarc[0]]):
		return "there are several, and one holds dmarc beside dkim or spf"
	case d.together && len(dkim) == 1 && len(dmarc) == 1 && dkim[0] != dmarc[0]:
		return "dkim and dmarc stand in different fields"
	}
	return ""
}

// named reports whether a field bears the name that it should bear beside another one.
func (d *dialect) named(f *field, beside string) bool {
	if d.by == nil {
		return f.id == beside
	}
	for i := range f.Results {
		if want, ok := d.by[f.Results[i].Method]; ok && want != f.id {
			return false
		}
	}
	return dialectOf(f.id) == d
}

// holding returns which fields hold a result of a method.
func holding(own []field, method string) (list []int) {
	for i := range own {
		if results(own[i:i+1], method) > 0 {
			list = append(list, i)
		}
	}
	return list
}

// mixed reports whether a field with dmarc holds what dmarc is made of, too. A receiver that
// writes so, such as Exim, writes all its results into that field.
func mixed(f *field) bool {
	return slices.ContainsFunc(f.Results, func(r authres.Result) bool { return r.Method == "dkim" || r.Method == "spf" })
}

func results(own []field, method string) (n int) {
	for i := range own {
		for j := range own[i].Results {
			if own[i].Results[j].Method == method {
				n++
			}
		}
	}
	return n
}

func allPass(own []field, method string) bool {
	return !slices.ContainsFunc(own, func(f field) bool {
		return slices.ContainsFunc(f.Results, func(r authres.Result) bool { return r.Method == method && r.Value != "pass" })
	})
}

// signatures returns how many signatures a message carries.
func signatures(m *envelope.Message) (n int) {
	for i := range m.Headers {
		if isDKIMField(&m.Headers[i]) {
			n++
		}
	}
	return n
}
