package workspace

import (
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"pulse/lib/authorize/tools"
)

// TestReal: a path leads where the kernel says, through links, new names and dangling links.
func TestReal(t *testing.T) {
	dir, at := place(t)
	must(t, os.MkdirAll(at("in/.claude/x"), 0o700))
	must(t, os.MkdirAll(at("in/sub/bare"), 0o700))
	must(t, os.MkdirAll(at("in/sub/deep/HEAD"), 0o700)) // a directory, which git takes for nothing
	must(t, os.WriteFile(at("in/sub/bare/HEAD"), nil, 0o600))
	for name, to := range map[string]string{"in/conf": ".claude", "in/settings": ".claude/settings.json", "in/sub/more": "../conf/x", "in/.open": "sub"} {
		must(t, os.Symlink(to, at(name)))
	}
	for name, want := range map[string]tools.Place{
		"file": {Given: "file", Real: "file"}, "./sub//../file": {Given: "./sub//../file", Real: "file"}, at("in") + "//sub/file": {Given: "sub/file", Real: "sub/file"},
		".": {Given: ".", Real: "."}, at("in"): {Given: ".", Real: "."}, "sub/": {Given: "sub/", Real: "sub"}, "new": {Given: "new", Real: "new"},
		"conf/new": {Given: "conf/new", Real: ".claude/new"}, "conf": {Given: "conf", Real: ".claude", Link: true}, "settings": {Given: "settings", Real: ".claude/settings.json", Link: true},
		"sub/more/y": {Given: "sub/more/y", Real: ".claude/x/y"}, ".open/file": {Given: ".open/file", Real: "sub/file"}, "dangling": {Given: "dangling", Real: "sub/new", Link: true},
		"sub/bare/config": {Given: "sub/bare/config", Real: "sub/bare/config", Repository: "sub/bare"}, "sub/bare": {Given: "sub/bare", Real: "sub/bare", Repository: "sub/bare"},
		"sub/deep/config": {Given: "sub/deep/config", Real: "sub/deep/config"}, "a (deleted)": {Given: "a (deleted)", Real: "a (deleted)"},
	} {
		if got, err := (World{}).Path(dir, name); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, want)
		}
	}
	link := filepath.Join(filepath.Dir(dir), "alias") // the workspace itself may be named by a link
	must(t, os.Symlink("in", link))
	if got, err := (World{}).Path(link, "conf/new"); err != nil || got.Real != ".claude/new" {
		t.Errorf("%+v, %v", got, err)
	}
}

// write is one write of an attacker: a file, a directory (no text and no link), or a link.
type write struct{ name, text, link string }

// attacks are what makes of a directory a repository whose settings start a program.
func attacks(canary string) map[string][]write {
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = " + canary + "\n"
	head, dirs := write{"HEAD", "ref: refs/heads/x\n", ""}, []write{{"objects", "", ""}, {"refs", "", ""}}
	plain := append(dirs, write{"config", config, ""})
	return map[string][]write{
		"bare": append(plain, head), "link": append(plain, write{"HEAD", "", "refs/heads/x"}), "id": append(plain, write{"HEAD", "0123456789012345678901234567890123456789\n", ""}),
		"config.worktree": append(dirs, head, write{"config", "[core]\n\trepositoryformatversion = 1\n\tbare = false\n\tworktree = .\n[extensions]\n\tworktreeConfig = true\n", ""},
			write{"config.worktree", "[core]\n\tfsmonitor = " + canary + "\n", ""}),
		"include": append(dirs, head, write{"config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n[include]\n\tpath = more\n", ""},
			write{"more", "[core]\n\tfsmonitor = " + canary + "\n", ""}),
	}
}

// do makes a write, unless judged refuses it: then it reports false.
func (w write) do(t *testing.T, dir, under string, judged bool) bool {
	t.Helper()
	name := filepath.Join(under, w.name)
	if judged {
		at, err := (World{}).Path(dir, name)
		must(t, err)
		if component, _ := tools.Configures(at.Real); component != "" || at.Repository != "" {
			return false
		}
	}
	full := filepath.Join(dir, name)
	switch {
	case w.link != "":
		must(t, os.Symlink(w.link, full))
	case w.text == "":
		must(t, os.MkdirAll(full, 0o700))
	default:
		must(t, os.WriteFile(full, []byte(w.text), 0o600))
	}
	return true
}

// TestNoRepository: whatever is written under names that are not refused, in any order, into
// an empty directory of a clone or into a repository that lies there, git starts nothing. It
// does if nothing is refused, which proves that the attacks are any.
func TestNoRepository(t *testing.T) {
	canary := filepath.Join(t.TempDir(), "canary")
	ran := canary + ".ran"
	must(t, os.WriteFile(canary, []byte("#!/bin/sh\n: >'"+ran+"'\n"), 0o700))
	starts := func(dir string) bool {
		must(t, os.RemoveAll(ran))
		for _, args := range [][]string{{"status"}, {"diff"}, {"log"}} {
			c := exec.Command("git", append([]string{"-C", dir}, args...)...)
			c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
			_ = c.Run() // it fails where there is no repository
		}
		_, err := os.Stat(ran)
		return err == nil
	}
	clone := func() string {
		dir := t.TempDir()
		if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
			t.Fatalf("git init: %v %s", err, out)
		}
		must(t, os.MkdirAll(filepath.Join(dir, "sub/deep"), 0o700))
		return dir
	}
	r, n := rand.New(rand.NewSource(1)), 4
	if testing.Short() {
		n = 1
	}
	for what, writes := range attacks(canary) {
		for range n {
			for _, there := range []string{"nothing", "HEAD", "all but config"} {
				for _, judged := range []bool{true, false} {
					dir := clone()
					writes := slices.Clone(writes)
					r.Shuffle(len(writes), func(i, j int) { writes[i], writes[j] = writes[j], writes[i] })
					for _, w := range writes { // what lies there already, and was written by nobody who is judged
						if there != "nothing" && w.name == "HEAD" || there == "all but config" && (w.name == "objects" || w.name == "refs") {
							w.do(t, dir, "sub", false)
						}
					}
					refused := 0
					for _, w := range writes {
						if _, err := os.Lstat(filepath.Join(dir, "sub", w.name)); err == nil {
							continue
						}
						if !w.do(t, dir, "sub", judged) {
							refused++
						}
					}
					got := starts(filepath.Join(dir, "sub")) || starts(filepath.Join(dir, "sub/deep"))
					if got == judged || judged && refused == 0 {
						t.Errorf("%s, where %s lies, judged %v: %d refused, git starts it: %v: %s", what, there, judged, refused, got, fmt.Sprint(writes))
					}
				}
			}
		}
	}
}

// TestHEADAlone: without a HEAD, or with one that is a directory, everything else is no
// repository, also where a commondir leads to the rest or a worktree's .git leads there.
func TestHEADAlone(t *testing.T) {
	head := func(dir string) bool {
		c := exec.Command("git", "-C", dir, "rev-parse", "--git-dir")
		c.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
		return c.Run() == nil
	}
	for _, parts := range [][]write{
		{{"objects", "", ""}, {"refs", "", ""}, {"config", "[core]\n\tbare = true\n", ""}},
		{{"commondir", "../whole\n", ""}, {"config", "[core]\n\tbare = true\n", ""}},
		{{"objects", "", ""}, {"reftable", "", ""}, {"refs", "", ""}, {"refs/heads", "this repository uses the reftable format\n", ""}},
		{{"objects", "", ""}, {"refs", "", ""}, {"packed-refs", "# pack-refs with: peeled\n", ""}, {"index", "DIRC", ""}, {"hooks", "", ""}},
	} {
		top := t.TempDir()
		dir := filepath.Join(top, "d")
		for _, name := range []string{"d", "whole/objects", "whole/refs"} {
			must(t, os.MkdirAll(filepath.Join(top, name), 0o700))
		}
		for _, w := range parts {
			w.do(t, dir, ".", false)
		}
		for _, name := range []string{"", "Head", "head", "HEAD "} {
			if name != "" {
				must(t, os.WriteFile(filepath.Join(dir, name), []byte("ref: refs/heads/x\n"), 0o600))
			}
			if head(dir) {
				t.Errorf("%v and %q are a repository", parts, name)
			}
		}
		must(t, os.Mkdir(filepath.Join(dir, "HEAD"), 0o700))
		if head(dir) {
			t.Errorf("%v and a directory HEAD are a repository", parts)
		}
		must(t, os.Remove(filepath.Join(dir, "HEAD")))
		must(t, os.WriteFile(filepath.Join(dir, "HEAD"), []byte("ref: refs/heads/x\n"), 0o600))
		if !head(dir) {
			t.Errorf("%v and a HEAD are no repository: that proves nothing", parts)
		}
	}
}
