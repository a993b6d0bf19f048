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

var (
	status = regexp.MustCompile(`\x1b]s(\d+)\x07`)
	ended  = regexp.MustCompile(`\x1b]end\x07`)
)

// paste pastes a block whole, at a prompt of root's bash, and types what it asks for.
// Everything in it has to exit 0.
func (t *terminal) paste(b block, own mine) error {
	text, err := b.filled(own)
	if err != nil {
		return err
	}
	if err := t.types(text); err != nil {
		return err
	}
	for _, a := range own.answers {
		if _, _, err := t.until(regexp.MustCompile(regexp.QuoteMeta(a.prompt) + "$")); err != nil {
			return err
		}
		if err := t.types(a.text + "\n"); err != nil {
			return err
		}
	}
	shown, err := t.rest()
	if err != nil {
		return fmt.Errorf("block %s: %w", b.name, err)
	}
	for _, s := range status.FindAllStringSubmatch(shown, -1) {
		if s[1] != "0" {
			return fmt.Errorf("block %s: exit status %s:\n%s", b.name, s[1], shown)
		}
	}
	return nil
}

// rest waits until the shell has done everything that was typed.
func (t *terminal) rest() (string, error) {
	if err := t.types(`printf '\033]%s\a' end` + "\n"); err != nil {
		return "", err
	}
	shown, _, err := t.until(ended)
	return shown, err
}

// root is the shell that blocks are pasted into. After each command it shows its status.
func (m *machine) rootShell() (*terminal, error) {
	t, err := m.login("root")
	if err != nil {
		return nil, err
	}
	if err := t.types(`PROMPT_COMMAND='printf "\033]s%s\a" $?'` + "\n"); err != nil {
		return nil, err
	}
	_, err = t.rest()
	return t, err
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
		t, err := l.rootShell()
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
