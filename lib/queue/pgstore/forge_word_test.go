package pgstore_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pulse/lib/queue/pgstore"
	"pulse/lib/queue/pgtest"
	"pulse/lib/shared/audit"
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
func fields() (list []field) {
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
			if len(f.lies) == 0 {
				add(strings.TrimPrefix(strings.TrimSuffix(f.name, "s"), "@"), prefix+f.name+".")
			}
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
		return []string{far}
	case "@words", "@text", `"[!#-Z^-~]+"`, `"[a-z_]+"`:
		return []string{`"a_lie"`}
	case "@[text", "@texts":
		return []string{`["a_lie"]`}
	case "@uint32":
		return []string{"7"}
	case "true", "true|false":
		return strings.Split(form, "|")
	}
	if inner, ok := strings.CutPrefix(form, `"(`); ok {
		return strings.Split(`"`+strings.ReplaceAll(strings.TrimSuffix(inner, `)"`), "|", `"|"`)+`"`, "|")
	}
	if form[0] == '@' {
		return nil
	}
	for _, lie := range []string{`"` + strings.Repeat("e", 32) + `"`, `"` + audit.Origin + `"`, "5"} {
		if regexp.MustCompile("^(" + form + ")$").MatchString(lie) {
			return []string{lie}
		}
	}
	return nil
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

// says1 reports whether a line says this of a member.
func says1(raw, member, value string) bool {
	return slices.ContainsFunc(pairs(raw), func(p pair) bool { return p.name == member && raw[p.value:p.to] == value })
}

// lines are calls that are honest, with a line of every event by every login that may write it, or
// by one of them.
func (w *world) lines(all bool) (calls []call) {
	calls = w.full()
	for _, e := range slices.Concat(task.Events, audit.Events) {
		for _, who := range slices.Sorted(maps.Keys(hats)) {
			if slices.ContainsFunc(strings.Fields(hats[who]), func(h string) bool { return contains(writes[string(e)], h) }) {
				calls = append(calls, w.legal(e, who))
				if !all {
					break
				}
			}
		}
	}
	return calls
}

// TestWords: whatever a login says in a line of any event that it may write, it is refused or the
// log has what the server says, except for what the manual says is its word.
func TestWords(t *testing.T) {
	w, _ := base(t)
	if err := w.exec(pgtest.Strict + lies); err != nil {
		t.Fatal(err)
	}
	heard, tried := map[string]map[string]bool{}, 0
	for n, c := range w.lines(!testing.Short()) {
		if _, err := w.try(c); err != nil {
			t.Fatalf("%s by %s: %v", c.steps[0].Event, c.who, err)
		}
		for at := range c.steps {
			raw := string(c.steps[at].Append(nil))
			var variants, names, says []string
			for i, f := range fields() {
				for _, lie := range f.lies {
					line := replaced(raw, f.name, lie)
					if line != "" && line != raw && (!testing.Short() || (i+n)%8 == 0) {
						variants, names, says = append(variants, line), append(names, f.name), append(says, lie)
					}
				}
			}
			written, err := w.lied(&c, at, variants)
			if err != nil {
				t.Fatal(err)
			}
			tried += len(written)
			for i, got := range written {
				if got != nil && says1(*got, names[i], says[i]) {
					if heard[names[i]] == nil {
						heard[names[i]] = map[string]bool{}
					}
					heard[names[i]][string(c.steps[at].Event)] = true
				}
			}
		}
	}
	var out strings.Builder
	for _, n := range slices.Sorted(maps.Keys(heard)) {
		fmt.Fprintln(&out, n, slices.Sorted(maps.Keys(heard[n])))
	}
	os.WriteFile("/tmp/pulse/words.txt", []byte(out.String()), 0o644)
	t.Logf("%d lies", tried)
}
