package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// mirror makes to a copy of from, including times. It reuses directories that are there,
// because making many new ones is slow on some file systems.
func mirror(from, to string) error {
	if err := clear(from, to); err != nil {
		return err
	}
	return filepath.Walk(from, func(name string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		dest := to + strings.TrimPrefix(name, from)
		if info.IsDir() {
			return os.MkdirAll(dest, info.Mode().Perm())
		}
		b, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(dest, b, info.Mode().Perm())
		}
		if err == nil {
			err = os.Chtimes(dest, info.ModTime(), info.ModTime())
		}
		return err
	})
}

// clear removes from to what is not in from.
func clear(from, to string) error {
	entries, err := os.ReadDir(to)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		below, err := os.Stat(filepath.Join(from, e.Name()))
		gone := filepath.Join(to, e.Name())
		if err == nil && below.IsDir() && e.IsDir() {
			err = clear(filepath.Join(from, e.Name()), gone)
		} else {
			err = os.RemoveAll(gone)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
