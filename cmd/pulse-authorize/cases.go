package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"pulse/lib/authorize/replay"
	"pulse/lib/authorize/workspace"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/sandbox"
)

// another is how a case is made.
const another = "pulse-queue show ID --json >> "

// testPolicy decides on records whose decision is known, and prints what differs, and which
// rules of the policy none of them comes by.
func testPolicy(c *cli.Context) error {
	p, err := cmdline.Policy(c)
	if err != nil {
		return err
	}
	files, err := caseFiles(c.Args().First())
	if err != nil {
		return err
	}
	if _, err := cmdline.Confine(c, sandbox.Pipe(append(workspace.Named(p), files...)...)); err != nil {
		return err
	}
	t := suite{Context: c, policy: p, out: verdicts{w: cmdline.Output(c), tap: c.Bool("tap")}, reached: map[replay.Rule]bool{}}
	t.out.begin()
	for _, name := range files {
		if err = t.file(name); err != nil {
			break
		}
	}
	if err == nil && t.cases == 0 {
		err = fault.Failedf(another+filepath.Join(filepath.Dir(files[0]), "cases.jsonl"), "%s: no records: a test without them can't fail", c.Args().First())
	}
	if err != nil {
		t.out.bail(err)
		return errors.Join(err, t.out.w.Flush())
	}
	t.out.end(t.cases)
	t.out.coverage(p, t.reached)
	if err := t.out.w.Flush(); err != nil || t.failed == 0 {
		return err
	}
	return fault.Failedf("", "%d of %d records are not decided as expected", t.failed, t.cases)
}

// caseFiles returns the file, or the files *.jsonl of the directory, by name.
func caseFiles(name string) ([]string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fault.Usagef(another+name, "%w", err)
	}
	if !info.IsDir() {
		return []string{name}, nil
	}
	list, err := os.ReadDir(name) // sorted
	if err != nil {
		return nil, fault.Usagef("ls -l "+name, "%w", err)
	}
	var files []string
	for _, e := range list {
		if filepath.Ext(e.Name()) == ".jsonl" {
			files = append(files, filepath.Join(name, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fault.Usagef(another+filepath.Join(name, "cases.jsonl"), "%s has no files *.jsonl", name)
	}
	return files, nil
}

// suite is one test of a policy.
type suite struct {
	*cli.Context
	policy        *policy.Policy
	out           verdicts
	cases, failed int
	reached       map[replay.Rule]bool
}

func (t *suite) file(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return cmdline.Each(t.Context, record.NewReader(f, name, cmdline.MaxRecord(t.Context), replay.Members...), t.one)
}

// one decides on one record.
func (t *suite) one(rec *record.Record) error {
	c, err := replay.Read(rec)
	var want replay.Expected
	if err == nil {
		want, err = replay.Expect(rec)
	}
	if errors.Is(err, record.ErrMissing) {
		return fault.Failedf(`a case has a message, or an identity, and "decision":{"outcome":"reject"}: `+another+"FILE", "%w", err)
	}
	if err != nil {
		return err
	}
	a := c.Decide(t.policy, workspace.World{})
	c.Reached(t.policy, &a, func(r replay.Rule) { t.reached[r] = true })
	found := want.Differs(&a)
	if a.Unknown {
		found = []string{fmt.Sprintf("evidence = %q asks for message.dkim, which the record does not hold", t.policy.Evidence)}
	}
	t.cases++
	if len(found) > 0 {
		t.failed++
	}
	t.out.answer(t.cases, rec.Where(), &a, found)
	return nil
}
