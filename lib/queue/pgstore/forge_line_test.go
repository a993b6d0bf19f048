package pgstore_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/label"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// nasty is what strangers write.
const nasty = "\"\\\n\r\t\x00\x1b[2J\u202e\U0001f600 {\"prev\":\"x\"} \ufffd"

// full returns lines that have, together, every member that a line can have, with hostile text
// wherever that may stand.
func (w *world) full() []call {
	mail := w.of("a.new", task.Added, "", task.Scheduled)
	mail.Change = task.Change{NotBefore: w.now.Add(time.Hour + 5), Reason: nasty}
	mail.Tool, mail.Outcome, mail.Rule, mail.Policy, mail.Sender, mail.Trust = nasty, terms.Allow, nasty, nasty, nasty, terms.ExternalVerified
	mail.IdentityReason, mail.Source, mail.UID, mail.MessageID = nasty, nasty, 1<<32-1, nasty
	mail.KnownAs = idOf("n.new")
	mail.Sandbox, mail.Account, mail.By, mail.Level, mail.NotKept = nasty, nasty, nasty, approval.User, nasty
	mail.Link, mail.Target = task.Link{Answers: idOf("a.done"), Thread: idOf("a.done")}, []string{nasty, ""}
	mail.Positions = []audit.Position{{Source: "imap", UIDValidity: 1<<32 - 1, UID: 1, Received: w.now.Add(7)}, {Source: "s"}}
	run := proposing(w.ends("a.run", task.Finished, task.Completed), "e.x")
	run.End, run.Count, run.Parent = &audit.End{Exit: -1, Said: nasty}, 7, ""
	later := result(w.ends("a.run", task.Retried, task.Scheduled), store.Results)
	later.Change.Deferred = 1
	back := w.ends("e.run", task.Restored, task.Scheduled)
	back.Approval = w.yeses["e.run"]
	yes := w.yes("a.wait", task.Approved, task.Awaiting, approval.Signature, bob)
	*yes.Approval = approval.Approval{Task: yes.Task, Digest: yes.Digest, Action: yes.Action, Target: []string{bob}, Text: true, By: nasty,
		Level: approval.Signature, Nonce: nasty, Given: w.now.Add(1), Expires: w.now.Add(time.Hour), Signer: nasty, Signature: nasty}
	all := w.grant("g.new", nasty, "a.done", time.Hour)
	all.Grant.Level, all.Grant.By, all.Grant.Signer, all.Grant.Signature = approval.Signature, nasty, nasty, nasty
	wide := w.session(audit.SessionOpened, "s.new", 3)
	wide.Session.Level = approval.Signature
	wide.Session.Sender, wide.Session.By, wide.Session.Signer, wide.Session.Signature = nasty, nasty, nasty, nasty
	marks := w.note("a.sched", audit.Labelled)
	marks.Labels = label.Set{{Label: label.Private, By: nasty, Task: nasty, At: w.now.Add(3)}, {Label: label.Untrusted}}
	told, shut, closed := w.resurfaced("a.told", task.Awaiting), w.of("a.told", task.Dropped, task.Awaiting, task.Rejected), w.of("a.wait", task.Closed, task.Awaiting, task.Rejected)
	shut.Change.Told, closed.By = told.Change.Told, "task "+idOf("a.done")
	found := w.finding(audit.FindingTold, "login")
	found.Finding.Text = nasty
	clock := w.note("", audit.ClockConfirmed)
	clock.Change.Since, clock.Before, clock.Began = w.now, w.now.Add(1), w.now.Add(1)
	sent := w.start("e.yes")
	sent.Target = []string{bob}
	return []call{by("ann", yes), by("ann", w.partly("e.wait", approval.Terminal)), by("gate1", w.refused("r.new"), mail), by("gate1", w.of("e.new", task.Added, "", task.Awaiting)), by("runner1", later), by("runner1", run), by("sender1", back),
		by("sender1", w.goes("a.goes")), revised(w)[0], by("ann", all), by("ann", w.grant("g.wide", "", "", time.Hour)), by("ann", wide), by("gate1", marks), by("gate1", told), by("runner1", shut), by("runner1", closed), by("runner1", found), by("ann", clock), by("sender1", sent),
		by("sender1", w.bought("e.wait", []string{bob}, "g.bob")...), by("gate1", w.session(audit.SessionUsed, "s.one", 2))}
}

// TestMembers: whatever a line may hold is accepted, and what is not a line of pulse is not.
func TestMembers(t *testing.T) {
	w, _ := base(t)
	if err := w.members(""); err != nil {
		t.Error(err)
	}
}

// members is TestMembers, for the members of a name, in a line of each event, or for all, in the first.
func (w *world) members(name string) error {
	seen, tried := map[string]bool{}, 0
	for _, c := range w.full() {
		if _, err := w.try(c); err != nil {
			return fmt.Errorf("%s by %s: %w", c.steps[0].Event, c.who, err)
		}
		for i := range c.steps {
			s := c.steps[i]
			s.More = i < len(c.steps)-1
			raw := string(s.Append(nil))
			for _, m := range pairs(raw) {
				first, here := !seen[m.name], string(s.Event)+m.name
				if !first && (name == "" || seen[here]) || name != "" && !strings.Contains(m.name+".", "."+name+".") {
					continue
				}
				seen[m.name], seen[here] = true, name != ""
				if err := w.spoil(&c, i, m.name, ""); err != nil {
					return err
				}
				if !first {
					continue
				}
				tried++
				free := w.legal(audit.Noted, "machine1") // where nothing is compared with what is there
				free.steps[0].Task = ""
				if err := w.spoil(&free, 0, m.name, raw[m.from:m.to]); err != nil {
					return err
				}
			}
		}
	}
	if tried < 70 && name == "" {
		return fmt.Errorf("only %d members were tried", tried)
	}
	return nil
}

// pair is a member somewhere in a line.
type pair struct {
	name       string // with those that it is inside of
	from, to   int
	value      int
	plain, arr bool // the value is not an object or array; it is an array
}

// pairs finds the members of a line, and of what is in it.
func pairs(raw string) (list []pair) {
	type level struct {
		name string
		open byte
	}
	var stack []level
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; c {
		case '{', '[':
			stack = append(stack, level{"", c})
		case '}', ']':
			stack = stack[:len(stack)-1]
		case '"':
			end := i + 1
			for ; raw[end] != '"'; end++ {
				if raw[end] == '\\' {
					end++
				}
			}
			if end++; raw[end] == ':' {
				stack[len(stack)-1].name = raw[i+1 : end-1]
				name := ""
				for _, l := range stack {
					if l.open == '{' {
						name += "." + l.name
					}
				}
				list = append(list, pair{name, i, ends(raw, end+1), end + 1, raw[end+1] != '{' && raw[end+1] != '[', raw[end+1] == '['})
			}
			i = end - 1
		}
	}
	return list
}

// ends returns where a value ends.
func ends(raw string, i int) int {
	depth := 0
	for ; ; i++ {
		switch raw[i] {
		case '"':
			for i++; raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return i
			}
		case ',':
			if depth == 0 {
				return i
			}
		}
	}
}

// hashed is an id or a sum.
var hashed = regexp.MustCompile(`^"([0-9a-f]{32}|sha256:[0-9a-f]{64})"$`)

// spoiled returns what a member may be that is not as it should be: first what nobody may write.
func spoiled(raw string, m pair) (bad []string, never int) {
	key, value := raw[m.from:m.value], raw[m.value:m.to]
	escaped := strings.Replace(key, key[1:2], fmt.Sprintf(`\u%04x`, key[1]), 1)
	bad = []string{
		key + value + "," + key + value, key + value + "," + escaped + value, escaped + value + "," + key + value, // twice
		`"x` + key[1:] + value, `"x\u0000` + key[1:] + value, // unknown
	}
	if hashed.MatchString(value) {
		short := key + value[:len(value)-2]
		bad = append(bad, short+`"`, short+`00"`, short+`g"`, short+`F"`, short+`-"`, short+` "`, short+"\n\"")
	}
	never = len(bad)
	bad = append(bad,
		key+`{"x":1}`, key+`{"reason":"x"}`, key+`[[]]`, key+"null", key+"1e3", key+"-0", key+"1.5", key+"123456789012345678901234567890",
		key+"false", key+"[null]", key+"\n"+value, key, key+value+"x", key+`"\ud800"`, key+`"\udc00\ud800"`, key+"[{}]",
		key+"\"\x01\"", key+`"\x"`, key+"01", key+`"a", "b"`, key+`"`+strings.Repeat("0", 31)+`"`, key+"[["+strings.Repeat("[", 500))
	if m.plain && value[0] != '"' {
		bad = append(bad, key+value+".0", key+`"`+value+`"`, key+"-1"+value, key+"9999999999", key+"99999999999")
	} else {
		bad = append(bad, key+"1")
	}
	if m.arr {
		bad = append(bad, key+"[ "+value[1:])
	}
	if len(value) > 2 && value[0] == '"' && value[1] != '\\' { // the same in other letters
		bad = append(bad, fmt.Sprintf(`%s"\u%04x%s`, key, value[1], value[2:]))
	}
	if _, err := time.Parse(time.RFC3339, strings.Trim(value, `"`)); err == nil {
		for _, t := range []string{"2026-02-30T07:00:00Z", "2026-13-01T07:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T07:60:00Z", "2026-01-01T07:00:60Z", "2026-01-01T07:00:00+01:00",
			"2026-01-01 07:00:00Z", "0000-01-01T00:00:00Z", "10000-01-01T00:00:00Z", "2026-01-01T07:00:00.1234567890Z", "2026-01-01T07:00:00.Z", "2026-01-01T07:00:00x5Z", "now", "infinity", ""} {
			bad = append(bad, key+`"`+t+`"`)
		}
	}
	return bad, never
}

// spoil tries a line with a member that is not as it should be, in every way. The line is given
// the member, unless that is empty.
func (w *world) spoil(c *call, i int, name, member string) error {
	if name == ".time" { // which a server takes from no client but in tests
		return nil
	}
	never := 0
	for k, n := 0, 1; k < n; k++ {
		forged, line := *c, ""
		forged.steps = slices.Clone(c.steps)
		forged.steps[i].edit = func(raw string) string {
			if member != "" && !strings.Contains(raw, member[:strings.Index(member, ":")]) {
				raw = "{" + member + "," + raw[1:]
			}
			all := pairs(raw)
			at := slices.IndexFunc(all, func(p pair) bool { return p.name == name })
			if at < 0 {
				line = raw
				return raw
			}
			m := all[at]
			var bad []string
			bad, never = spoiled(raw, m)
			n = len(bad)
			line = raw[:m.from] + bad[k] + raw[m.to:]
			return line
		}
		_, err := w.try(forged)
		if n == 1 {
			return nil // it is a member of a member
		}
		if err != nil {
			if c := code(err); !slices.Contains(refusals, c) && c != "54001" {
				return fmt.Errorf("%s: %w", line, err)
			}
			continue
		}
		if k < never && !slices.Contains(owned, name[strings.LastIndex(name, "."):]) {
			return fmt.Errorf("it was accepted: %s", line)
		}
		if err := w.canonical(); err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
	}
	return nil
}

// owned are members that the server writes, whatever the client says, or that it does so for.
var owned = strings.Fields(".time .prev .by .level .more .given .opened .expires .told .since .before .began")

// canonical returns nil if the last commit wrote lines as a queue in a directory would.
func (w *world) canonical() error {
	for _, raw := range w.written {
		l, err := audit.Parse([]byte(raw))
		if again := string(l.Append(nil)); err != nil || again != raw {
			return fmt.Errorf("it was written as %s, which a directory has as %s: %v", raw, again, err)
		}
	}
	return nil
}

// alphabet is what lines are changed with.
var alphabet = []string{"{", "}", "[", "]", ",", ":", `"`, `\`, "0", "1", "-", "e3", ".", " ", "\t", "\r", "\n", "\v", "\x00", "\u00a0", "\ufeff", "null", "true", `\u0000`, `\ud83d`, `\ude00`, `\uFFFD`, "Z",
	`"any":true`, `"target":`, `"id":""`, `"grants":[{}]`, `"labels":[{}]`, `"state":"running"`, `"from":"running"`, `"to":"failed"`, `"grant":{}`, `"session":{}`, `"more":true`, "\u2028", "\x7f"}

// mutate changes a line somewhere.
func mutate(r *rand.Rand, raw string) string {
	for range 1 + r.IntN(3) {
		i := r.IntN(len(raw))
		j := min(len(raw), i+r.IntN(12))
		switch m := pairs0(raw); {
		case r.IntN(3) == 0:
			raw = raw[:i] + raw[j:]
		case r.IntN(2) == 0 && len(m) > 1:
			p := m[r.IntN(len(m))]
			raw = "{" + raw[p.from:p.to] + "," + raw[1:]
		default:
			raw = raw[:i] + alphabet[r.IntN(len(alphabet))] + raw[i:]
		}
		if raw == "" {
			raw = "{}"
		}
	}
	return raw
}

// pairs0 is pairs for what need not be a line.
func pairs0(raw string) (list []pair) {
	defer func() { recover() }()
	return pairs(raw)
}

// seeded returns what chance begins with: PULSE_SEED, or always the same, so that no change is refused
// for what another one did.
func seeded(t *testing.T) uint64 {
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv("PULSE_SEED"), "28"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return seed
}

// TestMutated: what the server accepts can be read, and afterwards its tables are as package
// queue says they are after such a log.
func TestMutated(t *testing.T) {
	w, d := base(t)
	tries := 60
	if testing.Short() {
		tries = 15
	}
	seed := seeded(t)
	r := rand.New(rand.NewPCG(seed, 1))
	calls, accepted := w.full(), 0
	for _, e := range slices.Sorted(maps.Keys(writes)) {
		for _, who := range []string{"machine1", "ann"} {
			calls = append(calls, w.legal(task.Event(e), who))
		}
	}
	r.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
	for _, c := range calls {
		for range tries {
			line, i := "", r.IntN(len(c.steps))
			forged := c
			forged.steps = slices.Clone(c.steps)
			forged.steps[i].edit = func(raw string) string { line = mutate(r, raw); return line }
			if _, err := w.try(forged); err != nil {
				continue
			}
			if err := w.canonical(); err != nil {
				t.Fatalf("seed %d: %s: %v", seed, line, err)
			}
			accepted++
			forged.steps[i].edit = func(string) string { return line }
			if err := w.commit(&forged); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	if err := w.exec("COMMIT"); err != nil {
		t.Fatal(err)
	}
	report, err := open(t, d.DSN("machine1")).Verify("")
	if err != nil || report.Broken {
		t.Fatalf("seed %d: %v, %v", seed, err, report)
	}
	if len(report.Findings) > 0 {
		t.Errorf("seed %d: %s", seed, report.Findings)
	}
	if accepted < 5 {
		t.Errorf("seed %d: only %d changed lines were accepted", seed, accepted)
	}
}
