package man

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pulse/lib/authorize/decision"
	"pulse/lib/authorize/explain"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

func words[T ~string](list []T) (words []string) {
	for _, w := range list {
		words = append(words, string(w))
	}
	return words
}

// Each closed list of a page is that of the code.
func TestClosedLists(t *testing.T) {
	for _, c := range []struct {
		page, list string
		code       func(t *testing.T) []string
	}{
		{"pulse.7", "exit statuses", func(t *testing.T) []string {
			return append(load(t, "fault").constants(t, ofType("Kind")), "0")
		}},
		{"pulse-authorize.1", "actions", func(*testing.T) []string { return words(terms.Actions) }},
		{"pulse-authorize.1", "outcomes", func(*testing.T) []string { return words(terms.Outcomes) }},
		{"pulse-authorize.1", "decision reasons", func(t *testing.T) []string {
			return append(load(t, "decision").constants(t, ofType("Reason")), load(t, "tools").constants(t, ofType("Reason"))...)
		}},
		{"pulse-authorize.1", "checks", checks},
		{"pulse-authorize.1", "explain members", func(t *testing.T) []string {
			return load(t, "explain").written(t, "Explanation.Append")
		}},
		{"pulse-record.5", "trust levels", func(*testing.T) []string { return words(terms.TrustLevels) }},
		{"pulse-record.5", "defects harmless", func(t *testing.T) []string { return defects(t, true) }},
		{"pulse-record.5", "defects", func(t *testing.T) []string { return defects(t, false) }},
		{"pulse-record.5", "record members", func(t *testing.T) (list []string) {
			for _, dir := range []string{"envelope", "request", "identity", "decision", "task"} {
				list = append(list, load(t, dir).constants(t, suffixed("Member"))...)
			}
			return append(list, load(t, "queue").constants(t, suffixed("extractMember"))...)
		}},
		{"pulse-record.5", "message members", func(t *testing.T) []string {
			return load(t, "envelope").written(t, "Message.append", "Left.add")
		}},
		{"pulse-record.5", "identity members", func(t *testing.T) []string {
			return load(t, "identity").written(t, "Identity.Append", "Identity.add", "Identity.addOrigin")
		}},
		{"pulse-record.5", "worker message members", func(t *testing.T) []string {
			return load(t, "envelope").written(t, "Shown.Append")
		}},
		{"pulse-record.5", "bare message members", func(t *testing.T) []string {
			return load(t, "envelope").written(t, "Shown.AppendBare")
		}},
		{"pulse-record.5", "worker identity members", func(t *testing.T) []string {
			return load(t, "identity").written(t, "Identity.AppendShown", "Identity.add", "Identity.addOrigin")
		}},
		{"pulse-record.5", "worker decision members", func(t *testing.T) []string {
			return load(t, "decision").written(t, "Decision.AppendShown", "Decision.add")
		}},
		{"pulse-record.5", "outcome members", func(t *testing.T) []string {
			return load(t, "queue").written(t, "Outcome.append")
		}},
		{"pulse-record.5", "outcome endings", func(t *testing.T) []string {
			return load(t, "queue").constants(t, ofType("Ending"))
		}},
		{"pulse-record.5", "decision members", func(t *testing.T) []string {
			return load(t, "decision").written(t, "Decision.Append", "Decision.add")
		}},
		{"pulse-record.5", "connectors", func(*testing.T) []string { return words(decision.Connectors) }},
		{"pulse-record.5", "task members", func(t *testing.T) []string {
			return load(t, "task").written(t, "Task.Append", "Link.add", "Change.add")
		}},
		{"pulse-policy.5", "policy keys", func(t *testing.T) []string {
			p := load(t, "policy")
			return p.keys(p.definition("file"), "")
		}},
		{"pulse-policy.5", "schema formats", func(t *testing.T) []string {
			return load(t, "schema").constants(t, func(name, _ string) bool { return strings.HasPrefix(name, "as") })
		}},
		{"pulse-queue.1", "discard reasons", func(t *testing.T) []string {
			return load(t, "proposal").constants(t, ofType("Reason"))
		}},
		{"pulse-queue.1", "own tools", func(t *testing.T) []string {
			return load(t, "proposal").constants(t, ofType("tool"))
		}},
		{"pulse-trouble.7", "findings", func(t *testing.T) []string {
			return load(t, "health").constants(t, ofType("Code"))
		}},
		{"pulse-queue.5", "queue files", func(t *testing.T) []string {
			files := suffixed("File")
			return slices.Concat(load(t, "spool").constants(t, files), load(t, "access").constants(t, files), load(t, "snapshot").constants(t, files))
		}},
		{"pulse-queue.5", "queue directories", func(t *testing.T) []string {
			shelves := load(t, "store").constants(t, ofType("Shelf"))
			elsewhere := []string{"hold", "spent", "partly", "labels", "extracts", "names", "clock", "findings", "agenda"}
			shelves = slices.DeleteFunc(shelves, func(s string) bool { return slices.Contains(elsewhere, s) })
			return slices.Concat(shelves, load(t, "spool").constants(t, suffixed("Dir")), load(t, "journal").constants(t, suffixed("Dir")))
		}},
		{"pulse-queue.5", "task states", func(*testing.T) []string { return words(task.States) }},
		{"pulse-queue.5", "task events", func(t *testing.T) []string {
			return load(t, "task").constants(t, ofType("Event"))
		}},
		{"pulse-queue.5", "audit events", func(t *testing.T) []string {
			return load(t, "audit").constants(t, ofType("task.Event"))
		}},
		{"pulse-queue.5", "audit members", func(t *testing.T) []string {
			return load(t, "audit").written(t, "Line.Append", "Line.appendEnd", "Line.appendProposals", "Line.appendWho")
		}},
		{"pulse-queue.5", "task reasons", func(t *testing.T) []string {
			reasons := func(name, _ string) bool {
				return strings.HasPrefix(strings.ToLower(name), "reason") || name == "Quota"
			}
			return append(slices.Concat(load(t, "queue").constants(t, reasons), load(t, "store").constants(t, reasons)), "approved")
		}},
		{"pulse-queue.5", "not kept", func(t *testing.T) []string {
			return load(t, "queue").constants(t, func(name, _ string) bool { return strings.HasPrefix(strings.ToLower(name), "notkept") })
		}},
		{"pulse-queue.5", "approval members", func(t *testing.T) []string {
			return load(t, "approval").written(t, "Approval.Append")
		}},
		{"pulse-queue.5", "grant members", func(t *testing.T) []string {
			return load(t, "approval").written(t, "Grant.Append")
		}},
		{"pulse-queue.5", "session members", func(t *testing.T) []string {
			return load(t, "approval").written(t, "Session.Append")
		}},
	} {
		t.Run(c.page+"/"+c.list, func(t *testing.T) {
			same(t, read(t, c.page).list(t, c.list), c.code(t))
		})
	}
}

// lib/queue/README.md says what each member of the checkpoint is.
func TestCheckpointMembers(t *testing.T) {
	_, text, _ := strings.Cut(strings.Join(read(t, "../lib/queue/README.md"), "\n"), "`checkpoint` is not synced.")
	text, _, _ = strings.Cut(text, "\n## ")
	var list []string
	for _, item := range regexp.MustCompile("(?m)^- (.*):").FindAllStringSubmatch(text, -1) {
		for word := range strings.SplitSeq(item[1], ", ") {
			list = append(list, strings.Trim(word, "`"))
		}
	}
	same(t, list, load(t, "spool").written(t, "progress.bytes"))
}

// checks returns the names of all checks that records of every kind go through.
func checks(t *testing.T) (list []string) {
	p, err := policy.Parse("p", []byte("[[platform]]\nsource = \"telegram\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`{"message":{"source":"file:a"}}`, `{"message":{"source":"telegram"}}`, `{"message":{"source":"webhook:/in"}}`,
		`{"request":{"action":"write_local","tool":"fs.read"},"identity":{"trust":"system","via":"agent","parent":"a","stale":false,"automatic":false,"verified":true}}`,
	} {
		rec, err := record.Parse([]byte(line), explain.Members...)
		if err != nil {
			t.Fatal(err)
		}
		s, err := explain.Read(rec, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range explain.Of(s).Steps {
			list = append(list, step.Check)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// defects returns the defects that leave a message verifiable, or the others.
func defects(t *testing.T, harmless bool) (list []string) {
	for _, d := range load(t, "envelope").constants(t, ofType("Defect")) {
		m := envelope.Message{Defects: []envelope.Defect{envelope.Defect(d)}}
		if (m.Unverifiable() == "") == harmless {
			list = append(list, d)
		}
	}
	return list
}

// The defaults that pulse-policy(5) shows are those in force without a policy, and
// its other policies are valid.
func TestPolicies(t *testing.T) {
	p := read(t, "pulse-policy.5")
	for _, mark := range []string{"policy: example", "policy: receivers", "policy: flow", "policy: company", "policy: defaults"} {
		got, err := policy.Parse(mark, []byte(p.marked(t, mark)))
		if err != nil {
			t.Error(err)
		}
		if mark != "policy: defaults" || err != nil {
			continue
		}
		got.Name, got.Digest = "", ""
		if want := policy.Default(); !reflect.DeepEqual(got, want) {
			t.Errorf("the page says\n%+v\nthe code\n%+v", got, want)
		}
	}
}
