package identity

import (
	"strings"

	"pulse/lib/classify/authres"
	"pulse/lib/shared/address"
	"pulse/lib/shared/envelope"
)

// microsoftHosts are the domains of the hosts of Microsoft 365 and Outlook.com.
var microsoftHosts = []string{"outlook.com", "office365.com"}

// microsoft believes the field that Microsoft 365 writes on mail from outside. It bears
// no name. What proves it is that Microsoft renames every such field that comes in, so
// there is one, in one place, beside fields that Microsoft cuts off what comes in.
func (v *verdict) microsoft(m *envelope.Message) {
	v.hosts = microsoftHosts
	at, n := -1, 0
	for i := range m.Headers {
		if is, _ := authres.Named(m.Headers[i].Name); is {
			if n++; at < 0 {
				at = i
			}
		}
	}
	if at < 0 {
		v.unusable.reason = noAuthRes
		if onlyField(m, "X-MS-Exchange-Organization-AuthAs") == "Internal" {
			v.unusable.reason = microsoftInternal
		}
		return
	}
	var id string
	_, err := authres.Read(m.Headers[at].Value, func(s string) bool { id = s; return false })
	if v.results.AuthservID = id; id != "" { // some other server's
		v.unusable = unusable(err, id)
		return
	}
	v.there = true
	if v.unusable.detail = microsoftLayout(m, at, n); v.unusable.detail != "" {
		v.unusable.reason = microsoftForm
		return
	}
	if v.results, err = authres.Microsoft(m.Headers[at].Value); err != nil {
		v.unusable = unusable(err, "")
	}
}

// microsoftLayout says what does not look as it does on mail that Microsoft 365 took
// from outside; empty if all does. at is the place of the first of n
// Authentication-Results fields.
func microsoftLayout(m *envelope.Message, at, n int) string {
	host := ""
	if at+2 < len(m.Headers) {
		host = boundary(&m.Headers[at+1], &m.Headers[at+2])
	}
	source, _, _ := strings.Cut(onlyField(m, "X-MS-Exchange-Organization-AuthSource"), ".")
	const entity = "X-MS-Exchange-CrossTenant-FromEntityHeader"
	switch {
	case n != 1 || m.Headers[at].Name != trimName(m.Headers[at].Name):
		return "there is not exactly one Authentication-Results field"
	case !microsoftAbove(m.Headers[:at]):
		return "a field that Microsoft does not write stands above Authentication-Results"
	case host == "":
		return "Received-SPF and Received of the host that took the mail are not directly below Authentication-Results"
	case onlyField(m, "X-MS-Exchange-Organization-AuthAs") != "Anonymous":
		return "X-MS-Exchange-Organization-AuthAs is not Anonymous, once"
	case !address.Equal(source, host):
		return "X-MS-Exchange-Organization-AuthSource is not the host that took the mail, once"
	case onlyField(m, "X-MS-Exchange-Organization-MessageDirectionality") != "Incoming":
		return "X-MS-Exchange-Organization-MessageDirectionality is not Incoming, once"
	case has(m, entity) && onlyField(m, entity) != "Internet":
		return entity + " is not Internet, once"
	}
	return ""
}

// microsoftAbove reports whether the fields are those that Microsoft adds above its
// verdict: its own Received fields, and an ARC set.
func microsoftAbove(fields []envelope.Field) bool {
	for i := range fields {
		switch address.Fold(fields[i].Name) {
		case "arc-seal", "arc-message-signature", "arc-authentication-results":
		case "received":
			if hostIn(microsoftHosts, &fields[i]) == "" {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// boundary returns the name, below mail.protection.outlook.com, of the host with which
// Microsoft took the mail, if these two fields are those that it adds then; else nothing.
func boundary(spf, received *envelope.Field) string {
	const below = ".mail.protection.outlook.com"
	_, comment, ok := strings.Cut(relaxed(spf.Value), " (")
	by := relaxed(received.Value)
	if i := strings.Index(by, " by "); i >= 0 {
		by = by[i:]
	}
	if !address.Equal(spf.Name, "received-spf") || !ok || !hasPrefix(comment, "protection.outlook.com: ") ||
		!address.Equal(received.Name, "received") ||
		!strings.Contains(by, " with Microsoft SMTP Server") || !strings.Contains(by, " via Frontend Transport") {
		return ""
	}
	host := hostIn([]string{below[1:]}, received)
	return host[:max(0, len(host)-len(below))]
}

// hostIn returns the one host that a Received field is by, if it is in one of the
// domains; else nothing.
func hostIn(domains []string, received *envelope.Field) string {
	by, _ := readReceived(nil, received.Value)
	if len(by) != 1 || !(&hosts{own: domains}).same(by[0]) {
		return ""
	}
	return by[0]
}

// onlyField returns the value of a field that must be there once; empty if it is there
// twice, or if odd bytes stand around its name.
func onlyField(m *envelope.Message, name string) (value string) {
	n := 0
	for i := range m.Headers {
		f := &m.Headers[i]
		if trimmed := trimName(f.Name); address.Equal(trimmed, name) {
			value = relaxed(f.Value)
			if n++; n > 1 || len(trimmed) != len(f.Name) {
				return ""
			}
		}
	}
	return value
}

func has(m *envelope.Message, name string) bool {
	for i := range m.Headers {
		if address.Equal(trimName(m.Headers[i].Name), name) {
			return true
		}
	}
	return false
}
