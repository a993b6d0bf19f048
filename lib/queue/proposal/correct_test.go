package proposal

import (
	"slices"
	"testing"

	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
)

// requested returns a request as a stored task has it.
func requested(t testing.TB, text string) *request.Request {
	t.Helper()
	r, err := request.Decode(record.Value(text))
	if err != nil {
		t.Fatal(err)
	}
	return &r
}

// correctable are requests of every kind of args.
var correctable = []string{
	`{"action":"external_send","target":["bob@partner.example"],"args":{"subject":"Friday","text":"We meet.\n\nBring it.","count":3}}`,
	`{"action":"external_send","target":["a@b.example","c@d.example"],"tool":"mail.send","args":{"text":"","cc":null,"x":[1, 2],"y":{"z":true}},"evidence":["the mail"]}`,
	`{"action":"code_or_computer","tool":"exec","args":{"argv":["make","all"],"1":" padded","two":"2","n":"null","line":"a\nb"}}`,
	`{"action":"destructive","target":["https://example.com/x"]}`,
}

// FuzzCorrect: whatever a form says, what comes of it has the action, the tool, the files and the
// members of args with their types of what was shown, and is what its own form says.
func FuzzCorrect(f *testing.F) {
	for i, text := range correctable {
		f.Add(i, string(Form(requested(f, text))))
	}
	f.Add(0, "target: eve@evil.example\nargs.subject: \"x\\u0000\"\nargs.count: 4e3\n\ntext\n\n")
	f.Add(1, "target: c@d.example\r\nargs.cc: null\r\nargs.x: []\r\nargs.y: {}\r\n\r\na\r\nb")
	f.Add(2, "args.argv: [\"rm\",\"-rf\"]\nargs.1: 1\nargs.two: \"2\"\nargs.n: none\nargs.line: \"\"\n")
	f.Fuzz(func(t *testing.T, i int, form string) {
		was := requested(t, correctable[uint(i)%uint(len(correctable))])
		p, err := Correct(was, []byte(form))
		if err != nil {
			return
		}
		now := requested(t, string(p.Request()))
		if now.Action != was.Action || now.Tool != was.Tool || !slices.Equal(types(now), types(was)) || len(now.Target) == 0 != (len(was.Target) == 0) {
			t.Errorf("%q makes %s of %s", form, p.Request(), correctable[i])
		}
		again, err := Correct(now, Form(now))
		if err != nil || string(again.Request()) != string(p.Request()) {
			t.Errorf("%q is read as %s, and that as %s: %v", form, p.Request(), again.Request(), err)
		}
	})
}

// types returns the names of args with their types.
func types(r *request.Request) (list []string) {
	if r.Args != "" {
		_ = r.Args.Each(func(name string, v record.Value) error {
			list = append(list, name+" "+kind(string(v)))
			return nil
		})
	}
	return list
}

// TestUntouched: a form that nobody has changed is the request it was made of.
func TestUntouched(t *testing.T) {
	for _, text := range correctable {
		was := requested(t, text)
		p, err := Correct(was, Form(was))
		if err != nil || string(p.Request()) != text || Difference(was, requested(t, string(p.Request()))) != nil {
			t.Errorf("%s is now %s: %v", text, p.Request(), err)
		}
	}
}

// TestCorrected: lines that only one of two has, in the order of the form.
func TestCorrected(t *testing.T) {
	a, b := requested(t, correctable[0]), requested(t, `{"action":"external_send","target":["bob@partner.example"],"args":{"subject":"Monday","text":"We meet.\nBring it all.","count":3}}`)
	want := []string{"-args.subject: Friday", "+args.subject: Monday", "-", "-Bring it.", "+Bring it all."}
	if got := Difference(a, b); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
