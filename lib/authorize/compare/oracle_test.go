package compare_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"pulse/lib/authorize/compare"
	"pulse/lib/authorize/decision"
	"pulse/lib/authorize/tools"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
)

var (
	pairs    = flag.Int("pairs", 0, "how many `N` pairs of policies are compared; 0: as many as the test says")
	from     = flag.Int64("from", 1, "the `SEED` of the first pair")
	failures = flag.String("failures", "", "a `DIR` for the smallest pairs that fail")
)

// thin says that what is long is thinned: each test says how.
var thin = os.Getenv("CI") != ""

// further reports whether a record goes further.
func further(was, is terms.Outcome) bool {
	return was == terms.Reject && is != terms.Reject || (was == terms.Confirm || was == terms.Review) && is == terms.Allow
}

// direction returns what a difference between two outcomes is.
func direction(was, is terms.Outcome) compare.Direction {
	switch {
	case further(was, is):
		return compare.Wider
	case further(is, was):
		return compare.Narrower
	}
	return compare.Other
}

// anything is a machine on which every path is good.
type anything struct{ machine }

func (anything) Path(_, name string) (tools.Place, error) { return tools.Place{Real: name}, nil }
func (anything) Dir(_, _ string) error                    { return nil }

// repository is a machine on which every workspace has a HEAD.
type repository struct{ machine }

func (r repository) Path(space, name string) (tools.Place, error) {
	at, err := r.machine.Path(space, name)
	at.Repository = "."
	return at, err
}

var machines = []tools.World{nil, machine(sums[0]), machine(sums[1]), anything{machine(sums[0])}, anything{machine(sums[1])}, repository{machine(sums[0])}}

// readBack reads a witness.
func readBack(line []byte) (o origin, asked *request.Request, err error) {
	rec, err := record.Parse(line, envelope.Member, identity.Member, request.Member)
	if err != nil {
		return o, nil, err
	}
	read := func(name string, fn func(v record.Value) error) {
		if err == nil && rec.Has(name) {
			err = rec.Decode(name, fn)
		}
	}
	if rec.Has(envelope.Member) {
		o.message = &envelope.Message{}
		err = o.message.Read(rec)
	}
	read(identity.Member, func(v record.Value) error {
		id, err := identity.Decode(v)
		if o.given = &id; id.Trust == terms.ApprovedSession {
			o.session = id.Sender
		}
		return err
	})
	read(request.Member, func(v record.Value) error {
		r, err := request.Decode(v)
		asked = &r
		return err
	})
	if err == nil && o.message == nil && o.given == nil {
		err = errors.New("it has neither message nor identity")
	}
	return o, asked, err
}

// outcomes decides a record under both policies, from its bytes alone, for each machine.
func outcomes(line []byte, old, new *policy.Policy) (out [][2]terms.Outcome, err error) {
	o, asked, err := readBack(line)
	if err != nil {
		return nil, err
	}
	for _, w := range machines {
		var got [2]terms.Outcome
		for n, p := range []*policy.Policy{old, new} {
			id := o.identity(p)
			in := decision.Input{Identity: &id, Request: asked, Policy: p, World: w}
			if o.message != nil {
				in.Source, in.Recipients = o.message.Source, identity.Recipients(o.message)
			}
			got[n] = decision.Decide(in).Outcome
		}
		out = append(out, got)
	}
	return out, nil
}

// wrongLine says what is wrong about one difference.
func wrongLine(d *compare.Difference, old, new *policy.Policy) string {
	switch {
	case d.Unknown:
		return "it is not known"
	case d.Key == "" || d.What == "":
		return "it names no key, or not what differs"
	case d.Witness == nil:
		return ""
	case d.Old.Name != decision.OutcomeAspect:
		return wrongAspect(d, old, new)
	case d.Direction != direction(terms.Outcome(d.Old.Value), terms.Outcome(d.New.Value)):
		return fmt.Sprintf("%s -> %s is not %s", d.Old.Value, d.New.Value, d.Direction)
	}
	got, err := outcomes(d.Witness, old, new)
	if err != nil {
		return err.Error()
	}
	if !slices.Contains(got, [2]terms.Outcome{terms.Outcome(d.Old.Value), terms.Outcome(d.New.Value)}) {
		return fmt.Sprintf("%s -> %s, but its witness gives %v", d.Old.Value, d.New.Value, got)
	}
	return ""
}

// result is what was found out about one pair.
type result struct {
	wrong           string
	wider, narrower bool
	other           bool
	beyond          bool // more than decisions differs
	found           *space
}

// about reports whether a line of that direction is about records.
func about(list []compare.Difference, way compare.Direction) bool {
	return slices.ContainsFunc(list, func(d compare.Difference) bool { return d.Direction == way && d.Witness != nil })
}

// judge compares what package compare says of two policies with what is true of records.
func judge(old, changed string, most int, seed int64) (r result) {
	was, err := policy.Parse("old.toml", []byte(old))
	if err != nil {
		return r
	}
	is, err := policy.Parse("new.toml", []byte(changed))
	if err != nil {
		return r
	}
	list := compare.Policies(was, is, nil)
	for i := range list {
		if wrong := wrongLine(&list[i], was, is); wrong != "" {
			return result{wrong: fmt.Sprintf("%s: %s: %s", list[i].String(), wrong, list[i].Witness)}
		}
	}
	r.wider, r.narrower, r.other = about(list, compare.Wider), about(list, compare.Narrower), about(list, compare.Other)
	if r.found = new(space); !(r.narrower && opens(list)) { // else there is nothing left to disprove
		r.found = look(was, is, most, seed)
	}
	r.wrong = wrongList(list, r.found.found)
	for way, example := range r.found.beyond {
		if r.beyond = true; r.wrong == "" && !about(list, way) {
			r.wrong = fmt.Sprintf("no line is %s, and this is: %s", way, example)
		}
	}
	if r.wrong == "" {
		r.wrong = wrongValues(was, is, list)
	}
	return r
}

// wrongList says what is wrong about the list, by the transitions that records show.
func wrongList(list []compare.Difference, found map[[2]terms.Outcome]string) string {
	for f, example := range found {
		way := direction(f[0], f[1])
		switch {
		case way != compare.Other && !about(list, way):
			return fmt.Sprintf("no line says that a record goes from %s to %s: %s", f[0], f[1], example)
		case !about(list, compare.Wider) && !about(list, compare.Narrower) && !about(list, compare.Other):
			return fmt.Sprintf("no line at all, and a record goes from %s to %s: %s", f[0], f[1], example)
		}
	}
	order := []compare.Direction{compare.Wider, compare.Narrower, compare.Other}
	if !slices.IsSortedFunc(list, func(a, b compare.Difference) int {
		return slices.Index(order, a.Direction) - slices.Index(order, b.Direction)
	}) {
		return "wider, narrower, other: that is not the order"
	}
	_, opened := found[[2]terms.Outcome{terms.Reject, terms.Allow}]
	for i := range list {
		if (opened || opens(list[i:])) && !opens(list) {
			return "a record goes from reject to allow, and the first line is another: " + list[0].String()
		}
	}
	return ""
}

// opens reports whether the first line is about a record that was rejected and is allowed.
func opens(list []compare.Difference) bool {
	return len(list) > 0 && list[0].Old.Name == decision.OutcomeAspect && list[0].Old.Value == string(terms.Reject) && list[0].New.Value == string(terms.Allow)
}

// fail reports the smallest pair that is still wrong.
func fail(t *testing.T, seed int64, old, new doc, most int) {
	t.Helper()
	o, n := shrunk(old.text(), new.text(), func(o, n string) bool { return judge(o, n, most, seed).wrong != "" })
	wrong := judge(o, n, most, seed).wrong
	t.Errorf("seed %d: %s\n--- old\n%s--- new\n%s", seed, wrong, o, n)
	if *failures == "" {
		return
	}
	dir := filepath.Join(*failures, fmt.Sprintf("%05d", seed))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"old.toml": o, "new.toml": n, "why": wrong + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRandomPolicies compares random pairs of policies with an enumeration of records
// that classifies and decides each of them under both. Nothing is wider exactly when no
// record goes further: a line that says so is proven by its witness, and where none says
// so, none of the records may show it. Under CI there are fewer pairs, the first ones; CI= go test has all.
func TestRandomPolicies(t *testing.T) {
	n, most := 1000, 3000 // in a minute; -pairs 10000 takes a quarter of an hour
	if testing.Short() {
		n, most = 75, 2000
	} else if thin {
		n = 400
	}
	if *pairs > 0 {
		n = *pairs
	}
	var mu sync.Mutex
	var wider, narrower, other, equal, beyond, wrong, records int
	each(n, func(i int) {
		seed := *from + int64(i)
		random := rand.New(rand.NewSource(seed))
		old, new := pair(random)
		if seed%2 == 0 {
			old, new = lookalikes(random)
		}
		if seed%5 == 0 {
			old, new = gossips(random)
		}
		r := judge(old.text(), new.text(), most, seed)
		mu.Lock()
		defer mu.Unlock()
		wider, narrower, other = wider+count(r.wider), narrower+count(r.narrower), other+count(r.other)
		equal, beyond = equal+count(!r.wider && !r.narrower && !r.other), beyond+count(r.beyond)
		if r.found != nil {
			records += r.found.decided
		}
		if r.wrong == "" {
			return
		}
		if wrong++; wrong <= 20 {
			fail(t, seed, old, new, most)
		}
	})
	t.Logf("%d pairs, %d wrong: wider %d, narrower %d, otherwise %d, no record differs %d; more than decisions differs %d; %d records decided",
		n, wrong, wider, narrower, other, equal, beyond, records)
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// each calls fn for 0 to n-1, on all processors.
func each(n int, fn func(i int)) {
	var wg sync.WaitGroup
	work := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range work {
				fn(i)
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	wg.Wait()
}

// TestSeededAllow: one cell of the matrix goes from reject to allow, among other changes.
// The first line says so.
func TestSeededAllow(t *testing.T) {
	n := 2000
	if testing.Short() {
		n = 75
	} else if thin {
		n = 600
	}
	nth := slices.IndexFunc(slots, func(s slot) bool { return s.name == "matrix.unknown" })
	each(n, func(i int) {
		r := rand.New(rand.NewSource(int64(i)))
		old := policyOf(r)
		at := pick(r, []int{nth, nth + len(terms.TrustLevels) - 1}) // of a stranger, and of submit
		action := pick(r, actions)
		old[nth] = "" // what a stranger may ask for, nobody is rejected for
		old[at] = strings.ReplaceAll(row(r), quoted(action)+",\n", "")
		new := old
		for range r.Intn(4) {
			new = mutated(r, new, -1)
		}
		new = slices.Clone(new)
		new[nth] = ""
		new[at] = strings.Replace(old[at], "allow = [\n", "allow = [\n  "+quoted(action)+",\n", 1)
		if new[at] == old[at] {
			new[at] = array("allow", []string{action}) + old[at]
		}
		a, errA := old.parse()
		b, errB := new.parse()
		if errA != nil || errB != nil {
			t.Errorf("seed %d: %v, %v", i, errA, errB)
			return
		}
		list := compare.Policies(a, b, nil)
		if !opens(list) || wrongLine(&list[0], a, b) != "" {
			t.Errorf("seed %d: %s of %s: %v\n--- old\n%s--- new\n%s", i, action, slots[at].name, lines(list), old.text(), new.text())
		}
	})
}

func lines(list []compare.Difference) (out []string) {
	for i := range list {
		out = append(out, list[i].String())
	}
	return out
}

// TestEqualPolicies: two files that say the same differ in nothing.
func TestEqualPolicies(t *testing.T) {
	for i := range 100 {
		text := policyOf(rand.New(rand.NewSource(int64(i)))).text()
		p, err := policy.Parse("p.toml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		same, err := policy.Parse("p.toml", []byte(text+"\n# the same")) // equal bytes are not compared
		if err != nil {
			t.Fatal(err)
		}
		if list := compare.Policies(p, same, nil); len(list) > 0 {
			t.Errorf("seed %d: %v", i, list)
		}
	}
}

// TestOracleSees holds the enumeration against what it is made for. A change of each key
// shows itself in some record, in both directions, and every change of an outcome occurs.
func TestOracleSees(t *testing.T) {
	var keys []string
	never := values(policy.Default(), policy.Default())
	for _, s := range slots {
		if _, ok := never[s.name]; !ok && !slices.Contains(keys, s.name) {
			keys = append(keys, s.name)
		}
	}
	if testing.Short() { // this one takes as long as all others
		keys = slices.DeleteFunc(keys, func(key string) bool { return key == "exec.allow" })
	}
	var mu sync.Mutex
	seen := map[[2]terms.Outcome]int{}
	tried := 0
	each(len(keys), func(i int) {
		ways := map[compare.Direction]int{}
		n := 0
		for ; n < 2000 && (ways[compare.Wider] == 0 || ways[compare.Narrower] == 0); n++ {
			old, new := changed(keys[i], int64(n))
			seenBy := look(old, new, 1000, int64(n))
			for way := range seenBy.beyond {
				ways[way]++
			}
			for f := range seenBy.found {
				ways[direction(f[0], f[1])]++
				mu.Lock()
				seen[f]++
				mu.Unlock()
			}
		}
		mu.Lock()
		defer mu.Unlock()
		tried += n
		if t.Logf("%s: %d pairs, %v", keys[i], n, ways); ways[compare.Wider] == 0 || ways[compare.Narrower] == 0 {
			t.Errorf("%s: in %d pairs no record goes both ways: %v", keys[i], n, ways)
		}
	})
	t.Logf("%d pairs, each with one key changed: %v", tried, seen)
	if want := len(terms.Outcomes) * (len(terms.Outcomes) - 1); len(seen) != want {
		t.Errorf("%d kinds of changes, want %d: %v", len(seen), want, seen)
	}
}

// changed returns a random pair of policies that differ in one key.
func changed(key string, seed int64) (old, new *policy.Policy) {
	r := rand.New(rand.NewSource(seed))
	var at []int
	for i, s := range slots {
		if s.name == key {
			at = append(at, i)
		}
	}
	a := policyOf(r)
	b := mutated(r, a, pick(r, at))
	old, _ = a.parse()
	new, _ = b.parse()
	return old, new
}
