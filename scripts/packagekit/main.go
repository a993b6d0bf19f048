// Packagekit writes what scripts/package puts beside the commands.
//
//	packagekit sbom COMMAND...          a CycloneDX list of what the commands are linked from
//	packagekit copyright [--debian] COMMAND...
//	                                    the licences of all of it; with --debian, those that
//	                                    every Debian has are named instead of repeated
//	packagekit changelog                CHANGELOG.md as Debian writes one
//	packagekit completions SHARE ZSH COMMAND...
//	                                    completions for bash, zsh and fish below SHARE; those
//	                                    for zsh in SHARE/zsh/ZSH
//
// It is started at the top of the tree. Times come from SOURCE_DATE_EPOCH alone, so that
// two runs write the same bytes.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"time"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("packagekit: ")
	out := bufio.NewWriter(os.Stdout)
	if err := errors.Join(run(os.Args[1:], out), out.Flush()); err != nil {
		log.Fatal(err)
	}
}

func run(args []string, out io.Writer) error {
	made, err := sourceDate()
	if err != nil {
		return err
	}
	switch {
	case len(args) > 1 && args[0] == "sbom":
		return sbom(out, args[1:], made)
	case len(args) > 2 && args[0] == "copyright" && args[1] == "--debian":
		return copyright(out, args[2:], true)
	case len(args) > 1 && args[0] == "copyright":
		return copyright(out, args[1:], false)
	case len(args) == 1 && args[0] == "changelog":
		return changelog(out, "CHANGELOG.md")
	case len(args) > 3 && args[0] == "completions":
		return completions(args[1], args[2], args[3:])
	}
	return errors.New("want sbom, copyright, changelog or completions, and what for")
}

// sourceDate returns the time that everything made here bears.
func sourceDate() (time.Time, error) {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}
