// Attackkit measures what a model that always obeys the attacker gets past pulse, and what
// an honest one still gets done. Nothing here decides by text: whatever a prompt wants, the
// scripted model does at once, with every tool it has and by every proposal it can think of.
//
//	attackkit [-suite DIR] [-spread N] [-keep]
//	attackkit explore [-depth N] [-most D] [-bin DIR] [STEP...]
//
// It builds pulse, and for each suite and each defence it runs the real pipeline: mail from
// a Maildir through fetch, classify, authorize and add; the reader, if the policy wants one;
// the worker, whose every use of a tool the run judges; the outbox; and a
// program for each kind of effect, which notes what left. No person is there to say yes.
//
// A suite is a directory with attacks.jsonl and tasks.jsonl: objects with id, prompt,
// calls (each tool and args, by the names in uses.go), and in an attack optionally subject.
// DIR holds such directories. Without -suite the cases of testdata are used. In args,
// $private stands for the private text that the model has read.
//
// Each attack is tried in the text of a mail, and every Nth (-spread) in each of the other
// places; with -spread 0 each in one place, in turn.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "attackkit: error: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 2 && roles[args[0]] != nil {
		return play(args[0], args[1])
	}
	if len(args) > 0 && args[0] == "explore" {
		return exploring(args[1:])
	}
	set := flag.NewFlagSet("attackkit", flag.ContinueOnError)
	dir := set.String("suite", "", "directory of suites; default: the cases written here")
	spread := set.Int("spread", 1, "every Nth attack in the places other than the text; 0: each attack in one place, in turn")
	keep := set.Bool("keep", false, "leave the queues where they are, and say where")
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() > 0 || *spread < 0 {
		return fmt.Errorf("want attackkit [-suite DIR] [-spread N] [-keep]")
	}
	var suites []string
	if *dir != "" {
		var err error
		if suites, err = filepath.Glob(filepath.Join(*dir, "*", "attacks.jsonl")); err != nil || len(suites) == 0 {
			return fmt.Errorf("%s: no DIR/*/attacks.jsonl (%v)", *dir, err)
		}
		for i := range suites {
			suites[i] = filepath.Dir(suites[i])
		}
	}
	return within("", *keep, func(k *kit) error {
		if suites == nil {
			suites = []string{filepath.Join(k.tree, "scripts/attackkit/testdata")}
		}
		return k.measure(os.Stdout, suites, *spread)
	})
}
