package runner

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// watch waits until the worker has ended by itself, or was asked to end and has had its
// Grace.
func (w *Worker) watch(ctx context.Context, pid int, ended <-chan struct{}) End {
	var expired <-chan time.Time
	if w.Timeout > 0 {
		t := time.NewTimer(w.Timeout)
		defer t.Stop()
		expired = t.C
	}
	end, sig := End{Exit: -1}, unix.SIGTERM
	select {
	case <-ended:
		return end
	case <-ctx.Done():
		end.Stopped, sig = true, causeOf(ctx)
	case <-w.Gone:
		end.Cancelled = true
	case <-expired:
		end.TimedOut = true
	}
	ask(pid, sig)
	awaitSession(pid, time.Now().Add(grace))
	return end
}

// causeOf returns the signal that the cause of ctx's end is named after, or SIGTERM.
func causeOf(ctx context.Context) unix.Signal {
	for _, sig := range []unix.Signal{unix.SIGINT, unix.SIGHUP, unix.SIGQUIT} {
		if context.Cause(ctx).Error() == sig.String() {
			return sig
		}
	}
	return unix.SIGTERM
}

// zombie returns a channel that closes when a child has ended. The child is not reaped yet,
// and until it is, no other process gets its number or its session's.
func zombie(pid int) <-chan struct{} {
	c := make(chan struct{})
	go func() {
		defer close(c)
		err := error(unix.EINTR)
		for err == unix.EINTR {
			err = unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		}
	}()
	return c
}

// finish kills the worker and its process group, which no fork escapes, and says
// how it ended.
func finish(p *os.Process, ended <-chan struct{}, deadline time.Time, end *End) {
	_ = kill(-p.Pid, unix.SIGKILL)
	select {
	case <-ended:
	case <-time.After(time.Until(deadline)):
		end.How = "does not end"
		return
	}
	state, err := p.Wait()
	if err != nil {
		end.How = err.Error()
		return
	}
	end.Exit, end.How = state.ExitCode(), state.String()
}
