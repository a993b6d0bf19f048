package identity_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pulse/lib/shared/policy"
)

// attacker sends mail in the name of one owner, to one receiver.
type attacker struct {
	t     *testing.T
	c     *corpus
	sh    *shape
	owner owner
	score *score
	seen  map[string]bool
	also  bool // the first shapes of a receiver: try evidence = "either" too
	made  map[string][]field
}

// attack runs the whole matrix over one genuine shape. From is the owner's in all of it.
func (c *corpus) attack(t *testing.T, sh *shape, all []*corpus, s *score, also bool) {
	a := &attacker{t: t, c: c, sh: sh, owner: sh.owner(t), score: s, seen: map[string]bool{}, also: also}
	a.made = a.payloads()
	a.control()
	a.injected()
	a.renamed()
	a.overlooked()
	a.oldDelivery()
	a.grouped()
	a.coUser()
	a.ownChecks()
	if c.receiver.Verdict == policy.ByMicrosoft {
		a.exchange()
	}
	if also { // what hardly depends on the shape
		a.overruled()
		a.unreadable()
		a.spareSignatures()
		a.foreignFamilies(all)
		a.wrongKind()
	}
	a.residual()
}

// control makes sure that the matrix could succeed: the genuine mail of the same model
// is verified, if the shape itself is.
func (a *attacker) control() {
	shape := a.c.classify(a.t, a.sh.fields, a.sh.dkim)
	model := a.c.classify(a.t, a.deliver(truth), a.check(truth))
	if shape.Verified != model.Verified {
		a.t.Errorf("%s: verified is %v, and %v (%s) with the verdict that the receiver writes on genuine mail", a.sh.name, shape.Verified, model.Verified, model.Reason)
	}
}

func (a *attacker) deliver(w world) []field { return a.c.deliver(a.sh, a.owner, w) }

// spoof classifies a mail, and fails if it is verified.
func (a *attacker) spoof(w world, fields []field, format string, args ...any) {
	id, ok := a.try(w, fields)
	if !ok {
		return
	}
	a.score.spoofs.add(id)
	a.score.naive.add(a.naive(fields))
	if id {
		a.t.Errorf("%s: spoof accepted: %s mail, %s", a.sh.name, w, fmt.Sprintf(format, args...))
	}
}

// naive reports whether a reader would be fooled who takes the words of any field that
// looks like a verdict. If such a reader were not, the matrix would prove nothing.
func (a *attacker) naive(fields []field) bool {
	var text strings.Builder
	for _, f := range fields {
		if strings.Contains(f.name(), "authentication-results") {
			text.WriteString(squeeze(f.raw))
		}
	}
	s := text.String()
	return strings.Contains(s, "dkim=pass") && strings.Contains(s, "dmarc=pass") && strings.Contains(s, "header.from="+a.owner.domain)
}

// risk classifies a mail that RECEIVERS says may be accepted. It is counted apart.
func (a *attacker) risk(name string, w world, fields []field) {
	if id, ok := a.try(w, fields); ok {
		if a.score.residual[name] == nil {
			a.score.residual[name] = &tally{}
		}
		a.score.residual[name].add(id)
	}
}

// try reports whether a mail is verified; ok is false if it was tried before.
func (a *attacker) try(w world, fields []field) (verified, ok bool) {
	key := string(w) + "\n" + string(raw(fields))
	if a.seen[key] {
		return false, false
	}
	a.seen[key] = true
	id := a.c.classify(a.t, fields, a.check(w))
	if w == truth || !a.also || proven(&id) {
		return proven(&id), true
	}
	id = classifyUnder(a.c.either, fields, a.owner.ownCheck(w))
	return proven(&id), true
}

// overruled: under "either" the receiver's verdict counts, whatever it says.
func (a *attacker) overruled() {
	id := classifyUnder(a.c.either, a.deliver(truth), a.owner.ownCheck(truth))
	if shape := a.c.classify(a.t, a.sh.fields, a.sh.dkim); shape.Verified && !id.Verified {
		a.t.Errorf("%s: genuine, and not verified under either: %s", a.sh.name, id.Reason)
	}
	for _, w := range lies {
		if id := classifyUnder(a.c.either, a.deliver(w), a.owner.ownCheck(truth)); id.Verified && a.c.receiver.Verdict != policy.ByNone {
			a.t.Errorf("%s: the receiver says %s, and its verdict is passed over", a.sh.name, w)
		}
	}
}

// id returns the receiver's name as it stands in a verdict, or that of Microsoft's ARC
// fields, which is all that Microsoft has.
func (a *attacker) id() string {
	return idOf(a.c.says[truth])
}

func idOf(says string) string {
	_, rest, _ := strings.Cut(says, ": ")
	if id, _, _ := strings.Cut(rest, ";"); !strings.ContainsAny(id, "=") {
		return strings.TrimSuffix(id, " (amavisd-new)")
	}
	return "mx.microsoft.com"
}

// idOf returns the name under which the receiver writes the results of a method.
func (a *attacker) idOf(method string) string {
	for _, f := range a.own() {
		if strings.Contains(f.raw, method) {
			return idOf(f.raw)
		}
	}
	return a.id()
}

// own returns the verdict that the receiver writes on the owner's genuine mail.
func (a *attacker) own() []field { return parseFields(a.owner.fill(a.c.says[truth])) }

// merged returns a verdict in one field, beginning with head.
func (a *attacker) merged(head string) field {
	return field{raw: a.owner.fill(head + "; dkim=pass header.d={domain} header.i=@{domain} header.s={s} header.b={b}; dmarc=pass header.from={domain}\n")}
}

// payloads are what an attacker injects: the verdict that the receiver would write, and
// parts of it.
func (a *attacker) payloads() map[string][]field {
	ar := "Authentication-Results: "
	one := func(text string) []field { return []field{{raw: a.owner.fill(text + "\n")}} }
	list := map[string][]field{
		"the whole verdict":  a.own(),
		"one field":          {a.merged(ar + a.id())},
		"dkim alone":         one(ar + a.idOf("dkim=") + "; dkim=pass header.d={domain} header.s={s} header.b={b}"),
		"dkim by header.i":   one(ar + a.idOf("dkim=") + "; dkim=pass header.i=@{domain}"),
		"bare dkim":          one(ar + a.idOf("dkim=") + "; dkim=pass"),
		"dmarc alone":        one(ar + a.idOf("dmarc=") + "; dmarc=pass header.from={domain}"),
		"dmarc, an address":  one(ar + a.idOf("dmarc=") + "; dmarc=pass header.from={address}"),
		"the name of a peer": {a.merged(ar + a.peer())},
		"no name":            one(ar + "spf=pass smtp.mailfrom={domain}; dkim=pass (signature was verified) header.d={domain};dmarc=pass action=none header.from={domain};compauth=pass reason=100"),
		"an ARC set":         one("ARC-Authentication-Results: i=1; " + a.id() + "; dkim=pass header.d={domain}; dmarc=pass header.from={domain}"),
	}
	return list
}

// peer returns another name that the policy may believe too.
func (a *attacker) peer() string {
	for suffix, peer := range map[string]string{
		".messagingengine.com": "phl-mx-12.messagingengine.com", ".yahoo.com": "atlas999.free.mail.ne1.yahoo.com",
		".icloud.com": "dkim-verifier.icloud.com", ".protonmail.ch": "mailin034.protonmail.ch",
		".twomx.example.net": "mx2.twomx.example.net", "posteo.de": "mx04.posteo.de", ".microsoft.com": "protection.outlook.com",
	} {
		if strings.HasSuffix(a.id(), suffix) {
			return peer
		}
	}
	return "mx9." + a.id()
}

// reachable are the places where an injected field can come to stand. The receivers
// whose first field decides write theirs above all that comes in; for the others that
// was not measured, or is not so.
func (a *attacker) reachable() []place {
	if a.c.receiver.Verdict == policy.ByFirst {
		return places[2:]
	}
	return places
}

// injected: a verdict with the receiver's name, which the receiver leaves in the mail,
// in each place, beside its own verdict on each kind of lie. Without any it is the
// plain spoof, and what SPF alone lets pass.
func (a *attacker) injected() {
	for _, w := range lies {
		mail := a.deliver(w)
		a.spoof(w, mail, "nothing injected")
		for name, p := range a.made {
			for _, where := range a.reachable() {
				a.spoof(w, inject(mail, where, p...), "%s %s", name, where)
			}
		}
		for name, f := range a.disguises() {
			for _, where := range a.reachable() {
				if w == unsigned || w == shared || w == sharedForged {
					a.spoof(w, inject(mail, where, f), "%s %s", name, where)
				}
			}
		}
		a.spoof(w, inject(inject(mail, sent, a.own()...), end, a.own()...), "the whole verdict twice")
	}
}

// unreadable: the sender's MAIL FROM, HELO or signatures have made the receiver's own
// verdict one that can't be read, and the attacker's stands beside it.
func (a *attacker) unreadable() {
	for name, tail := range map[string]string{
		"a comment that never ends":  "; spf=fail (x",
		"a quote that never ends":    `; spf=fail smtp.mailfrom="x`,
		"quotes in a comment":        `; spf=fail (x"y)`,
		"a semicolon too many":       ";; =",
		"more results than anybody":  strings.Repeat(";\n dkim=fail header.d=mallory.example", 120),
		"an address with a bracket":  "; spf=fail smtp.mailfrom=x)y@mallory.example",
		"a byte that is not ASCII":   "; spf=fail smtp.helo=\xc3\xa9",
		"blanks where none belong":   "; spf = = fail",
		"a result without its value": "; spf",
	} {
		for _, w := range []world{unsigned, shared} {
			mail := a.deliver(w)
			for i, f := range mail {
				if ownResults(f) {
					mail[i].raw = strings.TrimRight(f.raw, ";\n") + tail + "\n"
				}
			}
			for _, what := range []string{"the whole verdict", "dkim alone"} {
				for _, where := range a.reachable() {
					a.spoof(w, inject(mail, where, a.made[what]...), "%s in the receiver's own, %s %s", name, what, where)
				}
			}
		}
	}
}

// disguises are spellings that a receiver may overlook when it removes forged fields.
func (a *attacker) disguises() map[string]field {
	ar, id := "Authentication-Results", a.id()
	return map[string]field{
		"a comment before the name":  a.merged(ar + ": (x) " + id),
		"upper case":                 a.merged(ar + ": " + strings.ToUpper(id)),
		"version 1":                  a.merged(ar + ": " + id + " 1"),
		"folded":                     a.merged(ar + ":\n " + id),
		"a blank before the colon":   a.merged(ar + " : " + id),
		"a tab before the colon":     a.merged(ar + "\t: " + id),
		"a field name in upper case": a.merged(strings.ToUpper(ar) + ": " + id),
		"malformed":                  a.merged(ar + ": " + id + "; dkim=pass (( ; spf"),
		"malformed at the end":       {raw: strings.TrimSuffix(a.merged(ar+": "+id).raw, "\n") + "; (\n"},
		"a quoted name":              a.merged(ar + `: "` + id + `"`),
		"a dot after the name":       a.merged(ar + ": " + id + "."),
		"an encoded word":            {raw: ar + ": =?utf-8?Q?" + strings.ReplaceAll(id, ".", "=2E") + "?=; dkim=pass; dmarc=pass\n"},
	}
}

// renamed: the verdict under other names than Authentication-Results, as receivers keep
// what came in, beside the receiver's own verdict and without one.
func (a *attacker) renamed() {
	for _, name := range []string{
		"Authentication-Results-Original", "X-Authentication-Results", "X-Received-Authentication-Results",
		"X-Original-Authentication-Results", "Old-Authentication-Results", "ARC-Authentication-Results",
		"X-ME-Authentication-Results", "Authentication_Results", "Authentication-Result",
	} {
		f := a.merged(name + ": " + a.id())
		for _, w := range []world{unsigned, forged, shared} {
			for _, where := range []place{top, sent, end} {
				a.spoof(w, inject(a.deliver(w), where, f), "the verdict in %s %s", name, where)
				a.spoof(w, inject(without(a.deliver(w), ownResults), where, f), "no verdict, and one in %s %s", name, where)
			}
		}
	}
}

func ownResults(f field) bool { return f.own && f.results() }

func without(fields []field, is func(field) bool) []field {
	return slices.DeleteFunc(slices.Clone(fields), is)
}

// oldDelivery: mail that was delivered here once, re-sent with another text and all that
// the receiver had written on it.
func (a *attacker) oldDelivery() {
	old := make([]field, 0, len(a.sh.fields))
	for _, f := range a.sh.fields {
		if f.own {
			old = append(old, field{raw: f.raw})
		}
	}
	kept := without(old, func(f field) bool { return strings.HasPrefix(f.name(), "x-ms-exchange-organization") })
	for _, w := range []world{forged, sharedForged, unsigned, shared, noRecord} {
		for _, block := range [][]field{old, kept, renameResults(old), renameResults(kept)} {
			a.spoof(w, inject(a.deliver(w), sent, block...), "what an old delivery wrote, below the new")
			a.spoof(w, inject(a.deliver(w), end, block...), "what an old delivery wrote, at the end")
		}
	}
}

func renameResults(fields []field) []field {
	return slices.Collect(func(yield func(field) bool) {
		for _, f := range fields {
			if f.results() {
				f.raw = "Authentication-Results-Original" + f.raw[strings.Index(f.raw, ":"):]
			}
			if !yield(f) {
				return
			}
		}
	})
}

// grouped: the fields of one name stand next to one another, the sender's first, last,
// or between the receiver's.
func (a *attacker) grouped() {
	if a.c.receiver.Verdict == policy.ByFirst {
		return // its own field stands first, grouped or not
	}
	for _, w := range []world{forged, shared, sharedForged, sharedForeign} {
		mail := a.deliver(w)
		first := slices.IndexFunc(mail, field.results)
		n := len(slices.Collect(func(yield func(field) bool) {
			for _, f := range mail {
				if f.results() && !yield(f) {
					return
				}
			}
		}))
		for name, p := range a.made {
			for i := max(first, 0); i <= max(first, 0)+n && i <= len(mail); i++ {
				a.spoof(w, slices.Insert(slices.Clone(mail), i, p...), "%s among the receiver's fields, at %d", name, i)
			}
		}
	}
}

// foreignFamilies: the verdict of every other receiver on top of what the attacker
// sends; and the attacker's own true mail as another receiver delivers it.
func (a *attacker) foreignFamilies(all []*corpus) {
	for _, other := range all {
		theirs := parseFields(a.owner.fill(other.says[truth]))
		for _, w := range []world{unsigned, foreign, shared, sharedForged} {
			mail := a.deliver(w)
			a.spoof(w, inject(mail, sent, theirs...), "the verdict of %s", other.name)
			a.spoof(w, inject(mail, sent, slices.Concat(theirs, a.own())...), "the verdict of %s, and of this one", other.name)
			if a.c.receiver.Verdict != policy.ByFirst {
				a.spoof(w, inject(mail, top, theirs...), "the verdict of %s on top", other.name)
			}
		}
		if !a.akin(other) {
			sh := other.genuine[0]
			a.spoof(unsigned, other.deliver(sh, sh.owner(a.t), truth), "good mail of a mailbox at %s", other.name)
		}
	}
}

// akin reports whether one receiver writes what is believed of the other: a verdict with
// a name that the policy believes. Own verification believes no header at all.
func (a *attacker) akin(other *corpus) bool {
	return other.name == a.c.name || a.c.receiver.Believes(idOf(other.says[truth])) ||
		a.c.receiver.Verdict == policy.ByMicrosoft && other.receiver.Verdict == policy.ByMicrosoft
}
