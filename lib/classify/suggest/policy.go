package suggest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pulse/lib/classify/receivers"
	"pulse/lib/shared/policy"
)

// policy writes the lines of the policy that follow from the verdicts.
func (p *page) policy(s *Survey, verdicts []verdict) {
	p.text("")
	p.text("== the policy, as far as this mail tells")
	p.text("")
	c := conclude(verdicts)
	switch {
	case c.own:
		p.text("pulse's own check of DKIM verifies most, and takes no server's word. pulse-fetch makes it with this line in its policy:")
		p.line(`evidence = "dkim"`)
		p.alignment(s, worth(s, verdicts, false), true)
	case c.pinned:
		p.alignment(s, worth(s, verdicts, true), c.sure)
		p.pins(verdicts)
		p.evidence(&c)
	case c.unusable:
		p.text("The receiver's word can't be used. Let pulse verify DKIM itself: pulse-fetch does so with this line in its policy.")
		p.line(`evidence = "dkim"`)
		if t := worth(s, verdicts, false); t.mails > 0 {
			p.alignment(s, t, true)
		} else {
			p.text("Fetched like that, this command says which of your mail is verified then.")
		}
	default:
		p.text("Nothing yet.")
	}
	p.probed(verdicts, len(s.sources) > 1)
}

// conclusion is what the verdicts come to.
type conclusion struct {
	pinned   bool // some receiver's word can be used
	unusable bool // some other's can't
	sure     bool // every pin is vouched for
	several  bool // some pin without a voucher is of a server that writes several fields
	either   bool // pulse's own check is worth having besides: it verifies more, or nobody tried
	own      bool // it alone verifies more than the word, and as much as both together
}

func conclude(verdicts []verdict) (c conclusion) {
	c.sure = true
	word, own, either, checked := 0, 0, 0, true
	for i := range verdicts {
		v := &verdicts[i]
		c.unusable = c.unusable || v.unusable
		checked = checked && v.src.checked == len(v.src.mails)
		own += v.by(policy.ByDKIM).verified()
		if !v.pins() {
			c.unusable = c.unusable || v.best != nil
			continue
		}
		c.pinned = true
		c.sure = c.sure && v.voucher != ""
		c.several = c.several || v.voucher == "" && v.lead.several*2 > v.lead.mails
		word += v.best.verified()
		with := v.by(policy.ByEither).verified()
		either += with
		c.either = c.either || with > v.best.verified() ||
			v.known != nil && v.known.Evidence == policy.ByEither && v.src.checked == 0
	}
	c.own = c.pinned && !c.unusable && checked && own > word && own >= either
	return c
}

// pins reports whether the verdict ends in a pin. Rule M has none, and a person chooses it.
func (v *verdict) pins() bool { return v.best != nil && v.best.verdict != policy.ByMicrosoft }

// by returns the way with some evidence, or nil if none was tried.
func (v *verdict) by(e policy.Evidence) *way {
	for _, w := range v.ways {
		if w.evidence == e {
			return w
		}
	}
	return nil
}

// evidence writes the line for pulse's own check, where it is worth having besides.
func (p *page) evidence(c *conclusion) {
	switch {
	case c.unusable:
		p.text("The sources without a pin need pulse's own check of DKIM, and pulse-fetch makes it with this line in its policy:")
	case c.several:
		p.text("Whether you believe that server or not, pulse can check DKIM itself; pulse-fetch does so with this line in its policy:")
	case c.either:
		p.text("Where there is no field of the receiver, pulse checks DKIM itself; pulse-fetch does so with this line in its policy:")
	default:
		return
	}
	p.line(`evidence = "either"`)
}

// pins writes authserv_id and verdict, or says that a table for each source comes last. A
// pin that only numbers speak for is left for a person to uncomment, because numbers can
// be forged.
func (p *page) pins(verdicts []verdict) {
	for i := range verdicts {
		v := &verdicts[i]
		switch {
		case !v.pins():
			p.text("%s: no pin", quote(v.src.name))
			continue
		case v.voucher == "":
			p.text("Only if you know that this is the server that receives your mail:")
		}
		if len(verdicts) == 1 {
			v.lines(p, "verdict")
		}
	}
}

// lines writes the keys of a pin below others, as comments unless something vouches for it.
func (v *verdict) lines(p *page, kind string, above ...string) {
	lines := append(above, "authserv_id = "+idList(v.best.ids))
	if v.best.verdict != policy.ByFirst {
		lines = append(lines, fmt.Sprintf("%s = %q", kind, v.best.verdict))
	}
	for _, line := range lines {
		p.line("%s%s", map[bool]string{true: "# "}[v.voucher == ""], line)
	}
}

// probed writes the tables, which stand after all plain keys, and the lines for receivers
// whose verdict a person has to choose after a probe.
func (p *page) probed(verdicts []verdict, several bool) {
	for i := range verdicts {
		if v := &verdicts[i]; v.pins() && len(verdicts) > 1 {
			v.lines(p, "verdict    ", "[[receiver]]", "source      = "+toml(v.src.name))
		}
	}
	for i := range verdicts {
		if w := verdicts[i].best; w != nil && w.verdict == policy.ByMicrosoft {
			p.microsoft(&verdicts[i], several)
		}
	}
}

func (p *page) microsoft(v *verdict, several bool) {
	r, _ := receivers.ByName("microsoft")
	outside, inside := r.Probe()
	p.text("")
	p.text("verdict %q would verify %d of %s of %s. Don't choose it before you have tried the server, from outside and as a colleague, because %s:",
		v.best.verdict, v.best.verified(), plural(v.best.counted().mails, "mail"), quote(v.src.name), r.Risk)
	p.line("#   %s", outside)
	p.line("#   %s", inside)
	p.text("If check says \"trusted\" each time, these lines, with evidence = \"either\" in place of any other evidence:")
	if several {
		p.line("# [[receiver]]")
		p.line("# source  = %s", toml(v.src.name))
	}
	p.line("# verdict = %q", v.best.verdict)
}

// worth adds up the mail that the pins verify, or pulse's own check: the owner's alone if
// there is an owner.
func worth(s *Survey, verdicts []verdict, pins bool) (sum tally) {
	for i := range verdicts {
		v := &verdicts[i]
		w := v.by(policy.ByDKIM)
		if pins {
			w = v.best
		}
		switch {
		case w == nil || pins && !v.pins():
		case s.owner == "":
			sum.merge(&w.all)
		default:
			sum.merge(&w.own)
			if pins {
				sum.mails -= v.unstamped()
			}
		}
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
