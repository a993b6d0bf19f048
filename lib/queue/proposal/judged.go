package proposal

import (
	"bytes"
	"strings"

	"pulse/lib/shared/lazy"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/terms"
)

// Judgement is what a hook of the worker decided about uses of a tool. It is the worker's
// word, which can make one up and leave others out. So it may only forbid: a use that was
// allowed gives the root task labels.
type Judgement struct {
	Tool    string       // empty: the hook could not tell
	Action  terms.Action // empty: the hook could not tell
	Outcome terms.Outcome
	Rule    string
	Reason  string
}

// Judged counts equal judgements.
type Judged struct {
	Judgement
	Count int
}

// The bounds of the judgements of one worker.
const (
	MaxJudged    = 30      // different ones
	maxTimes     = 1000000 // in one line
	maxJudgement = 1000    // bytes of a line
	maxRule      = 300     // bytes
	maxReason    = 50      // bytes
)

// Judgements takes the judgements out of what a worker printed: lines that are an object
// with the one member `judged`. rest is everything else, as it came, and with it every line
// that is not a judgement after all, or would be one too many. unread reports whether there
// is such a line, because then nobody knows what the hook let through.
func Judgements(out []byte) (list []Judged, rest []byte, unread bool) {
	for line := range bytes.Lines(out) {
		j, ok := readJudged(line)
		if !ok || !count(&list, &j) {
			unread = unread || judges(line)
			rest = append(rest, line...)
		}
	}
	return list, rest, unread
}

// judges reports whether there may be a judgement in a line that is none, such as one that
// stands after a text without a newline. In a record that is one without that member there is
// none, whatever its text is about.
func judges(line []byte) bool {
	rec, err := record.Parse(line)
	if err != nil {
		return begun().Match(line)
	}
	return rec.Has(judgedMember)
}

var begun = lazy.Regexp(`\{[ \t]*"` + judgedMember + `"[ \t]*:`)

// count adds a judgement to those that are equal to it. It reports false if there are too
// many different ones.
func count(list *[]Judged, j *Judged) bool {
	for i := range *list {
		if have := &(*list)[i]; have.Judgement == j.Judgement {
			have.Count = min(have.Count+j.Count, maxTimes)
			return true
		}
	}
	if len(*list) >= MaxJudged {
		return false
	}
	*list = append(*list, *j)
	return true
}

// readJudged reads one line. A line that can't be a judgement is not parsed.
func readJudged(line []byte) (j Judged, ok bool) {
	if len(line) > maxJudgement || !bytes.Contains(line, []byte(`"`+judgedMember+`"`)) {
		return j, false
	}
	rec, err := record.Parse(line, judgedMember)
	if err != nil {
		return j, false
	}
	j.Count = 1
	err = rec.Value().Each(func(name string, v record.Value) error {
		if name != judgedMember {
			return failure(unknownMember)
		}
		return v.Each(j.field)
	})
	return j, err == nil && j.valid()
}

// judgedMember is the only member of a line that is a judgement.
const judgedMember = "judged"

func (j *Judged) field(name string, v record.Value) error {
	switch name {
	case "tool":
		return v.Into(&j.Tool)
	case "action":
		return v.Into((*string)(&j.Action))
	case "outcome":
		return v.Into((*string)(&j.Outcome))
	case "rule":
		return v.Into(&j.Rule)
	case "reason":
		return v.Into(&j.Reason)
	case "count":
		return v.Into(&j.Count)
	}
	return failure(unknownMember)
}

func (j *Judged) valid() bool {
	return (j.Tool == "" || len(j.Tool) <= maxTool && policy.ToolName(j.Tool)) &&
		(j.Action == "" || j.Action.Valid()) && j.Outcome.Valid() &&
		len(j.Rule) <= maxRule && !strings.ContainsFunc(j.Rule, notOfRules) &&
		j.Reason != "" && len(j.Reason) <= maxReason && strings.Trim(j.Reason, reasonChars) == "" &&
		j.Count >= 1 && j.Count <= maxTimes
}

// notOfRules reports whether no rule has r: rules are printable ASCII without blanks.
func notOfRules(r rune) bool { return r <= ' ' || r > '~' }

const reasonChars = "abcdefghijklmnopqrstuvwxyz_"
