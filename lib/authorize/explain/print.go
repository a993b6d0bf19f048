package explain

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"pulse/lib/shared/escape"
	"pulse/lib/shared/record"
	"pulse/lib/shared/terms"
	"pulse/lib/shared/trace"
)

// Lines returns the explanation for people. Every line is safe to show.
func (x *Explanation) Lines() []string {
	d := &x.Decision
	lines := []string{fmt.Sprintf("%s: %s: %s (%s)", orNone(x.Identity.Sender), d.Action, d.Outcome, d.Reason)}
	if x.s.Message != nil {
		lines = append(lines, "message "+x.s.Message.ID+" of "+x.s.Message.Source)
	}
	proven := fmt.Sprintf("%s (%s): %s", x.Identity.Trust, x.Identity.Reason, x.Identity.Why)
	lines = append(lines, strings.TrimSuffix(proven, ": "))
	lines = append(lines, x.steps()...)
	if d.Outcome != terms.Reject {
		lines = append(lines, "follows: "+x.follows())
	}
	for _, needs := range x.needs() {
		lines = append(lines, "needs: "+needs)
	}
	if x.s.partly != "" {
		lines = append(lines, "partly approved by "+x.s.partly)
	}
	return safe(append(lines, x.why(true)...))
}

// follows says what follows besides the decision.
func (x *Explanation) follows() string {
	var list []string
	for _, s := range x.Decision.Say() {
		list = append(list, s.Name+" "+s.Value)
	}
	return strings.Join(list, ", ")
}

// needs says whose yes it needs, for each row of [[approval.row]] that is about it.
func (x *Explanation) needs() (list []string) {
	if o := x.Decision.Outcome; o != terms.Confirm && o != terms.Review {
		return nil
	}
	for i := range x.Decision.Rows {
		list = append(list, x.Decision.Rows[i].Wants(0))
	}
	return list
}

// Brief returns what decided, and what would decide otherwise, without the checks.
func (x *Explanation) Brief() []string {
	d := &x.Decision
	head := fmt.Sprintf("today    %s: %s (%s)", d.Action, d.Outcome, d.Reason)
	return safe(append([]string{head}, x.why(false)...))
}

func safe(lines []string) []string {
	for i, l := range lines {
		lines[i] = escape.Message(l)
	}
	return lines
}

// why returns what decided and what would decide otherwise; less is whether changes that
// let less through are among it.
func (x *Explanation) why(less bool) (lines []string) {
	lines = append(lines, "decided by: "+x.by())
	for i := range x.Steps {
		if s := &x.Steps[i]; !x.Identity.Verified && s.Result == string(x.Identity.Reason) {
			lines = append(lines, fmt.Sprintf("not proven because of: %s, %s%s", s.Check, s.Result, x.at(s)))
		}
	}
	switch {
	case !x.narrows():
		return append(lines, x.changes()...)
	case less:
		return append(lines, x.inLine(&x.OfPolicy[0]))
	}
	return lines
}

// file is the name of the policy, as people call it.
func (x *Explanation) file() string { return path.Base(x.s.Policy.Name) }

// at says where the key that a step goes by stands; empty if it goes by none.
func (x *Explanation) at(s *trace.Step) string {
	if s.Key == "" {
		return ""
	}
	if line := x.line(s); line != 0 {
		return fmt.Sprintf(" [%s:%d %s]", x.file(), line, s.Key)
	}
	return fmt.Sprintf(" [%s, not in %s]", s.Key, x.file())
}

func orNone(sender string) string {
	if sender == "" {
		return "nobody"
	}
	return sender
}

// steps are one line each, those that were not made together in one.
func (x *Explanation) steps() (lines []string) {
	var skipped []string
	what := ""
	flush := func() {
		if skipped != nil {
			lines = append(lines, fmt.Sprintf("  %-18s %s", what, strings.Join(skipped, ", ")))
		}
		skipped = nil
	}
	for i := range x.Steps {
		s := &x.Steps[i]
		if s.Result == trace.NotAsked || s.Result == trace.NotReached {
			if what != s.Result {
				flush()
			}
			what, skipped = s.Result, append(skipped, s.Check)
			continue
		}
		flush()
		lines = append(lines, fmt.Sprintf("  %-18s %s: %s%s", s.Check, s.Result, s.Saw, x.at(s)))
	}
	flush()
	return lines
}

// line returns the line of the key that a step goes by, or of the row that it is missing
// from, or 0.
func (x *Explanation) line(s *trace.Step) int {
	line := x.s.Policy.Line(s.Key, s.Nth)
	if row, _, ok := cutLast(s.Key); line == 0 && ok && strings.HasPrefix(s.Key, "matrix.") {
		line = x.s.Policy.Line(row, 0)
	}
	return line
}

func cutLast(key string) (before, after string, ok bool) {
	i := strings.LastIndexByte(key, '.')
	if i < 0 {
		return "", key, false
	}
	return key[:i], key[i+1:], true
}

// by names the rule that decided, and where it stands.
func (x *Explanation) by() string {
	s, d := &x.Steps[x.Decided], &x.Decision
	switch line := x.line(s); {
	case s.Key == "":
		return d.Rule + ": " + d.Why
	case line == 0:
		return fmt.Sprintf("%s, which is not in %s: %s", d.Rule, x.file(), d.Why)
	default:
		return fmt.Sprintf("%s:%d: %s: %s", x.file(), line, d.Rule, d.Why)
	}
}

// narrows reports whether only less than today could be let through.
func (x *Explanation) narrows() bool {
	return len(x.OfPolicy) > 0 && rank(x.OfPolicy[0].Outcome) > rank(x.Decision.Outcome)
}

// inLine returns a change of the policy as one line.
func (x *Explanation) inLine(c *Change) string {
	return "to " + verbs[c.Outcome] + ": " + strings.Join(x.edits(c), "; ")
}

// edits say what to write, and where. Only the first line of a new table makes it.
func (x *Explanation) edits(c *Change) (list []string) {
	for i := range c.Edits {
		e := &c.Edits[i]
		same := slices.ContainsFunc(c.Edits[:i], func(o Edit) bool {
			return o.Table == e.Table && o.Nth == e.Nth && o.In == e.In
		})
		list = append(list, x.edit(e, same))
	}
	return list
}

// changes are what would decide otherwise.
func (x *Explanation) changes() (lines []string) {
	if len(x.OfPolicy)+len(x.OfMail) == 0 {
		return []string{"no change is known here that would decide otherwise"}
	}
	for _, c := range slices.Concat(x.OfPolicy, x.OfMail) {
		lines = append(lines, "to "+verbs[c.Outcome]+":")
		for _, e := range x.edits(&c) {
			lines = append(lines, "    "+e)
		}
		if c.What != "" {
			lines = append(lines, "    "+c.What)
		}
		if c.Risk != "" {
			lines = append(lines, "    risk: "+c.Risk)
		}
	}
	return lines
}

// verbs say what the gate would do.
var verbs = map[terms.Outcome]string{
	terms.Allow: "allow it", terms.Confirm: "ask a person for a yes", terms.Review: "have a person look at it", terms.Reject: "reject it",
}

// edit says what to write, and where. again is whether an edit before made the table, if
// the file has none.
func (x *Explanation) edit(e *Edit, again bool) string {
	table, text := "["+e.Table+"]", e.Key+" = "+e.Value
	if e.multiple() {
		table = "[" + table + "]"
	}
	line, of := x.lineOf(e), x.tableLine(e)
	switch {
	case line != 0 && of == 0 && e.Table != "": // it is written with the table in front
		return fmt.Sprintf("%s:%d: %s.%s", x.file(), line, e.Table, text)
	case line != 0:
		return fmt.Sprintf("%s:%d: %s", x.file(), line, text)
	case e.Table == "":
		return fmt.Sprintf("%s, above the first table: %s", x.file(), text)
	case of != 0:
		return fmt.Sprintf("%s:%d, in %s: %s", x.file(), of, table, text)
	case again:
		return fmt.Sprintf("%s, in the same %s: %s", x.file(), table, text)
	}
	return fmt.Sprintf("%s, in a new %s: %s", x.file(), table, text)
}

// multiple reports whether there can be several tables of that name.
func (e *Edit) multiple() bool {
	switch e.Table {
	case "receiver", "platform", "platform.chat", "exec.allow":
		return true
	}
	return false
}

// lineOf returns the line of a key, or 0.
func (x *Explanation) lineOf(e *Edit) int {
	if e.Table == "" {
		return x.s.Policy.Line(e.Key, 0)
	}
	return x.s.Policy.Line(e.Table+"."+e.Key, x.nth(e))
}

// tableLine returns the line of a table's name, or 0.
func (x *Explanation) tableLine(e *Edit) int { return x.s.Policy.Line(e.Table, x.nth(e)) }

// nth returns which table of that name in the file an edit is about; New: one more.
func (x *Explanation) nth(e *Edit) int {
	nth := e.Nth
	if e.Table == "platform.chat" && nth != New {
		for _, pl := range x.s.Policy.Platforms[:e.In] {
			nth += len(pl.Chats)
		}
	}
	return nth
}

// Append appends the explanation as an object.
func (x *Explanation) Append(dst []byte) []byte {
	o := record.ObjectAfter(dst)
	if x.s.Message != nil {
		o.Str("source", x.s.Message.Source)
		o.Str("id", x.s.Message.ID)
	}
	o.Str("sender", x.Identity.Sender)
	o.Str("trust", string(x.Identity.Trust))
	o.Str("identity_reason", string(x.Identity.Reason))
	o.Nested("decision", x.Decision.Append)
	o.Nested("follows", func(dst []byte) []byte {
		o := record.ObjectAfter(dst)
		for _, s := range x.Decision.Say() {
			o.Str(s.Name, s.Value)
		}
		return o.Bytes()
	})
	o.StrsIf("needs", x.needs())
	o.StrIf("partly", x.s.partly)
	o.Str("file", x.s.Policy.Name)
	if line := x.line(&x.Steps[x.Decided]); line != 0 {
		o.Int("line", int64(line))
	}
	o.Nested("steps", func(dst []byte) []byte { return record.List(dst, x.Steps, x.appendStep) })
	o.Nested("policy", func(dst []byte) []byte { return record.List(dst, x.OfPolicy, x.appendChange) })
	o.Nested("mail", func(dst []byte) []byte { return record.List(dst, x.OfMail, x.appendChange) })
	return o.Bytes()
}

func (x *Explanation) appendStep(s *trace.Step, dst []byte) []byte {
	o := record.ObjectAfter(dst)
	o.Str("check", s.Check)
	o.Str("result", s.Result)
	o.StrIf("saw", s.Saw)
	o.StrIf("key", s.Key)
	if line := x.line(s); s.Key != "" && line != 0 {
		o.Int("line", int64(line))
	}
	return o.Bytes()
}

func (x *Explanation) appendChange(c *Change, dst []byte) []byte {
	o := record.ObjectAfter(dst)
	o.Str("outcome", string(c.Outcome))
	if len(c.Edits) > 0 {
		o.Nested("edits", func(dst []byte) []byte { return record.List(dst, c.Edits, x.appendEdit) })
	}
	o.StrIf("change", c.What)
	o.StrIf("risk", c.Risk)
	return o.Bytes()
}

func (x *Explanation) appendEdit(e *Edit, dst []byte) []byte {
	o := record.ObjectAfter(dst)
	o.StrIf("table", e.Table)
	o.Str("key", e.Key)
	o.Str("value", e.Value)
	line := x.lineOf(e)
	if line == 0 && e.Table != "" {
		line = x.tableLine(e)
	}
	o.IntIf("line", int64(line))
	return o.Bytes()
}
