// Package proposal reads what a worker wants to be done next: lines of its output,
// each a JSON object with the members of a request (pulse-queue(1)).
//
// Invariant: what comes out is a request and nothing else. A worker can't say who
// asks, what was decided or which task it is: a line with a member that is not in
// the list is no proposal, however well the rest of it looks. Everything is bounded.
// Caveat: whether a proposal fits what is going on (its evidence, the tasks it is
// about) is for package queue to find out.
package proposal

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"pulse/lib/address"
	"pulse/lib/record"
	"pulse/lib/request"
	"pulse/lib/terms"
)

// The bounds of what one worker may propose.
const (
	MaxLines = 100       // proposals
	MaxLine  = 256 << 10 // bytes of a line
	MaxFiles = 20        // files of a proposal
	MaxFile  = 2 << 20   // bytes of the files of a proposal, and
	MaxAll   = 4 << 20   // of those of all of them
	maxList  = 100       // targets, or pieces of evidence

	maxRequest = 4<<20 - 64<<10 // bytes of the request: a stage reads records of 4 MiB
)

// Reason is why a line is no proposal: a closed list in pulse-queue(1).
type Reason string

// The reasons that the line alone is enough to know.
const (
	Malformed     Reason = "malformed"      // not one JSON object, or not strict JSON, or nested too deeply
	UnknownMember Reason = "unknown_member" // such as identity
	BadMember     Reason = "bad_member"     // missing, of another type, or too long a list
	UnknownAction Reason = "unknown_action"
	BadTarget     Reason = "bad_target" // not one plain address or name
	TooLong       Reason = "too_long"   // the line, its request, or the whole output
	TooMany       Reason = "too_many"   // lines
	BadFile       Reason = "bad_file"   // not in the workspace, no plain file, or too large
)

// The reasons that package queue finds.
const (
	EvidenceUnknown Reason = "evidence_unknown" // it names no message of the root task
	TooDeep         Reason = "too_deep"         // a proposal of a proposal of a proposal of one
	OverBudget      Reason = "over_budget"      // the root task has had its share of effects
	NotItsTask      Reason = "not_its_task"     // task.close or task.note of another root's task
	NotLegal        Reason = "not_legal"        // the task can't be closed in its state
)

// Reasons lists all of them, in the order in which they are looked for.
var Reasons = []Reason{
	Malformed, UnknownMember, BadMember, UnknownAction, BadTarget, TooLong, TooMany, BadFile,
	EvidenceUnknown, TooDeep, OverBudget, NotItsTask, NotLegal,
}

// Discarded counts lines that are no proposals.
type Discarded map[Reason]int

// All yields reasons and counts in an order that does not change.
func (d Discarded) All() []Reason {
	return slices.SortedFunc(maps.Keys(d), func(a, b Reason) int {
		return slices.Index(Reasons, a) - slices.Index(Reasons, b)
	})
}

// Proposal is one thing that a worker wants to be done.
type Proposal struct {
	Action   terms.Action
	Target   []string // normalised: as policy, person and sender see it
	Tool     string
	Args     record.Value   // an object, or empty
	Evidence []string       // ids of messages
	Files    []request.File // copied when the worker had ended
}

// Opener returns the content of a file of the workspace, of limit bytes at most.
type Opener func(name string, limit int) ([]byte, error)

// Read reads what a worker printed. cut says that it printed more. open may be nil:
// then there are no files.
func Read(out []byte, cut bool, open Opener) ([]Proposal, Discarded) {
	r := reader{open: open, left: MaxAll, discarded: Discarded{}}
	for len(out) > 0 {
		line, rest, whole := bytes.Cut(out, []byte("\n"))
		out = rest
		if !whole && cut {
			r.discarded[TooLong]++
			break
		}
		if len(bytes.Trim(line, " \t\r")) > 0 {
			r.line(line)
		}
	}
	return r.list, r.discarded
}

type reader struct {
	open      Opener
	left      int // bytes of files
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
		why = failure(BadMember)
	}
	r.discarded[Reason(why)]++
}

// failure is the error of a line that is no proposal.
type failure Reason

func (f failure) Error() string { return "proposal: " + string(f) }

func (r *reader) parse(line []byte) (p Proposal, err error) {
	switch {
	case len(r.list) >= MaxLines:
		return p, failure(TooMany)
	case len(line) > MaxLine:
		return p, failure(TooLong)
	}
	rec, err := record.Parse(line, members...)
	if err != nil {
		return p, failure(Malformed)
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

// readable fails unless the stages can read a record with this request: one that they
// can't would stop all that come behind it. It is nested deeper there than in the line,
// and longer where characters are escaped.
func (p *Proposal) readable() error {
	var o record.Object
	o.Raw(request.Member, p.Request())
	whole := o.Bytes()
	if len(whole) > maxRequest {
		return failure(TooLong)
	}
	if _, err := record.Parse(whole, request.Member); err != nil {
		return failure(Malformed)
	}
	return nil
}

// members are those of a proposal.
var members = []string{"action", "target", "tool", "args", "evidence", "files"}

func (p *Proposal) field(name string, v record.Value, files *[]string) error {
	switch name {
	case "action":
		return v.Into((*string)(&p.Action))
	case "target":
		return oneOrMore(v, &p.Target)
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
	return failure(UnknownMember)
}

// oneOrMore reads a string or an array of them.
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
		return failure(BadMember)
	case !p.Action.Valid():
		return failure(UnknownAction)
	case len(p.Tool) > maxTool || strings.Trim(p.Tool, toolChars) != "":
		return failure(BadMember)
	case p.Args != "" && p.Args[0] != '{':
		return failure(BadMember)
	case len(p.Target) > maxList || len(p.Evidence) > maxList:
		return failure(BadMember)
	}
	return p.normalise()
}

const toolChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

// normalise makes one spelling of each target, and one of each. Everything later
// on, up to the envelope, has this one.
func (p *Proposal) normalise() error {
	var list []string
	for _, t := range p.Target {
		if t == "" || strings.ContainsFunc(t, unicode.IsControl) || p.Action == terms.ExternalSend && !plain(t) {
			return failure(BadTarget)
		}
		if i := strings.LastIndexByte(t, '@'); i >= 0 {
			t = t[:i] + address.Fold(t[i:])
		}
		if !slices.Contains(list, t) {
			list = append(list, t)
		}
	}
	p.Target = list
	return nil
}

// maxTarget is the length of a path of SMTP (RFC 5321, section 4.5.3.1.3), in bytes.
const maxTarget = 254

// plain reports whether a target is one word that no sender can take for two, or
// for an option.
func plain(t string) bool {
	return t != "" && len(t) <= maxTarget && t[0] != '-' && strings.Count(t, "@") <= 1 &&
		!strings.HasPrefix(t, "@") && !strings.HasSuffix(t, "@") &&
		!(strings.Contains(t, "@") && strings.HasSuffix(t, ".")) && // the same domain again
		strings.IndexFunc(t, func(c rune) bool { return c <= ' ' || c >= 0x7f || strings.ContainsRune(`,;<>()[]"\|`, c) }) < 0
}

// copy copies the files of a proposal.
func (r *reader) copy(p *Proposal, names []string) error {
	if len(names) > MaxFiles || len(names) > 0 && r.open == nil {
		return failure(BadFile)
	}
	left := min(MaxFile, r.left)
	for _, name := range names {
		data, err := r.open(name, left)
		if err != nil || len(data) > left {
			return failure(BadFile)
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
	if len(p.Target) > 0 {
		o.Strs("target", p.Target)
	}
	o.StrIf("tool", p.Tool)
	if p.Args != "" {
		o.Raw("args", []byte(p.Args))
	}
	if len(p.Evidence) > 0 {
		o.Strs("evidence", p.Evidence)
	}
	if len(p.Files) > 0 {
		o.Raw("files", request.AppendFiles(nil, p.Files))
	}
	return o.Bytes()
}

// String says what a proposal is, without its content.
func (d Discarded) String() string {
	var parts []string
	for _, r := range d.All() {
		parts = append(parts, fmt.Sprintf("%d %s", d[r], r))
	}
	return strings.Join(parts, ", ")
}
