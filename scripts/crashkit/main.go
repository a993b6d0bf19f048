// Crashkit ends the commands of pulse at the worst moments and looks at what is
// left: it is scripts/crash-test.
//
//	crashkit [flags] syscalls   a kill at every system call
//	crashkit [flags] limits     a full disk, ulimit
//	crashkit [flags] power      the power goes: ext4 and xfs, remounted from what was on the disk
//	crashkit [flags] storm      many commands at once, killed at random
//	crashkit [flags] people     people and scripts at once, killed at random
//	crashkit naive-add HOW DIR  a writer that each of these must catch
//	crashkit naive-run DIR LOG  a runner that the first two must catch
//
// It knows the commands and pulse-queue(5), and none of their code. The invariants are
// in check.go. Caveat: a power cut is a copy of the image, or a shutdown of the file system
// or of the one below it, which loses what was not flushed. A disk that loses what it was
// told to flush is not simulated.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

// The exit statuses are those of pulse(7).
const (
	passed = 0
	failed = 1
	usage  = 64
)

func main() { os.Exit(run(os.Args[1:])) }

// kit holds what all parts need.
type kit struct {
	bin, locked string // the commands; and built to stay on one thread
	dir         string // to work in
	long, skips bool
	kills       int    // of the storm of people; 0: as many as it says
	only        string // part of the names of scenarios
	total       report
}

func run(args []string) int {
	if len(args) == 3 && args[0] == "naive-add" {
		return naiveAdd(args[1], args[2], os.Stdin, os.Stdout)
	}
	if len(args) == 3 && args[0] == "naive-run" {
		return naiveRun(args[1], args[2])
	}
	k := &kit{}
	set := flag.NewFlagSet("crashkit", flag.ContinueOnError)
	set.StringVar(&k.bin, "bin", "", "`DIR` of the commands")
	set.StringVar(&k.locked, "locked", "", "`DIR` of the commands whose main goroutine keeps its thread")
	set.StringVar(&k.dir, "dir", "", "`DIR` to work in; what lies there is removed")
	set.BoolVar(&k.long, "long", false, "every point, not a sample")
	set.BoolVar(&k.skips, "allow-skips", false, "what this machine can't do is no failure")
	set.IntVar(&k.kills, "kills", 0, "how many commands the storm of people kills; 0: 400, or with --long 4000")
	set.StringVar(&k.only, "only", "", "the scenarios of syscalls with `TEXT` in their names")
	if err := set.Parse(args); err != nil {
		return usage
	}
	parts := map[string]func(*kit) error{"syscalls": syscalls, "limits": limits, "power": power, "storm": storm, "people": people}
	if set.NArg() != 1 || parts[set.Arg(0)] == nil || k.bin == "" || k.locked == "" || k.dir == "" {
		fmt.Fprintln(os.Stderr, "usage: crashkit --bin DIR --locked DIR --dir DIR [--long] [--allow-skips] [--only TEXT] syscalls|limits|power|storm|people")
		return usage
	}
	err := k.absolute()
	if err == nil {
		defer unmountAll()
		go leaveOnSignal()
		err = parts[set.Arg(0)](k)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "crashkit: error: %v\n", err)
		return failed
	}
	if !k.total.good(k.skips) {
		return failed
	}
	return passed
}

func (k *kit) absolute() (err error) {
	syscall.Umask(0o022) // a policy that others may write is refused
	var errs []error
	for _, p := range []*string{&k.bin, &k.locked, &k.dir} {
		*p, err = filepath.Abs(*p)
		errs = append(errs, err)
	}
	return errors.Join(append(errs, os.MkdirAll(k.dir, 0o700))...)
}

// leaveOnSignal unmounts every file system when a signal ends the run.
func leaveOnSignal() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM)
	<-c
	unmountAll()
	os.Exit(failed)
}
