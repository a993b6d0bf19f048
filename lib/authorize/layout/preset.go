package layout

import (
	"fmt"
	"strings"

	"pulse/lib/classify/receivers"
	"pulse/lib/shared/policy"
)

// Policy returns a policy to start from, everything shut except the owner's row. r is who receives
// the mail; nil: that is not known.
func Policy(owner string, agents []string, r *receivers.Receiver) string {
	pin := noPin
	if r != nil {
		pin = presetLines(r)
	}
	if _, domain, _ := strings.Cut(owner, "@"); receivers.SignsNoTo(domain) && (r == nil || !r.Probed) {
		var b preset
		b.line("\n#")
		b.unsigned("Your own mail goes out through Outlook.com:")
		pin += strings.TrimSuffix(b.String(), "\n")
	}
	return strings.NewReplacer("@OWNER@", owner, "@PIN@", pin, "@AGENTS@", list(agents)).Replace(template)
}

const template = `# The policy of pulse, pulse-policy(5). Look at it with: pulse-authorize matrix --policy FILE
# and ask what is risky with: pulse-authorize check --policy FILE

# Whose wishes count: your own address, as it stands in From. A second person stands here and, to
# be answered, in outbound.allow.
owners = ["@OWNER@"]

# What your mail server calls itself in the Authentication-Results field it puts
# on top of a message. Without it nobody is verified by the server's word. To find
# it, or to learn that this server's word can't be used:
#   pulse-fetch --limit 100 SOURCE | pulse-classify suggest
@PIN@

# Others who may ask for a little: an address, or @domain for everybody there.
allowed_external = []

# The addresses of the agent. Mail that also goes to others is a conversation, not a
# command. Without this line, whatever you or your vacation responder wrote to
# anybody is a command once it is sent on to the agent.
recipients = @AGENTS@

# A mail older than this waits for a person. "0" switches that off.
max_age = "48h"

# What a mail asks for when no rule says otherwise. The text never decides.
default_action = "read_public"

# Mail to a second address of the agent may ask for more:
# [[action]]
# to     = "agent+write@example.com"
# action = "write_local"

[matrix.owner_verified_email]
allow                      = ["read_public", "write_local"]
require_owner_confirmation = ["external_send", "destructive", "code_or_computer"]
queue_for_review           = []

[limits]
max_per_run = 10     # starts of one pulse-queue run
max_per_day = 100    # starts in any 24 hours

# Once what a task proposed has ended, its agent goes on and is told how, at most so often; and as
# often as max_revisions after your no with words. 0: never.
max_continues = 3
max_revisions = 2

# What waits for a person is told once more after the first time, and then expires.
resurface      = "72h"
review_expires = "336h"

# Of what others write, workers get only what a reader made of it: pulse-queue run --extract.
[extract]
schema  = "request"
require = ["external_verified"]

# After private data was read, the web and drafts need a yes; after what others wrote, private
# data does.
[flow]
private   = { confirm = ["read_public", "mail.draft"] }
untrusted = { confirm = ["read_private"] }

# Where effects may go at all, after a person's yes. Absent: anywhere. [] : nowhere, so that not
# even you are answered: list your address, or @domain.
[outbound]
allow = []
# min_reply_interval = "10m"    # after a message to somebody, the next one waits so long
`

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
		{"Measured", OrNothing(r.Measured)}, {"Only documented", r.Documented},
		{"Not verified at all", r.Never}, {"Risk", r.Risk}, {"To do", r.Do},
	} {
		if fact.text != "" {
			b.say("%s: %s.", fact.lead, fact.text)
		}
	}
}

// OrNothing returns a text, or a word for none.
func OrNothing(s string) string {
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
