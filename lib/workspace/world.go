package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"pulse/lib/policy"
	"pulse/lib/tools"
)

// MaxProgram bounds the size of a program that is looked at, in bytes.
const MaxProgram = 1 << 30

// Programs are the directories in which interpreters are looked for.
var Programs = []string{"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/usr/games"}

// World looks at the machine. It reads below exec.workspace, the program of each
// [[exec.allow]] and what it is a link to, and the directories in Programs with the
// files in them; a process that confines itself and judges must leave it that. What
// it may not read is refused.
type World struct{}

// Path is Check.
func (World) Path(workspace, name string) error { return Check(workspace, name) }

// Dir is CheckDir.
func (World) Dir(workspace, name string) error { return CheckDir(workspace, name) }

// Program reads a program. Interpreter is the name of the interpreter that it is a
// link to, a hard link to or a copy of.
func (World) Program(path string) (p tools.Program, err error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return p, fmt.Errorf("program: %w", err)
	}
	info, head, sum, err := hash(real, nil)
	if err != nil {
		return p, fmt.Errorf("program: %w", err)
	}
	p.SHA256, p.Script = sum, head == "#!"
	if base := filepath.Base(real); policy.Interpreter(base) {
		p.Interpreter = base
		return p, nil
	}
	p.Interpreter, err = alike(info, sum)
	return p, err
}

// errUnlike is that a file is not the size that is looked for.
var errUnlike = errors.New("another size")

// hash returns the first two bytes of a regular file and its SHA-256; with like, of
// one of the same size.
func hash(path string, like fs.FileInfo) (info fs.FileInfo, head, sum string, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, "", "", err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, "", "", err
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, "", "", fmt.Errorf("%s: it is not a regular file", path)
	case info.Size() > MaxProgram:
		return nil, "", "", fmt.Errorf("%s: it is larger than %d bytes", path, MaxProgram)
	case like != nil && like.Size() != info.Size():
		return nil, "", "", errUnlike
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, MaxProgram)); err != nil {
		return nil, "", "", err
	}
	first := make([]byte, 2)
	n, _ := f.ReadAt(first, 0)
	return info, string(first[:n]), hex.EncodeToString(h.Sum(nil)), nil
}

// alike returns the path of an interpreter in Programs that is the same file, or has
// the same content.
func alike(info fs.FileInfo, sum string) (string, error) {
	var seen []fs.FileInfo
	for _, dir := range Programs {
		at, err := os.Stat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("program: %w", err)
		}
		if slices.ContainsFunc(seen, func(s fs.FileInfo) bool { return os.SameFile(s, at) }) {
			continue
		}
		seen = append(seen, at)
		list, err := os.ReadDir(dir)
		if err != nil {
			return "", fmt.Errorf("program: %w", err)
		}
		for _, e := range list {
			if path := filepath.Join(dir, e.Name()); policy.Interpreter(e.Name()) && same(path, info, sum) {
				return path, nil
			}
		}
	}
	return "", nil
}

// same reports whether a file is what info and sum are of, or can't be compared with
// it: that is no proof that it is not.
func same(path string, info fs.FileInfo, sum string) bool {
	it, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (it.Size() != info.Size() || !it.Mode().IsRegular()) {
		return false
	}
	if err != nil {
		return true
	}
	if os.SameFile(it, info) {
		return true
	}
	_, _, other, err := hash(path, info)
	return err == nil && other == sum || err != nil && !errors.Is(err, errUnlike)
}
