package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// The naive writers. Each is wrong in a way that is easily overlooked.
const (
	early     = "early"     // prints the receipt before it writes the file
	nodirsync = "nodirsync" // does everything right, except that it never syncs the directory
)

// naiveAdd adds records to DIR/scheduled as pulse-queue add does, and prints receipts.
func naiveAdd(how, dir string, in io.Reader, out io.Writer) int {
	runtime.LockOSThread()
	for _, sub := range []string{"", "scheduled", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return 75
		}
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if err := naiveTake(how, dir, lines.Text(), out); err != nil {
			fmt.Fprintln(os.Stderr, "naive-add:", err)
			return 75
		}
	}
	return passed
}

func naiveTake(how, dir, line string, out io.Writer) error {
	sum := sha256.Sum256([]byte(line))
	id := hex.EncodeToString(sum[:16])
	file := fmt.Sprintf(`{"record":%s,"task":{"id":%q}}`+"\n", line, id)
	digest := sha256.Sum256([]byte(file))
	receipt := fmt.Sprintf(`{"task":{"id":%q,"state":"scheduled","digest":"sha256:%x"}}`+"\n", id, digest)
	final := filepath.Join(dir, "scheduled", id+".json")
	if how == early {
		if _, err := io.WriteString(out, receipt); err != nil {
			return err
		}
		return os.WriteFile(final, []byte(file), 0o600)
	}
	tmp := filepath.Join(dir, "tmp", id)
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteString(file); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := os.Rename(tmp, final); err != nil {
		return err
	}
	_, err = io.WriteString(out, receipt)
	return err
}

// naiveRun starts each task, and then notes that it is done. The start itself is
// what a worker would do: a line in a log.
func naiveRun(dir, log string) int {
	runtime.LockOSThread()
	names, err := filepath.Glob(filepath.Join(dir, "scheduled", "*.json"))
	for _, name := range names {
		id := strings.TrimSuffix(filepath.Base(name), ".json")
		f, e := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if e == nil {
			_, e = fmt.Fprintln(f, id)
			e = errors.Join(e, f.Close(), os.Rename(name, filepath.Join(dir, "completed", filepath.Base(name))))
		}
		err = errors.Join(err, e)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "naive-run:", err)
		return 75
	}
	return passed
}

// naiveScenario is a naive writer in place of add.
func naiveScenario(how string, control bool) *scenario {
	name := "naive-add " + how
	if control {
		name = "CONTROL " + name
	}
	return &scenario{
		name: name, control: control, naive: true, stdin: strings.Join(mails(1, 4), ""),
		argv: func(d *desk) []string { return []string{"crashkit", "naive-add", how, d.queue} },
	}
}

// naiveRunner is a naive runner in place of run. One start of each task is allowed.
func naiveRunner() *scenario {
	s := &scenario{name: "CONTROL naive-run", control: true, naive: true}
	s.prepare = func(d *desk, b *books) error {
		out, err := d.must(strings.Join(mails(1, 3), ""), "crashkit", "naive-add", nodirsync, d.queue)
		if err == nil {
			_, err = b.receipts(out)
		}
		if err != nil {
			return err
		}
		for id := range b.acked {
			b.yes[id] = 1
		}
		return os.Mkdir(filepath.Join(d.queue, "completed"), 0o700)
	}
	s.argv = func(d *desk) []string { return []string{"crashkit", "naive-run", d.queue, d.notes} }
	s.next = func(d *desk, b *books) error {
		_, err := d.must("", "crashkit", "naive-run", d.queue, d.notes)
		return err
	}
	return s
}
