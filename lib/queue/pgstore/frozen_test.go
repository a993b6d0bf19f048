package pgstore_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pulse/lib/queue"
	"pulse/lib/queue/pgstore"
	"pulse/lib/queue/runner"
	"pulse/lib/queue/store"
	"pulse/lib/shared/task"
)

// What makes a process of this test the runner that is frozen: the name of its queue, and a file
// that is there once an hour has passed.
const frozenQueue, frozenHour = "PULSE_TEST_FROZEN_QUEUE", "PULSE_TEST_FROZEN_HOUR"

// TestFrozenRunner: the process of a run is stopped for longer than its lease, while its worker
// lives on. Another machine starts the task again. Once the first goes on, it ends its worker,
// and what it says of it is refused by the fence; the second run is left as it is.
func TestFrozenRunner(t *testing.T) {
	if name := os.Getenv(frozenQueue); name != "" {
		runFrozen(t, name)
		return
	}
	l, hour := leasesOf(t), filepath.Join(t.TempDir(), "hour")
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestFrozenRunner$")
	cmd.Env = append(os.Environ(), frozenQueue+"="+l.d.DSN("machine1"), frozenHour+"="+hour)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	var first start
	var worker int
	if _, err := fmt.Fscanf(said, "began %s %d %d\n", &first.id, &first.fence, &worker); err != nil {
		t.Fatal(err)
	}
	l.starts = append(l.starts, first)
	err = cmd.Process.Signal(syscall.SIGSTOP)
	if err == nil {
		err = unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WSTOPPED, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	l.keepsOff(first.id)
	l.d.Exec(t, "UPDATE pulse.run SET until = clock_timestamp() - interval '1 ms'")
	if err := os.WriteFile(hour, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	again := l.two.turn(l.policy, "", func(second *queue.Claim, _ runner.Hold) {
		if err := syscall.Kill(worker, 0); err != nil || second.Task.ID != first.id {
			t.Errorf("it was not tried: %v, %s", err, second.Task.ID)
		}
		if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Error(err)
		}
		var told, refused bool
		if _, err := fmt.Fscanf(said, "ended %t %t\n", &told, &refused); err != nil || !told || !refused {
			t.Errorf("its worker was told: %v, its end was refused: %v, %v", told, refused, err)
		}
		if err := syscall.Kill(worker, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("the first worker lives: %v", err)
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		l.beaten() // the second run is still there
	})
	if st := l.where(first.id); !again || st != task.Completed || len(l.starts) != 2 {
		t.Errorf("%v, %s, %d starts", again, st, len(l.starts))
	}
	l.check(l.d.DSN("machine1"))
}

// runFrozen starts a task as pulse-queue run does, and tells what becomes of it.
func runFrozen(t *testing.T, name string) {
	undo := pgstore.Every(time.Millisecond, func() time.Duration {
		if _, err := os.Stat(os.Getenv(frozenHour)); err != nil {
			return 0
		}
		return time.Hour
	})
	defer undo()
	f := fleetOf(t)
	m := f.member(name, nil)
	claim, hold, err := m.claim(queue.Run{Policy: f.policy, Max: 1, Now: time.Now})
	if err != nil || claim == nil {
		t.Fatalf("nothing starts: %v", err)
	}
	defer hold.Drop()
	w := runner.Worker{Path: "/bin/sleep", Argv: []string{"sleep", "1200"}, Env: hold.Env(), Lock: hold.Worker(), Gone: hold.Gone()}
	end, err := runner.Run(context.Background(), &w, func(pid int) error {
		fmt.Println("began", claim.Task.ID, f.starts[0].fence, pid)
		return hold.Handed(pid)
	})
	if err != nil {
		t.Error(err)
	}
	refused := finish(m, claim, queue.End{Exit: end.Exit, Stopped: true})
	err = queue.Update(m, func(tx *queue.Tx) error {
		return queue.FinishCancelled(tx, claim, queue.End{Exit: end.Exit}, time.Now())
	})
	if err != nil {
		t.Error(err)
	}
	fmt.Println("ended", end.Cancelled, errors.Is(refused, store.ErrConflict))
}
