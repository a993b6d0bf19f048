package pgstore_test

import (
	"cmp"
	"context"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue/pgstore"
	"pulse/lib/queue/pgtest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/label"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// mutant is the schema with one thing changed.
type mutant struct {
	name   string
	near   string // what stands around the place
	sql    string
	member string // of a line, if it is that which is changed
}

// TestMutants: whatever is taken from the schema, a test fails. It tries one of sixteen mutants, under CI one
// of 32, always the same ones, or all whose names match PULSE_MUTANTS, and says by what each was found out. All take
// an hour or more: PULSE_MUTANTS=. go test -timeout 3h -v.
func TestMutants(t *testing.T) {
	w, _ := base(t)
	all := slices.Concat(mutantFunctions(), mutantTables())
	pattern, every := os.Getenv("PULSE_MUTANTS"), uint32(16)
	if pattern != "" {
		wanted := regexp.MustCompile(pattern)
		every = 1
		all = slices.DeleteFunc(all, func(m mutant) bool { return !wanted.MatchString(m.name) })
	} else if testing.Short() {
		every = 256
	} else if os.Getenv("CI") != "" {
		every = 32
	}
	w.fresh()
	want, err := w.again()
	if err != nil {
		t.Fatal(err)
	}
	asIs := mutant{name: "the schema as it is", sql: "SELECT"}
	if got, err := w.again(); err != nil || got != want {
		t.Fatalf("what happens twice is not the same: %v", err)
	}
	all = slices.DeleteFunc(all, func(m mutant) bool { // by its name: an edit elsewhere changes nothing
		return crc32.ChecksumIEEE([]byte(m.name))%every != 0 || every > 1 && spared(m.name) // which takes long to see
	})
	for i := range all {
		m := &all[i]
		if i%20 == 19 {
			w.fresh()
		}
		err := w.kill(m, want)
		if pattern != "" {
			t.Logf("%s: %v", m.name, err)
		}
		switch {
		case err == nil && !spared(m.name):
			t.Errorf("survives: %s", m.name)
		case err == errStillborn:
			t.Errorf("can't live: %s", m.name)
		case err != nil && spared(m.name):
			t.Errorf("need not be spared: %s: %v", m.name, err)
		}
		if i%50 == 49 || i == len(all)-1 && !testing.Short() {
			if err := w.kill(&asIs, want); err != nil {
				t.Fatalf("after %s: %v", m.name, err)
			}
		}
	}
	t.Logf("%d mutants", len(all))
}

// unneeded are the mutants that do not matter, and why.
var unneeded = map[string]string{
	"hats: hat = 'owner' => true": "only the owner, and superusers, have all hats then, and the owner's is enough",

	"commit: added => true in 'UTF8')); added := added OR js[i]->>":              saves,
	"commit: js[i]->>'event' = 'added' => true":                                  saves,
	"commit: added => true in dded'; END LOOP; IF added THEN PE":                 saves,
	"commit: j ?| '{proposed,parent,positions}' => true":                         saves,
	"commit: cardinality(blobs) > 0 => true":                                     saves,
	"start: q.max_per_day IS NOT NULL => true":                                   saves,
	"commit: true => false in ulse.task', j->>'task', true); log[i":              "TestAbout, because it matters in the next transaction",
	"commit: true => false in ulse.task', j->>'task', true); IF e":               "TestAbout",
	"nul: strpos(line, this) > 0 => true":                                        saves,
	"waited: at < since - interval '86401 s' => false":                           saves,
	"aside: j ? 'parent' => true":                                                saves,
	"aside: j ? 'positions' => true":                                             saves,
	"form: form = '@identity' => false":                                          saves,
	"form: t ~ '^\\{\"reason\":\"[ !#-\\[\\]-~]+\"\\}$' => false":                saves,
	"form: strpos(m.forms->>key, '|' || value::text || '|') > 0 => false":        saves + ": as a pattern the list says the same",
	"plain: t ~ '^\"[ !#-\\[\\]-~]*\"$' => false":                                saves + ": the pattern after it has the same",
	"start: expires => expiresx in F NOT coalesce(((yes->>'expires')::timestam":  saves + ", as the one before",
	"start: time => timex in ')::timestamptz > (j->>'time')::timestam":           saves + ", as the one before",
	"start: (yes->>'expires')::timestamptz > (j->>'time')::timestamptz => false": saves + ": what waited adds is never below 0",

	"start: c.shelf = 'clock' => true": saves + ": no other thing is of such a line",

	"note: e = 'clock_jumped' => true": "a person vouches for a clock that has jumped",

	"commit: current_setting('transaction_isolation') <> 'read committed' => false":                     "TestLateRoles",
	"commit: PERFORM pulse.refuse('a picture in which a login may have a role that it lost'); => NULL;": "TestLateRoles",
	"commit: EXISTS (SELECT FROM unnest(blobs) b WHERE octet_length(b) > 134217728) => false":           "TestHuge",
	"commit: octet_length(b) > 134217728 => false":                                                      "TestHuge",
}

const saves = "it saves time" // without it the same comes out

// spared reports whether a mutant does not matter: it is among those that are unneeded, or about the form of
// what the server itself says in every line that may have it, so that no client's is ever looked at.
func spared(name string) bool {
	return unneeded[name] != "" || ofServer.MatchString(name)
}

var ofServer = regexp.MustCompile(`^member: (time|since|before|began|level|more|prev) of line is `)

// TestUnneeded: what is spared is a mutant.
func TestUnneeded(t *testing.T) {
	all := mutantFunctions()
	for name := range unneeded {
		if !slices.ContainsFunc(all, func(m mutant) bool { return m.name == name }) {
			t.Errorf("there is none such: %s", name)
		}
	}
}

var errStillborn = fmt.Errorf("the server refuses this function")

// fresh undoes all that was tried, and what was undone before: rows that nobody sees make the next slow.
func (w *world) fresh() {
	for _, sql := range []string{"ROLLBACK", "VACUUM", "SET statement_timeout = '20s'", "BEGIN"} {
		if err := w.exec(sql); err != nil {
			w.tb.Fatal(err)
		}
	}
}

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
		if err := w.examine(want); err != nil {
			return err
		}
	}
	return cmp.Or(w.apart(m), w.mays())
}

// apart undoes what special does.
func (w *world) apart(m *mutant) error {
	if err := w.exec("SAVEPOINT special"); err != nil {
		w.tb.Fatal(err)
	}
	found := w.special(m)
	if err := w.exec("ROLLBACK TO special"); err != nil {
		w.tb.Fatal(err)
	}
	return found
}

// special tries a mutant with the test of what its function does.
func (w *world) special(m *mutant) error {
	switch what, _, _ := strings.Cut(m.name, ":"); what {
	case "form", "plain", "nul", "said":
		return w.members("")
	case "quoted":
		return w.exec(`DO $$ BEGIN ASSERT pulse.quoted('a"é\ö ~') = '"a???? ~"'; END $$`)
	case "kept":
		return w.exec(sameKept)
	case "same":
		return w.targets(rand.New(rand.NewPCG(1, 1)))
	case "start":
		return cmp.Or(w.odd(), w.forgets())
	case "move":
		return w.odd()
	case "commit":
		return cmp.Or(w.about(), w.exec(pgtest.Strict), w.times())
	case "made":
		return cmp.Or(w.about(), w.exec(pgtest.Strict), w.bounds(), w.levels(), w.times())
	case "now", "most": // which are changed as they are outside of tests
		return cmp.Or(w.exec(pgtest.Strict), w.exec(m.sql), w.bounds(), w.times())
	}
	return nil
}

// sameKept fails unless kept returns what the tables hold.
const sameKept = `DO $$
DECLARE ids text[] := ARRAY(SELECT id FROM pulse.task ORDER BY id LIMIT 20); shelves text[] := '{results,labels,clock}'; keys text[];
BEGIN
  ASSERT (SELECT count(*) FROM pulse.thing WHERE key = ANY (ids) AND shelf = ANY (shelves)) > 1;
  FOR keys IN SELECT ids UNION ALL SELECT ids || '' LOOP
    ASSERT (SELECT array_agg(k ORDER BY k) FROM pulse.kept(keys, shelves) k) = (SELECT array_agg(x ORDER BY x) FROM (
      SELECT t.key, t.shelf, a.line, array_to_string(t.rest, ' '), a.who, a.alone FROM pulse.thing t, pulse.audit a WHERE t.key = ANY (keys) AND t.shelf = ANY (shelves) AND a.seq = t.seq
      UNION ALL SELECT t.id, NULL, a.line, t.state, a.who, a.alone FROM pulse.task t, pulse.audit a WHERE t.id = ANY (keys) AND a.seq = t.seq
      UNION ALL SELECT '', NULL, left(a.line, 48), NULL, a.who, a.alone FROM pulse.audit a WHERE '' = ANY (keys) AND a.seq = (SELECT max(seq) FROM pulse.audit)) x);
  END LOOP;
END $$`

// examine tries a mutant with what happens in a world, and with every forgery. Those that
// found out the ones before come first.
func (w *world) examine(want string) error {
	if err := w.forgeries(w.forged, forgeries[:20]); err != nil { // which is soon done
		return err
	}
	if got, err := w.again(); err != nil || got != want {
		return fmt.Errorf("what happened is not what happens: %v", err)
	}
	if err := w.forgeries(w.forged, forgeries); err != nil {
		return err
	}
	return w.forgeries(w.honest, forgeries)
}

// forgeries tries forgeries, and puts the first that fails in front of them.
func (w *world) forgeries(try func(*forgery) error, list []forgery) error {
	for i, f := range list {
		if err := try(&f); err != nil {
			copy(list[1:i+1], list[:i])
			list[0] = f
			return err
		}
	}
	return nil
}

// again lets everything happen once more in an empty queue, and returns a sum of its tables.
func (w *world) again() (sum string, err error) {
	if err := w.exec("SAVEPOINT again; TRUNCATE pulse.queue, pulse.audit, pulse.task, pulse.file, pulse.thing, pulse.start, pulse.run, pulse.nonce; INSERT INTO pulse.queue DEFAULT VALUES"); err != nil {
		w.tb.Fatal(err)
	}
	defer w.keep()()
	jumps := jumping(w) // to before what was started, and back
	for _, part := range []func(){
		w.happen, w.more, func() { w.do(jumps...) },
		func() { w.do(by("ann", w.note("", audit.Released))) },
	} {
		if part(); w.failed != nil {
			break
		}
		var s string
		s, w.failed = w.sum()
		sum += s
	}
	err = w.failed
	w.failed = nil
	if err := w.exec("ROLLBACK TO again"); err != nil {
		w.tb.Fatal(err)
	}
	return sum, err
}

// sum returns a sum of the tables.
func (w *world) sum() (sum string, err error) {
	err = w.c.QueryRow(context.Background(), `SELECT md5(string_agg(x, ' ' ORDER BY x COLLATE "C")) FROM (
		SELECT (q.seq, head, held, day, refused, limited, kept, kept_bytes, counts)::text FROM pulse.queue q UNION ALL SELECT a::text FROM pulse.audit a
		UNION ALL SELECT t::text FROM pulse.task t UNION ALL SELECT f::text FROM pulse.file f UNION ALL SELECT t::text FROM pulse.thing t
		UNION ALL SELECT s::text FROM pulse.start s UNION ALL SELECT n::text FROM pulse.nonce n
		UNION ALL SELECT (fence, task, who, host, until > clock_timestamp())::text FROM pulse.run) x(x)`).Scan(&sum)
	return sum, err
}

// more lets happen what a world does not need.
func (w *world) more() {
	mail := w.of("a.free", task.Added, "", task.Scheduled)
	mail.Positions = []audit.Position{{Source: "another"}}
	mail.Time, mail.Change.NotBefore = w.now.Add(time.Millisecond), w.now.Add(time.Hour+time.Millisecond)
	whole := w.of("e.prop2", task.Added, "", task.Awaiting)
	whole.Change.NotBefore = w.now.Add(time.Hour)
	kept := w.refused("a.sched")
	forgotten := w.note("a.sched", audit.Forgotten)
	forgotten.Size = kept.Size
	twin, noted := w.note("e.prop2", task.Refused), w.note("e.prop1", audit.Noted)
	twin.Parent, noted.Parent = idOf("a.twin"), idOf("a.twin")
	once, twice := w.resurfaced("a.send", task.Scheduled), w.resurfaced("a.send", task.Scheduled)
	once.Time, twice.Time = w.now.Add(time.Minute), w.now.Add(2*time.Minute)
	parked := w.of("a.local", task.Parked, task.Scheduled, task.Awaiting) // since when a task waits is said by the line before that moved it
	parked.Time = w.now.Add(time.Minute + time.Millisecond)
	w.do(by("gate1", mail, whole, twin), by("machine1", parked, w.labelled("a.told", label.Private), w.resurfaced("a.told", task.Awaiting), w.resurfaced("a.local", task.Awaiting)), by("gate1", once), by("gate1", twice), by("gate1", w.resurfaced("a.twin", task.Completed)),
		by("sender1", noted), by("gate1", kept, forgotten), by("gate1", w.finding(audit.FindingOpened, "away"), w.finding(audit.FindingOpened, "tls"), w.finding(audit.FindingClosed, "tls")))
	w.senders()
	again := result(w.ends("a.back", task.Retried, task.Scheduled), store.Results)
	again.End = &audit.End{Exit: 75, Said: "later"}
	w.do(by("runner1", w.start("a.back")), by("runner1", again),
		by("runner1", w.start("a.back")), by("runner1", result(w.ends("a.back", task.Extracted, task.Scheduled), store.Extracts)))
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
		next := w.note("r.four", task.Refused)
		next.Time = w.now.Add(24 * time.Hour)
		w.do(by("gate1", next, w.note("", audit.Held)))
	}
}

// senders lets tasks come from senders of each kind, be put off, and be closed.
func (w *world) senders() {
	var list []step
	for i, from := range []audit.Line{
		{Kind: task.Ask, Trust: terms.ExternalVerified, Source: "imap", Sender: "Bob@Partner.example"}, {Kind: task.Ask, Trust: terms.ExternalVerified},
		{Kind: task.Ask, Trust: terms.Unknown, MessageID: "<a@b>"}, {Kind: task.Ask, Trust: terms.OwnerVerifiedEmail, Source: "imap"},
		{Kind: task.Effect, Trust: terms.ExternalVerified, Source: "imap", MessageID: "<a@b>"}, {Kind: task.Ask}, {Kind: task.Ask},
	} {
		name := fmt.Sprint("from ", i)
		w.know(name, from.Kind, terms.WriteLocal, "", bob)
		s := w.of(name, task.Added, "", task.Scheduled)
		s.Trust, s.Source, s.MessageID, s.Sender = from.Trust, from.Source, from.MessageID, from.Sender
		list = append(list, s)
	}
	byTask, byEve := w.of("from 5", task.Closed, task.Scheduled, task.Rejected), w.of("from 6", task.Closed, task.Scheduled, task.Rejected)
	byTask.By, byEve.By = "task "+idOf("a.done"), "eve"
	yes := w.yes("e.prop2", task.Approved, task.Awaiting, approval.Terminal, bob)
	yes.Change.NotBefore = w.now.Add(time.Hour)
	off := w.ends("l.back", task.Retried, task.Scheduled)
	off.Change.NotBefore = w.now.Add(time.Hour)
	w.do(by("gate1", list...), by("runner1", byTask, byEve), by("ann", yes), by("machine1", w.start("l.back")), by("machine1", off))
}

var (
	function = regexp.MustCompile(`(?s)CREATE FUNCTION (\w+)(\(.*?\$\$)(.*?)(\$\$);`)
	token    = regexp.MustCompile(`(?s)--[^\n]*|E?'(?:[^']|'')*'|IS (?:NOT )?DISTINCT FROM|\w+|[(),;]|::|[^\s\w'(),;]+`)
	call0    = regexp.MustCompile(`PERFORM pulse\.refuse\(.*?\);\n|RAISE EXCEPTION [^;]*;|(?:INSERT INTO|DELETE FROM|UPDATE) pulse\.[^;]*;|PERFORM pulse\.[^;]*;`)
	fallback = regexp.MustCompile(`, (true|false)\)`)
	word     = regexp.MustCompile(`[a-z_]+`)
	words    = regexp.MustCompile(`^'\{?[a-z_]+([ ,][a-z_]+)*\}?'$`)
)

// mutantFunctions returns the functions with a condition that is always true or never, or that
// holds for what is not there, with another word, and without one of the things that they do.
func mutantFunctions() (list []mutant) {
	names, bodies := map[string]int{}, map[string]bool{}
	strict := strings.ReplaceAll(pgtest.Strict, "CREATE OR REPLACE FUNCTION pulse.", "CREATE FUNCTION ")
	for _, f := range function.FindAllStringSubmatch(pgstore.Schema+strict, -1) {
		if (f[1] == "now" || f[1] == "most") && !strings.Contains(strict, f[0]) {
			continue
		}
		put := func(at []int, by string) {
			sql := "CREATE OR REPLACE FUNCTION pulse." + f[1] + f[2] + f[3][:at[0]] + by + f[3][at[1]:] + f[4]
			if f[1] == "refuse" || bodies[sql] {
				return
			}
			bodies[sql] = true
			name := fmt.Sprintf("%s: %s => %s", f[1], strings.Join(strings.Fields(f[3][at[0]:at[1]]), " "), by)
			names[name]++
			list = append(list, mutant{name: name, near: f[3][max(0, at[0]-24):min(at[1]+12, len(f[3]))], sql: sql})
		}
		for _, c := range conditions(f[3]) {
			yes, no := "true", "false"
			switch is := f[3][c[0]:c[1]]; {
			case strings.HasSuffix(is, "_violation"):
				yes, no = "others", "division_by_zero"
			case is[0] == '\'' && !strings.Contains(is, " "): // of what the CASE compares
				yes, _, _ = strings.Cut(f[3][strings.LastIndex(f[3][:c[0]], "CASE ")+5:], " WHEN")
				no = "NULL"
			}
			put(c, yes)
			put(c, no)
		}
		for _, c := range fallback.FindAllStringSubmatchIndex(f[3], -1) {
			put(c[2:], fmt.Sprint(f[3][c[2]:c[3]] == "false"))
		}
		for _, at := range wordsOf(f[3]) {
			by := f[3][at[0]:at[1]] + "x"
			if by == "gx" { // which would be a flag, too
				by = "i"
			}
			put(at, by)
		}
		for _, c := range call0.FindAllStringIndex(f[3], -1) {
			if f[3][c[0]-1] != '(' { // it is not a part of another one
				put(c, "NULL;")
			}
		}
	}
	return tellApart(list, names)
}

// tellApart gives those of one name what stands near them, so that what is written above a mutant does not
// change its name, and a number where that is the same.
func tellApart(list []mutant, names map[string]int) []mutant {
	seen := map[string]int{}
	for i := range list {
		m := &list[i]
		if names[m.name] > 1 {
			m.name += " in " + strings.Join(strings.Fields(m.near), " ")
		}
		if seen[m.name]++; seen[m.name] > 1 {
			m.name += fmt.Sprintf(" #%d", seen[m.name])
		}
	}
	return list
}

// wordsOf returns where the words stand in SQL that are not those of a message.
func wordsOf(sql string) (list [][]int) {
	message := false
	for _, at := range token.FindAllStringIndex(sql, -1) {
		switch is := sql[at[0]:at[1]]; {
		case is == "RAISE" || is == "refuse":
			message = true
		case is == ";":
			message = false
		case words.MatchString(is) && !message:
			for _, w := range word.FindAllStringIndex(is, -1) {
				list = append(list, []int{at[0] + w[0], at[0] + w[1]})
			}
		}
	}
	return list
}

// A condition stands between one of begins and one of closes. After one of parts there may be
// one too, if it is made of several.
var (
	begins = strings.Fields("IF ELSIF WHEN WHERE ON")
	parts  = strings.Fields("( , SELECT RETURN :=")
	closes = strings.Fields("THEN ; ) , LIMIT ORDER GROUP RETURNING AS FROM LOOP UNION ON ELSE END WHERE CASE")
)

// conditions returns where the conditions stand in SQL: of those that are made of several, where these do.
func conditions(sql string) (list [][]int) {
	var toks [][]int
	for _, at := range token.FindAllStringIndex(sql, -1) {
		if !strings.HasPrefix(sql[at[0]:at[1]], "--") {
			toks = append(toks, at)
		}
	}
	word := func(i int) string { return sql[toks[i][0]:toks[i][1]] }
	for i := range toks {
		begin := slices.Contains(begins, word(i)) && !slices.Contains([]string{"CONFLICT", "CONSTRAINT"}, word(i+1))
		if !begin && (!slices.Contains(parts, word(i)) || slices.Contains([]string{"SELECT", "WITH"}, word(i+1))) {
			continue
		}
		depth, starts, between := 0, []int{i + 1}, false
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
				starts = append(starts, j+1)
			}
		}
		if j == i+1 || !begin && len(starts) == 1 {
			continue
		}
		for k, s := range starts {
			end := j
			if k+1 < len(starts) {
				end = starts[k+1] - 1
			}
			list = append(list, []int{toks[s][0], toks[end-1][1]})
		}
	}
	return list
}

// mutantTables returns the tables with a row more, less, or wider, and without what functions
// rely on.
func mutantTables() (list []mutant) {
	list = append(list, mutant{name: "nonce: twice", sql: "ALTER TABLE pulse.nonce DROP CONSTRAINT nonce_pkey"},
		mutant{name: "file: without bytes", sql: "ALTER TABLE pulse.file ALTER bytes DROP NOT NULL"})
	for _, e := range append(append(slices.Clone(task.Events), audit.Events...), "owner") {
		for _, h := range []string{"gate", "runner", "sender", "approver"} {
			list = append(list, mutant{name: fmt.Sprintf("may: %s by %s", e, h),
				sql: fmt.Sprintf("WITH d AS (DELETE FROM pulse.may WHERE (event, hat) = ('%s', '%s') RETURNING *) INSERT INTO pulse.may SELECT '%[1]s', '%[2]s' WHERE NOT EXISTS (SELECT FROM d)", e, h)})
		}
	}
	for _, e := range task.Events {
		list = append(list, mutant{name: fmt.Sprintf("legal: %s to failed", e), sql: fmt.Sprintf("INSERT INTO pulse.legal VALUES ('%s', 'corrupt', 'failed')", e)})
		if e != task.Refused && e != task.Learned { // the one moves nothing, the other is of a directory
			list = append(list, mutant{name: fmt.Sprintf("legal: no %s", e), sql: fmt.Sprintf("DELETE FROM pulse.legal WHERE event = '%s'", e)})
		}
	}
	for _, r := range memberRows.FindAllStringSubmatch(pgstore.Schema, -1) {
		for _, n := range strings.Fields(strings.ReplaceAll(r[3], "!", "")) {
			for _, form := range []string{".*", "x", `"?.*"?`, "@session"} {
				if form == r[2] {
					continue
				}
				name := fmt.Sprintf("member: %s of %s is %s", n, r[1], form)
				list = append(list, mutant{name: name, sql: fmt.Sprintf("UPDATE pulse.member SET forms = jsonb_set(forms, '{%s}', '%q') WHERE of = '%s'", n, form, r[1]), member: n})
			}
		}
	}
	return list
}
