package proposal

import (
	"fmt"
	"strings"
	"unicode/utf16"

	"pulse/lib/shared/escape"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
)

// companionOf is the member of a draft's args that holds the request of the effect beside which
// the draft is written, if that is no message.
const companionOf = "request"

// Beside returns the request beside which a draft is written, or nil if the draft is that of a
// message, or a worker's own.
func Beside(draft *request.Request) *request.Request {
	v := draft.Args.Member(companionOf)
	if v == "" || v[0] != '{' {
		return nil
	}
	r, err := request.Decode(v)
	if err != nil || !r.Action.Valid() || r.Action == terms.ExternalSend {
		return nil
	}
	return &r
}

// Companion returns the file of a draft: the request in canonical form, and what to type to start
// its program, or the lines that it changes. It is ASCII, and on one line, so that nothing in
// it can move a cursor or look like another line.
func Companion(r *request.Request) ([]byte, error) {
	canonical, err := r.Canonical()
	if err != nil {
		return nil, err
	}
	var o record.Object
	if line := shellLine(r.Args); line != "" {
		o.Str("shell", line)
	}
	if lines := difference(r.Args); lines != nil {
		o.Strs("difference", lines)
	}
	o.Raw(request.Member, canonical)
	return ascii(o.Bytes()), nil
}

// shellLine returns the line that starts the program of args in its directory, or nothing.
func shellLine(args record.Value) string {
	var argv []string
	if v := args.Member("argv"); v != "" {
		_ = v.Into(&argv) // another type counts as absent
	}
	if len(argv) == 0 {
		return ""
	}
	words := make([]string, len(argv))
	for i, arg := range argv {
		words[i] = quoted(arg)
	}
	line := strings.Join(words, " ")
	if dir := Arg(args, "dir"); dir != "" {
		line = "cd -- " + quoted(dir) + " && " + line
	}
	return line
}

// quoted returns a word as a POSIX shell reads it. Its quotes are there in any case, because a
// word without them may be an assignment or a keyword.
func quoted(word string) string {
	if shown := escape.Shell(word); shown != word {
		return shown
	}
	return "'" + word + "'"
}

// difference returns what a write or an edit changes, a line each: the file, what goes and what
// comes. It is nil for what has no text for a path. Of a write that replaces a file it is not
// known what goes.
func difference(args record.Value) (lines []string) {
	path, text, old, now := Arg(args, "path"), Arg(args, "text"), Arg(args, "old"), Arg(args, "new")
	if path == "" || text == "" && old == "" && now == "" {
		return nil
	}
	lines = append(lines, path)
	for _, part := range []struct{ sign, text string }{{"-", old}, {"+", now}, {"+", text}} {
		for line := range strings.Lines(part.text) {
			lines = append(lines, part.sign+strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

// ascii returns JSON in which every other character is an escape.
func ascii(b []byte) []byte {
	var out strings.Builder
	for _, c := range string(b) {
		if c < 0x7f {
			out.WriteRune(c)
			continue
		}
		for _, unit := range utf16.Encode([]rune{c}) {
			fmt.Fprintf(&out, `\u%04x`, unit)
		}
	}
	return []byte(out.String())
}
