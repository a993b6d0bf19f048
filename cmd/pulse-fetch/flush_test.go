package main

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"

	"pulse/lib/shared/cmdline"
)

// writes counts the writes to a pipe.
type writes struct {
	*io.PipeWriter
	n int
}

func (w *writes) Write(b []byte) (int, error) { w.n++; return w.PipeWriter.Write(b) }

// TestFlush: a record is written out before pulse-fetch waits for the server, and records
// of messages that came together are written together.
func TestFlush(t *testing.T) {
	t.Setenv("PULSE_TEST_PASSWORD", "secret-of-the-test")
	for _, together := range []bool{false, true} {
		r, pipe := io.Pipe()
		out, read := &writes{PipeWriter: pipe}, make(chan struct{})
		addr := answers{"FETCH": func(w io.Writer, tag string) {
			one, two := fetched(1, 12)+body, fetched(2, 12)+body+tag+" OK\r\n"
			if together {
				io.WriteString(w, one+two)
				return
			}
			io.WriteString(w, one)
			<-read // the first record
			io.WriteString(w, two)
		}}.serve(t)
		done := make(chan int, 1)
		go func() {
			done <- cmdline.Run(context.Background(), app(), []string{"pulse-fetch", "--insecure-loopback", "--timeout", "10m", "--sandbox", "off",
				"--password-env", "PULSE_TEST_PASSWORD", "imap://me@" + addr + "/INBOX"}, nil, out, io.Discard)
			pipe.Close()
		}()
		lines := bufio.NewScanner(r)
		for n := 1; lines.Scan(); n++ {
			if n == 1 {
				close(read)
			}
			if !strings.Contains(lines.Text(), `"text":"body"`) {
				t.Errorf("%s", lines.Text())
			}
		}
		if status := <-done; status != 0 || together && out.n != 1 || !together && out.n != 2 {
			t.Errorf("status %d after %d writes", status, out.n)
		}
	}
}
