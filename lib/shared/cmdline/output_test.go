package cmdline

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/urfave/cli/v2"
)

// TestOutput: what goes in comes out; a signal ends the wait for a reader that does not read.
func TestOutput(t *testing.T) {
	var got bytes.Buffer
	app := cli.NewApp()
	app.Writer = &got
	c := cli.NewContext(app, nil, nil)
	c.Context = t.Context()
	out := Output(c)
	want := bytes.Repeat([]byte("a line\n"), 100_000)
	out.Write(want)
	if err := out.Flush(); err != nil || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%d bytes, %v", got.Len(), err)
	}

	r, w := io.Pipe() // which is never read
	defer r.Close()
	app.Writer = w
	ctx, cancel := context.WithCancel(t.Context())
	c.Context = ctx
	cancel()
	out = Output(c)
	out.WriteByte('\n')
	if err := out.Flush(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
