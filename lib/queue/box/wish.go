package box

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"pulse/lib/shared/fault"
	"pulse/lib/shared/lazy"
)

const usage = "box [--model SOCKET] [--env NAME] [--ro PATH] [--rw DIR] -- CMD [ARG...]"

// wish is what a command line and the environment ask for.
type wish struct {
	model, judge string   // sockets; empty: none
	env          []string // names of variables
	binds        []string // arguments of bwrap, in the order of the flags
	dir          string   // where the program begins
	cmd          []string
}

// read reads a command line. It reads the flags itself, because their order counts.
func read(args []string) (*wish, error) {
	w := &wish{dir: home}
	for ; len(args) > 0 && args[0] != "--"; args = args[2:] {
		take, ok := flags[args[0]]
		switch {
		case !ok:
			return nil, fault.Usagef(usage, "%s: there is no such flag", args[0])
		case len(args) < 2:
			return nil, fault.Usagef(usage, "%s: it has no value", args[0])
		}
		if err := take(w, args[1]); err != nil {
			return nil, err
		}
	}
	if len(args) < 2 {
		return nil, fault.Usagef(usage, "there is no CMD")
	}
	w.cmd = args[1:]
	if path, ok := os.LookupEnv(judgeVar); ok {
		if !filepath.IsAbs(path) || !isSocket(path) {
			return nil, fault.Temporaryf("pulse-queue run makes it, and sets the variable", "%s=%s: there is no such socket", judgeVar, path)
		}
		w.judge = path
	}
	return w, nil
}

var flags = map[string]func(w *wish, value string) error{
	"--model": (*wish).leads,
	"--env":   (*wish).passes,
	"--ro":    func(w *wish, path string) error { return w.shows("--ro", path) },
	"--rw":    func(w *wish, path string) error { return w.shows("--rw", path) },
}

func (w *wish) leads(path string) (err error) {
	if w.model, err = filepath.Abs(path); err == nil && !isSocket(w.model) {
		return fault.Temporaryf("is the way to the model running? man 7 pulse-deploy", "--model %s: there is no such socket", w.model)
	}
	return err
}

func isSocket(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().Type() == fs.ModeSocket
}

var variable = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (w *wish) passes(name string) error {
	if !variable().MatchString(name) { // it may be a secret
		return fault.Usagef("export NAME, and then --env NAME", "--env wants the name of a variable alone")
	}
	if _, ok := os.LookupEnv(name); !ok {
		return fault.Usagef("pulse-queue run --env "+name, "--env %s: there is no such variable", name)
	}
	w.env = append(w.env, name)
	return nil
}

func (w *wish) shows(flag, path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil {
		return fault.Usagef("", "%s %s: there is no such file", flag, path)
	}
	bind := "--ro-bind"
	if flag == "--rw" {
		bind, w.dir = "--bind", path
	}
	w.binds = append(w.binds, bind, path, path)
	return nil
}

func decimal(n int) string { return strconv.Itoa(n) }

// Writable returns the directories that a command line may leave to the program that it starts: what
// stands after --rw, whoever reads that.
func Writable(argv []string) (dirs []string) {
	for i, word := range argv {
		dir, ok := strings.CutPrefix(word, "--rw=")
		if word == "--rw" && i+1 < len(argv) {
			dir, ok = argv[i+1], true
		}
		if ok {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
