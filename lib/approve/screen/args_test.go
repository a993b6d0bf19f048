package screen

import (
	"strings"
	"testing"

	"pulse/lib/queue"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
)

// TestArgs: what is sent can be read, and no string in it passes for another member.
func TestArgs(t *testing.T) {
	for text, want := range map[string]string{
		`{"text":"one\ntwo"}`: "one|two",
		`{"subject":"hi","text":"one\n\ntwo\ttab \"q\" c:\\x\n"}`: "subject:|  hi|text:|  one|  |  two    tab \"q\" c:\\\\x",
		`{"text":"one\ncc:\n  eve@x.example","n":7}`:              "text:|  one|  cc:|    eve@x.example|n: 7",
		`{"n":{"a":[1,"2"]},"s":"7","e":""}`:                      `n: {|    "a": [|      1,|      "2"|    ]|  }|s:|  7|e: ""`,
		`{"a\nb":"x","":null}`:                                    `"a\\nb":|  x|"": null`,
		`{"text":"subject:\n  hi\ntext:\n  one"}`:                 "text:|  subject:|    hi|  text:|    one",
		`{"text":"\"a b\": 7"}`:                                   `text:|  "a b": 7`,
		`{"text":"[\n  \"x\"\n]"}`:                                `text:|  [|    "x"|  ]`,
		`{"text":"7"}`:                                            "text:|  7",
		`{"text":" \n "}`:                                         "text:",
		`{"text":"Dear Bob:\n  hi"}`:                              "Dear Bob:|  hi",
		`["x"]`:                                                   `[|  "x"|]`,
		`"text"`:                                                  `"text"`,
		`{"text":"a\r\nb","z":1}`:                                 "text:|  a|  b|z: 1",
	} {
		r, err := request.Decode(record.Value(`{"action":"external_send","args":` + text + `}`))
		if err != nil {
			t.Fatal(err)
		}
		lines := Quote("args", args(&r))
		for i, l := range lines[1:] {
			lines[i+1] = strings.TrimPrefix(l, Gutter)
		}
		if got := strings.TrimRight(strings.Join(lines[1:], "|"), "| "); got != want {
			t.Errorf("%s:\n%q, want\n%q", text, got, want)
		}
	}
}

// TestArgsWithoutTool: what a command may be made of is exact, also if the effect names no tool.
func TestArgsWithoutTool(t *testing.T) {
	for action, want := range map[string]string{"destructive": `rm \\\x20`, "code_or_computer": `rm \\\x20`, "external_send": `rm \\`} {
		r, err := request.Decode(record.Value(`{"action":"` + action + `","args":{"text":"rm \\ \nx"}}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(content(&queue.Given{Request: &r}), "|"); !strings.Contains(got, want) || action == "external_send" && strings.Contains(got, `\x20`) {
			t.Errorf("%s: %s", action, got)
		}
	}
}

// TestArgsOfPrograms: a backslash before a blank or a CR does not go on in the next line, as it
// does at the end of one.
func TestArgsOfPrograms(t *testing.T) {
	for text, want := range map[string]string{
		`{"path":"a","text":"echo \\\r\nrm x \\ \nls\t\n \n\tb\n"}`: `path:|  a|text:|  echo \\\r|  rm x \\\x20|  ls\t|   |      b|  `,
		`{"text":"a \r\nb"}`: `a \r|b`,
		`{"argv":["a "]}`:    `argv: [|    "a "|  ]`,
	} {
		for tool, split := range map[string]string{"fs.write": want, "notes.add": want, "mail.send": "", "": ""} {
			r, err := request.Decode(record.Value(`{"action":"write_local","tool":"` + tool + `","args":` + text + `}`))
			if tool == "" {
				r, err = request.Decode(record.Value(`{"action":"write_local","args":` + text + `}`))
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, l := range content(&queue.Given{Request: &r}) {
				if l, is := strings.CutPrefix(l, Gutter); is {
					got = append(got, l)
				}
			}
			all := strings.Join(got, "|")
			if split != "" && all != split || split == "" && strings.Contains(all, `\x20`) {
				t.Errorf("%s of %q:\n%s, want\n%s", text, tool, all, split)
			}
		}
	}
}
