package runner

import (
	"context"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// signalled is a cause of a context's end, as package cmdline has it.
type signalled struct{ os.Signal }

func (s signalled) Error() string { return s.String() }

// TestTheSignalGoesOn: the signal goes to the whole session. Each process that gets it has
// time to end, even if the worker itself does not end.
func TestTheSignalGoesOn(t *testing.T) {
	defer func(d time.Duration) { grace = d }(grace)
	grace = time.Minute // on a machine that is busy
	for sent, want := range map[os.Signal]string{
		syscall.SIGINT: "interrupt\n", syscall.SIGTERM: "terminated\n", syscall.SIGHUP: "hangup\n", nil: "terminated\n",
	} {
		f := fifo(t)
		ctx, cancel := context.WithCancelCause(context.Background())
		go func() {
			io.ReadFull(f, make([]byte, 1))
			var cause error = context.Canceled
			if sent != nil {
				cause = signalled{sent}
			}
			cancel(cause)
		}()
		end, err := Run(ctx, helper(t, "session "+f.Name()), unnoted)
		if err != nil || string(end.Stdout) != want || end.Exit != -1 || !strings.Contains(end.How, strings.TrimSpace(want)) {
			t.Errorf("%v: %+v, %v", sent, end, err)
		}
	}
}

// TestCancelled: a person took the task back.
func TestCancelled(t *testing.T) {
	f := fifo(t)
	back := make(chan struct{})
	go func() {
		io.ReadFull(f, make([]byte, 1))
		close(back)
	}()
	w := helper(t, "session "+f.Name())
	w.Gone = back
	if end := run(t, w); !end.Cancelled || end.TimedOut || string(end.Stdout) != "terminated\n" {
		t.Errorf("%+v", end)
	}
	w = helper(t, "chain group 0 0")
	w.Gone = make(chan struct{})
	if end := run(t, w); end.Cancelled || end.Exit != 0 {
		t.Errorf("not taken back: %+v", end)
	}
}
