package audit

import (
	"time"

	"pulse/lib/shared/record"
)

// Told says what a line of the log tells of a finding.
type Told string

// What may be told of a finding.
const (
	FindingOpened Told = "opened" // it began
	FindingTold   Told = "told"   // it lasts, and a person was told once more
	FindingClosed Told = "closed" // it ended
)

// Finding is something that is wrong: what a person was told of it, and when.
type Finding struct {
	What  Told
	Code  string    // of pulse-queue health
	About string    // what tells it from others of its code: a task, a source, an account
	Text  string    // for people
	Since time.Time // when it was opened
	Told  time.Time // when a person was told last
}

// Append appends the finding as an object.
func (f *Finding) Append(dst []byte) []byte {
	var o record.Object
	o.Str("what", string(f.What))
	o.Str("code", f.Code)
	o.StrIf("about", f.About)
	o.Str("text", f.Text)
	o.Time("since", f.Since)
	o.Time("told", f.Told)
	return append(dst, o.Bytes()...)
}

// DecodeFinding reads what Append wrote.
func DecodeFinding(v record.Value) (f Finding, err error) {
	err = v.Each(record.To(
		"what", (*string)(&f.What), "code", &f.Code, "about", &f.About, "text", &f.Text,
		"since", &f.Since, "told", &f.Told,
	))
	return f, err
}
