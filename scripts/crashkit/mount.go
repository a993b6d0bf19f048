package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// mounted are the mount points of this process, the last one first.
var mounted struct {
	sync.Mutex
	list []string
}

// tool runs a command of this machine, which has to succeed.
func tool(argv ...string) error {
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

// mount mounts a device or, with the option loop, an image.
func mount(mnt, fstype, device, options string) error {
	if err := tool("mount", "-t", fstype, "-o", options, device, mnt); err != nil {
		return err
	}
	mounted.Lock()
	mounted.list = append([]string{mnt}, mounted.list...)
	mounted.Unlock()
	return nil
}

func resize(mnt, options string) error { return tool("mount", "-o", "remount,"+options, mnt) }

func unmount(mnt string) error {
	err := tool("umount", mnt)
	if err != nil {
		err = errors.Join(err, unix.Unmount(mnt, unix.MNT_DETACH))
	}
	mounted.Lock()
	mounted.list = slices.DeleteFunc(mounted.list, func(m string) bool { return m == mnt })
	mounted.Unlock()
	return err
}

// leave unmounts a file system that is no longer needed.
func leave(mnt string) {
	if err := unmount(mnt); err != nil {
		fmt.Fprintln(os.Stderr, "crashkit:", err)
	}
}

func unmountAll() {
	mounted.Lock()
	list := slices.Clone(mounted.list)
	mounted.Unlock()
	for _, mnt := range list {
		leave(mnt)
	}
}
