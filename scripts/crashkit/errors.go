package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// errnoOf has the errors with which each system call is made to fail.
var errnoOf = map[string][]string{
	"open":      {"EMFILE", "EIO", "ENOSPC", "EROFS", "EDQUOT"},
	"write":     {"ENOSPC", "EIO", "EDQUOT"},
	"sync":      {"EIO", "ENOSPC", "EDQUOT", "EROFS"},
	"rename":    {"EIO", "ENOSPC", "EXDEV", "EROFS", "EDQUOT"},
	"unlink":    {"EIO", "EROFS"},
	"close":     {"EIO", "ENOSPC", "EDQUOT"},
	"mkdir":     {"ENOSPC", "EIO", "EDQUOT", "EROFS"},
	"time":      {"EIO", "EROFS"},
	"truncate":  {"EIO", "ENOSPC", "EROFS"},
	"lock":      {"ENOLCK", "EIO"},
	"read":      {"EIO"},
	"directory": {"EIO"},
	"stat":      {"EIO"},
	"pipe":      {"EMFILE"},
}

// families name the calls of each row above.
var families = map[string]string{
	"openat": "open", "open": "open", "creat": "open",
	"write": "write", "writev": "write", "pwrite64": "write",
	"fsync": "sync", "fdatasync": "sync", "syncfs": "sync",
	"rename": "rename", "renameat": "rename", "renameat2": "rename", "link": "rename", "linkat": "rename",
	"unlink": "unlink", "unlinkat": "unlink", "close": "close", "mkdir": "mkdir", "mkdirat": "mkdir",
	"utimensat": "time", "ftruncate": "truncate", "truncate": "truncate", "fallocate": "truncate", "flock": "lock",
	"pread64": "read", "getdents64": "directory", "newfstatat": "stat", "statx": "stat", "pipe2": "pipe",
}

// errnos makes the system calls of every command fail, one at a time.
func errnos(k *kit) error {
	for _, s := range k.chosen() {
		if err := s.fail(k); err != nil {
			return err
		}
	}
	if k.only != "" {
		return nil
	}
	return limited(k)
}

func (s *scenario) fail(k *kit) error {
	err := s.setUp(k, "errors")
	if errors.Is(err, errAbsent) {
		k.missing("error: "+s.name, err)
		return nil
	}
	if err != nil {
		return err
	}
	points, err := s.dryRun(k, "errors")
	if err != nil {
		return err
	}
	names := make([]string, 0, len(families))
	for name := range families {
		names = append(names, name)
	}
	var list []call
	var with []string
	points = slices.DeleteFunc(points, unreal)
	for i, c := range pick(points, names, k.most(3)) {
		all := errnoOf[families[c.name]]
		if !k.long {
			all = []string{all[i%len(all)]}
		}
		for _, e := range all {
			list, with = append(list, c), append(with, e)
		}
	}
	t := k.tally("error: "+s.name, "given")
	t.control = s.control
	s.each(t, "errors", list, func(d *desk, i int, c call) { s.failAt(d, t, i, c, with[i]) })
	t.end()
	return nil
}

// unreal reports whether a call can't fail in this way. A file without a disk does not
// have a disk's errors, and the Go runtime is not made for them. And a close that really
// fails closes all the same; one that is made to fail does not, and leaves a lock locked.
func unreal(c call) bool {
	return strings.Contains(c.text, "<anon_inode:") ||
		strings.Contains(c.text, "<pipe:") && !strings.HasPrefix(c.text, "write(1<") ||
		c.name == "close" && strings.Contains(c.text, "/lock>")
}

// injectedCall returns the call of a trace that was made to fail: the calls of a runner
// are not always counted alike, so it may be another one than was meant.
func injectedCall(line string) call {
	_, text, _ := strings.Cut(strings.TrimSpace(line), " ")
	text = strings.TrimSpace(text)
	name, _, _ := strings.Cut(text, "(")
	return call{name: name, text: text}
}

// failAt makes one system call fail, and looks at what is left.
func (s *scenario) failAt(d *desk, t *tally, i int, c call, errno string) {
	log := filepath.Join(d.dir, "trace")
	set := "openat,write,pwrite64,ftruncate,fsync,fdatasync,syncfs"
	if !strings.Contains(","+set+",", ","+c.name+",") {
		set += "," + c.name
	}
	e := s.traced(d, log, set, fmt.Sprintf("%s:error=%s:when=%d", c.name, errno, c.n))
	tr, err := readSyncs(log)
	if tr.unreal {
		t.count("unreal, left out")
		return
	}
	b, f := s.took(e)
	if !s.statusFits(e, &c) {
		f.add("status %d: %v", e.status, e)
	}
	if err != nil {
		f.add("trace: %v", err)
	}
	for _, again := range tr.again {
		f.add("sync tried again: %s", again)
	}
	t.count(fmt.Sprintf("exit %d", e.status))
	f = append(f, s.aftermath(d, b, i)...)
	t.point(c.String()+" -> "+errno, tr.injected, f)
}

// statusFits reports whether a command may end like this after a call failed: with 75,
// with 0 if it did not matter, or with 77 if the person's terminal failed.
func (s *scenario) statusFits(e *ended, c *call) bool {
	if e.err != nil {
		return false
	}
	terminal := s.person && (strings.Contains(c.text, "/dev/tty") || strings.Contains(c.text, "/dev/pts"))
	return slices.Contains([]int{0, 75}, e.status) || terminal && e.status == 77
}
