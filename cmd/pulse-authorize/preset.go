package main

import (
	"fmt"
	"strings"

	"pulse/lib/classify/receivers"
	"pulse/lib/shared/policy"
)

const noPin = `# authserv_id = "mx.example.com"`

// preset writes the lines of the policy that a receiver stands for, and in comments what
// they rest on.
type preset struct{ strings.Builder }

// presetLines returns what a preset adds to the policy of an owner.
func presetLines(r *receivers.Receiver) string {
	var b preset
	b.line("#")
	b.facts(r)
	switch {
	case r.Probed:
		b.afterProbe(r)
	case r.Verdict == policy.ByNone:
		b.say("Nothing that it writes proves a sender, so pulse-fetch, which reads this policy, checks DKIM itself%s.", caution(r))
		b.key("evidence", r.Evidence)
	default:
		b.pin(r)
	}
	if !r.Probed {
		b.probe(r, "Nobody has tried it with pulse's own probe. To try it from outside, and from inside as another of its users:")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// facts says what is known of the receiver.
func (b *preset) facts(r *receivers.Receiver) {
	b.say("%s: %s.", r.Title, r.Writes)
	for _, fact := range []struct{ lead, text string }{
		{"Measured", orNothing(r.Measured)}, {"Only documented", r.Documented},
		{"Not verified at all", r.Never}, {"Risk", r.Risk}, {"To do", r.Do},
	} {
		if fact.text != "" {
			b.say("%s: %s.", fact.lead, fact.text)
		}
	}
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

// caution says why pulse's own check may fail.
func caution(r *receivers.Receiver) string {
	if r.OwnCheck == "" {
		return ""
	}
	return ". Expect failures: " + r.OwnCheck
}

// pin writes the lines for a receiver whose verdict is believed.
func (b *preset) pin(r *receivers.Receiver) {
	switch {
	case r.Yours && r.Name == "two-mx":
		b.say("Put in the names that your servers write:")
		b.line(`# authserv_id = ["mx1.example.com", "mx2.example.com"]`)
	case r.Yours:
		b.say("Put in the name that your server writes:")
		b.line(noPin)
	case len(r.IDs) == 1:
		b.key("authserv_id", r.IDs[0])
	default:
		b.line("authserv_id = " + list(r.IDs))
	}
	if r.Verdict != policy.ByFirst {
		b.key("verdict", r.Verdict)
	}
	if r.Evidence == policy.ByEither {
		b.say("Where it left no field, pulse-fetch, which reads this policy, checks DKIM itself%s.", caution(r))
		b.key("evidence", r.Evidence)
	}
}

// afterProbe writes the lines for a receiver whose verdict a person has to choose.
func (b *preset) afterProbe(r *receivers.Receiver) {
	b.say("What works at once: pulse-fetch, which reads this policy, checks DKIM itself. "+
		"What does not: much good mail, because %s; and mail within one tenant: write from an account elsewhere.", r.OwnCheck)
	b.key("evidence", policy.ByDKIM)
	b.line("#")
	b.probe(r, "What helps is verdict %q: it believes the field that the servers write, by where it stands. "+
		"It is off until you choose it, because whether yours lets others write that field has to be tried first:", r.Verdict)
	b.say("If check says \"trusted\" each time, remove the line with evidence above, and the # from these:")
	b.line(fmt.Sprintf("# verdict = %q", r.Verdict))
	b.line(fmt.Sprintf("# evidence = %q", r.Evidence))
	b.line("#")
	b.unsigned("If your own mail goes out through Microsoft, too:")
}

// unsigned says what follows for an owner whose mail has To unsigned.
func (b *preset) unsigned(lead string) {
	b.say("%s its signatures leave out To and Cc (measured: %s), so anyone who gets a mail of yours can send it on to another address. "+
		"With recipients, which is set below, whatever it asks for waits for a person (field_unsigned). "+
		"To take that risk all the same:", lead, receivers.Unsigned)
	b.line(`# accept_unsigned = ["To", "Cc"]`)
}

func (b *preset) probe(r *receivers.Receiver, lead string, args ...any) {
	b.say(lead, args...)
	outside, inside := r.Probe()
	b.line("#   " + outside)
	before, after, _ := strings.Cut(inside, " --server")
	b.line("#   " + before + ` \`)
	b.line("#       --server" + after)
	b.line("# and after each: pulse-fetch --limit 20 SOURCE | scripts/probe-receiver check --nonce NONCE")
}

// say writes a comment, broken at blanks.
func (b *preset) say(format string, args ...any) {
	const width = 78
	line := "#"
	for word := range strings.FieldsSeq(fmt.Sprintf(format, args...)) {
		if line != "#" && len(line)+1+len(word) > width {
			b.line(line)
			line = "#"
		}
		line += " " + word
	}
	b.line(line)
}

func (b *preset) line(s string) { b.WriteString(s + "\n") }

func (b *preset) key(key string, value any) { b.line(fmt.Sprintf("%s = %q", key, value)) }

func list(ids []string) string {
	quoted := make([]string, len(ids))
	for i := range ids {
		quoted[i] = fmt.Sprintf("%q", ids[i])
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
