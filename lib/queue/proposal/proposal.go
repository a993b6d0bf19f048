// Package proposal reads what a worker wants done next: lines of its output, each a
// JSON object with the members of a request (pulse-queue(1)). Other lines say what a hook
// in the worker decided; they are only told.
//
// Invariant: the result is a request and nothing else. A worker can't say who asks,
// what was decided or which task it is: a line with any member that is not in the list
// is discarded, even if the rest of it is fine. Everything is bounded. Caveat: package
// queue has to find out whether a proposal fits the queue (its evidence, the tasks it
// is about).
package proposal

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"pulse/lib/shared/address"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
)

// The bounds of what one worker may propose.
const (
	maxLines = 100       // proposals
	maxLine  = 256 << 10 // bytes of a line
	maxFiles = 20        // files of a proposal
	maxFile  = 2 << 20   // bytes of the files of one proposal
	maxAll   = 4 << 20   // bytes of the files of all proposals
	maxList  = 100       // targets, or pieces of evidence

	maxRequest = 4<<20 - 64<<10 // bytes of the request: a stage reads records of 4 MiB
)

// Reason says why a line is not a proposal. pulse-queue(1) has the closed list.
type Reason string

// The reasons that can be seen from the line alone.
const (
	malformed     Reason = "malformed"      // not one JSON object, or not strict JSON, or nested too deeply
	unknownMember Reason = "unknown_member" // such as identity
	badMember     Reason = "bad_member"     // missing, of another type, or too long a list
	unknownAction Reason = "unknown_action"
	badTarget     Reason = "bad_target" // not one plain address or name
	TooLong       Reason = "too_long"   // the line, its request, or the whole output
	tooMany       Reason = "too_many"   // lines
	badFile       Reason = "bad_file"   // not in the workspace, not a regular file, or too large
)

// The reasons that package queue finds.
const (
	EvidenceUnknown Reason = "evidence_unknown" // it names no message of the root task
	TooDeep         Reason = "too_deep"         // too many proposals lie between it and the root task
	OverBudget      Reason = "over_budget"      // the root task has used up its effects
	NotItsTask      Reason = "not_its_task"     // task.close or task.note of another root's task
	NotLegal        Reason = "not_legal"        // the task can't be closed in its state
)

// reasons lists all reasons, in the order in which they are checked.
var reasons = []Reason{
	malformed, unknownMember, badMember, unknownAction, badTarget, TooLong, tooMany, badFile,
	EvidenceUnknown, TooDeep, OverBudget, NotItsTask, NotLegal,
}

// whys says what is wrong, for whoever proposed it.
var whys = map[Reason]string{
	malformed:       "it is not one JSON object, or it is nested too deeply",
	unknownMember:   "it has a member that proposals do not have",
	badMember:       "a member is missing, of another type or too long a list",
	unknownAction:   "there is no such action",
	badTarget:       "a target is not one plain address or name",
	TooLong:         "it is too long: at most 256 KiB",
	badFile:         "a file is not in the workspace, not a regular file, or too large",
	EvidenceUnknown: "the evidence names no message of the task",
	OverBudget:      "100 proposals a day are the most, and those that nobody has taken count",
	NotItsTask:      "it is about a task that is not of your ask",
	NotLegal:        "that task can't be closed any more",
}

// Why says what is wrong.
func (r Reason) Why() string { return whys[r] }

// Discarded counts the lines that are not proposals.
type Discarded map[Reason]int

// All returns the reasons that occurred, in a fixed order.
func (d Discarded) All() []Reason {
	return slices.SortedFunc(maps.Keys(d), func(a, b Reason) int {
		return slices.Index(reasons, a) - slices.Index(reasons, b)
	})
}

// Proposal is one thing that a worker wants done.
type Proposal struct {
	Action   terms.Action
	Target   []string // normalised: as policy, approver and the sending worker see it
	Tool     string
	Args     record.Value   // an object, or empty
	Evidence []string       // ids of messages
	Files    []request.File // copied after the worker has ended
}

// Opener returns the content of a file of the workspace, at most limit bytes.
type Opener func(name string, limit int) ([]byte, error)

// Read reads what a worker printed. An answer in words, in which no line begins with a brace,
// is no error; words beside proposals are. cut says that the output goes on after out. open may
// be nil; then a proposal with files is discarded.
func Read(out []byte, cut bool, open Opener) ([]Proposal, Discarded) {
	r := reader{open: open, left: maxAll, discarded: Discarded{}}
	words, braces := 0, false
	for len(out) > 0 {
		line, rest, whole := bytes.Cut(out, []byte("\n"))
		out = rest
		text := bytes.Trim(line, " \t\r")
		if len(text) == 0 {
			continue
		}
		if text[0] != '{' {
			words++
			continue
		}
		braces = true
		if !whole && cut {
			r.discarded[TooLong]++
			break
		}
		r.line(line)
	}
	if braces && words > 0 {
		r.discarded[malformed] += words
	}
	return r.list, r.discarded
}

type reader struct {
	open      Opener
	left      int // bytes of files that may still be copied
	list      []Proposal
	discarded Discarded
}

func (r *reader) line(line []byte) {
	p, err := r.parse(line)
	if err == nil {
		r.list = append(r.list, p)
		return
	}
	var why failure
	if !errors.As(err, &why) {
		why = failure(badMember)
	}
	r.discarded[Reason(why)]++
}

// failure is the error of a line that is not a proposal.
type failure Reason

func (f failure) Error() string { return "proposal: " + string(f) }

func (r *reader) parse(line []byte) (p Proposal, err error) {
	switch {
	case len(r.list) >= maxLines:
		return p, failure(tooMany)
	case len(line) > maxLine:
		return p, failure(TooLong)
	}
	rec, err := record.Parse(line, members...)
	if err != nil {
		return p, failure(malformed)
	}
	var files []string
	err = rec.Value().Each(func(name string, v record.Value) error { return p.field(name, v, &files) })
	if err == nil {
		err = p.valid()
	}
	if err == nil {
		err = r.copy(&p, files)
	}
	if err == nil {
		err = p.readable()
	}
	return p, err
}

// readable fails unless the stages can read a record with this request. A record that
// they can't read would stop all records after it. In a record the request is nested
// deeper than in the line, and longer where characters are escaped.
func (p *Proposal) readable() error {
	var o record.Object
	o.Raw(request.Member, p.Request())
	whole := o.Bytes()
	if len(whole) > maxRequest {
		return failure(TooLong)
	}
	if _, err := record.Parse(whole, request.Member); err != nil {
		return failure(malformed)
	}
	return nil
}

// members are the members of a proposal.
var members = []string{"action", "target", "tool", "args", "evidence", "files"}

func (p *Proposal) field(name string, v record.Value, files *[]string) (err error) {
	switch name {
	case "action":
		return v.Into((*string)(&p.Action))
	case "target":
		p.Target, err = request.Targets(v)
		return err
	case "tool":
		return v.Into(&p.Tool)
	case "args":
		p.Args = v
		return nil
	case "evidence":
		return oneOrMore(v, &p.Evidence)
	case "files":
		return oneOrMore(v, files)
	}
	return failure(unknownMember)
}

// oneOrMore reads a string or an array of strings.
func oneOrMore(v record.Value, to *[]string) error {
	if v[0] == '[' {
		return v.Into(to)
	}
	*to = make([]string, 1)
	return v.Into(&(*to)[0])
}

// maxTool is how long the name of a tool may be, in bytes.
const maxTool = 100

func (p *Proposal) valid() error {
	switch {
	case p.Action == "":
		return failure(badMember)
	case !p.Action.Valid():
		return failure(unknownAction)
	case len(p.Tool) > maxTool || strings.Trim(p.Tool, toolChars) != "":
		return failure(badMember)
	case p.Args != "" && p.Args[0] != '{':
		return failure(badMember)
	case len(p.Target) > maxList || len(p.Evidence) > maxList:
		return failure(badMember)
	}
	return p.normalise()
}

const toolChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:/"

// normalise gives each target one spelling and removes duplicates. Everything later on,
// up to the envelope, uses this spelling.
func (p *Proposal) normalise() error {
	var list []string
	for _, t := range p.Target {
		switch spelled, err := address.Spell(t, ""); {
		case err == nil:
			t = spelled
		case errors.Is(err, address.ErrForm) && p.Action == terms.ExternalSend:
			return failure(badTarget)
		}
		if t == "" || strings.ContainsFunc(t, unicode.IsControl) || p.Action == terms.ExternalSend && !plain(t) {
			return failure(badTarget)
		}
		if local, domain, err := address.Split(t); err == nil { // a name is nothing but its bytes
			t = local + "@" + address.Fold(domain)
		}
		if !slices.Contains(list, t) {
			list = append(list, t)
		}
	}
	p.Target = list
	return nil
}

// maxTarget is the maximum length of an SMTP path (RFC 5321 §4.5.3.1.3), in bytes,
// without its angle brackets.
const maxTarget = 254

// plain reports whether a target is one word that no sending program can take for two
// words or for an option.
func plain(t string) bool {
	return t != "" && len(t) <= maxTarget && t[0] != '-' && strings.Count(t, "@") <= 1 &&
		!strings.HasPrefix(t, "@") && !strings.HasSuffix(t, "@") &&
		!(strings.Contains(t, "@") && strings.HasSuffix(t, ".")) && // the same domain again
		strings.IndexFunc(t, func(c rune) bool { return c <= ' ' || c >= 0x7f || strings.ContainsRune(`,;<>()[]"\|`, c) }) < 0
}

// copy reads the files of a proposal into it, within the bounds.
func (r *reader) copy(p *Proposal, names []string) error {
	if len(names) > maxFiles || len(names) > 0 && r.open == nil {
		return failure(badFile)
	}
	left := min(maxFile, r.left)
	for _, name := range names {
		data, err := r.open(name, left)
		if err != nil || len(data) > left {
			return failure(badFile)
		}
		left -= len(data)
		r.left -= len(data)
		p.Files = append(p.Files, request.File{Name: name, Data: data})
	}
	return nil
}

// Request returns the `request` member.
func (p *Proposal) Request() []byte {
	var o record.Object
	o.Str("action", string(p.Action))
	o.StrsIf("target", p.Target)
	o.StrIf("tool", p.Tool)
	if p.Args != "" {
		o.Raw("args", []byte(p.Args))
	}
	o.StrsIf("evidence", p.Evidence)
	if len(p.Files) > 0 {
		o.Raw("files", request.AppendFiles(nil, p.Files))
	}
	return o.Bytes()
}

// String returns the counts with their reasons, without any content of the lines.
func (d Discarded) String() string {
	var parts []string
	for _, r := range d.All() {
		parts = append(parts, fmt.Sprintf("%d %s", d[r], r))
	}
	return strings.Join(parts, ", ")
}
