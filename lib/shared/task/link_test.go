package task

import (
	"strings"
	"testing"
)

func TestSentID(t *testing.T) {
	id := strings.Repeat("a1", 16)
	for messageID, want := range map[string]string{
		"<" + id + "@pulse.invalid>": id,
		id + "@pulse.invalid>":       "", "<" + id + "@pulse.invalid": "", "<" + id + ">": "", "<" + id + "@pulse.invalid>x": "",
		" <" + id + "@pulse.invalid>": "", "<" + id[1:] + "@pulse.invalid>": "", "<0" + id + "@pulse.invalid>": "",
		"<" + strings.ToUpper(id) + "@pulse.invalid>": "", "<" + id + "@PULSE.invalid>": "", "<" + id + "@x.pulse.invalid>": "",
		"<<" + id + "@pulse.invalid>": "", "<../" + id[3:] + "@pulse.invalid>": "", "": "", "<@pulse.invalid>": "",
	} {
		if got := SentID(messageID); got != want {
			t.Errorf("%q: %q, want %q", messageID, got, want)
		}
	}
}
