// Package settings adds the hook of pulse to the settings file of an agent's client, and takes
// it away again: JSON of Claude Code and Gemini CLI, with or without comments, and TOML of Codex.
//
// Invariant: every byte of the file stays as it is, and in its order; Remove undoes what Add did
// to the byte, also where there was no file. A text that can't be read as settings is refused.
// Caveat: if something else has rewritten the file meanwhile, as clients do, Remove takes away
// the hook and what is empty without it.
package settings

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"pulse/lib/authorize/hook"
	"pulse/lib/shared/escape"
)

// The bounds of a settings file. What reads it goes down by one call for each bracket.
const (
	MaxSize     = 1 << 20 // bytes
	maxBrackets = 50_000
)

// The reasons why settings can't be changed.
var (
	errSettings = errors.New("settings: they can not be read")
	errTwice    = errors.New("settings: the hook of pulse is there more than once")
	errEdited   = errors.New("settings: the hook is not there as it was installed")
	errSize     = errors.New("they are too long")
)

// The name of the file of a client, below a home or a project.
var (
	homes    = map[hook.Client]string{hook.ClaudeCode: ".claude/settings.json", hook.Codex: ".codex/config.toml", hook.Gemini: ".gemini/settings.json"}
	projects = map[hook.Client]string{hook.ClaudeCode: ".claude/settings.local.json", hook.Gemini: ".gemini/settings.json"}
)

// User returns the name of a client's settings file below a home directory.
func User(c hook.Client) string { return homes[c] }

// Project returns the name of a client's settings file below the directory of a project; empty
// if the client takes no hook from there.
func Project(c hook.Client) string { return projects[c] }

const (
	before  = "timeout -k 5 45 "
	failing = ` || { echo "pulse: the hook failed" >&2; exit 2; }`
)

// Command returns what a client is given as its hook, of the program and its arguments.
// Clients go on if a hook is killed, hangs or is not there; status 2 is a no.
func Command(argv ...string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = escape.Shell(a)
	}
	return before + strings.Join(words, " ") + failing
}

// ours reports whether a command is one that was installed for the client.
func ours(c hook.Client, command string) bool {
	return strings.HasPrefix(command, before) && strings.Contains(command, " hook "+string(c)+" --terminal ") &&
		strings.HasSuffix(command, failing)
}

// Find returns the command of the hook in the settings; empty if it is not there. A file that is
// not there is nil.
func Find(c hook.Client, text []byte) (string, error) {
	if text == nil {
		return "", nil
	}
	form, err := open(c, text)
	if err != nil {
		return "", err
	}
	return form.command()
}

// form is a settings file that was read.
type form interface {
	command() (string, error)                  // of our hook; empty: it is not there
	with(path, command string) ([]byte, error) // the text with the hook, which it does not have
	without() (texts [][]byte, err error)      // what the text may have been before with, and last what it is without the hook
}

func open(c hook.Client, text []byte) (form, error) {
	if len(text) > MaxSize || bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) > maxBrackets {
		return nil, fmt.Errorf("%w: %w", errSettings, errSize)
	}
	if c == hook.Codex {
		return openTOML(text)
	}
	return openJSON(c, text)
}

// Add returns the settings with the hook, in place of an earlier one. path is the absolute name
// of the file, by which Codex knows the hook.
func Add(c hook.Client, path string, text []byte, command string) ([]byte, error) {
	if now, err := Find(c, text); err != nil || now == command {
		return text, err
	}
	rest, err := Remove(c, path, text)
	if err != nil {
		return nil, err
	}
	return add(c, path, rest, command)
}

func add(c hook.Client, path string, text []byte, command string) (out []byte, err error) {
	f, err := open(c, text)
	if err == nil {
		out, err = f.with(path, command)
	}
	if err != nil {
		return nil, err
	}
	if got, err := Find(c, out); err != nil || got != command {
		return nil, fmt.Errorf("%w: with the hook they would not: %w", errSettings, err)
	}
	return out, nil
}

// Remove returns the settings without the hook; nil if Add has made the file. If the hook is not
// there, it returns the text as it is.
func Remove(c hook.Client, path string, text []byte) ([]byte, error) {
	command, err := Find(c, text)
	if err != nil || command == "" {
		return text, err
	}
	f, err := open(c, text)
	if err != nil {
		return nil, err
	}
	texts, err := f.without()
	if err != nil {
		return nil, err
	}
	for _, was := range texts {
		if again, err := add(c, path, was, command); err == nil && bytes.Equal(again, text) {
			return was, nil
		}
	}
	rest := texts[len(texts)-1]
	if left, err := Find(c, rest); err != nil || left != "" {
		return nil, errEdited
	}
	return rest, nil
}
