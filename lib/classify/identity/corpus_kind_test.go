package identity_test

import (
	"fmt"
	"slices"
	"strings"

	"pulse/lib/shared/policy"
)

// wrongKind: the user has chosen another kind of verdict than fits this receiver. That
// may verify less, and must not let a forger in.
func (a *attacker) wrongKind() {
	for _, kind := range []policy.Verdict{policy.ByFirst, policy.BySet, policy.ByMicrosoft} {
		p, ok := a.kind(kind)
		if !ok || kind == a.c.receiver.Verdict {
			continue
		}
		where := []place{sent, middle, end}
		if a.c.name == "proton" {
			where = append(where, top) // fields of one name stand together
		}
		for _, w := range lies {
			mail := a.deliver(w)
			a.misread(p, w, mail, "nothing injected")
			for name, injected := range a.made {
				for _, where := range where {
					a.misread(p, w, inject(mail, where, injected...), name+" "+string(where))
				}
			}
			for _, where := range where {
				a.misread(p, w, inject(mail, where, microsoftBlock(a)...), "the fields of Microsoft "+string(where))
			}
		}
	}
}

// kind returns the policy with another kind of verdict, for all the names that this
// receiver writes.
func (a *attacker) kind(v policy.Verdict) (*policy.Policy, bool) {
	var ids []string
	for _, f := range a.own() {
		if id := idOf(f.raw); !slices.Contains(ids, fmt.Sprintf("%q", id)) {
			ids = append(ids, fmt.Sprintf("%q", id))
		}
	}
	text := fmt.Sprintf("owners = [%q]\nverdict = %q\n", a.owner.address, v)
	if v != policy.ByMicrosoft {
		text += "authserv_id = [" + strings.Join(ids, ", ") + "]\n"
	}
	p, err := policy.Parse("kind", []byte(text))
	if err != nil {
		a.t.Fatal(err)
	}
	return p, len(ids) > 0
}

// misread classifies a spoof under the wrong kind. Exim and Proton let forgers in if the
// first field decides, because it may be the sender's.
func (a *attacker) misread(p *policy.Policy, w world, mail []field, what string) {
	key := p.Digest + string(w) + string(raw(mail))
	if a.seen[key] {
		return
	}
	a.seen[key] = true
	id := classifyUnder(p, mail, nil)
	kind, _ := p.Receiver("")
	if kind.Verdict == policy.ByFirst && a.below() {
		name := "first instead of " + string(a.c.receiver.Verdict)
		if a.score.residual[name] == nil {
			a.score.residual[name] = &tally{}
		}
		a.score.residual[name].add(proven(&id))
		return
	}
	a.score.spoofs.add(proven(&id))
	if proven(&id) {
		a.t.Errorf("%s: spoof accepted under %s: %s mail, %s", a.sh.name, kind.Verdict, w, what)
	}
}

// below reports whether a field of the sender may stand above this receiver's.
func (a *attacker) below() bool { return a.c.name == "exim" || a.c.name == "proton" }

// microsoftBlock is what Exchange writes on mail from outside.
func microsoftBlock(a *attacker) []field {
	return parseFields(a.owner.fill(`Authentication-Results: spf=pass (sender IP is 192.0.2.1)
 smtp.mailfrom={domain}; dkim=pass (signature was verified)
 header.d={domain};dmarc=pass action=none
 header.from={domain};compauth=pass reason=100
Received-SPF: Pass (protection.outlook.com: domain of {domain} designates 192.0.2.1 as permitted sender) receiver=protection.outlook.com; client-ip=192.0.2.1; helo=mail.example.com; pr=C
Received: from mail.example.com (192.0.2.1) by AM0EPF00001234.mail.protection.outlook.com (10.167.16.5) with Microsoft SMTP Server (version=TLS1_3, cipher=TLS_AES_256_GCM_SHA384) id 15.20.9343.11 via Frontend Transport; Sat, 21 Nov 2026 06:58:41 +0000
X-MS-Exchange-Organization-MessageDirectionality: Incoming
X-MS-Exchange-Organization-AuthSource: AM0EPF00001234.eurprd05.prod.outlook.com
X-MS-Exchange-Organization-AuthAs: Anonymous
`))
}
