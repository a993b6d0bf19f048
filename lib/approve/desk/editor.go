package desk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"pulse/lib/queue/proposal"
	"pulse/lib/shared/fault"
)

// errEditor means that an editor left nothing that can be read.
var errEditor = errors.New("the editor left no text")

// edit has a person change a text in the editor of their own, and returns what that left. The
// editor works on a private copy, and inherits nothing of the queue: neither a descriptor nor a
// variable of pulse, and no agent that holds a key.
func edit(ctx context.Context, text []byte) ([]byte, error) {
	dir, err := os.MkdirTemp(private(), "pulse-correct-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := dir + "/correction.txt"
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return nil, err
	}
	terminal, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer terminal.Close()
	editor := cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"), "vi")
	cmd := exec.Command("/bin/sh", "-c", editor+` "$1"`, "sh", path)
	cmd.Dir, cmd.Env = dir, editorEnv(os.Environ())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	if err := cmd.Run(); err != nil {
		return nil, fault.Refusedf("VISUAL and EDITOR name it", "%w: %s: %w", errEditor, editor, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return left(path)
}

// left reads what an editor left: a regular file of one name, within the bounds of a proposal.
func left(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errEditor, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: it is not a regular file", errEditor)
	}
	text, err := io.ReadAll(io.LimitReader(f, proposal.MaxCorrection+1))
	if err == nil && len(text) > proposal.MaxCorrection {
		err = fmt.Errorf("%w: it is longer than %d bytes", errEditor, proposal.MaxCorrection)
	}
	return text, err
}

// private returns a directory in memory, where there is one, and else that for temporary files.
func private() string {
	for _, dir := range []string{os.Getenv("XDG_RUNTIME_DIR"), "/dev/shm"} {
		var fs unix.Statfs_t
		if dir != "" && unix.Statfs(dir, &fs) == nil && fs.Type == unix.TMPFS_MAGIC && unix.Access(dir, unix.W_OK|unix.X_OK) == nil {
			return dir
		}
	}
	return os.TempDir()
}

// editorEnv returns the variables that an editor is given: those of a terminal and of a person.
func editorEnv(environ []string) []string {
	keep := []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "COLORTERM", "LANG", "TZ", "DISPLAY", "WAYLAND_DISPLAY", "XDG_CONFIG_HOME"}
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return !slices.Contains(keep, name) && !strings.HasPrefix(name, "LC_")
	})
}
