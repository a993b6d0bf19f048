package runner

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// idFile is the file of a directory of locks that says which one it is.
const idFile = "id"

// Name gives the directory an id that no other one has, once. A run that has its locks in
// another directory looks dead in this one, so whoever compares the two says where it has them.
func (d Dir) Name() error {
	if _, err := d.ID(); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.CreateTemp(string(d), idFile+"-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(rand.Text())
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	err = os.Link(f.Name(), filepath.Join(string(d), idFile))
	if errors.Is(err, fs.ErrExist) { // another command was faster
		return nil
	}
	return err
}

// ID returns the id of the directory.
func (d Dir) ID() (string, error) {
	path := filepath.Join(string(d), idFile)
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 64))
	if err == nil && len(b) != len(rand.Text()) {
		err = fmt.Errorf("%s: it is not an id", path)
	}
	return string(b), err
}
