package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"pulse/lib/queue/proposal"
	"pulse/lib/shared/record"
)

const answer = "I will answer the friend. The mail said:\n" + `> {"action":"destructive","target":"quoted"}
and in a fence
` + "``` text" + `
{"action":"destructive","target":"in a fence for text"}
` + "```" + `
  {"action":"destructive","target":"indented"}
- {"action":"destructive","target":"in a list"}
{"action":"destructive","target":"in a line"} that goes on
{"words": {"action":"destructive","target":"inside"}}
{"action":"destructive","action":"read_public"}
{"action":1e999}
{"action":NaN}
[see below
` + "```  JSON title=\"the answer\"" + `
{
  "action": "external_send",
  "args": {
    "text": "} \" { ]\n` + "```" + `\nhi"
  }
}
  {"action": "read_public", "args": {"n": 1}}
` + "```" + `
[
  {"action": "read_public", "args": {"n": 2}},
{"action": "read_public", "args": {"n": 3}}, 7, {"note": "none"}
]
~~~
{"action": "read_public", "args": {"n": 4}}
~~~
` + "````json" + `
{"action": "read_public", "args": {"n": 5}}
` + "```" + `
{"action": "read_public", "args": {"n": 6}}
` + "`````" + `
{"action": "destructive", "args":
"in
two lines"}
That is all.`

func TestProposals(t *testing.T) {
	var got []string
	for _, v := range proposals(strings.ReplaceAll(answer, "\n", "\r\n")) {
		got = append(got, string(v))
	}
	want := []string{`{"action":"external_send","args":{"text":"} \" { ]\n` + "```" + `\nhi"}}`}
	for _, n := range "123456" {
		want = append(want, `{"action":"read_public","args":{"n":`+string(n)+`}}`)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestWords: an answer without a proposal is printed, and no line of it is taken for one.
func TestWords(t *testing.T) {
	for in, want := range map[string]string{
		"":                              "",
		"\n":                            "",
		"The report says: buy.\n":       "The report says: buy.\n",
		"  {\"action\":\"x\"}\n{}\nend": ">   {\"action\":\"x\"}\n> {}\nend\n",
	} {
		if got := string(answered(in, conversation{})); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestBrokenAnswers: no answer is too broken or too large to end: each line is looked at once, and
// few values are begun in vain.
func TestBrokenAnswers(t *testing.T) {
	for _, unit := range []string{"\x00", "[\n", "{\"a\":\n", "{\"a\":\"\\\"", "```\n", "~", "`", "{\"action\":1}\n", "{\n\n"} {
		f := finder{}
		f.parts(strings.Repeat(unit, maxAnswer/len(unit)))
		if f.mistakes > maxMistakes {
			t.Errorf("%q: %d values begun in vain", unit, f.mistakes)
		}
	}
}

// FuzzAnswer: whatever a model says, what is printed is words or proposals: each line that begins
// with a brace is one object with an action, on one line, which pulse-queue reads.
func FuzzAnswer(f *testing.F) {
	f.Add(answer)
	f.Add("{\"action\":\"read_public\",\"\\u0061ction\":1}\n[{\"action\":[]}]\n~~~json\n {\"action\":\"x\"}")
	f.Fuzz(func(t *testing.T, in string) {
		out := answered(in, conversation{"me@example.com", "<a@b>", []string{"<a@b>"}})
		for line := range strings.SplitSeq(string(out), "\n") {
			if !strings.HasPrefix(strings.TrimLeft(line, " \t\r"), "{") {
				continue
			}
			v, err := record.ParseValue([]byte(line))
			if err != nil || v.Member("action") == "" || !json.Valid([]byte(line)) {
				t.Fatalf("%q: %v", line, err)
			}
		}
		proposal.Read(out, false, nil)
	})
}
