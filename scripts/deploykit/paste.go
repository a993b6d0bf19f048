package main

import (
	"fmt"
	"regexp"
	"slices"
)

// filled in, of each block: what the page says is the reader's own.
var filledIn = map[string]mine{
	"mailbox":   {answers: []answer{{"Password: ", mailPassword}}},
	"model":     {answers: []answer{{"Key: ", modelKey}}},
	"second":    {answers: []answer{{"Password: ", workPassword}}},
	"send":      {answers: []answer{{"Password: ", sendingPassword}}},
	"drafts":    {answers: []answer{{"Password: ", mailPassword}}},
	"phone":     {},
	"signature": {},
}

// paste pastes a block whole, at a prompt of root's bash, and types what it asks for. A terminal
// puts a frame around what is pasted, so that bash has all of it before it starts the first
// command, which else might read the rest.
func (t *terminal) paste(b block, own mine) error {
	text, err := b.filled(own)
	if err != nil {
		return err
	}
	if err := t.types("\x1b[200~" + text + "\x1b[201~\r"); err != nil {
		return err
	}
	for _, a := range own.answers {
		if _, _, err := t.until(regexp.MustCompile(regexp.QuoteMeta(a.prompt) + "$")); err != nil {
			return err
		}
		if err := t.types(a.text + "\r"); err != nil {
			return err
		}
	}
	if err := t.prompted(); err != nil {
		return fmt.Errorf("block %s: %w", b.name, err)
	}
	return nil
}

// pasteTo pastes the next blocks of the page, in its order, up to one.
func (l *life) pasteTo(last string) act {
	return func() error {
		at := slices.IndexFunc(l.blocks, func(b block) bool { return b.name == last })
		if at < 0 {
			return fmt.Errorf("the page has no block %s, or not where it was", last)
		}
		todo := l.blocks[:at+1]
		l.blocks = l.blocks[at+1:]
		t, err := l.login("root")
		if err != nil {
			return err
		}
		defer t.close()
		for _, b := range todo {
			if err := t.paste(b, filledIn[b.name]); err != nil {
				return err
			}
		}
		return nil
	}
}
