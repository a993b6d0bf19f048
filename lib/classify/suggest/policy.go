package suggest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// policy writes the lines of the policy that follow from the verdicts.
func (p *page) policy(s *Survey, verdicts []verdict) {
	p.text("")
	p.text("== the policy, as far as this mail tells")
	p.text("")
	pinned, unusable, sure := false, false, true
	for i := range verdicts {
		v := &verdicts[i]
		pinned = pinned || v.pin != ""
		unusable = unusable || v.unusable
		sure = sure && (v.pin == "" || v.vouched() != "")
	}
	switch {
	case pinned:
		p.alignment(s, worth(s, verdicts), sure)
		p.pins(verdicts)
	case unusable:
		p.text("The receiver's word can't be used. Let pulse verify DKIM itself, and fetch with: pulse-fetch --dkim")
		p.line(`evidence = "dkim"`)
		if t := tried(s, verdicts); t.mails > 0 {
			p.alignment(s, t, true)
		} else {
			p.text("Fetched like that, this command says which of your mail is verified then.")
		}
	default:
		p.text("Nothing yet.")
	}
	if pinned && unusable {
		p.text("The sources without a pin need evidence = \"dkim\" and pulse-fetch --dkim; evidence is the same for all sources.")
	}
}

// pins writes authserv_id, or a table for each source if there are several. An id that
// only numbers speak for is left for a person to uncomment, because numbers can be
// forged.
func (p *page) pins(verdicts []verdict) {
	for _, v := range verdicts {
		if v.pin == "" {
			p.text("%s: no pin", quote(v.src.name))
			continue
		}
		open := ""
		if v.vouched() == "" {
			p.text("Only if you know that this is the server that receives your mail:")
			open = "# "
		}
		if len(verdicts) > 1 {
			p.line("%s[[receiver]]", open)
			p.line("%ssource      = %s", open, toml(v.src.name))
		}
		p.line("%sauthserv_id = %s", open, toml(v.pin))
	}
}

// worth adds up the mail that the pins would verify: the owner's alone if there is an
// owner.
func worth(s *Survey, verdicts []verdict) (sum tally) {
	for _, v := range verdicts {
		if v.pin == "" {
			continue
		}
		t := &v.lead.all
		if s.owner != "" {
			t = &v.lead.own
		}
		sum.merge(t)
	}
	return sum
}

// tried adds up the mail that pulse's own check verified.
func tried(s *Survey, verdicts []verdict) (sum tally) {
	for _, v := range verdicts {
		sum.merge(v.src.tried(s))
	}
	return sum
}

func (t *tally) merge(other *tally) {
	t.mails += other.mails
	for i := range t.verified {
		t.verified[i] += other.verified[i]
	}
	if t.signers == nil {
		t.signers = map[string]int{}
	}
	for d, n := range other.signers {
		t.signers[d] += n
	}
}

// alignment writes dkim_alignment where strict is not enough. It sets relaxed only if
// the evidence is sure, most of the owner's own mail needs it, and none of that mail is
// verified under strict. A single forger who signs as a neighbour in the owner's domain
// must not loosen it.
func (p *page) alignment(s *Survey, t tally, sure bool) {
	strict, relaxed, loose := t.verified[0], t.verified[1], t.verified[2]
	if s.owner != "" && t.mails == 0 {
		p.text("There is no mail From %s to judge dkim_alignment by: send one from there.", quote(s.owner))
	}
	if relaxed > strict {
		p.text("%s are signed by a parent or subdomain of the domain of From: %s. Only if that is yours, too:",
			plural(relaxed-strict, "mail"), t.signedBy())
		set := sure && s.owner != "" && strict == 0 && relaxed*2 > t.mails
		p.line("%sdkim_alignment = \"relaxed\"", map[bool]string{false: "# "}[set])
	}
	if relaxed > strict && s.owner == "" {
		p.text("What counts is your own mail: see with --owner you@example.com.")
	}
	if loose > relaxed {
		p.text("dkim_alignment = \"any\" would verify %s more, by signatures of other domains or of none that is named.",
			plural(loose-relaxed, "mail"))
	}
}

func (t *tally) signedBy() string {
	var list []string
	for _, d := range slices.Sorted(maps.Keys(t.signers)) {
		list = append(list, fmt.Sprintf("%s (%s)", quote(d), plural(t.signers[d], "mail")))
	}
	return strings.Join(list, ", ")
}

// toml returns s as a basic string of TOML 1.0, in ASCII.
func toml(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f || r > '~' && r < 0x10000:
			fmt.Fprintf(&b, `\u%04X`, r)
		case r > '~':
			fmt.Fprintf(&b, `\U%08X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
