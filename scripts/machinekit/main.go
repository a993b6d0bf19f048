// Machinekit plays two database servers, two gates, three machines with workers and two people,
// each in namespaces of its own, and takes one of each kind away while they work. It is made for
// scripts/test-machines, which starts it as root in a network, mount and process namespace.
//
// Invariant: what sets the machines up are the blocks of pulse-deploy(7), MANY MACHINES, as they
// stand. Caveat: a power cut here ends processes and the network, and keeps what was written but
// not synced; lib/queue/pgstore and lib/queue/disk have tests for that.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() { os.Exit(run(os.Args[1:])) }

// limit is how long all of it may take, on a machine that does other things as well, and patience one step. What
// is true of it is told by the order of what happens.
const (
	limit    = 30 * time.Minute
	patience = 10 * time.Minute
)

// run plays everything, in a directory that is a file system of its own.
func run(args []string) int {
	if len(args) != 2 || os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "machinekit: it is for scripts/test-machines")
		return 64
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case <-stop:
		case <-time.After(limit):
			fmt.Println("machinekit: it takes too long")
		}
		os.Exit(130) // with the first process of a namespace all others end
	}()
	w := &world{bin: args[0], dir: args[1], begin: time.Now(), machines: map[string]*computer{}, enough: make(chan struct{}), night: make(chan struct{})}
	err := w.play()
	if err != nil {
		w.log("FAILED: %v", err)
		w.evidence()
		return 1
	}
	return 0
}

// log prints a line, with the time since the beginning.
func (w *world) log(format string, args ...any) {
	fmt.Printf("%6.1f s  %s\n", time.Since(w.begin).Seconds(), fmt.Sprintf(format, args...))
}

// until waits until a condition holds, which it looks at twice a second.
func (w *world) until(what string, holds func() (bool, error)) error {
	end := time.Now().Add(patience)
	for tick := time.NewTicker(500 * time.Millisecond); ; <-tick.C {
		ok, err := holds()
		if ok && err == nil {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("after %s it is not so that %s: %v", patience, what, err)
		}
	}
}
