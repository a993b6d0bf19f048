package edit

import (
	"errors"
	"strings"
	"testing"

	"pulse/lib/shared/record"
)

// files is a reader of files by name.
func files(m map[string]string) func(string) (File, error) {
	return func(name string) (File, error) {
		text, ok := m[name]
		return File{Data: []byte(text), Absent: !ok}, nil
	}
}

var there = map[string]string{"/w/a": "one\ntwo\nthree\n", "/w/b": "x x\n", "/w/empty": ""}

func TestOf(t *testing.T) {
	patch := func(body string) string { return `"*** Begin Patch\n` + body + `*** End Patch\n"` }
	for args, want := range map[string]string{
		`{"path":"/w/n","text":"t"}`:                     "t",
		`{"path":"/w/a","text":""}`:                      "",
		`{"path":"/w/a","old":"two","new":"2"}`:          "one\n2\nthree\n",
		`{"path":"/w/b","old":"x","new":"y","all":true}`: "y y\n",
		`{"path":"/w/n","old":"","new":"made"}`:          "made",
		`{"path":"/w/a","edits":[{"old_string":"one","new_string":"1"},{"old_string":"1\ntwo","new_string":"2","replace_all":false}]}`: "2\nthree\n",
		`{"path":["/w/n"],"patch":` + patch(`*** Add File: n\n+a\n+\n+b\n`) + `}`:                                                      "a\n\nb\n",
		`{"path":["/w/a"],"patch":` + patch(`*** Update File: a\n@@\n one\n-two\n+2\n three\n`) + `}`:                                  "one\n2\nthree\n",
		`{"path":["/w/a"],"patch":` + patch(`*** Update File: /w/a\n@@ x\n-one\n+1\n@@\n-three\n+3\n*** End of File\n`) + `}`:          "1\ntwo\n3\n",
		`{"path":["/w/a"],"patch":` + patch(`*** Delete File: a\n`) + `}`:                                                              "-",
	} {
		list, err := Of(record.Value(args), files(there))
		if err != nil || len(list) != 1 {
			t.Errorf("%s: %v", args, err)
			continue
		}
		got := string(list[0].Becomes.Data)
		if list[0].Becomes.Absent {
			got = "-"
		}
		if got != want {
			t.Errorf("%s: %q", args, got)
		}
	}
	for _, args := range []string{
		`{}`, `[]`, `{"path":"/w/a"}`, `{"text":"x"}`, `{"path":"/w/a","text":"x","old":"a","new":"b"}`, `{"path":"/w/a","old":"one"}`, `{"path":"/w/a","text":1}`,
		`{"path":"/w/a","old":"no","new":"b"}`, `{"path":"/w/b","old":"x","new":"y"}`, `{"path":"/w/n","old":"x","new":"y"}`, `{"path":"/w/a","old":"","new":"y"}`,
		`{"path":"/w/a","text":"x","all":true}`, `{"path":["/w/a","/w/b"],"text":"x"}`, `{"path":"/w/a","text":"x","mode":"0777"}`,
		`{"path":"/w/a","edits":[{"old_string":"one"}]}`, `{"path":"/w/a","edits":[{"old_string":"one","new_string":"1","x":1}]}`,
		`{"path":["/w/a"],"patch":"x"}`, `{"path":["/w/a"],"patch":` + patch(``) + `}`, `{"path":["/w/a"],"patch":` + patch(`*** Add File: a\n+x\n`) + `}`,
		`{"path":["/w/b"],"patch":` + patch(`*** Delete File: a\n`) + `}`, `{"path":["/w/n"],"patch":` + patch(`*** Delete File: n\n`) + `}`,
		`{"path":["/w/a"],"patch":` + patch(`*** Delete File: a\n*** Delete File: b\n`) + `}`, `{"path":["/w/a","/w/a"],"patch":` + patch(`*** Delete File: a\n*** Delete File: a\n`) + `}`,
		`{"path":["/w/a"],"patch":` + patch(`*** Update File: a\n*** Move to: c\n@@\n-one\n+1\n`) + `}`, `{"path":["/w/a"],"patch":` + patch(`*** Update File: a\n@@\n+new\n`) + `}`,
		`{"path":["/w/a"],"patch":` + patch(`*** Update File: a\n@@\n-hree\n+x\n`) + `}`, `{"path":["/w/a"],"patch":` + patch(`*** Update File: a\n@@\n-three\n+3\n@@\n-one\n+1\n`) + `}`,
	} {
		if list, err := Of(record.Value(args), files(there)); err == nil {
			t.Errorf("%s: %v", args, list)
		}
	}
	if _, err := Of(`{"path":"/w/twice","patch":"*** Begin Patch\n*** Update File: twice\n-a\n+b\n*** End Patch"}`, files(map[string]string{"/w/twice": "a\na\n"})); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
}

// FuzzLeft: what was sealed is what is carried out, once: after it nothing is left, and with any
// other file before it nothing is changed.
func FuzzLeft(f *testing.F) {
	for _, args := range []string{
		`{"path":"a","text":"x","was":"absent"}`, `{"path":"a","old":"o","new":"n","all":true}`, `{"path":"a","old":"o","new":"o"}`,
		`{"path":["/w/a","/w/b"],"patch":"*** Begin Patch\n*** Update File: a\n@@\n-o\n+n\n*** Delete File: b\n*** End Patch"}`,
	} {
		f.Add(args, "o\n")
	}
	f.Fuzz(func(t *testing.T, args, text string) {
		v, err := record.ParseValue([]byte(args))
		if err != nil || strings.Contains(args, "\x00") {
			return
		}
		world := map[string]string{}
		for _, name := range []string{"a", "/w/a", "/w/b"} {
			world[name] = text
		}
		list, err := Of(v, files(world))
		if err != nil {
			return
		}
		sealed := Sealed(v, list, true)
		s, err := SealOf(sealed)
		if err != nil {
			t.Fatal(err)
		}
		left, err := s.Left(sealed, files(world))
		if err != nil {
			t.Fatalf("%s: %v", sealed, err)
		}
		for _, c := range left {
			delete(world, c.Path)
			if !c.Becomes.Absent {
				world[c.Path] = string(c.Becomes.Data)
			}
		}
		if left, err := s.Left(sealed, files(world)); err != nil || len(left) > 0 {
			t.Fatalf("%s: again: %v, %v", sealed, left, err)
		}
		world[list[0].Path] = "another\x00file" + text
		if left, err := s.Left(sealed, files(world)); err == nil {
			t.Fatalf("%s: of another file: %v", sealed, left)
		}
	})
}
