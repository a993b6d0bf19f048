package suggest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pulse/lib/classify/identity"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/policy"
)

// maxRows is how many first fields of a source are listed.
const maxRows = 8

// Report returns the findings, as the comments of a policy file, and the lines that the
// policy should have. Appended to a line with owners it is a policy.
func (s *Survey) Report() string {
	var p page
	if s.mails == 0 {
		p.text("There was no mail to look at. Try: pulse-fetch --limit 100 SOURCE | pulse-classify suggest")
		return p.String()
	}
	p.text("pulse-classify suggest, from %s of %s", plural(s.mails, "mail"), plural(len(s.sources), "source"))
	if s.unnamed > 0 {
		p.text("warning: %s of further sources not looked at", plural(s.unnamed, "mail"))
	}
	if s.unread > 0 {
		p.text("warning: %s beyond the first %d, or 64 MiB of header, not looked at", plural(s.unread, "mail"), maxMails)
	}
	var verdicts []verdict
	for _, src := range s.sources {
		if len(src.mails) == 0 {
			continue
		}
		src.count()
		v := src.judge()
		p.source(&v)
		verdicts = append(verdicts, v)
	}
	p.policy(s, verdicts)
	return p.String()
}

// source reports on one source.
func (p *page) source(v *verdict) {
	p.text("")
	p.text("== %s, %s", quote(v.src.name), plural(len(v.src.mails), "mail"))
	p.text("")
	p.firsts(v.src)
	p.tried(v)
	if v.known != nil {
		p.text("This is the IMAP server of %s. What is known of it: %s. Measured: %s.", v.known.Title, v.known.Writes, cmp.Or(v.known.Measured, "nothing"))
	}
	if v.best == nil {
		p.text("No pin: %s.", v.why)
		return
	}
	if v.best.verdict != policy.ByMicrosoft {
		stands := map[policy.Verdict]string{policy.ByFirst: "stands first", policy.BySet: "stands"}[v.best.verdict]
		if len(v.best.ids) > 1 {
			stands = "stand"
		}
		p.text("%s %s on %d of %s, with %s domains in From: %s.", strings.Join(each(v.best.ids, quote), ", "), stands, v.holding(v.best), plural(len(v.src.mails), "mail"),
			v.lead.domainCount(), v.lead.examples())
		p.caution(v)
	}
}

// tried says in words what each way verifies and takes on trust, the best first.
func (p *page) tried(v *verdict) {
	if len(v.ways) == 0 {
		return
	}
	p.text("")
	p.text("What would prove senders here, what verifies most first, and then the safest:")
	for i, w := range v.ways {
		t := w.counted()
		whose := "mail"
		if t == &w.own {
			whose = "mail of yours"
		}
		n := t.verified
		line := fmt.Sprintf("%s verifies %d of %s", w, n[0], plural(t.mails, whose))
		if n[1] > n[0] {
			line += fmt.Sprintf(", %d with dkim_alignment \"relaxed\"", n[1])
		}
		if n[2] > n[1] {
			line += fmt.Sprintf(", %d with \"any\"", n[2])
		}
		if t == &w.own {
			line += fmt.Sprintf(", %d of %d in all", w.all.verified[0], w.all.mails)
		}
		p.wrap(fmt.Sprintf("#  %d. ", i+1), "#     ", line+". Risk: "+w.risk()+".")
	}
	p.text("")
	for i, w := range v.ways {
		if w.evidence == policy.ByDKIM || w == v.best || v.best == nil && i == 0 {
			p.list(w.counted(), "Why not, under strict, "+w.String()+":")
		}
	}
}

// caution writes what the numbers do not say.
func (p *page) caution(v *verdict) {
	switch below := v.lead.mails - v.lead.top; {
	case v.voucher != "":
		p.text("%s", v.voucher)
	case below < v.lead.mails:
		p.text("warning: on %d of these mails it stands below a Received field, where a sender can put it, "+
			"and on the others above: either the server leaves some mail without its field, and these are forged, "+
			"or it receives by two ways. Run scripts/probe-receiver.", below)
	default:
		p.text("warning: is that the server that receives your mail? Anyone can send mail that begins with an id. " +
			"Look for it in mail that you know came from elsewhere, or run scripts/probe-receiver.")
	}
	if n := len(v.src.mails) - v.src.bare().mails - v.holding(v.best); n > 0 {
		p.text("warning: %s of this source begin otherwise: moved here from another account, or forged. "+
			"Don't pin what they say.", plural(n, "mail"))
	}
	if n := v.src.bare().mails - v.unstamped(); n > 0 {
		p.text("warning: %s of this source have no Authentication-Results field. If they came from elsewhere, "+
			"your server leaves some mail without one, and a forged one with its name would be the first: "+
			"run scripts/probe-receiver.", plural(n, "mail"))
	}
}

// firsts writes the table of first fields, the most frequent on top.
func (p *page) firsts(src *source) {
	rows := slices.SortedStableFunc(slices.Values(src.firsts), func(a, b *first) int {
		return cmp.Compare(b.mails, a.mails)
	})
	const row = "# %7s %12s   %s\n"
	fmt.Fprintf(&p.b, row, "MAILS", "FROM DOMAINS", "FIRST FIELD BY")
	rest := src.uncounted
	for i, f := range rows {
		if i >= maxRows {
			rest += f.mails
			continue
		}
		fmt.Fprintf(&p.b, row, fmt.Sprint(f.mails), f.domainCount(), f.name())
	}
	if rest > 0 {
		fmt.Fprintf(&p.b, row, fmt.Sprint(rest), "", "others")
	}
}

func (f *first) name() string {
	if f.kind == byID {
		return quote(f.id)
	}
	return [...]string{none: "(no such field)", oddName: "(odd field name)", noID: "(no authserv-id)", unreadable: "(can't be read)"}[f.kind]
}

func (f *first) domainCount() string {
	if f.more {
		return fmt.Sprintf("%d+", maxDomains)
	}
	return fmt.Sprint(len(f.domains))
}

// examples returns some of the domains.
func (f *first) examples() string {
	list := each(f.domains[:min(3, len(f.domains))], quote)
	if len(f.domains) > len(list) {
		list = append(list, "and others")
	}
	return strings.Join(list, ", ")
}

func (p *page) list(t *tally, title string) {
	if len(t.reasons) == 0 {
		return
	}
	p.text("")
	p.text("%s", title)
	for _, r := range slices.SortedFunc(maps.Keys(t.reasons), func(a, b identity.Reason) int {
		return cmp.Or(cmp.Compare(t.reasons[b], t.reasons[a]), cmp.Compare(a, b))
	}) {
		p.wrap(fmt.Sprintf("# %5d  ", t.reasons[r]), "#        ", string(r)+": "+r.Advice())
	}
	p.text("")
}

// page is a policy file that is being written.
type page struct{ b strings.Builder }

func (p *page) String() string { return p.b.String() }

// text writes comment lines, broken at blanks.
// Empty text separates paragraphs.
func (p *page) text(format string, args ...any) {
	if format == "" && strings.HasSuffix(p.b.String(), "\n#\n") {
		return
	}
	p.wrap("# ", "# ", fmt.Sprintf(format, args...))
}

// wrap writes text in lines. The first begins with lead, the others with next.
func (p *page) wrap(lead, next, text string) {
	const width = 78
	line := lead
	for word := range strings.FieldsSeq(text) {
		if line != lead && line != next {
			if len(line)+1+len(word) > width {
				p.b.WriteString(line + "\n")
				line = next
			} else {
				line += " "
			}
		}
		line += word
	}
	p.b.WriteString(strings.TrimRight(line, " ") + "\n")
}

// line writes a line of the policy.
func (p *page) line(format string, args ...any) { fmt.Fprintf(&p.b, format+"\n", args...) }

// quote makes text from outside safe to stand in a comment.
func quote(s string) string { return escape.ASCII(s) }

// each returns what f makes of every string.
func each(list []string, f func(string) string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = f(s)
	}
	return out
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	first, rest, found := strings.Cut(what, " ")
	if found {
		rest = " " + rest
	}
	return fmt.Sprintf("%d %ss%s", n, first, rest)
}
