package main

import (
	"fmt"
	"regexp"
	"strings"

	"pulse/lib/shared/cmdline/cmdlinetest"
	"pulse/scripts/machine"
)

// mine is what a reader puts into a block in place of what stands there, and what they type
// when it asks.
type mine struct {
	answers []answer
	keyed   bool // the key of an approver stands for the one of the page
}

// answer is what is typed after a prompt.
type answer struct{ prompt, text string }

// values are the reader's own, by the text that they replace.
func (m mine) values(key string) map[string]string {
	if m.keyed {
		return map[string]string{example: key}
	}
	return nil
}

// example is what stands in the page for the key of an approver.
const example = "ssh-ed25519 AAAA... phone"

// filledIn has the blocks that are pasted, each with what the page says is the reader's own.
var filledIn = map[string]mine{
	"install":    {},
	"mailbox":    {answers: []answer{{"Password: ", mailPassword}}},
	"model":      {answers: []answer{{"Key: ", modelKey}}},
	"second":     {answers: []answer{{"Password: ", workPassword}}},
	"send":       {answers: []answer{{"Password: ", sendingPassword}}},
	"drafts":     {answers: []answer{{"Password: ", mailPassword}}},
	"phone":      {keyed: true},
	"signature":  {keyed: true},
	"notice":     {},
	"backup":     {},
	"restore":    {},
	"residency":  {},
	"upgrade":    {},
	"move":       {},
	"moved":      {},
	"remove":     {},
	"remove-all": {},
}

// notPasted has the blocks that are not pasted, and why not.
var notPasted = map[string]string{
	"instead: install": "in place of the package; the machine has no Go: scripts/test installs from source",
	"instead: units":   "in place of the units: man/crontab_test.go runs the crontab",
	"alone: mailbox":   "a gate without root: man/deploy_test.go pastes it",
	"alone: remove":    "a gate without root: man/deploy_test.go pastes it",
	"script: desktop":  "a program for a desktop, which the machine has not: man/recipes_test.go runs it",
	"rest: encrypt":    "the machine is a folder of this one's file system, whose keys are this one's: man/encrypted_test.go has a disk",
	"rest: take":       "for another computer: man/encrypted_test.go",
	"rest: unlock":     "for another computer: man/encrypted_test.go",
	"rest: backup":     "to a key of another computer: man/encrypted_test.go",
	"rest: restore":    "with a key of another computer: man/encrypted_test.go",
	"shown: machines":  "a list",
	"many: ca":         "for many machines: scripts/test-machines",
	"many: server":     "for many machines: scripts/test-machines",
	"many: queue":      "for many machines: scripts/test-machines",
	"many: standby":    "for many machines: scripts/test-machines",
	"many: machine":    "for many machines: scripts/test-machines",
	"many: crontab":    "for many machines: scripts/test-machines",
	"many: copy":       "for many machines: scripts/test-machines",
	"many: resume":     "for many machines: scripts/test-machines",
}

// known fails unless the blocks are those of the two lists.
func known(list []machine.Block) error {
	left := len(filledIn) + len(notPasted)
	for _, b := range list {
		_, pasted := filledIn[b.Name]
		_, not := notPasted[b.Kind+": "+b.Name]
		if b.Kind == "paste" && !pasted || b.Kind != "paste" && !not {
			return fmt.Errorf("nothing says whether the block %q is pasted", b.Kind+": "+b.Name)
		}
		left--
	}
	if left != 0 {
		return fmt.Errorf("%d blocks are not in the page, or twice", left)
	}
	return nil
}

// terminal is a login of an account of the machine, at a terminal of the machine.
type terminal struct{ *cmdlinetest.Person }

// at logs in with the shell that the account has, and out when what is to do there is done.
func (l *life) at(account string, do func(*terminal) error) error {
	p, end, err := l.Sit("TERM=xterm", "su", "--pty", "--login", account)
	if err != nil {
		return err
	}
	defer end()
	t := &terminal{p}
	// A command that fails says so, as does each prompt.
	err = t.Type(`trap 'printf "\033]failed\a"' ERR; PROMPT_COMMAND='printf "\033]prompt\a"'` + "\r")
	if err == nil {
		err = t.prompted()
	}
	if err == nil {
		err = do(t)
	}
	return err
}

// prompted waits for the prompt of bash. It is an error if a command failed before.
func (t *terminal) prompted() error {
	shown, err := t.Past(`\x1b]prompt\x07`)
	if err == nil && strings.Contains(shown, "\x1b]failed\x07") {
		err = fmt.Errorf("a command fails:\n%s", shown)
	}
	return err
}

// paste pastes a block whole, at a prompt of root's bash, and types what it asks for. A terminal
// puts a frame around what is pasted, so that bash has all of it before it starts the first
// command, which else might read the rest.
func (t *terminal) paste(b machine.Block, own mine, key string) error {
	text, err := b.Filled(own.values(key))
	if err != nil {
		return err
	}
	if err := t.Type("\x1b[200~" + text + "\x1b[201~\r"); err != nil {
		return err
	}
	for _, a := range own.answers {
		if _, err := t.Past(regexp.QuoteMeta(a.prompt) + "$"); err != nil {
			return err
		}
		if err := t.Type(a.text + "\r"); err != nil {
			return err
		}
	}
	if err := t.prompted(); err != nil {
		return fmt.Errorf("block %s: %w", b.Name, err)
	}
	return nil
}

// paste pastes blocks of the page.
func (l *life) paste(names ...string) act {
	return func() error {
		return l.at("root", func(t *terminal) error {
			for _, name := range names {
				b, err := machine.Find(l.blocks, "paste", name)
				if err == nil {
					err = t.paste(b, filledIn[name], l.key)
				}
				if err != nil {
					return err
				}
				l.pasted[name] = true
			}
			return nil
		})
	}
}

// all fails if a block that the list has was not pasted.
func (l *life) all() error {
	for name := range filledIn {
		if !l.pasted[name] {
			return fmt.Errorf("the block %s was not pasted", name)
		}
	}
	return nil
}
