package identity_test

import (
	"strings"

	"pulse/lib/shared/policy"
)

// overlooked: DMARC passes by SPF, the receiver is silent about DKIM, because there is
// no signature that it could read, and the attacker writes both the dkim result and a
// signature that is none.
func (a *attacker) overlooked() {
	dkim := a.made["dkim alone"]
	for name, edit := range map[string][2]string{
		"a blank before the colon": {"DKIM-Signature:", "DKIM-Signature :"},
		"another field name":       {"DKIM-Signature:", "X-DKIM-Signature:"},
		"version 2":                {"v=1", "v=2"},
		"no version":               {"v=1; ", ""},
		"no h":                     {"h=from:to:subject:date; ", ""},
		"h without from":           {"h=from:", "h="},
		"no bh":                    {"bh=", "xh="},
		"no b":                     {" b=", " xb="},
		"no s":                     {" s=", " xs="},
		"d twice":                  {"; s=", "; d=mallory.example; s="},
		"d in a comment":           {"d=", "z=d="},
		"a parent of d":            {"d=", "d=x."},
		"a child of d":             {"d=", "d=mail."},
	} {
		f := field{raw: strings.Replace(a.forgery(a.owner.domain).raw, edit[0], edit[1], 1)}
		for _, where := range a.reachable() {
			for _, mail := range [][]field{a.deliver(shared), a.quiet()} {
				a.spoof(shared, inject(inject(mail, where, dkim...), middle, f), "dkim=pass %s, and a signature with %s", where, name)
			}
		}
	}
}

// forgery returns a well-formed signature that is not good.
func (a *attacker) forgery(domain string) field {
	return field{raw: a.owner.fill("DKIM-Signature: v=1; a=rsa-sha256; d="+domain+"; s={s}; h=from:to:subject:date; bh=6vuZ62zgyHvGmFHbE6exu1rJAGWYlBicr1tud6qq7+A=; b=") + strings.ReplaceAll(a.owner.b, "=", "") + "AAAA\n"}
}

// quiet is unsigned mail that passes by SPF, and no word about DKIM, where that has a
// field of its own.
func (a *attacker) quiet() []field {
	return without(a.deliver(shared), func(f field) bool {
		return ownResults(f) && strings.Contains(f.raw, "dkim=none") && !strings.Contains(f.raw, "dmarc=")
	})
}

// spareSignatures: DMARC passes by SPF, the owner's signature is broken, and more
// signatures are there than the receiver writes fields about. The attacker's field
// hides among those that there could be.
func (a *attacker) spareSignatures() {
	spare := []field{a.forgery("mallory.example"), a.forgery("mail.mallory.example"), a.forgery("x.mallory.example")}
	for _, w := range []world{shared, sharedForged, sharedForeign} {
		for n := 1; n <= len(spare); n++ {
			mail := inject(a.deliver(w), middle, spare[:n]...)
			for _, where := range a.reachable() {
				for _, name := range []string{"dkim alone", "dkim by header.i", "bare dkim", "one field", "the whole verdict"} {
					a.spoof(w, inject(mail, where, a.made[name]...), "%d spare signatures, %s %s", n, name, where)
				}
			}
			a.spoof(w, mail, "%d spare signatures", n)
		}
		for _, edit := range [][2]string{{":", " :"}, {":", "\t:"}, {"v=1", "v=2"}, {" h=", " x="}, {"from:", ""}, {" bh=", " xh="}, {" b=", " b=!"}} {
			second := field{raw: strings.Replace(a.forgery(a.owner.domain).raw, edit[0], edit[1], 1)}
			for _, where := range []place{top, sent, end} {
				if where == top && a.c.receiver.Verdict == policy.ByFirst {
					continue
				}
				a.spoof(w, inject(inject(a.deliver(w), middle, second), where, a.made["dkim alone"]...), "a second signature of the owner with %q for %q, dkim alone %s", edit[1], edit[0], where)
				a.spoof(w, inject(inject(a.deliver(w), middle, other(second, a.owner.b)), where, other(a.made["dkim alone"][0], a.owner.b)), "another signature of the owner with %q for %q, dkim alone %s", edit[1], edit[0], where)
			}
		}
		blank := field{raw: strings.Replace(spare[0].raw, ":", " :", 1)}
		a.spoof(w, inject(a.deliver(w), middle, blank), "a spare signature with a blank before the colon")
		a.spoof(w, inject(a.deliver(w), middle, a.forgery(a.owner.domain), blank), "the owner's broken signature, and a spare one with a blank before the colon")
	}
	a.spoof(sharedForeign, inject(a.deliver(sharedForeign), middle, a.forgery(a.owner.domain)), "the owner's broken signature beside a good one, and the receiver names no domain or the other")
}

// other is the same field about a signature with another b=.
func other(f field, b string) field { return field{raw: strings.ReplaceAll(f.raw, b, "ZZzzZZ11")} }
