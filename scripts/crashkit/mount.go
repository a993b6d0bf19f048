package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// mounted are the mount points of this process, the last one first.
var mounted struct {
	sync.Mutex
	list []string
}

// mount mounts a device or, with the option loop, an image.
func mount(mnt, fstype, device, options string) error {
	if out, err := exec.Command("mount", "-t", fstype, "-o", options, device, mnt).CombinedOutput(); err != nil {
		return fmt.Errorf("mount -t %s -o %s: %w: %s", fstype, options, err, bytes.TrimSpace(out))
	}
	mounted.Lock()
	mounted.list = append([]string{mnt}, mounted.list...)
	mounted.Unlock()
	return nil
}

func resize(mnt, options string) error {
	if out, err := exec.Command("mount", "-o", "remount,"+options, mnt).CombinedOutput(); err != nil {
		return fmt.Errorf("mount -o remount,%s: %w: %s", options, err, bytes.TrimSpace(out))
	}
	return nil
}

func unmount(mnt string) error {
	out, err := exec.Command("umount", mnt).CombinedOutput()
	if err != nil {
		err = errors.Join(fmt.Errorf("umount %s: %w: %s", mnt, err, bytes.TrimSpace(out)), unix.Unmount(mnt, unix.MNT_DETACH))
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
