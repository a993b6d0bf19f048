package settings

import (
	"fmt"

	"github.com/tailscale/hujson"

	"pulse/lib/authorize/hook"
	"pulse/lib/shared/record"
)

// events has the name that a client has for the use of a tool.
var events = map[hook.Client]string{hook.ClaudeCode: "PreToolUse", hook.Gemini: "BeforeTool"}

// jsonForm is a file of JSON: {"hooks": {EVENT: [GROUP, …], …}, …}, of which one group is ours.
type jsonForm struct {
	client hook.Client
	text
	root *list // nil: there is no file
	all  *list // of root: the hooks; nil: there are none
	uses *list // of all: those of our event; nil: there are none
}

func openJSON(c hook.Client, b []byte) (*jsonForm, error) {
	f := &jsonForm{client: c, text: text(b)}
	if b == nil {
		return f, nil
	}
	v, err := hujson.Parse(b)
	if err == nil {
		f.root, err = listOf(&v, '{')
	}
	if err == nil {
		f.all, err = f.root.member("hooks", '{')
	}
	if err == nil && f.all != nil {
		f.uses, err = f.all.member(events[c], '[')
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSettings, err)
	}
	return f, nil
}

// place is where our hook is.
type place struct {
	group, hook int
	hooks       *list // of the group
	command     string
}

func (f *jsonForm) places() (found []place) {
	if f.uses == nil {
		return nil
	}
	for i, g := range f.uses.items {
		group, err := listOf(g.value, '{')
		if err != nil {
			continue
		}
		hooks, err := group.member("hooks", '[')
		if err != nil || hooks == nil {
			continue
		}
		for j, h := range hooks.items {
			if command := commandIn(h.value); ours(f.client, command) {
				found = append(found, place{i, j, hooks, command})
			}
		}
	}
	return found
}

func commandIn(v *hujson.Value) string {
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		return ""
	}
	for _, m := range o.Members {
		if text, ok := m.Value.Value.(hujson.Literal); ok && nameOf(&m.Name) == "command" {
			return text.String()
		}
	}
	return ""
}

func (f *jsonForm) command() (string, error) {
	switch found := f.places(); len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0].command, nil
	}
	return "", errTwice
}

// with adds no more than is missing.
func (f *jsonForm) with(_, command string) ([]byte, error) {
	group := groupOf(f.client, command)
	uses := member(events[f.client], "["+group+"]")
	switch {
	case f.root == nil:
		return append(f.indented("{"+member("hooks", "{"+uses+"}")+"}", ""), '\n'), nil
	case f.all == nil:
		return f.put(f.root, member("hooks", "{"+uses+"}")), nil
	case f.uses == nil:
		return f.put(f.all, uses), nil
	}
	return f.put(f.uses, group), nil
}

func member(name, value string) string {
	return string(record.AppendString(nil, name)) + ":" + value
}

// groupOf has no list of tools that need no leave: one that stands there is used if the hook is
// gone. From 2.1.295 on Claude Code knows the word that makes a no of any failure; earlier
// versions have the status 2 of the command for that.
func groupOf(c hook.Client, command string) string {
	var h, g record.Object
	h.Str("type", "command")
	if c == hook.Gemini {
		h.Str("name", "pulse")
	}
	h.Str("command", command)
	if c == hook.Gemini {
		h.Raw("timeout", []byte("60000")) // milliseconds
	} else {
		h.Raw("timeout", []byte("60"))
		h.Str("onFailure", "block")
	}
	g.Str("matcher", "*")
	g.Raw("hooks", append(append([]byte("["), h.Bytes()...), ']'))
	return string(g.Bytes())
}

func (f *jsonForm) without() (texts [][]byte, err error) {
	found := f.places()
	if len(found) != 1 {
		return nil, errTwice
	}
	p := found[0]
	if len(p.hooks.items) > 1 {
		return [][]byte{f.cut(p.hooks, p.hook)}, nil
	}
	texts = [][]byte{nil, f.cut(f.uses, p.group)}
	if len(f.uses.items) == 1 {
		texts = append(texts, f.cut(f.all, f.all.index(events[f.client])))
		if len(f.all.items) == 1 {
			texts = append(texts, f.cut(f.root, f.root.index("hooks")))
		}
	}
	return texts, nil
}
