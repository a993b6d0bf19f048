package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"pulse/lib/authorize/hook"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pulse/lib/queue"
	"pulse/lib/queue/queuetest"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// read is what a hook says that let its worker read something private.
var read = []hook.Judged{queuetest.Allowed("fs.read", terms.ReadPrivate)}

// everything is a queue that has a file of each kind.
func everything(t *testing.T) *Spool {
	t.Helper()
	s := made(t)
	do(t, s, add(mails(1, 4)...), refuse, start(""), finish(queue.End{Exit: 0, Result: []byte("done\n"), Judged: read}), start(""),
		finish(queue.End{Exit: 1, Result: []byte("half\n")}), start(""), cancel, prune, start(""), propose(1), add(effect(9)), deny,
		add(effect(1), effect(2), effect(3)), approve, approve, start(terms.ExternalSend),
		grant("a1"), session("b1", 3, 9999*time.Hour), add(sessionMail(60, "b1")), queuetest.Keeping(mail(70, terms.Reject)), add(mails(80, 2)...), start(""), brake(audit.Held))
	return s
}

// content returns the files of a queue by their names in it.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, dir+"/")] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// restore makes a queue what it was.
func restore(t *testing.T, dir string, was map[string]string) {
	t.Helper()
	is := content(t, dir)
	for name, b := range was {
		if got, ok := is[name]; !ok || got != b {
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, name), b)
		}
	}
	for name := range is {
		if _, ok := was[name]; !ok {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// indifferent reports whether a byte, or the absence of a file (at < 0), decides nothing
// that the log knows; pulse-queue(5) lists these files.
func indifferent(name, was string, at int) bool {
	switch dir, _, _ := strings.Cut(name, "/"); dir {
	case formatFile, lockFile, draftDir, tmpDir, workersDir, unsafeFile, networkFile, "groups":
		return true
	case checkpointFile: // blanks at the end
		return at >= len(strings.TrimRight(was, " \n"))
	}
	return false
}

// mutations are what hands do to a file.
func mutations(name, was string) map[string]func(path string) error {
	list := map[string]func(string) error{
		"removed": os.Remove,
		"emptied": func(path string) error { return os.Truncate(path, 0) },
		"halved":  func(path string) error { return os.Truncate(path, int64(len(was)/2)) },
		"doubled": func(path string) error { return os.WriteFile(path, []byte(was+was), 0o600) },
		"a FIFO in its place": func(path string) error {
			return errors.Join(os.Remove(path), mkfifo(path))
		},
	}
	stride := 1 + len(was)/200
	if testing.Short() {
		stride = 1 + len(was)/16
	} else if thin {
		stride = 1 + len(was)/67
	}
	for at := 0; at < len(was); at += stride {
		if indifferent(name, was, at) {
			continue
		}
		list[fmt.Sprintf("byte %d", at)] = func(path string) error {
			b := []byte(was)
			b[at] ^= 1
			return os.WriteFile(path, b, 0o600)
		}
	}
	return list
}

// TestVerifyFindsEveryByte: whatever hands do to a file of a queue is found, unless it is
// made anew before it decides anything, or decides nothing at all.
func TestVerifyFindsEveryByte(t *testing.T) {
	s := everything(t)
	was, said := content(t, s.dir), says(t, s)
	whole(t, s)
	for _, dir := range directories() {
		if dir != tmpDir && dir != workersDir && dir != string(task.Corrupt) && dir != string(task.Failed) && dir != draftDir &&
			!slices.ContainsFunc(names(was), func(name string) bool { return strings.HasPrefix(name, dir+"/") }) {
			t.Errorf("the queue has nothing in %s", dir)
		}
	}
	if !slices.ContainsFunc(names(was), func(name string) bool { return strings.HasSuffix(name, ".labels") }) {
		t.Error("the queue has no labels")
	}
	found, healed := 0, map[string]int{}
	for _, name := range names(was) {
		if indifferent(name, was[name], -1) {
			continue
		}
		for what, change := range mutations(name, was[name]) {
			if err := change(filepath.Join(s.dir, name)); err != nil {
				t.Fatal(err)
			}
			again, err := Open(s.dir)
			if err != nil {
				t.Fatal(err)
			}
			report, err := again.Verify("")
			again.Close()
			switch {
			case err != nil || len(report.Findings) > 0:
				found++
			case !slices.Contains([]string{agendaFile, startsFile, checkpointFile}, name):
				t.Errorf("%s, %s: verify finds nothing", name, what)
			default: // made anew
				healed[name]++
				if got := says(t, s); got != said {
					t.Errorf("%s, %s: it says something else:\n%s", name, what, got)
				}
				if is := content(t, s.dir); name == startsFile && is[name] != was[name] {
					t.Errorf("%s, %s: it is %q", name, what, is[name])
				}
			}
			restore(t, s.dir, was)
		}
	}
	t.Logf("%d found, made anew: %v", found, healed)
	whole(t, s)
}

func names(m map[string]string) (list []string) {
	for name := range m {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// TestVerifyFindsWhatIsTooMuch: a file more, in each directory.
func TestVerifyFindsWhatIsTooMuch(t *testing.T) {
	s := everything(t)
	was := content(t, s.dir)
	for _, name := range names(was) {
		dir, base, in := strings.Cut(name, "/")
		if !in || indifferent(name, "", -1) || dir == auditDir {
			continue
		}
		for _, more := range []string{
			strings.Replace(base, base[:1], string(base[0]^1), 1), strings.TrimSuffix(base, filepath.Ext(base)) + ".txt", "README",
		} {
			if more == base || was[dir+"/"+more] != "" {
				continue
			}
			write(t, filepath.Join(s.dir, dir, more), was[name])
			report, err := s.Verify("")
			if err != nil || len(report.Findings) == 0 {
				t.Errorf("%s/%s: verify finds nothing: %v", dir, more, err)
			}
			restore(t, s.dir, was)
		}
	}
}

func mkfifo(path string) error { return unix.Mkfifo(path, 0o600) }

// rebuild makes a queue anew with these files.
func rebuild(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	if err := errors.Join(os.RemoveAll(dir), Create(dir, Options{})); err != nil {
		t.Fatal(err)
	}
	for name, b := range files {
		write(t, filepath.Join(dir, name), b)
	}
}

// TestLargeFiles: what is larger than any that pulse writes is refused before it is read,
// and stops no other command.
func TestLargeFiles(t *testing.T) {
	s := made(t)
	do(t, s, add(mails(1, 6)...), start(""), finish(queue.End{Exit: 0, Result: []byte("x"), Judged: read}), add(effect(1)), approve, grant("a1"), session("b1", 3, time.Hour))
	was := content(t, s.dir)
	first := in(t, s, task.Scheduled)[0]
	for _, name := range names(was) {
		dir, _, in := strings.Cut(name, "/")
		if !in && name != holdFile && name != clockFile && name != checkpointFile && name != agendaFile && name != startsFile || dir == auditDir || in && indifferent(name, "", -1) {
			continue
		}
		for what, spoil := range map[string]func(path string) error{
			"8 GiB":       func(path string) error { return os.Truncate(path, 8<<30) },
			"a directory": func(path string) error { return errors.Join(os.Remove(path), os.MkdirAll(path+"/in", 0o700)) },
			"a FIFO":      func(path string) error { return errors.Join(os.Remove(path), mkfifo(path)) },
		} {
			if err := spoil(filepath.Join(s.dir, name)); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			s := opened(t, s.dir)
			for _, op := range []operation{brake(audit.Held), brake(audit.Released), add(mails(100, 1)...), start(""), nothing} {
				if err := op.Do(s, epoch); err != nil {
					t.Errorf("%s, %s: %s: %v", name, what, op.Name, err)
				}
			}
			if _, err := s.Verify(""); err != nil {
				t.Errorf("%s, %s: verify: %v", name, what, err)
			}
			if took := time.Since(began); took > 5*time.Minute {
				t.Errorf("%s, %s: %s", name, what, took)
			}
			st, err := os.Stat(filepath.Join(s.dir, "corrupt", first+".json"))
			if aside := err == nil; aside != (name == "scheduled/"+first+".json") {
				t.Errorf("%s, %s: set aside: %v, %v", name, what, aside, st)
			}
			rebuild(t, s.dir, was)
		}
	}
}

// TestVerifyChainFinds: health finds what was done to the log by hand, wherever.
func TestVerifyChainFinds(t *testing.T) {
	for name, change := range map[string]func(lines []string) []string{
		"nothing": func(lines []string) []string { return lines },
		"a letter": func(lines []string) []string {
			lines[1] = strings.Replace(lines[1], "read_public", "read_publid", 1)
			return lines
		},
		"a line":    func(lines []string) []string { return slices.Delete(lines, 1, 2) },
		"the first": func(lines []string) []string { return lines[1:] },
		"order":     func(lines []string) []string { lines[1], lines[2] = lines[2], lines[1]; return lines },
		"no line":   func(lines []string) []string { lines[1] = "{}"; return lines },
	} {
		s := made(t)
		do(t, s, add(mails(1, 5)...))
		files, _ := filepath.Glob(s.dir + "/audit/*")
		b, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		lines := change(strings.SplitAfter(string(b), "\n"))
		if err := os.WriteFile(files[0], []byte(strings.Join(lines, "")), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := opened(t, s.dir).VerifyChain()
		if found := err != nil || len(r.Findings) > 0; found != (name != "nothing") {
			t.Errorf("%s: %v, %v", name, r.Findings, err)
		}
	}
}
