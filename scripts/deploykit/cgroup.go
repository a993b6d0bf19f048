package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// cgroups returns the control groups of the machine, which systemd there needs for itself:
// nspawn puts each machine into the same one, "payload", below its own.
func (m *container) cgroups() (list []string, err error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(part) != 3 || part[1] != "" && part[1] != "name=systemd" {
			continue
		}
		root := "/sys/fs/cgroup/systemd"
		if part[1] == "" {
			root = "/sys/fs/cgroup/unified"
			if _, err := os.Stat(root); err != nil {
				root = "/sys/fs/cgroup"
			}
		}
		list = append(list, filepath.Join(root, part[2], m.name()))
	}
	return list, nil
}

// ungroup removes the groups, in which there is no process any more.
func (m *container) ungroup() error {
	list, err := m.cgroups()
	for _, top := range list {
		var dirs []string
		_ = filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		})
		for _, dir := range slices.Backward(dirs) {
			err = errors.Join(err, os.Remove(dir))
		}
	}
	return err
}
