package proposal

import (
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
)

// Draft returns the proposal's harmless companion: of a message the same message, written as a
// draft for a person and not sent; of anything else what a person needs to do it by hand. ok is
// false if the stages could not read it.
func (p *Proposal) Draft() (d Proposal, ok bool) {
	d = *p
	d.Action, d.Tool = terms.WriteLocal, Draft
	if p.Action == terms.ExternalSend {
		return d, true
	}
	var args record.Object
	args.Raw(companionOf, p.Request())
	d.Target, d.Files, d.Args = nil, nil, record.Value(args.Bytes())
	return d, d.readable() == nil
}

// DraftOf returns the request of the draft that is proposed beside an effect, nil if there is none.
func DraftOf(r *request.Request) *request.Request {
	p := Proposal{Action: r.Action, Target: r.Target, Tool: r.Tool, Args: r.Args, Files: r.Files}
	if r.Evidence != "" && oneOrMore(r.Evidence, &p.Evidence) != nil {
		return nil
	}
	draft, ok := p.Draft()
	if !ok || Own(r.Tool) {
		return nil
	}
	of, err := request.Decode(record.Value(draft.Request()))
	if err != nil {
		return nil
	}
	return &of
}

// tool is the name of a tool that pulse-queue itself carries out.
type tool = string

// The tools that pulse-queue itself carries out.
const (
	Draft tool = "draft"      // writes the request into drafts/
	Close tool = "task.close" // ends a task that has not begun: args.task
	Note  tool = "task.note"  // writes args.text on a task: args.task
)

// Own reports whether pulse-queue itself carries out a tool.
func Own(tool string) bool { return tool == Draft || tool == Close || tool == Note }

// Subject returns the task that a task.close or task.note is about.
func (p *Proposal) Subject() string { return Arg(p.Args, "task") }

// Arg returns a string among the args of a request, or the empty string.
func Arg(args record.Value, name string) (s string) {
	if v := args.Member(name); v != "" {
		_ = v.Into(&s) // another type counts as absent
	}
	return s
}
