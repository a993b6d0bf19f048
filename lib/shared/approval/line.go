package approval

import (
	"bytes"
	"errors"

	"pulse/lib/shared/record"
)

// LineBegin is how every line that a person signs begins.
const LineBegin = `{"pulse-`

// Line is a statement as it came back from a person. Exactly one of the pointers is set. It
// has what the line says, and nothing of a signature.
type Line struct {
	Approval *Approval
	No       bool // the line says no to what the approval would be a yes to
	Grant    *Grant
	Session  *Session
}

// errLine means that a line is not a statement.
var errLine = errors.New("the line is not written as pulse-approve statement writes it")

// ParseLine reads a statement, with its newline. It accepts the bytes that pulse itself
// writes for what they say, and no other spelling of it.
func ParseLine(line []byte) (Line, error) {
	rec, err := record.Parse(bytes.TrimSuffix(line, []byte("\n")))
	if err != nil {
		return Line{}, errLine
	}
	var a Approval
	var g Grant
	var s Session
	says := ""
	err = rec.Value().Each(func(name string, v record.Value) error {
		if says == "" { // by the order of the members, it is the first
			says = name
		}
		return lineField(&a, &g, &s, name, v)
	})
	l, written := Line{}, []byte(nil)
	switch says {
	case sayYes, sayNo:
		l.Approval, l.No = &a, says == sayNo
		written = a.statement(says)
	case sayGrant:
		l.Grant, written = &g, g.Statement()
	case saySession:
		s.Left = s.Max
		l.Session, written = &s, s.Statement()
	}
	if err != nil || !bytes.Equal(written, line) {
		return Line{}, errLine
	}
	return l, nil
}

// lineField reads a member into whatever has one of that name. What does not belong there is
// not written again.
func lineField(a *Approval, g *Grant, s *Session, name string, v record.Value) error {
	switch name {
	case "task":
		if v == "null" {
			return nil
		}
		return errors.Join(v.Into(&a.Task), v.Into(&g.Task))
	case "digest":
		return v.Into(&a.Digest)
	case "action":
		return v.Into((*string)(&a.Action))
	case "target":
		if v[0] == '"' {
			return v.Into(&g.Target)
		}
		return v.Into(&a.Target)
	case "text":
		return v.Into(&a.Text)
	case "nonce":
		return v.Into(&a.Nonce)
	case "id":
		return errors.Join(v.Into(&g.ID), v.Into(&s.ID))
	case "sender":
		return v.Into(&s.Sender)
	case "max":
		return v.Into(&s.Max)
	case "not_before":
		return errors.Join(v.Into(&a.Given), v.Into(&g.Given), v.Into(&s.Opened))
	case "expires":
		return errors.Join(v.Into(&a.Expires), v.Into(&g.Expires), v.Into(&s.Expires))
	}
	return nil
}
