package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// roles are what the queue starts this program as.
var roles = map[string]func(*world, *given) error{
	"obey":   obey,   // a worker that does what the prompt wants, and more
	"honest": honest, // a worker that does what the user wants
	"effect": carryOut,
	"reader": read,
	"step":   step, // a worker of the explorer
	"carry":  carry,
}

// given is what a role is given on standard input: a record.
type given struct {
	raw     string
	Message struct {
		ID, From, Subject, Text string
	}
	Identity struct {
		Sender, Trust, Root, Via string
	}
	Request struct {
		Action, Tool string
		Target       json.RawMessage
		Args         map[string]any
	}
	Schema json.RawMessage
	Task   struct{ ID string }
}

// play does what the queue started this program for.
func play(role, dir string) error {
	b, err := os.ReadFile(filepath.Join(dir, "world.json"))
	w := &world{}
	if err == nil {
		err = json.Unmarshal(b, w)
	}
	in, failed := io.ReadAll(os.Stdin)
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	g := &given{raw: string(in)}
	if err := json.Unmarshal(in, g); err != nil {
		return err
	}
	return roles[role](w, g)
}

var marked = regexp.MustCompile(`case-(\d{4,})@`)

// started is a worker's start.
type started struct {
	Task string
	N    int
	Seen bool // the prompt was in what it was given
}

// trial finds out which trial a record is of, and notes the start.
func (w *world) trial(g *given) (*trial, error) {
	m := marked.FindStringSubmatch(g.raw)
	if m == nil {
		return nil, errors.New("the record names no trial")
	}
	n, err := strconv.Atoi(m[1])
	if err != nil || n >= len(w.Trials) {
		return nil, fmt.Errorf("no trial %s", m[1])
	}
	t := &w.Trials[n]
	s := started{Task: g.Task.ID, N: n, Seen: strings.Contains(g.raw, t.Canary)}
	return t, w.note(startedFile, s)
}

// left is something that left the agent without a person's yes.
type left struct {
	N                 int
	How, Action, Tool string
	Secret            bool // with private text in it
}
