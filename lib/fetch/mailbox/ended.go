package mailbox

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"

	"pulse/lib/fetch/source"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
)

// A password command may say by its exit status (sysexits.h) that there is nothing wrong with
// its command line: it failed for now, or the provider refuses, and a person has to do
// something. Both are remembered as what a server of mail does is, and told once.
const (
	tempFail = 75
	noPerm   = 77
)

// ended returns the error of a command that ended so, nil for any other end. said is what it
// wrote to its standard error.
func ended(program string, end error, said string) error {
	var exit *exec.ExitError
	if !errors.As(end, &exit) {
		return nil
	}
	why, hint := reason(said)
	name := filepath.Base(program)
	switch exit.ExitCode() {
	case tempFail:
		return fault.Temporaryf(hint, "--password-command %s: %s", name, cmp.Or(why, "it failed for now"))
	case noPerm:
		return source.Refused{Err: fault.Failedf(hint, "--password-command %s: %s", name, cmp.Or(why, "it was refused"))}
	}
	return nil
}

// reason finds the error and the hint in what a command said. If it does not say which line is
// the error, the last one is.
func reason(said string) (why, hint string) {
	named := false
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line[:min(len(line), maxSaid)])
		if _, text, ok := strings.Cut(line, ": error: "); ok {
			why, named = text, true
		} else if _, text, ok := strings.Cut(line, ": hint: "); ok {
			hint = text
		} else if line != "" && !named {
			why = line
		}
	}
	return why, hint
}

// maxSaying is how much is kept of what a command writes to its standard error, in bytes.
const maxSaying = 64 << 10

// saying keeps the beginning of what is written, and takes the rest.
type saying struct{ kept []byte }

// Write implements io.Writer.
func (w *saying) Write(p []byte) (int, error) {
	w.kept = append(w.kept, p[:min(len(p), maxSaying-len(w.kept))]...)
	return len(p), nil
}

// tell passes on what is kept, without what could move a cursor or a line of a log.
func (w *saying) tell(to io.Writer) {
	if len(w.kept) > 0 {
		fmt.Fprintln(to, strings.Join(escape.Text(string(w.kept)), "\n"))
	}
}
