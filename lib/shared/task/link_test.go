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
		"<" + id + "@PULSE.invalid>": id, "<" + id + "@x.pulse.invalid>": id, "<" + id + "@mail.example>": id, "<" + id + "@localhost>": id,
		"<" + strings.ToUpper(id) + "@pulse.invalid>": "", "<" + id + "@>": "", "<" + id + "@mail.example.>": "", "<" + id + "@a@mail.example>": "",
		"<" + id + "@[192.0.2.1]>": "", "<" + id + "@mail..example>": "", "<" + id + "@mail example>": "", "<" + id + "@m\u00e4il.example>": "",
		"<" + id + "@mail.example>\n": "", "<" + id + "@mail.example\n>": "", "<" + id + "@mail.example\x00>": "", "<x" + id + "@mail.example>": "",
		"<" + id + ".x@mail.example>": "", "<" + id + "@" + strings.Repeat("a.", 200) + "b>": "",
		"<<" + id + "@pulse.invalid>": "", "<../" + id[3:] + "@pulse.invalid>": "", "": "", "<@pulse.invalid>": "",
	} {
		if got := SentID(messageID); got != want {
			t.Errorf("%q: %q, want %q", messageID, got, want)
		}
	}
}
