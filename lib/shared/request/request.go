// Package request holds the `request` member of a record: an explicit wish, from a
// worker, a chat platform or pulse-queue submit. Mail has none.
//
// Invariant: two requests for the same thing have the same canonical form, so that a
// refusal sticks to a repeated proposal. Caveat: args and files are data for the tool;
// nothing here understands them.
package request

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pulse/lib/shared/record"
	"pulse/lib/shared/terms"
)

// Member is the name of the member in a record. Outbox, submit and platforms write it.
const Member = "request"

// maxTargets bounds the targets of one request.
const maxTargets = 100

// The errors of a malformed request.
var (
	errTarget = errors.New("a target is one line without controls, not empty")
	errMany   = fmt.Errorf("more than %d targets", maxTargets)
)

// Request is the `request` member.
type Request struct {
	Action   terms.Action // as asked for; it may not be a known action
	Target   []string     // the complete envelope of an effect
	Tool     string
	Args     record.Value // any JSON, or empty
	Evidence record.Value // any JSON, or empty
	Files    []File
	raw      record.Value // the member as it came
}

// members lists the members of a request that have a meaning.
var members = []string{"action", "target", "tool", "args", "evidence", "files"}

// Decode reads the member.
func Decode(v record.Value) (Request, error) {
	r := Request{raw: v}
	err := v.Each(record.To(
		"action", (*string)(&r.Action), "target", r.decodeTarget, "tool", &r.Tool, "args", &r.Args, "evidence", &r.Evidence,
		"files", func(v record.Value) (err error) { r.Files, err = decodeFiles(v); return err },
	))
	return r, err
}

// decodeTarget reads a target or an array of targets.
func (r *Request) decodeTarget(v record.Value) (err error) {
	if r.Target, err = Targets(v); err != nil {
		return err
	}
	if len(r.Target) > maxTargets {
		return errMany
	}
	for _, t := range r.Target {
		if t == "" || strings.IndexFunc(t, func(c rune) bool { return c < ' ' || c == 0x7f }) >= 0 {
			return errTarget
		}
	}
	return nil
}

// Targets reads a target or an array of targets. Each is a string, or a whole number in digits,
// which is the same target as the string of these digits.
func Targets(v record.Value) (list []string, err error) {
	add := func(_ int, v record.Value) error {
		if n, err := strconv.ParseInt(string(v), 10, 64); err == nil && strconv.FormatInt(n, 10) == string(v) {
			list = append(list, string(v))
			return nil
		}
		s, err := v.String()
		list = append(list, s)
		return err
	}
	if v[0] == '[' {
		list = []string{}
		err = v.Elements(add)
		return list, err
	}
	err = add(0, v)
	return list, err
}

// Text returns args.text, which is the text of a submitted ask, or the empty string.
func (r *Request) Text() string {
	var text string
	if r.Args != "" && r.Args[0] == '{' {
		_ = r.Args.Each(record.To("text", &text))
	}
	return text
}

// OnlyText reports whether args holds a text and nothing else.
func (r *Request) OnlyText() bool {
	only := r.Args != "" && r.Args[0] == '{'
	if only {
		_ = r.Args.Each(func(name string, _ record.Value) error {
			only = only && name == "text"
			return nil
		})
	}
	return only
}

// Append appends the member's value as a worker is given it: the members that have a
// meaning, as they were written. An unknown member, such as a bcc, is not shown to the
// approver, so the worker must not find one either.
func (r *Request) Append(dst []byte) []byte {
	var o record.Object
	_ = r.raw.Each(func(name string, v record.Value) error {
		if slices.Contains(members, name) {
			o.Raw(name, []byte(v))
		}
		return nil
	})
	return append(dst, o.Bytes()...)
}

// WithArgs returns the request with other args.
func (r *Request) WithArgs(args record.Value) Request {
	other := *r
	var o record.Object
	_ = r.raw.Each(func(name string, v record.Value) error {
		if name != "args" {
			o.Raw(name, []byte(v))
		}
		return nil
	})
	if args != "" {
		o.Raw("args", []byte(args))
	}
	other.Args, other.raw = args, record.Value(o.Bytes())
	return other
}

// Canonical returns the member with names sorted, blanks dropped, targets as an array of
// strings and numbers as they were written, so that equal wishes give equal bytes.
func (r *Request) Canonical() ([]byte, error) {
	var m map[string]any
	d := json.NewDecoder(strings.NewReader(string(r.raw)))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	if r.Target != nil { // a number is the string of its digits, and one is a list of one
		m["target"] = r.Target
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(m); err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
