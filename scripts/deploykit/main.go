// Deploykit provides what scripts/test-deploy needs: a fresh machine with systemd in a
// container, on which the blocks of pulse-deploy(7) are pasted and mail becomes a mail that
// was approved, while the power fails.
//
//	deploykit ROOT PACKAGE NEXT  boots the folder ROOT, which is spoilt, and installs the
//	                             package, later that of the next version
//	deploykit providers DIR      the providers that the machine finds on its loopback
package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

func init() { runtime.LockOSThread() } // a machine ends with the thread that started it

func main() {
	var err error
	switch {
	case len(os.Args) == 3 && os.Args[1] == "providers":
		err = provide(os.Args[2])
	case len(os.Args) == 4:
		err = test(os.Args[1], os.Args[2], os.Args[3])
	default:
		err = errors.New("usage: deploykit ROOT PACKAGE NEXT | deploykit providers DIR")
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "\ndeploykit: error: %v\n", err)
		os.Exit(1)
	}
}

// test takes the machine through all steps, and ends it however they end.
func test(root, pkg, next string) (err error) {
	root, err = filepath.Abs(root)
	if err != nil {
		return err
	}
	m := &container{root: root}
	defer func() { err = errors.Join(err, m.gone()) }()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-stop
		_ = m.gone()
		os.Exit(130)
	}()
	begin := time.Now()
	for _, s := range (&life{container: m, pkg: pkg, next: next}).steps() {
		start := time.Now()
		for _, do := range s.acts {
			if err := do(); err != nil {
				return fmt.Errorf("%s: %w", s.what, err)
			}
		}
		fmt.Printf("%6.1f s  %s\n", time.Since(start).Seconds(), s.what)
	}
	fmt.Printf("%6.1f s  in all\n", time.Since(begin).Seconds())
	return nil
}
