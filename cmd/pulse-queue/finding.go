package main

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"pulse/lib/queue"
	"pulse/lib/queue/door"
	"pulse/lib/queue/finding"
	"pulse/lib/queue/health"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
)

// maxAbout bounds the name of what is wrong, in bytes.
const maxAbout = 2000

// noteFinding notes that something is wrong, for pulse-fetch, or that it is wrong no longer. It prints
// what a person is to be told, and nothing if they know.
func noteFinding(c *cli.Context, s door.Store) error {
	verb, f, err := findingOf(c.Args().Slice())
	if err != nil {
		return err
	}
	if err := roomToNote(s); err != nil {
		return err
	}
	var told []audit.Finding
	err = queue.Update(s, func(tx *queue.Tx) error {
		now := time.Now()
		told = nil
		ended := []string{f.Code}
		if verb == "open" { // a source refuses the login, or can't be reached
			ended = slices.DeleteFunc(health.Stages(), func(code string) bool { return code == f.Code })
			if say, err := finding.Open(tx, &f, now); err != nil {
				return err
			} else if say {
				told = append(told, f)
			}
		}
		for _, code := range ended {
			was, say, err := finding.Close(tx, code, f.About, now)
			if err != nil {
				return err
			}
			if say && verb == "close" {
				told = append(told, was)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	out := cmdline.Output(c)
	for i := range told {
		out.Write(append(told[i].Append(nil), '\n'))
	}
	return out.Flush()
}

// findingOf reads the arguments.
func findingOf(args []string) (verb string, f audit.Finding, err error) {
	const hint = "pulse-queue finding close CODE SOURCE"
	switch {
	case args[0] == "open" && len(args) == 4:
		f.Text = args[3]
	case args[0] == "close" && len(args) == 3:
	default:
		return "", f, fault.Usagef(hint, "want open CODE SOURCE TEXT, or close CODE SOURCE")
	}
	f.Code, f.About = args[1], args[2]
	switch {
	case !slices.Contains(health.Stages(), f.Code):
		return "", f, fault.Usagef(hint, "%s: want %s; the others end by themselves", f.Code, strings.Join(health.Stages(), " or "))
	case len(f.About) > maxAbout, !utf8.ValidString(f.About + f.Text), strings.ContainsAny(f.About, "\x00\ufffd"):
		return "", f, fault.Usagef(hint, "that is not the name of a source")
	}
	return args[0], f, nil
}
