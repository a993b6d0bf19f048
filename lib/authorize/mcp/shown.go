package mcp

import (
	"context"
	"slices"

	"pulse/lib/authorize/pins"
	"pulse/lib/shared/record"
)

// show passes on a list of tools without those that the judge does not show.
func (p *Proxy) show(m *message, list listed) error {
	return p.judge(m.id, func(ctx context.Context) func() {
		names, err := p.Judge.Show(ctx, list.definitions())
		return func() {
			if err != nil {
				p.note("the tools of the server are not known: %v", err)
				p.client.put(refused(m.id, refuse(codeInternal, "nobody says which tools there are")))
				return
			}
			p.client.put(list.only(m, names))
		}
	})
}

// listed is what a server has answered to tools/list.
type listed struct {
	tools []definition // those that can be read
	rest  record.Object
	whole bool // there was nothing else
}

type definition struct {
	name string
	v    record.Value
}

func (l *listed) definitions() record.Value { return array(l.tools) }

func array(list []definition) record.Value {
	return record.Value(record.List(nil, list, func(d *definition, dst []byte) []byte { return append(dst, d.v...) }))
}

// only returns the answer without tools that are not named.
func (l *listed) only(m *message, names []string) []byte {
	seen := map[string]bool{}
	for _, n := range names {
		seen[n] = true
	}
	some := slices.DeleteFunc(slices.Clone(l.tools), func(d definition) bool { return !seen[d.name] })
	if l.whole && len(some) == len(l.tools) {
		return m.line
	}
	l.rest.Raw("tools", []byte(array(some)))
	return answered(m.id, l.rest.Bytes())
}

// readList reads an answer to tools/list. It leaves out a tool that no policy can name, a
// definition that two readers could take for two, and both of two with one name.
func readList(result record.Value) (l listed, err error) {
	count, found := map[string]int{}, false
	l.whole = true
	err = result.Each(func(name string, v record.Value) error {
		switch name {
		case "tools":
			found = true
			return v.Elements(func(_ int, v record.Value) error {
				d, ok := define(v)
				if ok {
					l.tools = append(l.tools, d)
					count[d.name]++
				}
				l.whole = l.whole && ok
				return nil
			})
		case "nextCursor", "_meta":
			l.rest.Raw(name, []byte(v))
		default:
			l.whole = false
		}
		return nil
	})
	if err != nil || !found {
		return l, refuse(codeInternal, "the server's list of tools can not be read")
	}
	all := len(l.tools)
	l.tools = slices.DeleteFunc(l.tools, func(d definition) bool { return count[d.name] > 1 })
	l.whole = l.whole && len(l.tools) == all
	return l, nil
}

// define reads one definition.
func define(v record.Value) (d definition, ok bool) {
	d.v = v
	names := map[string]bool{}
	err := v.Each(func(name string, v record.Value) (err error) {
		if names[fold(name)] {
			return errMember
		}
		names[fold(name)] = true
		if name == "name" {
			d.name, err = v.String()
		}
		return err
	})
	return d, err == nil && pins.ToolName(d.name)
}
