package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// worst measures how long readers delay writers. It runs hold, release and add RUNS times
// on a queue that eight listings, a verify and a health read in a loop. One more listing
// is stopped in the middle, because its output is not read. worst prints the median and
// the worst wall time of each command, in ms.
func worst(runs int, queue, record string) error {
	stop := make(chan struct{})
	done := make(chan error)
	readers := [][]string{{"verify"}, {"health"}}
	for range 8 {
		readers = append(readers, []string{"list", "--json"})
	}
	for _, args := range readers {
		go func() { done <- loop(stop, queue, args) }()
	}
	asleep, err := stopped(queue)
	if err == nil {
		err = measure(runs, queue, record)
	}
	close(stop)
	for range readers {
		if e := <-done; err == nil {
			err = e
		}
	}
	if asleep != nil {
		_ = asleep.Process.Kill() // it may have ended
		_ = asleep.Wait()
	}
	return err
}

// loop runs a reader again and again.
func loop(stop chan struct{}, queue string, args []string) error {
	for {
		select {
		case <-stop:
			return nil
		default:
		}
		cmd := exec.Command("pulse-queue", append(args, "--queue", queue)...)
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil && args[0] != "health" { // it fails because it has found something
			return fmt.Errorf("%s: %w", args[0], err)
		}
	}
}

// stopped starts a listing, takes the beginning of its output and stops it.
func stopped(queue string) (*exec.Cmd, error) {
	cmd := exec.Command("pulse-queue", "list", "--all", "--json", "--queue", queue)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		return cmd, fmt.Errorf("list --all: %w", err)
	}
	return cmd, cmd.Process.Signal(syscall.SIGSTOP)
}

func measure(runs int, queue, record string) error {
	b, err := os.ReadFile(record)
	if err != nil {
		return err
	}
	took := map[string][]time.Duration{}
	for i := range runs {
		for _, command := range []string{"hold", "release", "add"} {
			cmd := exec.Command("pulse-queue", command, "--queue", queue)
			if command == "add" { // another mail each time
				cmd.Stdin = strings.NewReader(strings.ReplaceAll(string(b), "<0@example.com>", fmt.Sprintf("<worst-%d@example.com>", i)))
			}
			cmd.Stderr = os.Stderr
			begin := time.Now()
			if err := cmd.Run(); err != nil {
				return fmt.Errorf("%s: %w", command, err)
			}
			took[command] = append(took[command], time.Since(begin))
		}
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
	for _, command := range []string{"hold", "release", "add"} {
		fmt.Printf("%24s %10.1f ms %10.1f ms  %s\n", command, ms(median(took[command])), ms(slices.Max(took[command])), filepath.Base(queue))
	}
	return nil
}
