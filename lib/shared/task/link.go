package task

import (
	"fmt"
	"strings"

	"pulse/lib/shared/address"
	"pulse/lib/shared/record"
)

// Link says which effect a message answers. It is part of a task file, and zero for all
// tasks that answer nothing.
type Link struct {
	Answers string // the effect that was sent
	Thread  string // the task with which that conversation began
}

func (l *Link) add(o *record.Object) {
	o.StrIf("answers", l.Answers)
	o.StrIf("thread", l.Thread)
}

// valid fails unless l names two tasks or none.
func (l *Link) valid() error {
	if *l != (Link{}) && (!ValidID(l.Answers) || !ValidID(l.Thread)) {
		return fmt.Errorf("answers and thread are not two ids")
	}
	return nil
}

// SentID returns the id of the effect of which a sender made this Message-ID, "" if it is
// not one of those: the id, and any domain. Nothing has to be kept for it, and it proves
// nothing: anyone who saw the mail knows it, and other programs make ids that look alike.
func SentID(messageID string) string {
	after, began := strings.CutPrefix(messageID, "<")
	inside, ended := strings.CutSuffix(after, ">")
	id, _, err := address.Split(inside)
	if !began || !ended || err != nil || !ValidID(id) {
		return ""
	}
	return id
}
