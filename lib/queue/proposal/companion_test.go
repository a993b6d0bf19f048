package proposal

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
)

// companionOfCall returns what is written beside the start of a program.
func companionOfCall(t *testing.T, argv []string, dir string) (file []byte, shell string) {
	t.Helper()
	args, err := json.Marshal(map[string]any{"argv": argv, "dir": dir})
	if err != nil {
		t.Fatal(err)
	}
	p := Proposal{Action: terms.CodeOrComputer, Tool: "exec", Args: record.Value(args)}
	draft, ok := p.Draft()
	if !ok {
		t.Fatalf("%q has no draft", argv)
	}
	r, err := request.Decode(record.Value(draft.Request()))
	if err != nil {
		t.Fatal(err)
	}
	beside := Beside(&r)
	if beside == nil {
		t.Fatalf("%s is beside nothing", draft.Request())
	}
	if file, err = Companion(beside); err != nil {
		t.Fatal(err)
	}
	var got struct{ Shell string }
	if err := json.Unmarshal(file, &got); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return file, got.Shell
}

// TestShellLine: a shell starts exactly the argv of the request, in its directory, and no byte
// of the file can move a cursor.
func TestShellLine(t *testing.T) {
	for _, word := range []string{
		"", "a b", "it's", "'", "''", `\`, `\'`, "$HOME", "`id`", "$(id)", "a\nb\n", "\n", "*", "~", "#x", "-n", "A=b", "if",
		"\x1b[2J\u202e", "\u00e4\U0001f600", "a\tb", "!!", "\x7f", "\u009b",
	} {
		file, line := companionOfCall(t, []string{"printf", "<%s>", word, "end"}, "/")
		for _, c := range string(file) {
			if c < ' ' || c > '~' {
				t.Fatalf("%q: %q", word, file)
			}
		}
		out, err := exec.Command("sh", "-c", line).Output()
		if want := "<" + word + "><end>"; err != nil || string(out) != want {
			t.Errorf("%q: %q, %v, want %q", line, out, err, want)
		}
	}
	_, line := companionOfCall(t, []string{"pwd"}, "/tmp/../tmp")
	if out, err := exec.Command("sh", "-c", line).Output(); err != nil || strings.TrimSpace(string(out)) != "/tmp" {
		t.Errorf("%s: %s, %v", line, out, err)
	}
	if _, line := companionOfCall(t, []string{"A=b", "printf", "x"}, "/"); exec.Command("sh", "-c", line).Run() == nil {
		t.Errorf("%s: the name of a program was taken for an assignment", line)
	}
}

func TestDifference(t *testing.T) {
	for args, want := range map[string][]string{
		`{"path":"a","old":"x\ny\n","new":"z"}`: {"a", "-x", "-y", "+z"},
		`{"path":"a","text":"x\n+y"}`:           {"a", "+x", "++y"},
		`{"path":"a","old":"x","new":""}`:       {"a", "-x"},
		`{"path":"a"}`:                          nil, `{"text":"x"}`: nil, `{}`: nil, `"x"`: nil, ``: nil,
	} {
		if got := difference(record.Value(args)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
}

// TestBeside: the draft of a message, and one that a worker proposes itself, are what they were.
func TestBeside(t *testing.T) {
	for args, want := range map[string]bool{
		`{"request":{"action":"destructive"}}`:                            true,
		`{"request":{"action":"external_send","target":"bob@x.example"}}`: false,
		`{"request":"please"}`:                                            false, `{"request":{"action":"fly"}}`: false, `{"request":{"action":7}}`: false, `{"text":"x"}`: false, `{}`: false,
	} {
		r, err := request.Decode(record.Value(`{"action":"write_local","tool":"draft","args":` + args + `}`))
		if err != nil || (Beside(&r) != nil) != want {
			t.Errorf("%s: %v, %v", args, Beside(&r), err)
		}
	}
	if Beside(&request.Request{}) != nil {
		t.Error("a draft without args is beside something")
	}
}
