package screen

import (
	"strings"

	"pulse/lib/record"
	"pulse/lib/request"
)

// args returns the arguments as a person reads them: a text alone as it is; of an
// object each member under its name, a string as text, all else as JSON. What a
// string holds is indented, so that no line of it is taken for the next name.
func args(r *request.Request) string {
	if text := r.Text(); text != "" && r.OnlyText() {
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
		text = strings.ReplaceAll(text, "\r\n", "\n")
		b.WriteString("\n  " + strings.ReplaceAll(text, "\n", "\n  ") + "\n")
		return nil
	})
	return b.String()
}

// plainName returns the name of a member, as a JSON string if it is not a plain word.
func plainName(name string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
	if name != "" && strings.Trim(name, plain) == "" {
		return name
	}
	return string(record.AppendString(nil, name))
}
