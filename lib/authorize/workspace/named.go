package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pulse/lib/shared/lazy"
	"pulse/lib/shared/policy"
)

// Named returns the files that decisions under a policy look at: the workspace, the programs
// that may be started there, and those that they must not be. A nil policy names none.
func Named(p *policy.Policy) (files []string) {
	if p == nil {
		return nil
	}
	if p.Exec.Workspace != "" {
		files = append(files, p.Exec.Workspace)
	}
	for _, program := range p.Exec.Allow {
		files = append(files, program.Path)
	}
	if len(p.Exec.Allow) > 0 {
		files = append(files, programs...)
	}
	return files
}

// holds reports whether a program lies in the workspace dir, or is reached by way of it.
func holds(dir, program string) bool {
	if dir == "" {
		return false
	}
	for _, top := range []string{filepath.Clean(dir), real(dir)} {
		for _, path := range []string{filepath.Clean(program), real(program)} {
			if path == top || strings.HasPrefix(path, strings.TrimSuffix(top, "/")+"/") {
				return true
			}
		}
	}
	return false
}

// Replaceable returns the first word of a command by which something in the workspace dir may be
// run: the program, an argument that names a file there, as interpreters take it, or a directory
// that such a program starts, or one in which a path there stands among other text, as for sh -c. The
// command runs in the directory wd. If there is none, it returns "".
func Replaceable(dir, wd string, command []string) string {
	before := ""
	for i, word := range command {
		path := word
		if option, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(word, "-") {
			before, path = option, value
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(wd, path)
		}
		switch {
		case holds(dir, path):
			if i == 0 || slices.Contains(startsIn, before) || starts(path) {
				return word
			}
		case dir != "" && (mentions(word, filepath.Clean(dir)) || mentions(word, real(dir))):
			return word
		}
		before = word
	}
	return ""
}

// startsIn are options of interpreters and their like that are told a directory to run something in, or
// to take something from.
var startsIn = []string{"-C", "-I", "--chdir", "--cwd", "--directory", "--prefix", "--project"}

// mentions reports whether a path in dir, or its own, stands somewhere in a word.
func mentions(word, dir string) bool {
	for word = slashes().ReplaceAllString(word, "/"); ; {
		_, rest, found := strings.Cut(word, dir)
		if !found || rest == "" || strings.IndexByte(inName, rest[0]) < 0 {
			return found
		}
		word = rest
	}
}

// slashes matches what is one slash to the kernel, and inName has what goes on with a name.
var slashes = lazy.Regexp(`/(\.?/)+`)

const inName = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"

// starts reports whether a path may be something that an interpreter runs: a file, a directory with
// one of its own names, or what can't be read, and may be there later.
func starts(path string) bool {
	list, err := os.ReadDir(path)
	return err != nil || slices.ContainsFunc(list, func(e os.DirEntry) bool {
		return e.Name() == "__main__.py" || e.Name() == "package.json" || strings.HasPrefix(e.Name(), "index.")
	})
}

// real returns a path without links, or as it is.
func real(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	return filepath.Clean(path)
}
