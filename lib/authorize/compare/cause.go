package compare

import (
	"cmp"
	"slices"
	"strings"

	"pulse/lib/shared/policy"
	"pulse/lib/shared/trace"
)

// key is a key of a policy, and where it stands: in NEW, or else in OLD; line 0: in neither.
type key struct {
	name string
	file string
	line int
}

// goesBy lists what a check goes by besides the key that its step names, for steps at which
// two policies part because one of them does not make the check, or words it otherwise.
var goesBy = map[string][]string{
	"intact":    {"platform"},
	"named":     {"platform"},
	"source":    {"platform"},
	"equipped":  {"evidence", "receiver", "authserv_id"},
	"receiver":  {"verdict", "authserv_id", "receiver", "evidence"},
	"dmarc":     {"verdict", "authserv_id", "receiver", "evidence"},
	"dkim":      {"dkim_alignment", "verdict", "authserv_id", "receiver", "evidence"},
	"carried":   {"verdict", "authserv_id", "receiver", "evidence"},
	"posted":    {"verdict", "authserv_id", "receiver", "evidence"},
	"fit":       {"verdict", "authserv_id", "receiver", "evidence"},
	"own":       {"dkim_alignment", "evidence"},
	"addressed": {"recipients"},
	"listed":    {"owners", "allowed_external", "accept_unsigned", "max_age"},
	"signed":    {"evidence", "verdict", "authserv_id", "receiver"},
	"reads":     {"evidence", "verdict", "authserv_id", "receiver"},
	"action":    {"action", "default_action"},
	"evidence":  {"matrix.owner_verified_email", "matrix.external_verified"},
	"tool":      {"tools.deny", "exec.mode", "tools.allow", "tools.profile"},
	"exec":      {"exec.allow", "exec.mode", "exec.workspace"},
	"paths":     {"exec.write", "exec.workspace", "tools.paths"},
	"tool_row":  {"tools.action"},

	"flow.deny":    {"owners", "tools.action"},
	"flow.confirm": {"owners", "tools.action"},

	"outbound.allow": {"outbound.allow", "outbound.scheme"},
}

// parting is the check at which two traces part.
type parting struct{ was, is trace.Step }

// cause returns the key of the policy by which the first check goes at which two traces of a
// record part.
func (s *search) cause(was, is []trace.Step) (k key, found bool) {
	for i := range min(len(was), len(is)) {
		a, b := &was[i], &is[i]
		if a.Check == b.Check && (a.Result == b.Result || passed(a) && passed(b)) {
			continue
		}
		it := parting{*a, *b}
		it.was.Saw, it.is.Saw = "", ""
		if k, found = s.causes[it]; found {
			return k, true
		}
		steps := []trace.Step{*b, *a}
		for _, name := range slices.Concat(goesBy[b.Check], goesBy[a.Check]) {
			steps = append(steps, trace.Step{Key: name, Nth: -1})
		}
		k = pick(s.old, s.new, steps)
		s.causes[it] = k
		return k, true
	}
	return key{name: "policy"}, false
}

// passed reports whether a check found nothing, or was not made.
func passed(s *trace.Step) bool { return s.Result == trace.OK || s.Result == trace.NotAsked }

// pick returns the first of the keys of steps of which the policies do not say the same.
func pick(old, new *policy.Policy, steps []trace.Step) key {
	slices.SortStableFunc(steps[:2], func(a, b trace.Step) int { return depth(b.Key) - depth(a.Key) })
	for i := range steps {
		s := &steps[i]
		first, last := s.Nth, s.Nth
		if s.Nth < 0 { // whichever differs
			first, last = 0, max(old.Count(s.Key), new.Count(s.Key))-1
		}
		for n := first; n <= last; n++ {
			if s.Key != "" && old.Says(s.Key, n) != new.Says(s.Key, n) {
				return within(old, new, s.Key, n)
			}
		}
	}
	return at(old, new, cmp.Or(steps[0].Key, steps[1].Key, "policy"), max(steps[0].Nth, 0))
}

func depth(key string) int { return strings.Count(key, ".") }

// within returns the one key of a table in which the policies differ, or the table.
func within(old, new *policy.Policy, name string, nth int) key {
	var differ []string
	for _, sub := range slices.Compact(slices.Sorted(slices.Values(append(old.Keys(name, nth), new.Keys(name, nth)...)))) {
		if old.Says(sub, nth) != new.Says(sub, nth) {
			differ = append(differ, sub)
		}
	}
	if len(differ) == 1 && old.Says(name, nth) != "" && new.Says(name, nth) != "" {
		return at(old, new, differ[0], nth)
	}
	return at(old, new, name, nth)
}

// at returns a key with its line: of a list that has an entry more, that of the entry.
func at(old, new *policy.Policy, name string, nth int) key {
	had := old.Entries(name, nth)
	for _, e := range new.Entries(name, nth) {
		if !slices.ContainsFunc(had, func(o policy.Entry) bool { return o.Text == e.Text }) {
			return key{name, new.Name, e.Line}
		}
	}
	if line := new.Line(name, nth); line > 0 {
		return key{name, new.Name, line}
	}
	return key{name, old.Name, old.Line(name, nth)}
}
