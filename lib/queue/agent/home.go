package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// home is the home directory that a client has for one run.
type home struct{ dir string }

func newHome() (*home, error) {
	dir, err := os.MkdirTemp("", "pulse-agent-")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "tmp"), 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("agent: the client can have no home: %w", err)
	}
	return &home{dir}, nil
}

func (h *home) remove() { os.RemoveAll(h.dir) }

func (h *home) path(name string) string { return filepath.Join(h.dir, name) }

// put writes a file.
func (h *home) put(name string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(h.path(name)), 0o700); err != nil {
		return err
	}
	return os.WriteFile(h.path(name), content, 0o600)
}

// login links to a file with a login, if there is one: a client writes it when it gets a new
// token.
func (h *home) login(name, file string) error {
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	file, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(h.path(name)), 0o700); err != nil {
		return err
	}
	return os.Symlink(file, h.path(name))
}

// configOf returns where the account's own configuration of a client lies.
func configOf(variable, name string) string {
	if dir := os.Getenv(variable); dir != "" {
		return dir
	}
	own, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(own, name)
}

// elsewhere are variables that name other places for settings, or tell a program to load
// something.
var elsewhere = []string{"PULSE_JUDGE", "NODE_OPTIONS", "BASH_ENV", "ENV", "LD_PRELOAD"}

// env returns the environment of a client. Its git starts no program that a repository names. Codex
// makes no sandbox if its home lies below TMPDIR.
func (h *home) env(own ...string) []string {
	own = append(own, "HOME="+h.dir, "TMPDIR="+h.path("tmp"), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=false")
	var env []string
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if slices.Contains(elsewhere, name) || strings.HasPrefix(name, "XDG_") || strings.HasPrefix(name, "GIT_") ||
			slices.ContainsFunc(own, func(o string) bool { return strings.HasPrefix(o, name+"=") }) {
			continue
		}
		env = append(env, pair)
	}
	return append(env, own...)
}

// orElse returns NAME=VALUE with the value of the environment if it has one.
func orElse(name, value string) string {
	if v := os.Getenv(name); v != "" {
		value = v
	}
	return name + "=" + value
}
