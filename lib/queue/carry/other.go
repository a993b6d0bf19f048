package carry

import (
	"fmt"
	"io"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// Become becomes another program, which reads the record on its standard input. It returns only
// if that fails.
func Become(argv []string, line []byte) error {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	fd, err := unix.MemfdCreate("record", unix.MFD_CLOEXEC)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), "record")
	defer f.Close()
	_, err = f.Write(line)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err == nil {
		err = unix.Dup3(fd, 0, 0)
	}
	if err == nil {
		err = unix.Exec(path, argv, os.Environ())
	}
	return fmt.Errorf("%s: %w", path, err)
}
