package main

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"pulse/lib/classify/receivers"
	"pulse/lib/classify/receivers/receiverstest"
	"pulse/lib/shared/address"
	"pulse/lib/shared/policy"
)

// probe is one mail full of forgeries.
type probe struct {
	to, from string
	pin      string // the id whose forgeries matter; empty: not known yet
	nonce    string // 32 hex digits
	broken   bool   // also forgeries that break the grammar of a header
	inside   bool   // for submission on the server itself: one verdict that pulse would believe
	envelope string // MAIL FROM; empty: from

	receiver string             // name of a preset, or empty
	preset   receivers.Receiver // what is known of it
}

// forgery is one Authentication-Results field that a sender might write.
type forgery struct {
	what  string
	lines string // @ID@ is the id, @PASS@ what it says
}

// above stand on top of the mail, in this order; below under the usual fields, the
// last of them at the end of the header.
var (
	above = []forgery{
		{"as the server would write it", "Authentication-Results: @ID@; @PASS@"},
		{"name in lower case", "authentication-results: @ID@; @PASS@"},
		{"name in upper case", "AUTHENTICATION-RESULTS: @ID@; @PASS@"},
		{"name in mixed case", "Authentication-results: @ID@; @PASS@"},
		{"no blank after the colon", "Authentication-Results:@ID@; @PASS@"},
		{"folded after the colon", "Authentication-Results:\n @ID@; @PASS@"},
		{"tab after the colon", "Authentication-Results:\t@ID@; @PASS@"},
		{"blank before the colon", "Authentication-Results : @ID@; @PASS@"},
		{"tab before the colon", "Authentication-Results\t: @ID@; @PASS@"},
		{"comment before the id", "Authentication-Results: (x) @ID@; @PASS@"},
		{"comment after the id", "Authentication-Results: @ID@ (x); @PASS@"},
		{"nested comment before the id", "Authentication-Results: (a (b \\) c)) @ID@; @PASS@"},
		{"folded after the id", "Authentication-Results: @ID@\n ; @PASS@"},
		{"version 1", "Authentication-Results: @ID@ 1; @PASS@"},
	}
	below = []forgery{
		{"below the usual fields", "Authentication-Results: @ID@; @PASS@"},
		{"twice, the first of two", "Authentication-Results: @ID@; @PASS@"},
		{"twice, the second of two", "Authentication-Results: @ID@; @PASS@"},
		{"version 2", "Authentication-Results: @ID@ 2; @PASS@"},
		{"id in quotes", "Authentication-Results: \"@ID@\"; @PASS@"},
		{"id in upper case", "Authentication-Results: @UPPER@; @PASS@"},
		{"id with a dot after it", "Authentication-Results: @ID@.; @PASS@"},
		{"id of a host below it", "Authentication-Results: a.@ID@; @PASS@"},
		{"id in a comment of another", "Authentication-Results: mx.probe.invalid (; @ID@); @PASS@"},
		{"another id", "Authentication-Results: mx.probe.invalid; @PASS@"},
		{"no id", "Authentication-Results: @PASS@"},
		{"ARC, which pulse does not read", "ARC-Authentication-Results: i=1; @ID@; @PASS@"},
		{"below a forged Received field", "Received: from a.probe.invalid by @ID@; Sat, 21 Nov 2026 06:55:00 +0000\nAuthentication-Results: @ID@; @PASS@"},
		{"the last field", "Authentication-Results: @ID@; @PASS@"},
	}
	// breaking stand at the very end, because a server may take one for the end of the
	// header, or refuse the mail.
	breaking = []forgery{
		{"name with a zero-width space", "Authentication-\u200bResults: @ID@; @PASS@"},
		{"blank before the name", "X-Probe: x\n Authentication-Results: @ID@; @PASS@"},
		{"name folded", "Authentication-Results\n : @ID@; @PASS@"},
	}
)

// microsoft stand below the usual fields of a probe for Microsoft 365: what its servers
// write, alone. The values of the first two can't hold a tag.
var microsoft = []forgery{
	{"AuthAs, as within a tenant", "X-MS-Exchange-Organization-AuthAs: Internal"},
	{"AuthAs, as from outside", "X-MS-Exchange-Organization-AuthAs: Anonymous"},
	{"MessageDirectionality", "X-MS-Exchange-Organization-MessageDirectionality: Originating"},
	{"AuthSource", "X-MS-Exchange-Organization-AuthSource: @TAG@.mail.protection.outlook.com"},
	{"CrossTenant-AuthAs", "X-MS-Exchange-CrossTenant-AuthAs: @TAG@"},
	{"CrossTenant-AuthSource", "X-MS-Exchange-CrossTenant-AuthSource: @TAG@.mail.protection.outlook.com"},
	{"CrossTenant-FromEntityHeader", "X-MS-Exchange-CrossTenant-FromEntityHeader: @TAG@"},
	{"CrossTenant-Id", "X-MS-Exchange-CrossTenant-Id: @TAG@"},
	{"CrossTenant-Network-Message-Id", "X-MS-Exchange-CrossTenant-Network-Message-Id: @TAG@"},
	{"CrossTenant-OriginalArrivalTime", "X-MS-Exchange-CrossTenant-OriginalArrivalTime: @TAG@"},
}

// parts returns the forgeries that stand above and below the usual fields.
func (p *probe) parts() (top, end []forgery) {
	switch {
	case p.inside && p.receiver == "":
		return above[:1], nil
	case p.inside:
		return p.whole(), nil
	case p.kind() == policy.ByMicrosoft:
		return p.whole(), append([]forgery{{"no id", "Authentication-Results: @PASS@"}}, microsoft...)
	case p.receiver != "":
		top = p.whole()
	}
	top = append(top, above...)
	end = below
	if p.broken {
		end = append(append([]forgery(nil), below...), breaking...)
	}
	return top, end
}

// whole returns everything that the receiver writes about a good mail, as one forgery.
func (p *probe) whole() []forgery {
	id := "@ID@"
	if p.kind() == policy.ByMicrosoft {
		id = "@TAG@.mail.protection.outlook.com"
	}
	lines := receiverstest.Sample(&p.preset, id, p.from)
	for i := range lines {
		if p.kind() != policy.ByMicrosoft {
			lines[i] = strings.ReplaceAll(lines[i], "; ", ";\n ") + ";\n x-probe=none policy.probe=@TAG@"
		}
	}
	return []forgery{{"all that it writes, as it would", strings.Join(lines, "\n")}}
}

// kind returns how the fields of the receiver are read. Where the preset believes none of
// them, the question is what the topmost one would do.
func (p *probe) kind() policy.Verdict {
	if p.receiver == "" || p.preset.Verdict == policy.ByNone {
		return policy.ByFirst
	}
	return p.preset.Verdict
}

// believed returns the policy's receiver that the probe is about.
func (p *probe) believed() policy.Receiver {
	r := policy.Receiver{Source: "*", AuthservIDs: p.preset.IDs, Verdict: p.kind()}
	if p.kind() != policy.ByMicrosoft && (p.pin == "" || !r.Believes(p.pin)) {
		r.AuthservIDs = []string{p.pin}
	}
	return r
}

// name takes the preset that --receiver names, and its id unless --pin gave one.
func (p *probe) name() error {
	if p.receiver == "" {
		return nil
	}
	r, ok := receivers.ByName(p.receiver)
	if !ok {
		return fmt.Errorf("--receiver: nothing is known of %s; known are %s; %w", p.receiver, strings.Join(receivers.Nearest(p.receiver), ", "), errUsage)
	}
	p.receiver, p.preset = r.Name, r
	if id, exact := r.Exact(); exact && p.pin == "" {
		p.pin = id
	}
	return nil
}

// forgeries returns the forgeries of the probe, numbered from 0 in the order of the mail.
func (p *probe) forgeries() []forgery {
	top, end := p.parts()
	return append(append([]forgery(nil), top...), end...)
}

var nonceForm = regexp.MustCompile(`^[0-9a-f]{32}$`)

func (p *probe) valid() error {
	for name, addr := range map[string]string{"--to": p.to, "--from": p.from} {
		if _, _, err := address.Split(addr); err != nil {
			return fmt.Errorf("%s: %s: %w; %w", name, addr, err, errUsage)
		}
	}
	if p.inside && (p.pin == "" && p.kind() != policy.ByMicrosoft || p.broken) {
		return fmt.Errorf("--inside and submit want --pin, or a --receiver with one name, and no --broken: a user of the server knows its name; %w", errUsage)
	}
	if _, _, err := address.Split(p.sender()); err != nil {
		return fmt.Errorf("--sender: %s: %w; %w", p.sender(), err, errUsage)
	}
	if p.pin != "" && !address.Domain(p.pin) {
		return fmt.Errorf("--pin: %s: want the name of a server; %w", p.pin, errUsage)
	}
	return nil
}

// sender returns the sender of the envelope.
func (p *probe) sender() string {
	if p.envelope != "" {
		return p.envelope
	}
	return p.from
}

// id returns the authserv-id that is forged. Without a pin that is a guess, and check
// answers which name the server really writes.
func (p *probe) id() string {
	if p.pin != "" {
		return p.pin
	}
	_, domain, _ := strings.Cut(p.to, "@")
	return "mx." + domain
}

// tag returns the mark of the nth forgery. If it is found, the forgery has arrived.
func tag(nonce string, n int) string { return fmt.Sprintf("%s-%02d", nonce, n) }

// field returns the nth forgery as lines of the header.
func (p *probe) field(n int, f forgery) string {
	_, domain, _ := strings.Cut(p.from, "@")
	pass := fmt.Sprintf("dkim=pass\n header.d=%s policy.probe=%s; dmarc=pass\n header.from=%s", domain, tag(p.nonce, n), domain)
	return strings.NewReplacer("@ID@", p.id(), "@UPPER@", strings.ToUpper(p.id()), "@PASS@", pass, "@TAG@", tag(p.nonce, n)).Replace(f.lines) + "\n"
}

// signature returns a DKIM-Signature that the forged verdict can point to.
func (p *probe) signature() string {
	_, domain, _ := strings.Cut(p.from, "@")
	return "DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=" + domain + "; s=probe;\n h=from:to:cc:subject:date:message-id; bh=AAAA; b=AAAA\n"
}

const manifest = "X-Pulse-Probe"

// message returns the mail, its lines ended by LF as sendmail takes them.
func (p *probe) message(now time.Time) string {
	var b strings.Builder
	n := 0
	write := func(list []forgery) {
		for _, f := range list {
			b.WriteString(p.field(n, f))
			n++
		}
	}
	top, end := p.parts()
	if write(top); p.inside {
		b.WriteString(p.signature())
	}
	fmt.Fprintf(&b, "From: <%s>\nTo: <%s>\nSubject: pulse probe %s\nDate: %s\nMessage-ID: <%s@probe.invalid>\n",
		p.from, p.to, p.nonce, now.UTC().Format(time.RFC1123Z), p.nonce)
	fmt.Fprintf(&b, "%s: %s id=%s pinned=%t broken=%t inside=%t receiver=%s from=%s\nMIME-Version: 1.0\nContent-Type: text/plain; charset=us-ascii\n",
		manifest, p.nonce, p.id(), p.pin != "", p.broken, p.inside, p.receiver, p.from)
	write(end)
	fmt.Fprintf(&b, "\nThis mail is harmless. It was sent to find out whether the server that\nreceives it removes forged Authentication-Results fields (pulse(7)).\n")
	return b.String()
}
