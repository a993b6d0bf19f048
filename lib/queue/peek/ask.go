package peek

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"pulse/lib/shared/fault"
	"pulse/lib/shared/record"
)

// command is the name of the program that is asked.
const command = "pulse-queue"

// ask runs pulse-queue and calls fn for each line that it prints. If it fails, its failure
// is returned: its exit status, what it says and its hint.
func ask(ctx context.Context, fn func(record.Value) error, args ...string) error {
	path, err := find()
	if err != nil {
		return err
	}
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return failure(err, stderr.String())
	}
	for line := range bytes.Lines(out) {
		rec, err := record.Parse(line)
		if err == nil {
			err = fn(rec.Value())
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", path, args[0], err)
		}
	}
	return nil
}

// find returns the pulse-queue that was installed with this command, or the one in PATH.
func find() (string, error) {
	if own, err := os.Executable(); err == nil {
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(own), command)); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath(command)
	if err != nil {
		return "", fault.Usagef("install it beside this command", "a queue on a server is asked by %s: %w", command, err)
	}
	return path, nil
}

// ErrTold reports that pulse-queue failed and said nothing: a person was told of it lately.
var ErrTold = errors.New("why was told lately")

// failure makes an error of the end of a pulse-queue that failed.
func failure(end error, stderr string) error {
	e := &fault.Error{Kind: fault.Failed}
	var said []error
	for line := range strings.Lines(stderr) {
		line = strings.TrimSuffix(line, "\n")
		if text, ok := strings.CutPrefix(line, command+": error: "); ok {
			said = append(said, errors.New(text))
		}
		if text, ok := strings.CutPrefix(line, command+": hint: "); ok {
			e.Hint = text
		}
	}
	e.Err = errors.Join(said...)
	if said == nil {
		e.Err = fmt.Errorf("%s: %w", command, end)
	}
	var exit *exec.ExitError
	if errors.As(end, &exit) {
		switch kind := fault.Kind(exit.ExitCode()); kind {
		case fault.Usage, fault.Temporary, fault.Refused:
			e.Kind = kind
		}
		if said == nil && e.Kind == fault.Temporary {
			e.Err, e.Hint = fmt.Errorf("%w: %w", e.Err, ErrTold), command+" verify says it again"
		}
	}
	return e
}
