package compare_test

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"

	"pulse/lib/shared/audience"
	"pulse/lib/shared/peer"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

// The words of random policies. Records are made of the same words, and of some that no
// policy has.
var (
	persons  = []string{"me@example.com", "Boss@Example.com", "friend@partner.example", "x@partner.example"}
	domains  = []string{"@partner.example", "@example.com", "@Supplier.example"}
	agents   = []string{"agent@example.net", "Write@example.net", "other@example.org"}
	sources  = []string{"imaps://me@imap.example.com/INBOX", "imaps://me@imap.example.com/Commands", "maildir:/m"}
	patterns = append([]string{"*", "imaps://*", "*/Commands", "maildir:*"}, sources...)
	pins     = []string{"mx1.example.net", "mx2.example.net", "*.mx.example.net", "gmx.net", "mxs.mail.ru", "mail.protonmail.ch"}
	ages     = []string{"0", "1h", "48h", "2d"}
	names    = []string{"fs.read", "fs.write", "fs.move", "mail.send", "mail.draft", "web.fetch", "task.close", "draft", "exec", "pay.now", "pay.list"}
	globs    = append([]string{"*", "fs.*", "mail.*", "*.read", "pay.*", "p*y.*", "web.*", "task.*"}, names...)
	members  = []string{"path", "from", "to"}
	targets  = []string{"bob@partner.example", "Me@example.com", "@example.com", "@partner.example", "Someone@partner.example",
		"telegram:42", "tel:+49-30-90182000", "slack:C024BE7LH", "https://hooks.example.com/a/*", "https://hooks.example.com/a/someone/*", "https://hooks.example.com/A/b"}
	programs  = []string{"/opt/a", "/opt/b"}
	sums      = []string{strings.Repeat("1", 64), strings.Repeat("2", 64)}
	argGlobs  = []string{"*", "-*", "a*", "--out=*", "a/*", "a/b"}
	spaces    = []string{"/srv/a", "/srv/b"}
	written   = []string{"*", ".a", "a/*", "*.md", "CLAUDE.md", "*/.b", ".*", "*/.*", "ok"}
	dirs      = []string{"/srv/a", "/srv/d"}
	platforms = []string{"telegram", "slack"}
	hooks     = []string{"webhook:/hooks/a"}
	ids       = []peer.ID{"1", `"1"`, "U1"} // a number, the same in quotes, and a string
	groups    = []peer.ID{"-100", "C1"}
)

func pick[T any](r *rand.Rand, list []T) T { return list[r.Intn(len(list))] }

// some returns between least and most elements of a list, in any order.
func some[T any](r *rand.Rand, list []T, least, most int) []T {
	list = slices.Clone(list)
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:min(len(list), least+r.Intn(most-least+1))]
}

// array returns a key with its list, an element a line, so that shrink can leave out each.
func array[T any](key string, list []T) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s = [\n", key)
	for _, e := range list {
		fmt.Fprintf(&b, "  %s,\n", quoted(e))
	}
	return b.String() + "]\n"
}

func quoted(v any) string {
	if id, ok := v.(peer.ID); ok {
		return id.JSON()
	}
	return fmt.Sprintf("%q", v)
}

func line(key string, value any) string { return fmt.Sprintf("%s = %s\n", key, quoted(value)) }

// slot is a place in a policy file where something may stand.
type slot struct {
	name    string // the key, as a difference names it
	section string // the table that it stands in
	after   string // the slot that has to be there, too
	percent int    // of policies that have it
	gen     func(r *rand.Rand) string
}

func word(section, key string, percent int, words ...string) slot {
	name := key
	if section != "" {
		name = section + "." + key
	}
	return slot{name, section, "", percent, func(r *rand.Rand) string { return line(key, pick(r, words)) }}
}

func number(key string) slot {
	return slot{"limits." + key, "limits", "", 8, func(r *rand.Rand) string { return fmt.Sprintf("%s = %d\n", key, 1+r.Intn(20)) }}
}

func many[T any](section, key string, percent int, list []T, least, most int) slot {
	s := word(section, key, percent)
	s.gen = func(r *rand.Rand) string { return array(key, some(r, list, least, most)) }
	return s
}

func words[T ~string](list []T) (out []string) {
	for _, w := range list {
		out = append(out, string(w))
	}
	return out
}

// audiences are who may have seen what an effect is made of.
var audiences = []audience.Audience{{}, audience.Anyone, audience.Of(persons[0]), audience.Of(persons[1:]...), audience.Of("bob@partner.example")}

var actions = words(terms.Actions)

// slots are all places, in the order of the file.
var slots = slices.Concat([]slot{
	{"authserv_id", "", "", 85, func(r *rand.Rand) string {
		if r.Intn(2) == 0 {
			return line("authserv_id", pick(r, pins))
		}
		return array("authserv_id", some(r, pins, 1, 2))
	}},
	word("", "verdict", 35, "first", "set", "microsoft", "none"),
	many("", "owners", 90, persons, 1, 2),
	many("", "allowed_external", 75, append(domains, persons...), 1, 2),
	many("", "accept_automatic", 30, append(domains, persons...), 0, 2),
	many("", "recipients", 30, agents, 1, 2),
	word("", "max_age", 50, ages...),
	word("", "dkim_alignment", 40, "strict", "relaxed", "any"),
	word("", "evidence", 40, "authres", "dkim", "both", "either"),
	many("", "accept_unsigned", 25, []string{"To", "Cc", "Subject", "Date", "Message-ID"}, 0, 3),
	word("", "default_action", 30, actions...),
	{"receiver", "", "", 20, receiver}, {"receiver", "", "", 10, receiver},
	{"action", "", "", 30, rule}, {"action", "", "", 20, rule},
}, rows(), []slot{
	number("max_per_run"), number("max_per_day"), number("per_sender_per_hour"), number("pending_per_sender"),
	number("max_attempts"), number("max_restarts"), number("max_closes_per_run"), number("max_continues"), number("max_revisions"),
	word("limits", "review_expires", 8, "1h", "24h", "1d", "14d"), // and with it resurface, which is half of it
	word("limits", "disk_reserve", 8, "0", "1MiB", "64MiB"),
	word("limits", "keep_refused", 8, "0", "1d", "14d"),
	many("outbound", "allow", 35, targets, 0, 2),
	word("outbound", "scheme", 20, "telegram"),
	word("outbound", "min_reply_interval", 8, "0", "1m", "10m"),
	many("drafts", "for", 8, []string{"write_local", "external_send", "destructive", "code_or_computer"}, 0, 4),
	{"extract", "extract", "", 25, func(r *rand.Rand) string {
		return line("schema", "request") + array("require", some(r, words(terms.TrustLevels), 1, 3))
	}},
	word("tools", "profile", 50, "minimal", "standard", "coding", "full"),
	many("tools", "allow", 40, globs, 0, 3),
	many("tools", "deny", 30, globs, 0, 2),
	table("level", 35, func(r *rand.Rand) string { return pick(r, []string{"open", "owner_only", "approval_required"}) }),
	table("level", 15, func(r *rand.Rand) string { return pick(r, []string{"owner_only", "approval_required"}) }),
	table("action", 35, func(r *rand.Rand) string { return pick(r, actions) }),
	table("paths", 30, func(r *rand.Rand) []string { return some(r, members, 1, 2) }),
	word("exec", "mode", 45, "deny", "allowlist", "full"),
	word("exec", "workspace", 60, spaces...),
	many("exec", "write", 25, written, 0, 3),
	{"exec.allow", "", "", 35, program}, {"exec.allow", "", "", 15, program},
	word("approval", "require", 10, "terminal", "user", "signature"),
	word("approval", "allowed_signers", 10, "/etc/a", "/etc/b"),
	word("approval", "ledger", 5, "/var/a", "/var/b"),
	word("approval", "approver_group", 5, "staff", "wheel"),
	{"platform", "", "", 35, platform("telegram")},
	{"platform.chat", "", "telegram", 60, chat(groups[0])}, {"platform.chat", "", "telegram", 30, chat(groups[1])},
	{"platform", "", "", 10, platform("slack")},
	{"platform", "", "", 25, hook},
	many("flow.private", "confirm", 8, append(actions, globs...), 0, 2), many("flow.private", "deny", 8, append(actions, globs...), 0, 2),
	many("flow.untrusted", "confirm", 7, append(actions, globs...), 0, 2), many("flow.untrusted", "deny", 7, append(actions, globs...), 0, 2),
	word("limits", "hold_after_yes", 8, "0", "10m", "1h"), // last: what is drawn before it stays
})

func receiver(r *rand.Rand) string {
	text := "[[receiver]]\n" + line("source", pick(r, patterns))
	verdict := pick(r, []string{"", "first", "set", "microsoft", "none"})
	if verdict != "" {
		text += line("verdict", verdict)
	}
	if verdict != "microsoft" && verdict != "none" {
		text += array("authserv_id", some(r, pins, 1, 2))
	}
	return text
}

func rule(r *rand.Rand) string {
	text := "[[action]]\n" + line("action", pick(r, actions))
	n := 1 + r.Intn(3)
	if n&1 != 0 {
		text += line("to", pick(r, agents))
	}
	if n&2 != 0 {
		text += line("source", pick(r, patterns))
	}
	return text
}

// rows are the slots of the matrix.
func rows() (out []slot) {
	for _, t := range terms.TrustLevels {
		out = append(out, slot{"matrix." + string(t), "matrix." + string(t), "", 30, row})
	}
	for _, sender := range []string{"me@example.com", "friend@partner.example", "@Partner.example", "@supplier.example"} {
		name := fmt.Sprintf("matrix.%q", sender)
		out = append(out, slot{name, name, "", 15, func(r *rand.Rand) string {
			text := row(r)
			if r.Intn(3) == 0 {
				text += array("tools.allow", some(r, globs, 0, 3))
			}
			return text
		}})
	}
	return out
}

func row(r *rand.Rand) string {
	var lists [4][]string
	for _, a := range actions {
		n := r.Intn(4)
		lists[n] = append(lists[n], a)
	}
	text := ""
	for i, key := range []string{"allow", "require_owner_confirmation", "queue_for_review"} {
		if lists[i] != nil {
			text += array(key, lists[i])
		}
	}
	if text == "" {
		text = array("allow", []string{})
	}
	return text
}

func table[T any](key string, percent int, value func(r *rand.Rand) T) slot {
	return slot{"tools." + key, "tools." + key, "", percent, func(r *rand.Rand) string {
		name := fmt.Sprintf("%q", pick(r, globs))
		if list, ok := any(value(r)).([]string); ok {
			return array(name, list)
		}
		return line(name, value(r))
	}}
}

func program(r *rand.Rand) string {
	text := "[[exec.allow]]\n" + line("program", pick(r, programs)) + line("sha256", pick(r, sums)) + array("args", some(r, argGlobs, 0, 2))
	if r.Intn(2) == 0 {
		text += line("dir", pick(r, dirs))
	}
	return text
}

func platform(source string) func(r *rand.Rand) string {
	return func(r *rand.Rand) string {
		text := "[[platform]]\n" + line("source", source)
		if r.Intn(3) > 0 {
			text += array("owner_ids", some(r, ids, 1, 1))
		}
		if r.Intn(3) > 0 {
			text += array("allowed_ids", some(r, ids, 1, 2))
		}
		if r.Intn(4) == 0 {
			text += array("actions", some(r, actions, 1, 4))
		}
		return text
	}
}

func chat(id peer.ID) func(r *rand.Rand) string {
	return func(r *rand.Rand) string {
		text := "[[platform.chat]]\n" + line("id", id)
		for _, key := range []string{"enabled", "open_group", "require_mention"} {
			if n := r.Intn(3); n < 2 {
				text += fmt.Sprintf("%s = %v\n", key, n == 0)
			}
		}
		if r.Intn(3) == 0 {
			text += array("allowed_senders", some(r, ids, 1, 2))
		}
		if r.Intn(3) == 0 {
			text += array("tools.allow", some(r, globs, 0, 3))
		}
		return text
	}
}

func hook(r *rand.Rand) string {
	text := "[[platform]]\n" + line("source", hooks[0])
	switch r.Intn(4) {
	case 0:
		text += array("owner_ids", some(r, ids, 0, 2))
	case 1:
		text += array("allowed_ids", some(r, ids, 1, 2))
	case 2:
		text += line("trust", pick(r, []string{"external_verified", "owner_verified_email"}))
	}
	if r.Intn(3) == 0 {
		text += array("actions", some(r, actions, 1, 4))
	}
	return text
}

// doc is a policy file: what stands in each slot, or nothing.
type doc []string

func (d doc) text() string {
	var b strings.Builder
	section := ""
	for i, s := range slots {
		if d[i] == "" || s.after != "" && !strings.Contains(b.String(), line("source", s.after)) {
			continue
		}
		if s.section != section && s.section != "" {
			fmt.Fprintf(&b, "[%s]\n", s.section)
		}
		section = s.section
		b.WriteString(d[i])
	}
	return b.String()
}

func (d doc) parse() (*policy.Policy, error) { return policy.Parse("p.toml", []byte(d.text())) }

// policyOf returns a random valid policy.
func policyOf(r *rand.Rand) doc {
	for {
		d := make(doc, len(slots))
		for i, s := range slots {
			if r.Intn(100) < s.percent {
				d[i] = s.gen(r)
			}
		}
		if _, err := d.parse(); err == nil {
			return d
		}
	}
}

// mutated returns a valid policy that differs in one slot, which is always another if
// nth is not negative.
func mutated(r *rand.Rand, d doc, nth int) doc {
	for {
		i := nth
		if nth < 0 {
			i = r.Intn(len(slots))
		}
		next := slices.Clone(d)
		if next[i] = ""; d[i] == "" || r.Intn(4) > 0 {
			next[i] = slots[i].gen(r)
		}
		if d[i] != "" && r.Intn(3) == 0 {
			next[i] = without(r, d[i])
		}
		if _, err := next.parse(); err == nil {
			return next
		}
		if nth >= 0 && r.Intn(50) == 0 {
			return d // no value of this slot fits the rest
		}
	}
}

// without leaves out a line.
func without(r *rand.Rand, text string) string {
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	i := r.Intn(len(lines))
	return strings.Join(slices.Delete(lines, i, i+1), "")
}

// pair returns two random policies: the second is the first with up to four changes, or
// another one.
func pair(r *rand.Rand) (old, new doc) {
	old = policyOf(r)
	if r.Intn(10) == 0 {
		return old, policyOf(r)
	}
	new = old
	for range r.Intn(5) {
		new = mutated(r, new, -1)
	}
	return old, new
}

// lookalikes returns two policies under which nearly all is decided alike: the rows of all
// whom a policy can trust say the same, and the second trusts others, or other things hang on
// trust.
func lookalikes(r *rand.Rand) (old, new doc) {
	at := func(name string) int { return slices.IndexFunc(slots, func(s slot) bool { return s.name == name }) }
	for {
		old = policyOf(r)
		same := row(r)
		for _, t := range []terms.Trust{terms.ExternalVerified, terms.OwnerVerifiedEmail, terms.ApprovedSession} {
			old[at("matrix."+string(t))] = same
		}
		if _, err := old.parse(); err == nil {
			break
		}
	}
	new = old
	for range 1 + r.Intn(2) {
		new = mutated(r, new, at(pick(r, []string{"owners", "allowed_external", "platform", "extract", "tools.level"})))
	}
	return old, new
}

// gossips returns two policies that say something about what was read in private, and that differ
// in who is to know it, or in what a message is. Nearly all else is rejected, so that it does not matter
// who is an owner.
func gossips(r *rand.Rand) (old, new doc) {
	at := func(name string) int { return slices.IndexFunc(slots, func(s slot) bool { return s.name == name }) }
	for {
		old = policyOf(r)
		for i, s := range slots {
			if strings.HasPrefix(s.name, "matrix.") && s.name != "matrix.system" {
				old[i] = array("allow", []string{})
			}
		}
		old[at("flow.private.deny")] = array("deny", some(r, append(words(terms.Actions), "mail.*", "mail.send", "mail.draft", "*"), 1, 2))
		if _, err := old.parse(); err == nil {
			break
		}
	}
	new = old
	for range 1 + r.Intn(2) {
		new = mutated(r, new, at(pick(r, []string{"owners", "owners", "owners", "flow.private.deny", "outbound.allow", "tools.action"})))
	}
	return old, new
}

// shrunk leaves out lines, of one policy or of both, for as long as the pair still fails.
func shrunk(old, new string, fails func(old, new string) bool) (string, string) {
	for again := true; again; {
		again = false
		try := func(o, n string) {
			if (o != old || n != new) && fails(o, n) {
				old, new, again = o, n, true
			}
		}
		for size := 6; size > 0; size-- {
			for i := 0; i < len(old)+len(new); i++ {
				if block := blockAt(old, i, size); block != "" {
					try(strings.Replace(old, block, "", 1), strings.Replace(new, block, "", 1))
					try(strings.Replace(old, block, "", 1), new)
				}
				if block := blockAt(new, i, size); block != "" {
					try(old, strings.Replace(new, block, "", 1))
				}
			}
		}
	}
	return old, new
}

// blockAt returns so many lines from a line on, or nothing.
func blockAt(text string, from, size int) string {
	lines := strings.SplitAfter(text, "\n")
	if from+size > len(lines) {
		return ""
	}
	return strings.Join(lines[from:from+size], "")
}
