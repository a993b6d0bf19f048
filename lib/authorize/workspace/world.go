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

	"pulse/lib/authorize/tools"
	"pulse/lib/shared/policy"
)

// maxProgram is the size in bytes up to which a program is read.
const maxProgram = 1 << 30

// programs are the directories in which interpreters are looked for.
var programs = []string{
	"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/usr/games",
}

// World answers questions about the machine's files. It reads below exec.workspace, the
// program of each [[exec.allow]] and what it is a link to, and the directories in programs
// with the files in them. A process that confines itself must go on being able to read
// these: what World may not read is refused.
type World struct{}

// Path says where name leads, if that is a file or a directory in a workspace, or could be
// created there.
func (World) Path(workspace, name string) (tools.Place, error) { return checkPath(workspace, name) }

// Dir returns nil if name is a directory in a workspace.
func (World) Dir(workspace, name string) error { return checkDir(workspace, name) }

// Program describes a program. Interpreter is the name of the interpreter that it is, or
// is a link to, a hard link to or a copy of.
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

// errUnlike reports that a file does not have the size that is looked for.
var errUnlike = errors.New("another size")

// hash returns the first two bytes of a regular file and its SHA-256. With like it fails
// with errUnlike, before it reads, if the file has another size.
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
	case info.Size() > maxProgram:
		return nil, "", "", fmt.Errorf("%s: it is larger than %d bytes", path, maxProgram)
	case like != nil && like.Size() != info.Size():
		return nil, "", "", errUnlike
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, maxProgram)); err != nil {
		return nil, "", "", err
	}
	first := make([]byte, 2)
	n, _ := f.ReadAt(first, 0)
	return info, string(first[:n]), hex.EncodeToString(h.Sum(nil)), nil
}

// alike returns the path of an interpreter in programs that is the same file, or has
// the same content.
func alike(info fs.FileInfo, sum string) (string, error) {
	var seen []fs.FileInfo
	for _, dir := range programs {
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

// same reports whether a file is, or is a copy of, the one that info and sum describe. A
// file that can't be compared counts as the same, because it may be.
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
