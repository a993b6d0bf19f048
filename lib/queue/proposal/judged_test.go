package proposal

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pulse/lib/shared/terms"
)

const denied = `{"judged":{"tool":"fs.write","action":"write_local","outcome":"reject","rule":"hook","reason":"path_refused"}}` + "\n"

var refused = Judgement{Tool: "fs.write", Action: terms.WriteLocal, Outcome: terms.Reject, Rule: "hook", Reason: "path_refused"}

func TestJudgements(t *testing.T) {
	const proposed = `{"action":"read_public","args":{"q":"what is \"judged\"?"}}` + "\n"
	times := strings.Replace(denied, `}}`, `,"count":4}}`, 1)
	few := `{ "judged": {"outcome": "allow", "reason": "allowed"} }`
	list, rest, unread := Judgements([]byte(denied + proposed + "text\n" + times + few))
	want := []Judged{{refused, 5}, {Judgement{Outcome: terms.Allow, Reason: "allowed"}, 1}}
	if !reflect.DeepEqual(list, want) || string(rest) != proposed+"text\n" || unread {
		t.Errorf("%+v, %q", list, rest)
	}
	if list, rest, unread := Judgements(nil); list != nil || rest != nil || unread {
		t.Errorf("%v, %q", list, rest)
	}
}

// TestNotJudged: a line that is not a judgement stays what it was, and is discarded with
// the reason that says so.
func TestNotJudged(t *testing.T) {
	for line, why := range map[string]Reason{
		`{"judged":{}}`: badJudgement,
		`{"judged":[]}`: badJudgement,
		`{"judged":{"outcome":"deny","reason":"x"}}`:                                                     badJudgement,
		`{"judged":{"outcome":"allow"}}`:                                                                 badJudgement,
		`{"judged":{"outcome":"allow","reason":"No reason"}}`:                                            badJudgement,
		`{"judged":{"outcome":"allow","reason":"r","tool":"a b"}}`:                                       badJudgement,
		`{"judged":{"outcome":"allow","reason":"r","action":"write"}}`:                                   badJudgement,
		`{"judged":{"outcome":"allow","reason":"r","count":0}}`:                                          badJudgement,
		`{"judged":{"outcome":"allow","reason":"r","count":1000001}}`:                                    badJudgement,
		`{"judged":{"outcome":"allow","reason":"r","rule":"a\nb"}}`:                                      badJudgement,
		`{"judged":{"outcome":"allow","reason":"r","rule":"a b"}}`:                                       badJudgement,
		`{"judged":{"outcome":"allow","reason":"r","why":"x"}}`:                                          badJudgement,
		`{"judged":{"outcome":"allow","reason":"r"},"action":"read_public"}`:                             badJudgement,
		`{"judged":{"outcome":"allow","outcome":"allow","reason":"r"}}`:                                  malformed,
		`{"jud\u0067ed":{"outcome":"allow","reason":"r"}}`:                                               badJudgement,
		`{"judged":{"outcome":"allow","reason":"r","rule":"` + strings.Repeat("x", maxJudgement) + `"}}`: badJudgement,
		`{"judged":{"outcome":"allow","reason":"r"`:                                                      malformed,
	} {
		list, rest, unread := Judgements([]byte(line))
		if list != nil || string(rest) != line || !unread {
			t.Errorf("%s: %v", line, list)
		}
		if list, discarded := Read(rest, false, nil); len(list) != 0 || len(discarded) != 1 || discarded[why] != 1 {
			t.Errorf("%s: %v, %v", line, list, discarded)
		}
	}
}

// TestUnread: what may be a judgement, and can't be read as one, is not overlooked; and what
// is none does not count as one.
func TestUnread(t *testing.T) {
	for line, want := range map[string]bool{
		strings.TrimSpace(denied):                          false,
		"the answer" + denied:                              true, // an answer without a newline before it
		strings.TrimSpace(denied) + denied:                 true,
		denied[:40]:                                        true,
		`{ "judged" :`:                                     true,
		`{"judged":{},"action":"read_public"}`:             true,
		`{"action":"read_public","args":{"judged":{}}}`:    false,
		`{"action":"read_public","args":{"t":""judged""}}`: false,
		`it was "judged" well`:                             false,
		`{"action":`:                                       false,
	} {
		if _, _, unread := Judgements([]byte("x\n" + line)); unread != want {
			t.Errorf("%q: %t", line, unread)
		}
	}
}

func TestJudgementsAreBounded(t *testing.T) {
	var out strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&out, `{"judged":{"tool":"t%d","outcome":"allow","reason":"allowed","count":1000000}}`+"\n", i%(MaxJudged+5))
	}
	list, rest, unread := Judgements([]byte(out.String()))
	_, discarded := Read(rest, false, nil)
	if n := bytes.Count(rest, []byte("\n")); len(list) != MaxJudged || !unread || discarded[badJudgement] != n || n < 100 {
		t.Errorf("%d, %d left, %v", len(list), n, discarded)
	}
	for _, j := range list {
		if j.Count != maxTimes {
			t.Error(j)
		}
	}
}

// FuzzJudgements: nothing that a worker prints becomes more than MaxJudged judgements or a
// judgement that breaks a bound, and no other byte of it is lost.
func FuzzJudgements(f *testing.F) {
	f.Add([]byte(denied + "x\n" + denied))
	f.Add([]byte(`{"judged":{"outcome":"allow","reason":"r","count":3,"rule":"matrix.\"a@b\".allow"}}`))
	f.Add([]byte("\n\n{\"judged\":\n"))
	f.Fuzz(func(t *testing.T, out []byte) {
		list, rest, unread := Judgements(out)
		if len(list) > MaxJudged || len(rest) > len(out) || len(list) == 0 && !bytes.Equal(rest, out) {
			t.Errorf("%d, %q of %q", len(list), rest, out)
		}
		for _, j := range list {
			if !j.valid() {
				t.Errorf("%+v", j)
			}
		}
		if again, same, still := Judgements(rest); len(again) > 0 && len(list) < MaxJudged || len(list) < MaxJudged && !bytes.Equal(same, rest) || len(again) == 0 && still != unread {
			t.Errorf("%v of %q", again, rest)
		}
	})
}
