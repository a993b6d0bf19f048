package box

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"pulse/lib/shared/fault"
)

// InsideOnce is the subcommand with which this program is process 1 of the box of a program that
// is started once: it says on a descriptor that the program has begun.
const InsideOnce = "boxed-once"

// Once is a program that is started once, in a box.
type Once struct {
	Dir            string      // where it begins, without links
	In             string      // the directory beneath which that is
	Is             fs.FileInfo // and which one that has to be, in the box
	RW, RO, Env    []string    // as the flags of pulse-queue box
	Stdout, Stderr io.Writer

	cmd *exec.Cmd
}

// What is said on the descriptor: that the program begins, and then that it did not. Nothing: it
// came to neither.
const (
	begins = "b"
	failed = "f"
)

// ErrNotBegun means that the box was made, and that the program did not begin in it: nothing
// happened. What Stderr got says why.
var ErrNotBegun = errors.New("box: the program has not begun")

// path is that of a program whose caller's PATH is not the one that was shown to anybody.
const path = "PATH=/usr/local/bin:/usr/bin:/bin"

// Begin makes the box and starts argv in it. An error means that nothing has begun.
func (o *Once) Begin(argv []string) error {
	if err := notRoot(); err != nil {
		return err
	}
	w := &wish{cmd: argv, dir: o.Dir}
	for _, list := range []struct {
		flag  string
		paths []string
	}{{"--rw", o.RW}, {"--ro", o.RO}} {
		for _, p := range list.paths {
			if err := w.shows(list.flag, p); err != nil {
				return err
			}
		}
	}
	for _, name := range o.Env {
		if err := w.passes(name); err != nil {
			return err
		}
	}
	w.dir = filepath.Clean(o.Dir)
	return o.begin(w)
}

func (o *Once) begin(w *wish) error {
	self, bwrap, err := programs()
	if err != nil {
		return err
	}
	home := *w
	home.dir = "/"
	if err := home.try(bwrap, self); err != nil {
		return err
	}
	filter, err := filterFile()
	if err != nil {
		return err
	}
	defer filter.Close()
	begun, tell, err := os.Pipe()
	if err != nil {
		return err
	}
	defer begun.Close()
	runtime.LockOSThread() // keys are a thread's
	defer runtime.UnlockOSThread()
	if err = ownKeys(); err == nil {
		const filterFD, tellFD = 3, 4 // of ExtraFiles
		inside := append([]string{self, InsideOnce, decimal(tellFD), o.In, identity(o.Is), w.dir}, w.cmd...)
		o.cmd = exec.Command(bwrap, w.arguments(self, filterFD, inside)...)
		o.cmd.Env = append(w.environment(), path)
		o.cmd.ExtraFiles = []*os.File{filter, tell}
		o.cmd.Stdout, o.cmd.Stderr = o.Stdout, o.Stderr
		err = o.cmd.Start()
	}
	tell.Close()
	if err != nil {
		return err
	}
	if said, err := io.ReadAll(begun); err != nil || string(said) == begins { // it may have begun
		return nil
	}
	_ = o.cmd.Wait()
	return ErrNotBegun
}

// End waits until all of the box has ended, and returns the program's status, as Become does.
func (o *Once) End() (status int, err error) {
	var exit *exec.ExitError
	if err = o.cmd.Wait(); errors.As(err, &exit) {
		err = nil
	}
	if s, ok := o.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return 0, errors.New("box: it was killed")
	}
	return o.cmd.ProcessState.ExitCode(), err
}

// Kill ends the box, with all that is in it.
func (o *Once) Kill() { _ = o.cmd.Process.Kill() }

// BecomeOnce is Become for InsideOnce. The arguments are the descriptor, a directory and which one
// that has to be, the one in which this process has to be, and those of the program, which no
// shell reads.
func BecomeOnce(args []string) (status int, err error) {
	if len(args) < 5 || len(args[0]) != 1 {
		return 0, fault.Usagef("pulse-queue carry --help", "%s is started by pulse-queue carry", InsideOnce)
	}
	if is, err := os.Stat(args[1]); err != nil || identity(is) != args[2] {
		return 0, fault.Usagef("", "%s is not the workspace any more: %w", args[1], errors.Join(errElsewhere, err))
	}
	if here, err := syscallGetwd(); err != nil || here != args[3] {
		return 0, fault.Usagef("", "%s is not the directory that was shown: %w", args[3], errors.Join(errElsewhere, err))
	}
	tell := os.NewFile(uintptr(args[0][0]-'0'), "begun")
	return become(args[4:], func(word string) error {
		if word == "" {
			return tell.Close()
		}
		_, err := tell.WriteString(word)
		return err
	})
}

// identity tells a directory from every other one, also through a bind mount of it.
func identity(is fs.FileInfo) string {
	st, ok := is.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}

var errElsewhere = errors.New("it is a link, or was moved")

// syscallGetwd returns the working directory as the kernel has it, and not as PWD says.
func syscallGetwd() (string, error) {
	b := make([]byte, 4096)
	n, err := syscall.Getcwd(b)
	if err != nil || n < 1 {
		return "", errors.Join(errElsewhere, err)
	}
	return string(b[:n-1]), nil
}
