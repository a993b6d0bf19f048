package disk_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"pulse/lib/queue/disk"
	"pulse/lib/queue/disk/disktest"
)

const was, is = "what was there before", "and what was written then"

// replaced returns an error if a writer, ended at some step in some way, leaves something
// else than the old file or the new one, or forgets what it acknowledged.
func replaced(d *disktest.FS, write func(d disk.Disk) error) error {
	if err := disk.WriteSynced(d, "tmp/x", "x", []byte(was)); err != nil {
		return err
	}
	d.Ops = 0
	whole := d.Clone()
	if err := write(whole); err != nil {
		return err
	}
	for n := 1; n <= whole.Ops+1; n++ { // at the last one nothing happens before the power cut
		for how, fate := range disktest.Fates {
			for seed := range uint64(20) {
				c := d.Clone()
				c.Fault = disktest.At(n, fate)
				err := disktest.Run(func() error { return write(c) })
				c.PowerCut(rand.New(rand.NewPCG(seed, uint64(n))))
				b, lost := c.Read("x")
				if got := string(b); lost != nil || got != is && (got != was || err == nil) {
					return fmt.Errorf("step %d %s: %v, and then %q, %v", n, how, err, got, lost)
				}
			}
		}
	}
	return nil
}

// TestWriteSynced: a file is the old one or the new one, whatever happens, and the new one
// from when it is acknowledged.
func TestWriteSynced(t *testing.T) {
	write := func(d disk.Disk) error { return disk.WriteSynced(d, "tmp/x", "x", []byte(is)) }
	for _, ordered := range []bool{true, false} {
		d := disktest.New()
		d.Ordered = ordered
		if err := replaced(d, write); err != nil {
			t.Errorf("ordered %v: %v", ordered, err)
		}
	}
}

// TestNaiveWriters is the control: the disk in memory finds each step that a writer leaves
// out.
func TestNaiveWriters(t *testing.T) {
	for what, write := range map[string]func(d disk.Disk) error{
		"in place": func(d disk.Disk) error {
			return errors.Join(d.WriteAt("x", 0, []byte(is)), d.SyncFile("x"))
		},
		"made anew under its name": func(d disk.Disk) error {
			return errors.Join(d.Write("x", []byte(is), time.Time{}), d.SyncFile("x"), d.SyncDir(""))
		},
		"not synced": func(d disk.Disk) error {
			return errors.Join(d.Write("tmp/x", []byte(is), time.Time{}), d.Rename("tmp/x", "x"), d.SyncDir(""))
		},
		"name not synced": func(d disk.Disk) error {
			return errors.Join(d.Write("tmp/x", []byte(is), time.Time{}), d.SyncFile("tmp/x"), d.Rename("tmp/x", "x"))
		},
		"errors not looked at": func(d disk.Disk) error {
			_ = disk.WriteSynced(d, "tmp/x", "x", []byte(is))
			return nil
		},
		"sync tried again": func(d disk.Disk) error {
			if err := d.Write("tmp/x", []byte(is), time.Time{}); err != nil {
				return err
			}
			if d.SyncFile("tmp/x") != nil {
				if err := d.SyncFile("tmp/x"); err != nil {
					return err
				}
			}
			return errors.Join(d.Rename("tmp/x", "x"), d.SyncDir(""))
		},
	} {
		if err := replaced(disktest.New(), write); err == nil {
			t.Errorf("%s: nothing was found", what)
		}
	}
}
