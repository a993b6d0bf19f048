package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// limits fills up a disk, and lets a process reach its limits, in the middle of a
// command.
func limits(k *kit) error {
	step := 4
	if k.long {
		step = 1
	}
	for _, s := range []*scenario{
		adding("add", mails(1, 2), append(mails(10, 30), effect(1), mail(50, "reject"))),
		asking("run", 0, "completed"),
		naiveScenario(early, true),
	} {
		if err := s.setUp(k, "limits"); err != nil {
			return err
		}
		if err := s.fullDisk(k, step); err != nil {
			return err
		}
		s.ulimit(k, "-f", "file size", 1, 40*step/4, step)
		if !s.control { // it needs no more than the least that the Go runtime does
			s.ulimit(k, "-n", "descriptors", 8, 42, step)
		}
	}
	return nil
}

// fullDisk runs the command on a file system that has room for n pages, or inodes.
func (s *scenario) fullDisk(k *kit, step int) error {
	mnt := filepath.Join(k.dir, "limits", "disk")
	if err := os.MkdirAll(mnt, 0o700); err != nil {
		return err
	}
	what := "full tmpfs: " + s.name
	if err := mount(mnt, "tmpfs", "tmpfs", "size=4m"); err != nil {
		k.skip(what, err)
		return nil
	}
	defer leave(mnt)
	t := k.tally(what, "75")
	t.control = s.control
	for _, unit := range []string{"pages", "inodes"} {
		for room := 0; room < 48; room += step {
			d := k.at(mnt, filepath.Join(mnt, "q"))
			d.naive, d.policy, d.notes = s.naive, filepath.Join(k.dir, "limits", "policy.toml"), filepath.Join(k.dir, "limits", "starts")
			os.Remove(d.notes)
			if err := resize(mnt, "size=4m,nr_inodes=1000"); err != nil {
				return err
			}
			if err := d.limits(3); err != nil {
				return err
			}
			if err := mirror(s.template, mnt); err != nil {
				return err
			}
			if err := squeeze(mnt, unit, room); err != nil {
				return err
			}
			e := d.exec(s.stdin, s.line(d, k.bin)...)
			err := resize(mnt, "size=4m,nr_inodes=1000")
			if err != nil {
				return err
			}
			s.judge(d, t, e, room, fmt.Sprintf("room for %d %s", room, unit))
		}
	}
	t.end()
	return nil
}

// squeeze leaves room for n more pages or inodes.
func squeeze(mnt, unit string, n int) error {
	var st unix.Statfs_t
	if err := unix.Statfs(mnt, &st); err != nil {
		return err
	}
	if unit == "inodes" {
		return resize(mnt, fmt.Sprintf("size=4m,nr_inodes=%d", st.Files-st.Ffree+uint64(n)))
	}
	return resize(mnt, fmt.Sprintf("nr_inodes=1000,size=%d", (st.Blocks-st.Bfree+uint64(n))*uint64(st.Bsize)))
}

// ulimit runs the command under a limit of the shell.
func (s *scenario) ulimit(k *kit, flag, name string, from, to, step int) {
	t := k.tally("ulimit, "+name+": "+s.name, "75")
	t.control = s.control
	for n := from; n < to; n += step {
		d, err := s.desk(k, "limits", "desk-0")
		if err != nil {
			t.point("the test itself", false, findings{"desk: " + err.Error()})
			continue
		}
		argv := append([]string{"sh", "-c", fmt.Sprintf(`ulimit %s %d; exec "$@"`, flag, n), "sh"}, s.line(d, k.bin)...)
		e := d.exec(s.stdin, argv...)
		s.judge(d, t, e, n, fmt.Sprintf("ulimit %s %d", flag, n))
	}
	t.end()
}

// judge looks at what was left by a command that met a limit.
func (s *scenario) judge(d *desk, t *tally, e *ended, i int, where string) {
	b, f := s.took(e)
	if e.err != nil || e.status != 0 && e.status != 75 {
		f.add("status %d: %s", e.status, cut(strings.TrimSpace(string(e.stderr)), 300))
	}
	t.count(fmt.Sprintf("exit %d", e.status))
	t.point(where, e.status == 75, append(f, s.aftermath(d, b, i)...))
}
