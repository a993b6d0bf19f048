package screen

import (
	"encoding/json"
	"strings"

	"pulse/lib/shared/escape"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
)

// args returns the arguments as a person reads them. A text alone is shown as it is,
// unless it could be taken for an object. An object is shown member by member under its
// name: a string as text, anything else as JSON. The lines of a string are indented, so
// that none of them is taken for the next name.
func args(r *request.Request) string {
	if text := r.Text(); r.OnlyText() && bare(text) {
		return text
	}
	v := r.Args
	if v == "" || v[0] != '{' {
		return pretty(v)
	}
	var b strings.Builder
	_ = v.Each(func(name string, v record.Value) error {
		b.WriteString(plainName(name) + ":")
		text, err := v.String()
		if err != nil || text == "" {
			b.WriteString(" " + strings.ReplaceAll(pretty(v), "\n", "\n  ") + "\n")
			return nil
		}
		b.WriteString("\n  " + strings.ReplaceAll(text, "\n", "\n  ") + "\n")
		return nil
	})
	return b.String()
}

// linesOf returns how the lines of args are shown: people read those of a mail, and what is said without
// a tool, except to do what can't be undone; a program may read all others.
func linesOf(r *request.Request) func(string) []string {
	acts := r.Action == terms.CodeOrComputer || r.Action == terms.Destructive
	if r.Tool == "" && !acts || strings.HasPrefix(r.Tool, "mail.") {
		return escape.Text
	}
	return escape.Exact
}

// bare reports whether a text alone can be shown as it is. Blanks would not be seen, and a
// text that begins with a name and a colon, or is JSON, could be taken for other args.
func bare(text string) bool {
	first, _, _ := strings.Cut(text, "\n")
	name, _, named := strings.Cut(first, ":")
	named = named && (strings.Trim(name, inWord) == "" || name[0] == '"')
	return strings.TrimSpace(text) != "" && !named && !json.Valid([]byte(text))
}

// inWord has the characters of a name that is shown without quotes.
const inWord = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."

// plainName returns the name of a member, as a JSON string if it is not a plain word.
func plainName(name string) string {
	if name != "" && strings.Trim(name, inWord) == "" {
		return name
	}
	return string(record.AppendString(nil, name))
}
