package agent

import (
	"slices"

	"pulse/lib/shared/address"
	"pulse/lib/shared/lazy"
	"pulse/lib/shared/record"
)

// conversation is that to which the message of a record belongs (RFC 5322, 3.6.4).
type conversation struct {
	sender     string
	id         string // empty: it is not plain
	references []string
}

const (
	maxID         = 500 // bytes
	maxReferences = 50
)

// plainID matches an id that lets nothing else into a header.
var plainID = lazy.Regexp(`\A<[!-;=?-~]+@[!-;=?-~]+>\z`)

func plainIDs(list ...record.Value) (ids []string) {
	for _, v := range list {
		if id, ok := textIn(v); ok && len(id) <= maxID && plainID().MatchString(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func conversationOf(rec *record.Record) (c conversation) {
	whole := rec.Value()
	message := whole.Member("message")
	c.sender = address.Fold(textOf(whole.Member("identity").Member("sender")))
	own := plainIDs(message.Member("id"))
	if len(own) > 0 {
		c.id = own[0]
	}
	thread := message.Member("thread")
	all, one := plainIDs(elements(thread.Member("references"))...), plainIDs(elements(thread.Member("in_reply_to"))...)
	if len(all) == 0 && len(one) == 1 {
		all = one
	}
	if c.references = append(all, own...); len(c.references) > maxReferences {
		c.references = slices.Concat(c.references[:1], c.references[len(c.references)-maxReferences+1:])
	}
	return c
}

func elements(v record.Value) (list []record.Value) {
	_ = eachOf(v, func(v record.Value) error {
		list = append(list, v)
		return nil
	})
	return list
}

// threaded appends a proposal. A mail to the sender of the record's message, and to nobody else,
// gets the fields by which it belongs to that conversation; what a model says of them is
// dropped.
func (c *conversation) threaded(dst []byte, p record.Value) []byte {
	if !isMail(p) {
		return append(dst, p...)
	}
	return edited(dst, p, func(name string, v record.Value) []byte {
		if name != "args" {
			return []byte(v)
		}
		return c.args(v, c.answers(p.Member("target")))
	})
}

// isMail reports whether a proposal is a mail or the draft of one.
func isMail(p record.Value) bool {
	args, tool := p.Member("args"), p.Member("tool")
	if args == "" || args[0] != '{' {
		return false
	}
	none := tool == "" || tool == "null" || tool == "false" || tool == `""`
	return p.Member("action") == `"external_send"` && (none || textOf(tool) == "mail.send") || textOf(tool) == "mail.draft"
}

// answers reports whether targets are the sender alone.
func (c *conversation) answers(target record.Value) bool {
	list := []record.Value{target}
	if target != "" && target[0] == '[' {
		list = elements(target)
	}
	for _, one := range list {
		if to, ok := textIn(one); !ok || c.sender == "" || address.Fold(to) != c.sender {
			return false
		}
	}
	return len(list) > 0
}

// args returns the args of a mail, with the fields of the conversation or without any.
func (c *conversation) args(args record.Value, answers bool) []byte {
	out := edited(nil, args, func(name string, v record.Value) []byte {
		if name == "in_reply_to" || name == "references" {
			return nil
		}
		return []byte(v)
	})
	var o record.Object
	if answers {
		o.StrIf("in_reply_to", c.id)
		o.StrsIf("references", c.references)
	}
	own := o.Bytes()
	if len(own) == len("{}") {
		return out
	}
	if len(out) == len("{}") {
		return own
	}
	out[len(out)-1] = ','
	return append(out, own[1:]...)
}

// edited appends an object with other values. A member whose value is nil is left out.
func edited(dst []byte, v record.Value, value func(name string, v record.Value) []byte) []byte {
	dst = append(dst, '{')
	first := true
	_ = v.Each(func(name string, v record.Value) error {
		b := value(name, v)
		if b == nil {
			return nil
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(append(record.AppendString(dst, name), ':'), b...)
		return nil
	})
	return append(dst, '}')
}
