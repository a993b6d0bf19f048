package cmd_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// waitEntry returns the command of the crontab line in pulse-fetch(1) that waits, for a
// host.
func (h *host) waitEntry(t testing.TB) string {
	t.Helper()
	page, err := os.ReadFile("../man/pulse-fetch.1")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(page), "crontab: wait\n.Bd -literal -offset indent\n* * * * * cd pulse && ")
	command, _, _ := strings.Cut(after, "\n")
	for old, text := range map[string]string{
		`\(aq`: "'", "--password-file": "--tls-ca " + h.CA + " --password-file", "-- agent": "-- ./agent",
	} {
		if !strings.Contains(command, old) {
			t.Fatalf("the entry has no %s: %s", old, command)
		}
		command = strings.ReplaceAll(command, old, text)
	}
	h.write(t, "agent", "#!/bin/sh\ndate +%s%N >started; jq -r .message.subject >subject\n")
	if err := os.Chmod(filepath.Join(h.dir, "agent"), 0o700); err != nil {
		t.Fatal(err)
	}
	return "export INBOX=" + h.source() + "; " + command
}

// arrival runs that command, delivers a mail once the server says that it waits, and
// returns how long it took until the agent had started.
func (h *host) arrival(t testing.TB, n int) time.Duration {
	t.Helper()
	command := h.waitEntry(t)
	done := make(chan string, 1)
	go func() {
		out, errs, status := h.sh(t, command)
		done <- fmt.Sprint(status, out, errs)
	}()
	h.AwaitIdle(t, done)
	begin := time.Now()
	h.deliver(t, n, 1)
	if said := <-done; said != "0" {
		t.Fatalf("the entry ended with %s", said)
	}
	nanos, err := strconv.ParseInt(strings.TrimSpace(h.must(t, "cat started")), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if subject := h.must(t, "cat subject"); subject != fmt.Sprintf("mail %d\n", n) {
		t.Errorf("the worker got %s", subject)
	}
	return time.Unix(0, nanos).Sub(begin)
}

// TestWait: a mail that comes while pulse-fetch waits, confined, reaches a worker, and
// nothing stays behind; so do the next one, and one that came while nobody waited.
func TestWait(t *testing.T) {
	h := newHost(t)
	before := time.Now()
	for n := range 2 {
		if took := h.arrival(t, n+1); took < 0 || took > time.Since(before) {
			t.Errorf("mail %d took %v", n+1, took)
		}
	}
	h.deliver(t, 3, 1)
	if got := receipts(t, h.must(t, h.fetch("--wait 1m")+" | pulse-classify | pulse-authorize | pulse-queue add")); len(got) != 1 {
		t.Errorf("%v", got)
	}
	if out := h.must(t, h.fetch("--wait 100ms")); out != "" {
		t.Errorf("nothing came, and it printed %s", out)
	}
	for _, name := range h.Names(t) {
		if !strings.HasPrefix(name, "new/") {
			t.Errorf("%s was renamed", name)
		}
	}
}

// TestWaitOutdated: what comes after the policy was changed is left to the next run, whose stages
// read the new one.
func TestWaitOutdated(t *testing.T) {
	h := newHost(t)
	for n, edit := range []string{"echo >>policy.toml", "cp policy.toml new && mv new policy.toml"} {
		done := make(chan string, 1)
		go func() {
			out, errs, status := h.sh(t, h.fetch("--wait 1m"))
			done <- fmt.Sprint(status, out, errs)
		}()
		h.AwaitIdle(t, done)
		h.must(t, edit)
		h.deliver(t, n+1, 1)
		if said := <-done; said != "0" {
			t.Errorf("%s: %s", edit, said)
		}
		if got := receipts(t, h.must(t, h.fetch("")+" | pulse-classify | pulse-authorize | pulse-queue add")); len(got) != 1 {
			t.Errorf("%s: the next run got %v", edit, got)
		}
	}
}

// TestWaitSignals: a signal ends the wait at once and in silence, and the process that
// would have connected again ends, too.
func TestWaitSignals(t *testing.T) {
	h := newHost(t)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		argv := strings.Fields(h.fetch("--wait 1h"))
		cmd := exec.Command(filepath.Join(bin, argv[0]), argv[1:]...)
		cmd.Dir = h.dir
		var said strings.Builder
		cmd.Stdout, cmd.Stderr = &said, &said // Wait returns once no process has them open
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		h.AwaitIdle(t, nil)
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		_ = cmd.Wait()
		if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != sig || said.String() != "" || time.Since(begin) > 10*time.Minute {
			t.Errorf("%v: %v after %v, said %q", sig, cmd.ProcessState, time.Since(begin), said.String())
		}
	}
}

// BenchmarkArrival measures the time from the delivery of a mail to the start of a worker.
func BenchmarkArrival(b *testing.B) {
	h := newHost(b)
	var sum time.Duration
	n := 0
	for b.Loop() {
		n++
		sum += h.arrival(b, n)
	}
	b.ReportMetric(float64(sum.Milliseconds())/float64(n), "ms/arrival")
}
