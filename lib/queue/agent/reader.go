package agent

import (
	"context"
	_ "embed"
	"slices"
	"strings"

	"pulse/lib/shared/fault"
	"pulse/lib/shared/lazy"
)

//go:embed reading.txt
var reading string

// Read gives the message of a record to a model that has no tools, and returns what it says: one
// JSON value that fits the schema of the record, or something else. Whether it fits is for pulse
// to judge, so nothing is repaired; only a fence around the answer is taken off.
func (w *Worker) Read(ctx context.Context, line []byte) ([]byte, error) {
	c := clients[w.Client]
	if c.read == nil {
		return nil, fault.Usagef("man pulse-queue", "agent --reader %s: there is no such reader: want claude or llm", w.Client)
	}
	if err := only(w.Client, w.Args); err != nil {
		return nil, err
	}
	rec, err := readRecord(line)
	if err != nil {
		return nil, err
	}
	if schema := rec.Value().Member("schema"); schema == "" || schema[0] != '{' {
		return nil, fault.Usagef("pulse-queue run --extract -- pulse-queue agent --reader "+w.Client, "agent --reader %s: the record has no schema", w.Client)
	}
	t := &turn{name: w.Client, args: w.Args, ask: string(told(rec, "message", "request", "schema"))}
	answer, err := t.in(func() (string, error) { return c.read(ctx, t) })
	if err != nil {
		return nil, err
	}
	return []byte(unfenced(answer)), nil
}

var (
	fenceBegin = lazy.Regexp("\\A```(json)?\\s*\n")
	fenceEnd   = lazy.Regexp("(\\A|\n)```\\s*\\z")
)

// unfenced returns an answer with a newline and without a fence.
func unfenced(answer string) string {
	answer = fenceEnd().ReplaceAllString(fenceBegin().ReplaceAllString(answer, ""), "$1")
	return strings.TrimSuffix(answer, "\n") + "\n"
}

// readerFlags are the arguments that a reader takes, and with how many values: there are many by
// which a model is given tools, and new ones come.
var readerFlags = map[string]map[string]int{
	"claude": {"--model": 1, "--fallback-model": 1, "--effort": 1, "--max-budget-usd": 1},
	"llm":    {"-m": 1, "--model": 1, "-o": 2, "--option": 2},
}

// llmOptions are the options of a model that say how it writes. Others, such as google_search,
// are tools that run at the provider.
var llmOptions = []string{"temperature", "top_p", "top_k", "seed", "json_object", "max_tokens", "max_output_tokens", "reasoning_effort"}

// only fails if an argument is not one of a reader's flags with its values.
func only(client string, args []string) error {
	for len(args) > 0 {
		n, known := readerFlags[client][args[0]]
		if !known || len(args) <= n {
			return fault.Usagef("", "%s: this reader takes no %s, or not like this", client, args[0])
		}
		if n == 2 && !slices.Contains(llmOptions, args[1]) {
			return fault.Usagef("", "%s: this reader takes no %s %s", client, args[0], args[1])
		}
		args = args[n+1:]
	}
	return nil
}
