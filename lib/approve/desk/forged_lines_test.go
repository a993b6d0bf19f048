package desk_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A statement as the forgeries take it apart: one JSON object, of members in order.
type member struct{ name, value string }

// members returns the members of a statement, each as its text stands there.
func members(t *testing.T, line string) (list []member) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(line))
	if _, err := d.Token(); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err == nil {
			err = d.Decode(&value)
		}
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		list = append(list, member{name.(string), string(value)})
	}
	if joined(list) != line {
		t.Fatalf("a statement is not its members without blanks, and a newline: %q, %q", line, joined(list))
	}
	return list
}

func joined(list []member) string {
	var b bytes.Buffer
	for i, m := range list {
		b.WriteString(map[bool]string{true: "{", false: ","}[i == 0] + `"` + m.name + `":` + m.value)
	}
	return b.String() + "}\n"
}

// altered returns texts that are not the statement, by what was done to it: to the line,
// and to each of its members.
func altered(t *testing.T, line string) map[string]string {
	t.Helper()
	all := map[string]string{}
	put := func(name, text string) {
		if text == line || all[name] != "" {
			t.Fatalf("%s: nothing was altered, or twice", name)
		}
		all[name] = text
	}
	bare := strings.TrimSuffix(line, "\n")
	put("no newline", bare)
	put("CRLF", bare+"\r\n")
	put("a blank before the newline", bare+" \n")
	put("a newline more", line+"\n")
	put("the line twice", line+line)
	put("a newline before", "\n"+line)
	put("a blank before", " "+line)
	put("a byte order mark", "\ufeff"+line)
	put("a NUL before the newline", bare+"\x00\n")
	put("a NUL after the newline", line+"\x00")
	put("a comment", bare+" // yes\n")
	put("in an array", "["+bare+"]\n")
	put("as a string", `"`+strings.ReplaceAll(bare, `"`, `\"`)+`"`+"\n")
	put("a member more", strings.TrimSuffix(bare, "}")+`,"any":true}`+"\n")
	put("an empty member", strings.TrimSuffix(bare, "}")+`,"":""}`+"\n")
	put("a comma more", strings.TrimSuffix(bare, "}")+",}\n")
	put("upper case", strings.ToUpper(line))
	put("cut short", bare[:len(bare)/2]+"\n")
	put("an object without members", "{}\n")
	list := members(t, line)
	reversed := slices.Clone(list)
	slices.Reverse(reversed)
	put("in the reverse order", joined(reversed))
	for i, m := range list {
		edit := func(what string, change func(list []member) []member) {
			put(m.name+": "+what, joined(change(slices.Clone(list))))
		}
		set := func(what string, to member) {
			edit(what, func(l []member) []member { l[i] = to; return l })
		}
		other := member{m.name, turned(m.value)}
		set("another value", other)
		if m.value != "null" {
			set("null", member{m.name, "null"})
		}
		set("of another type", member{m.name, map[bool]string{true: "0", false: `"` + m.value + `"`}[strings.HasPrefix(m.value, `"`) || strings.HasPrefix(m.value, "[")]})
		set("in an array", member{m.name, "[" + m.value + "]"})
		set("a blank after its colon", member{m.name, " " + m.value})
		set("a blank after its value", member{m.name, m.value + " "})
		set("in upper case", member{strings.ToUpper(m.name), m.value})
		set("an escape in its name", member{fmt.Sprintf(`\u%04x`, m.name[0]) + m.name[1:], m.value})
		edit("missing", func(l []member) []member { return slices.Delete(l, i, i+1) })
		edit("twice", func(l []member) []member { return slices.Insert(l, i, m) })
		edit("another one before", func(l []member) []member { return slices.Insert(l, i, other) })
		edit("another one after", func(l []member) []member { return slices.Insert(l, i+1, other) })
		if i > 0 {
			edit("before its neighbour", func(l []member) []member { l[i], l[i-1] = l[i-1], l[i]; return l })
		}
		if at := strings.IndexAny(m.value, "abcdefghijklmnopqrstuvwxyz0123456789"); strings.Contains(m.value, `"`) {
			set("an escape in its value", member{m.name, m.value[:at] + fmt.Sprintf(`\u%04x`, m.value[at]) + m.value[at+1:]})
			set("a blank in its value", member{m.name, m.value[:at] + " " + m.value[at:]})
			set("a letter more", member{m.name, m.value[:at] + "a" + m.value[at:]})
		}
	}
	return all
}

// turned returns a value of the same form that says something else.
func turned(value string) string {
	b := []byte(value)
	for i := len(b) - 1; i >= 0; i-- {
		switch {
		case b[i] >= '0' && b[i] <= '8', b[i] >= 'a' && b[i] < 'f':
			b[i]++
			return string(b)
		case b[i] == '9', b[i] == 'f':
			b[i]--
			return string(b)
		}
	}
	return value + "0"
}
