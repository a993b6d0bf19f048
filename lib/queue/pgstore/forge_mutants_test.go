package pgstore_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue/pgstore"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// mutant is the schema with one thing changed.
type mutant struct {
	name   string
	sql    string
	member string // of a line, if it is that which is changed
}

// TestMutants: whatever is taken from the schema, a test fails. It tries a few; all of those whose
// names match a pattern with PULSE_MUTANTS=PATTERN. Those that match . take a quarter of an hour.
func TestMutants(t *testing.T) {
	w, _ := base(t)
	all := slices.Concat(mutantFunctions(), mutantTables())
	every := 100
	if pattern := os.Getenv("PULSE_MUTANTS"); pattern != "" {
		wanted := regexp.MustCompile(pattern)
		every = 1
		all = slices.DeleteFunc(all, func(m mutant) bool { return !wanted.MatchString(m.name) })
	} else if testing.Short() {
		every = 300
	}
	if err := w.exec("SET statement_timeout = '20s'"); err != nil {
		t.Fatal(err)
	}
	want, err := w.again()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.kill(&mutant{name: "the schema as it is", sql: "SELECT"}, want); err != nil {
		t.Fatal(err)
	}
	tried, stillborn := 0, 0
	for i := 0; i < len(all); i += every { // always the same ones: of the others some are known to survive
		m := &all[i]
		tried++
		switch err := w.kill(m, want); {
		case err == nil && !spared(m.name):
			t.Errorf("survives: %s", m.name)
		case err == errStillborn:
			stillborn++
		}
		if tried%50 == 0 {
			if err := w.kill(&mutant{name: "the schema as it is", sql: "SELECT"}, want); err != nil {
				t.Fatalf("after %s: %v", m.name, err)
			}
		}
	}
	t.Logf("%d mutants of %d, of which %d can't live", tried, len(all), stillborn)
}

// spared reports whether a mutant does not matter. Of members it does not if they must be equal to something that
// has the form, which no pattern has to say again.
func spared(name string) bool {
	if slices.Contains([]string{
		"hats: hat = 'owner' => true", // only the owner, and superusers, have all hats then, and the owner's is enough
		"commit: n > 10000 => false",  // takes too long
		"commit: EXISTS (SELECT FROM unnest(js) x(doc) WHERE doc->>'event' = 'added') => true", // these save time
		"commit: doc->>'event' = 'added' => true", "commit: e <> 'added' OR j ?| '{parent,positions}' => true", "commit: e <> 'added' => true",
		"commit: j ?| '{parent,positions}' => true", "commit: cardinality(blobs) > 0 => true", "controls: octet_length(line) <> length(line) => true",
		"commit: current_setting('transaction_isolation') <> 'read committed' => false",                                                           // TestLateRoles
		"commit: EXISTS (SELECT FROM unnest(blobs) b WHERE octet_length(b) > 134217728) => false", "commit: octet_length(b) > 134217728 => false", // TestHuge
	}, name) {
		return true
	}
	what, form, _ := strings.Cut(strings.TrimPrefix(name, "member: "), " is ")
	wide := form == ".*" || form == `"?.*"?`
	return wide && slices.Contains([]string{"event of line", "from of line", "to of line", "state of line", "since of line", "prev of line", "result of line",
		"task of approval", "digest of approval", "action of approval", "target of approval", "grants of approval", "max of session", "left of session", "digest of proposed"}, what)
}

var errStillborn = fmt.Errorf("the server refuses this function")

// kill returns by what a mutant is found out, or nil.
func (w *world) kill(m *mutant, want string) error {
	if err := w.exec("SAVEPOINT mutant"); err != nil {
		w.tb.Fatal(err)
	}
	defer func() {
		if err := w.exec("ROLLBACK TO mutant"); err != nil {
			w.tb.Fatal(err)
		}
	}()
	if err := w.exec(m.sql); err != nil {
		return errStillborn
	}
	if m.member != "" {
		return w.members(m.member)
	}
	if strings.HasPrefix(m.name, "legal") {
		return w.legals()
	}
	if !strings.HasPrefix(m.name, "may") {
		if err := w.examine(m, want); err != nil {
			return err
		}
	}
	return w.mays()
}

// examine tries a mutant with what happens in a world, and with every forgery. Those that
// found out the ones before come first.
func (w *world) examine(m *mutant, want string) error {
	for i := range forgeries {
		f := forgeries[i]
		if err := w.check(&f); err != nil {
			copy(forgeries[1:i+1], forgeries[:i])
			forgeries[0] = f
			return err
		}
	}
	if got, err := w.again(); err != nil || got != want {
		return fmt.Errorf("what happened is not what happens: %v", err)
	}
	if strings.HasPrefix(m.name, "sound") {
		return w.members("")
	}
	return nil
}

// again lets everything happen once more in an empty queue, and returns a sum of its tables.
func (w *world) again() (sum string, err error) {
	if err := w.exec("SAVEPOINT again; TRUNCATE pulse.queue, pulse.audit, pulse.task, pulse.file, pulse.thing, pulse.start, pulse.run, pulse.nonce; INSERT INTO pulse.queue DEFAULT VALUES"); err != nil {
		w.tb.Fatal(err)
	}
	fences, yeses := maps.Clone(w.fences), maps.Clone(w.yeses)
	w.happen()
	if w.failed == nil {
		w.more()
	}
	if err = w.failed; err == nil {
		err = w.c.QueryRow(context.Background(), `SELECT md5(string_agg(x, ' ' ORDER BY x COLLATE "C")) FROM (
			SELECT (q.seq, head, held, day, refused, limited, kept, kept_bytes, counts)::text FROM pulse.queue q UNION ALL SELECT a::text FROM pulse.audit a
			UNION ALL SELECT t::text FROM pulse.task t UNION ALL SELECT f::text FROM pulse.file f UNION ALL SELECT t::text FROM pulse.thing t
			UNION ALL SELECT s::text FROM pulse.start s UNION ALL SELECT n::text FROM pulse.nonce n
			UNION ALL SELECT (fence, task, who, host, until > clock_timestamp())::text FROM pulse.run) x(x)`).Scan(&sum)
	}
	w.failed, w.fences, w.yeses = nil, fences, yeses
	if err := w.exec("ROLLBACK TO again"); err != nil {
		w.tb.Fatal(err)
	}
	return sum, err
}

// more lets happen what a world does not need.
func (w *world) more() {
	prop := w.of("e.prop2", task.Added, "", task.Awaiting)
	prop.Positions = w.read(8).Positions
	kept := w.refused("a.sched")
	forgotten := w.note("a.sched", audit.Forgotten)
	forgotten.Size = kept.Size
	w.do(by("gate1", prop), by("gate1", kept, forgotten))
	for _, e := range append(slices.Clone(task.Events), audit.Events...) {
		for _, who := range []string{"machine1", "ann", "runner1", "sender1"} {
			if slices.ContainsFunc(strings.Fields(hats[who]), func(h string) bool { return contains(writes[string(e)], h) }) {
				c := w.legal(e, who)
				if w.failed == nil {
					w.failed = w.exec("SAVEPOINT one")
				}
				w.do(c)
				if w.failed != nil { // an event before it took its task away
					w.failed = w.exec("ROLLBACK TO one")
				}
				break
			}
		}
	}
	if w.failed == nil {
		earlier := w.note("", audit.Judged)
		earlier.Time = w.now.Add(-time.Hour)
		w.do(by("gate1", w.note("", audit.Held)), by("machine1", w.note("", audit.ClockBack), earlier))
	}
}

var (
	function = regexp.MustCompile(`(?s)CREATE FUNCTION (\w+)(\(.*?\$\$)(.*?)(\$\$);`)
	token    = regexp.MustCompile(`(?s)--[^\n]*|E?'(?:[^']|'')*'|\w+|[(),;]|::|[^\s\w'(),;]+`)
	call0    = regexp.MustCompile(`PERFORM pulse\.refuse\(.*?\);\n|RAISE EXCEPTION [^;]*;|(?:INSERT INTO|DELETE FROM|UPDATE) pulse\.[^;]*;|PERFORM pulse\.[^;]*;`)
)

// mutantFunctions returns the functions with a condition that is always true, never, or the
// other way round, and without one of the things that they do.
func mutantFunctions() (list []mutant) {
	for _, f := range function.FindAllStringSubmatch(pgstore.Schema, -1) {
		put := func(from, to int, by string) {
			if f[1] == "refuse" {
				return
			}
			name := fmt.Sprintf("%s: %s => %s", f[1], strings.Join(strings.Fields(f[3][from:to]), " "), strings.ReplaceAll(by, f[3][from:to], "…"))
			list = append(list, mutant{name: name, sql: "CREATE OR REPLACE FUNCTION pulse." + f[1] + f[2] + f[3][:from] + by + f[3][to:] + f[4]})
		}
		for _, c := range conditions(f[3]) {
			put(c[0], c[1], "true")
			put(c[0], c[1], "false")
		}
		for _, c := range call0.FindAllStringIndex(f[3], -1) {
			put(c[0], c[1], "NULL;")
		}
	}
	return list
}

// begins and closes are the words between which a condition stands.
var (
	begins = strings.Fields("IF ELSIF WHEN WHERE")
	closes = strings.Fields("THEN ; ) , LIMIT ORDER GROUP RETURNING AS FROM LOOP UNION ON ELSE END")
)

// conditions returns where the conditions stand in SQL, and what they are made of.
func conditions(sql string) (list [][2]int) {
	var toks [][]int
	for _, at := range token.FindAllStringIndex(sql, -1) {
		if !strings.HasPrefix(sql[at[0]:at[1]], "--") {
			toks = append(toks, at)
		}
	}
	word := func(i int) string { return sql[toks[i][0]:toks[i][1]] }
	for i := range toks {
		begin := slices.Contains(begins, word(i))
		if !begin && !slices.Contains([]string{"(", "SELECT", "RETURN", "coalesce"}, word(i)) {
			continue
		}
		depth, starts, logic, between := 0, []int{i + 1}, false, false
		j := i + 1
		for ; j < len(toks); j++ {
			t := word(j)
			if depth == 0 && slices.Contains(closes, t) {
				break
			}
			switch {
			case t == "(":
				depth++
			case t == ")":
				depth--
			case t == "BETWEEN":
				between = true
			case t == "AND" && between:
				between = false
			case depth == 0 && (t == "AND" || t == "OR"):
				logic, starts = true, append(starts, j+1)
			}
		}
		if j == i+1 || !begin && !logic || word(i) == "(" && !logic {
			continue
		}
		if begin {
			list = append(list, [2]int{toks[i+1][0], toks[j-1][1]})
		}
		for k, s := range starts {
			end := j
			if k+1 < len(starts) {
				end = starts[k+1] - 1
			}
			if logic && end > s {
				list = append(list, [2]int{toks[s][0], toks[end-1][1]})
			}
		}
	}
	return list
}

// mutantTables returns the tables with a row more, less, or wider.
func mutantTables() (list []mutant) {
	for _, e := range append(append(slices.Clone(task.Events), audit.Events...), "owner") {
		for _, h := range []string{"gate", "runner", "sender", "approver"} {
			list = append(list, mutant{name: fmt.Sprintf("may: %s by %s", e, h),
				sql: fmt.Sprintf("WITH d AS (DELETE FROM pulse.may WHERE (event, hat) = ('%s', '%s') RETURNING *) INSERT INTO pulse.may SELECT '%[1]s', '%[2]s' WHERE NOT EXISTS (SELECT FROM d)", e, h)})
		}
	}
	for _, e := range task.Events {
		list = append(list, mutant{name: fmt.Sprintf("legal: %s to failed", e), sql: fmt.Sprintf("INSERT INTO pulse.legal VALUES ('%s', 'corrupt', 'failed')", e)})
		if e != task.Refused { // which moves nothing
			list = append(list, mutant{name: fmt.Sprintf("legal: no %s", e), sql: fmt.Sprintf("DELETE FROM pulse.legal WHERE event = '%s'", e)})
		}
	}
	rows := regexp.MustCompile(`\('(line|identity|approval|grant|session|label|proposed|position)', '([^']*)', '([^']*)'\)`)
	for _, r := range rows.FindAllStringSubmatch(pgstore.Schema, -1) {
		for _, n := range strings.Fields(r[3]) {
			for _, form := range []string{".*", "x", `"?.*"?`, "@session"} {
				if form == r[2] {
					continue
				}
				name := fmt.Sprintf("member: %s of %s is %s", n, r[1], form)
				list = append(list, mutant{name, fmt.Sprintf("UPDATE pulse.member SET forms = jsonb_set(forms, '{%s}', '%q') WHERE of = '%s'", n, form, r[1]), n})
			}
		}
	}
	return list
}
