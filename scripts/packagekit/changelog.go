package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"pulse/lib/shared/cmdline"
)

// maintainer is what Debian wants in a package. There is no such address: reports go where
// SECURITY.md says.
const maintainer = "The pulse authors <nobody@pulse.invalid>"

var (
	release = regexp.MustCompile(`(?m)^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)$`)
	item    = regexp.MustCompile(`(?m)^(### (.*)|- (.*(\n  .*)*))$`)
)

// changelog writes the releases of a file in the form of https://keepachangelog.com as
// deb-changelog(5) wants them.
func changelog(w io.Writer, file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text := string(b)
	releases := release.FindAllStringSubmatchIndex(text, -1)
	if len(releases) == 0 || text[releases[0][2]:releases[0][3]] != cmdline.Version {
		return fmt.Errorf("%s: its first release is not that of the commands: ## [%s] - 2006-01-02", file, cmdline.Version)
	}
	for i, at := range releases {
		end := len(text)
		if i+1 < len(releases) {
			end = releases[i+1][0]
		}
		day, err := time.Parse(time.DateOnly, text[at[4]:at[5]])
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		fmt.Fprintf(w, "pulse (%s) unstable; urgency=medium\n\n", text[at[2]:at[3]])
		items(w, text[at[1]:end])
		fmt.Fprintf(w, "\n -- %s  %s\n\n", maintainer, day.Format(time.RFC1123Z))
	}
	return nil
}

// items writes what a release brought, each with its kind before it.
func items(w io.Writer, text string) {
	kind := ""
	for _, m := range item.FindAllStringSubmatch(text, -1) {
		if m[2] != "" {
			kind = m[2]
			continue
		}
		column := 0
		for word := range strings.FieldsSeq("* " + kind + ": " + m[3]) {
			switch column += 1 + len(word); {
			case word == "*":
				_, _ = fmt.Fprint(w, " ")
				column++
			case column > 76:
				_, _ = fmt.Fprint(w, "\n   ")
				column = 4 + len(word)
			}
			_, _ = fmt.Fprint(w, " "+word)
		}
		fmt.Fprintln(w)
	}
}
