package pgstore_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pulse/lib/queue/pgstore"
	"pulse/lib/queue/pgtest"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/label"
	"pulse/lib/shared/task"
)

// field is a member of a line, or of an object in it, as the schema has it.
type field struct {
	name string   // with the objects that it is inside of
	lies []string // what it may look like
}

// memberRows finds the members that the schema knows, and formRows the forms that have a name.
var (
	memberRows = regexp.MustCompile(`\('(line|identity|approval|grant|session|label|proposed|finding|position)', '([^']*)', '([^']*)'\)`)
	formRows   = regexp.MustCompile(`\('([a-z|]+)', '([^']*)'\)`)
)

// fields returns the members that a line can have, by the schema: a new one is tried without being
// named here.
func fields(t *testing.T) (list []field) {
	t.Helper()
	forms := map[string]string{}
	for _, r := range formRows.FindAllStringSubmatch(pgstore.Schema, -1) {
		if _, known := forms[r[1]]; !known {
			forms[r[1]] = r[2]
		}
	}
	inside := map[string][]field{}
	for _, r := range memberRows.FindAllStringSubmatch(pgstore.Schema, -1) {
		for _, n := range strings.Fields(strings.ReplaceAll(r[3], "!", "")) {
			form := r[2]
			if named, ok := forms[form]; ok {
				form = named
			}
			inside[r[1]] = append(inside[r[1]], field{n, liesOf(form)})
		}
	}
	var add func(of, prefix string)
	add = func(of, prefix string) {
		for _, f := range inside[of] {
			list = append(list, field{prefix + f.name, f.lies})
			if len(f.lies) > 0 {
				continue
			}
			object := strings.TrimSuffix(f.name, "s")
			if inside[object] == nil || strings.Contains(prefix, "."+f.name+".") {
				t.Fatalf("%s%s has a form that liesOf does not know", prefix, f.name)
			}
			add(object, prefix+f.name+".")
		}
	}
	add("line", ".")
	return list
}

// far is a time that no clock shows.
const far = `"2286-11-20T17:46:39Z"`

// liesOf returns texts of a form; none for that of an object.
func liesOf(form string) []string {
	switch form {
	case "@time":
		return []string{far, `"1970-01-01T00:00:00Z"`}
	case "@words", "@text", `"[!#-Z^-~]+"`, `"[a-z_]+"`:
		return []string{`"a_lie"`}
	case "@[text", "@texts":
		return []string{`["a_lie"]`}
	case "@uint32":
		return []string{"7"}
	case "@id":
		return []string{`"` + strings.Repeat("e", 32) + `"`}
	case "@sum":
		return []string{`"` + audit.Origin + `"`}
	case "true", "true|false":
		return strings.Split(form, "|")
	}
	switch form[0] {
	case '|':
		return strings.Split(strings.Trim(form, "|"), "|")
	case '@':
		return nil
	}
	return []string{"5"}
}

// replaced returns a line with a member that says something else, or "" if the object is not there
// that would have it.
func replaced(raw, member, value string) string {
	all := pairs(raw)
	if i := slices.IndexFunc(all, func(p pair) bool { return p.name == member }); i >= 0 {
		return raw[:all[i].value] + value + raw[all[i].to:]
	}
	at := 1
	last := strings.LastIndexByte(member, '.')
	if last > 0 {
		i := slices.IndexFunc(all, func(p pair) bool { return p.name == member[:last] })
		if i < 0 {
			return ""
		}
		at = all[i].value + strings.IndexByte(raw[all[i].value:], '{') + 1
	}
	return raw[:at] + `"` + member[last+1:] + `":` + value + "," + raw[at:]
}

// has reports whether a line says this of a member.
func has(raw, member, value string) bool {
	return slices.ContainsFunc(pairs(raw), func(p pair) bool { return p.name == member && raw[p.value:p.to] == value })
}

// believed is what lib/queue/README.md says that a server believes: members, by the event of their line, any,
// or closed, where no open task comes of a line. A member of a row is true once it was found so.
func believed(t *testing.T) map[string]*bool {
	t.Helper()
	b, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(b), "\n## What a login may say\n")
	list := map[string]*bool{}
	for _, row := range regexp.MustCompile("(?m)^- `([a-z_ ]+)`: `(.*)`$").FindAllStringSubmatch(table, -1) {
		for _, member := range strings.Fields(row[2]) {
			found := new(bool)
			for _, e := range strings.Fields(row[1]) {
				list[e+" ."+member] = found
			}
		}
	}
	if len(list) < 50 {
		t.Fatalf("the README has %d", len(list))
	}
	return list
}

// lines are calls that are honest, with a line of every event by every login that may write it, or
// by one of them.
func (w *world) lines(all bool) (calls []call) {
	calls = w.full()
	for _, e := range slices.Concat(task.Events, audit.Events) {
		for _, who := range slices.Sorted(maps.Keys(hats)) {
			if slices.ContainsFunc(strings.Fields(hats[who]), func(h string) bool { return contains(writes[string(e)], h) }) {
				calls = append(calls, w.legal(e, who))
				if e == audit.Labelled {
					for i := range things {
						calls = append(calls, by(who, w.thing(things[(i+len(calls))%len(things)], label.Private, label.Untrusted)))
						if !all {
							break
						}
					}
				}
				if !all {
					break
				}
			}
		}
	}
	return calls
}

// TestWords: whatever a login says in a line of any event that it may write, it is refused or the
// log has what the server says, except for what lib/queue/README.md says is its word.
func TestWords(t *testing.T) {
	w, _ := base(t)
	if err := w.exec(pgtest.Strict + lies); err != nil {
		t.Fatal(err)
	}
	words, tried := believed(t), 0
	for n, c := range w.lines(!testing.Short()) {
		if c.steps[0].Event == audit.ClockJumped { // from a line that lies ahead
			c.super += `; UPDATE pulse.audit SET line = regexp_replace(line, '"time":"[^"]*"', '"time":' || pulse.stamp(clock_timestamp() + interval '2 hours')) WHERE seq = (SELECT seq FROM pulse.queue)`
		}
		if _, err := w.try(c); err != nil {
			t.Fatalf("%s by %s: %v", c.steps[0].Event, c.who, err)
		}
		honest := w.written
		for at := range c.steps {
			s := c.steps[at].Line
			raw := string(s.Append(nil))
			var variants, members, lies []string
			for i, f := range fields(t) {
				for _, lie := range f.lies {
					line := replaced(raw, f.name, lie)
					if line != "" && line != raw && !has(honest[at], f.name, lie) && (!testing.Short() || (i+n)%8 == 0) {
						variants, members, lies = append(variants, line), append(members, f.name), append(lies, lie)
					}
				}
			}
			written, err := w.lied(&c, at, variants)
			if err != nil {
				t.Fatal(err)
			}
			tried += len(written)
			for i, got := range written {
				if got == nil || !has(*got, members[i], lies[i]) || members[i] == ".level" && !strings.Contains(lies[i], "signature") {
					continue // a level that is true
				}
				found := false
				for _, e := range []string{string(s.Event), "any", "closed"} {
					if word := words[e+" "+members[i]]; word != nil && (e != "closed" || !s.To.Open() && s.Event != audit.Resurfaced) {
						*word, found = true, true
					}
				}
				if !found {
					t.Errorf("%s by %s says %s, which lib/queue/README.md does not: %s", s.Event, c.who, members[i], *got)
				}
			}
		}
	}
	for word, found := range words {
		if !*found && !testing.Short() {
			t.Errorf("lib/queue/README.md has %s, which no server believes", word)
		}
	}
	if t.Logf("%d lies", tried); tried < 400 {
		t.Errorf("only %d lies were tried", tried)
	}
}
