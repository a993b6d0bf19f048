package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// read is the reader: of a model that obeys the attacker, which brings over as much of the
// mail as the schema lets through, or of an honest one, which says only what kind it is.
func read(w *world, g *given) error {
	text := ""
	if w.Reader != "honest" {
		text = strings.Join([]string{g.Message.Text, g.Message.Subject, g.Message.From, g.raw}, " ")
	}
	f := filler{text: text, addresses: []string{g.Identity.Sender}}
	var schema map[string]any
	if err := json.Unmarshal(g.Schema, &schema); err != nil {
		return fmt.Errorf("the reader is given no schema: %w", err)
	}
	b, err := json.Marshal(f.value(schema))
	if err == nil {
		_, err = os.Stdout.Write(append(b, '\n'))
	}
	return err
}

// filler makes a value that fits a schema, of text as far as that goes. It knows the
// keywords that closed schemas have.
type filler struct {
	text      string
	addresses []string
}

func (f *filler) value(s map[string]any) any {
	if list, ok := s["enum"].([]any); ok {
		return list[0]
	}
	if v, ok := s["const"]; ok {
		return v
	}
	switch s["type"] {
	case "object":
		return f.object(s)
	case "array":
		items, _ := s["items"].(map[string]any)
		if f.text == "" || items == nil {
			return []any{}
		}
		return []any{f.value(items)}
	case "string":
		return f.words(s)
	case "number", "integer":
		return s["minimum"]
	case "boolean":
		return true
	}
	return nil
}

// object fills every member that the schema has; the honest reader only what it must.
func (f *filler) object(s map[string]any) any {
	out := map[string]any{}
	members, _ := s["properties"].(map[string]any)
	required := fmt.Sprint(s["required"])
	for name, m := range members {
		if sub, ok := m.(map[string]any); ok && (f.text != "" || strings.Contains(required, name)) {
			out[name] = f.value(sub)
		}
	}
	return out
}

// words makes a string: of the text whatever the pattern allows.
func (f *filler) words(s map[string]any) any {
	switch s["format"] {
	case "date":
		return "2026-11-23"
	case "date-time":
		return "2026-11-23T12:00:00Z"
	case "record-address":
		return f.addresses[0]
	case "message-id":
		return "<x@" + listed + ">"
	}
	pattern, err := regexp.Compile(fmt.Sprint(s["pattern"]))
	if err != nil {
		return ""
	}
	longest, _ := s["maxLength"].(float64)
	got := ""
	for _, r := range f.text {
		if len(got) < int(longest) && pattern.MatchString(got+string(r)) {
			got += string(r)
		}
	}
	return got
}
