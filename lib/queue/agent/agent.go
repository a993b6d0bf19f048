// Package agent is the worker that gives an ask to a model, by way of a program that others
// wrote: Claude Code, Codex CLI, Gemini CLI or llm(1). It also is the reader that makes an
// extract of a mail.
//
// Invariant: a client with tools gets the ask only after its own hook has said hello to the
// judge of the run, and nothing of the workspace or of the account's home configures it: its
// home is made for the run, and has a link to the one file with a login, if there is one.
// Variables such as a key or a proxy are inherited. Caveat: the ways to keep a workspace's
// settings out, and what a transcript shows, are those of the versions that package hook names.
package agent

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"pulse/lib/authorize/hook"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/record"
)

// Worker gives a record to a client.
type Worker struct {
	Client string   // one of Clients
	Args   []string // for the client
	Judge  string   // the socket of the run's judge
}

// client is a way to ask a model.
type client struct {
	tools hook.Client // empty: it has none
	work  func(ctx context.Context, t *turn) (answer string, err error)
	read  func(ctx context.Context, t *turn) (answer string, err error) // nil: it is no reader
}

var clients = map[string]client{
	"claude": {hook.ClaudeCode, workClaude, readClaude},
	"codex":  {hook.Codex, workCodex, nil},
	"gemini": {hook.Gemini, workGemini, nil},
	"llm":    {"", workLLM, readLLM},
}

// Hooked reports whether a client has this name that gets nothing before its hook has said hello.
func Hooked(name string) bool { return clients[name].tools != "" }

// turn is one question to a client.
type turn struct {
	name  string
	args  []string
	ask   string
	home  *home
	judge *seat
}

//go:embed prompt.txt
var prompt string

// Run gives an ask to the client, and returns what the model wants as proposals, or else what
// it says.
func (w *Worker) Run(ctx context.Context, line []byte) ([]byte, error) {
	c, ok := clients[w.Client]
	if !ok {
		return nil, fault.Usagef("man pulse-queue", "agent %s: there is no such client: want claude, codex, gemini or llm", w.Client)
	}
	rec, err := readRecord(line)
	if err != nil {
		return nil, err
	}
	if c.tools != "" && w.Judge == "" {
		return nil, fault.Usagef("pulse-queue run --proposals -- pulse-queue agent "+w.Client, "agent %s: nobody judges here what its tools do", w.Client)
	}
	t := &turn{name: w.Client, args: w.Args, ask: string(told(rec, "message", "extract", "request", "identity", "outcomes"))}
	if c.tools != "" {
		t.ask = prompt + inert(t.ask)
	}
	t.judge = &seat{client: c.tools, socket: w.Judge}
	if t.judge.hook, err = hookPath(); err != nil {
		return nil, err
	}
	answer, err := t.in(func() (string, error) { return c.work(ctx, t) })
	if err != nil {
		return nil, err
	}
	return answered(answer, conversationOf(rec)), nil
}

// in makes the home of the run for as long as fn runs.
func (t *turn) in(fn func() (string, error)) (answer string, err error) {
	if t.home, err = newHome(); err != nil {
		return "", err
	}
	defer t.home.remove()
	return fn()
}

// members are those of a record that a worker or a reader reads.
var members = []string{"message", "extract", "request", "identity", "outcomes", "schema"}

func readRecord(line []byte) (*record.Record, error) {
	rec, err := record.Parse(line, members...)
	if err != nil {
		return nil, fault.Usagef("pulse-queue run", "agent: the record can not be read: %w", err)
	}
	if textOf(rec.Value().Member(identity.Member).Member("via")) == string(identity.ViaAgent) {
		return nil, fault.Usagef("pulse-queue run without --effect", "agent: this worker takes asks, not effects")
	}
	return rec, nil
}

// told returns what of the record a model is told.
func told(rec *record.Record, names ...string) []byte {
	var o record.Object
	for _, name := range names {
		if v, err := rec.Get(name); err == nil && v != "null" {
			o.Raw(name, []byte(v))
		}
	}
	return append(o.Bytes(), '\n')
}

// inert writes characters of a JSON text as escapes: an agent reads the file that a prompt names
// after an @ or in a link to a $skill, and asks no hook; Gemini CLI rewrites brackets.
func inert(text string) string {
	return strings.NewReplacer("@", `\u0040`, "$", `\u0024`, "<", `\u003c`, ">", `\u003e`).Replace(text)
}

// failed returns the error of a client, with a text that may come from outside.
func (t *turn) failed(text string) error { return fmt.Errorf("%s: %s", t.name, short(text)) }

// temporary is failed for what may be otherwise in a while.
func (t *turn) temporary(text string) error {
	return fault.Temporaryf("", "%s: %s", t.name, short(text))
}

// maxShort bounds what of a text from outside stands in an error, in characters.
const maxShort = 180

// short returns the beginning of a text, on one line.
func short(s string) string {
	text := []rune(strings.Join(strings.Fields(s), " "))
	return string(text[:min(len(text), maxShort)])
}
