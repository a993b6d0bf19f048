package scripts_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

// effects is a workspace, and the policy that names it.
type effects struct {
	dir, policy, workspace string
	env                    []string
}

func newEffects(t *testing.T) *effects {
	t.Helper()
	dir := cmdlinetest.OrdinaryDir(t)
	e := &effects{dir: dir, policy: dir + "/policy.toml", workspace: dir + "/ws"}
	put(t, e.policy, "owners = [\"me@example.com\"]\n[tools]\nprofile = \"full\"\n[exec]\nmode = \"full\"\nworkspace = \""+e.workspace+"\"\n", 0o600)
	put(t, e.workspace+"/sub/file", "kept\n", 0o644)
	put(t, dir+"/outside/file", "outside\n", 0o644)
	cmdlinetest.Own(t, dir)
	return e
}

// carry has pulse-queue carry carry out the request of an effect.
func (e *effects) carry(t *testing.T, request map[string]any, args ...string) ended {
	t.Helper()
	line, err := json.Marshal(map[string]any{
		"request": request, "identity": map[string]any{"via": "agent"}, "task": map[string]any{"id": "9f86d081884c7d659a2feaa0c55ad015"},
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := cmdlinetest.Ordinary(exec.Command("pulse-queue", append([]string{"carry", "--policy", e.policy}, args...)...))
	cmd.Dir, cmd.Env = "/", append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + e.dir, "SECRET=s1", "KEY=k1", "PULSE_QUEUE=" + e.dir}, e.env...)
	cmd.Stdin = strings.NewReader(string(line) + "\n")
	return start(t, cmd)
}

func (e *effects) program(t *testing.T, dir string, argv ...string) ended {
	t.Helper()
	return e.carry(t, map[string]any{"action": "code_or_computer", "tool": "exec", "args": map[string]any{"argv": argv, "dir": dir}})
}

// A program is started as it was shown: its argv, which no shell reads, its directory, the PATH of
// pulse and no other variable. Its status is part of the result.
func TestCarryProgram(t *testing.T) {
	e := newEffects(t)
	put(t, e.dir+"/evil/printf", "#!/bin/sh\necho evil\n", 0o755)
	cmdlinetest.Own(t, e.dir)
	e.env = []string{"PATH=" + e.dir + "/evil:.:" + os.Getenv("PATH"), "LD_PRELOAD=" + e.dir + "/x.so"}
	for _, c := range []struct {
		argv []string
		want string
	}{
		{[]string{"printf", "%s|", "$(id)", "a\nb", "; rm -rf .", ""}, `{"exit":0,"stdout":"$(id)|a\nb|; rm -rf .||","stderr":""}`},
		{[]string{"/bin/sh", "-c", "pwd; echo no >&2; exit 75"}, `{"exit":75,"stdout":"` + e.workspace + `/sub\n","stderr":"no\n"}`},
		{[]string{"/bin/sh", "-c", "echo ${SECRET-}${KEY-}${PULSE_QUEUE-}${LD_PRELOAD-}; echo $PATH; cat"}, `{"exit":0,"stdout":"\n/usr/local/bin:/usr/bin:/bin\n","stderr":""}`},
		{[]string{"/bin/sh", "-c", "kill -9 $$"}, `{"exit":137,"stdout":"","stderr":""}`},
		{[]string{"/bin/sh", "-c", "printf '\\377\\033[2J'"}, `{"exit":0,"stdout":"` + "\ufffd" + `\u001b[2J","stderr":""}`},
	} {
		if got := e.program(t, e.workspace+"/sub", c.argv...); got != (ended{0, c.want + "\n", ""}) {
			t.Errorf("%q: %+v", c.argv, got)
		}
	}
	got := e.program(t, e.workspace, "/bin/sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x; head -c 100000000 /dev/zero >&2; (sleep 1000 &)")
	if got.exit != 0 || len(got.out) > 1<<19 || !strings.Contains(got.out, `"cut":true`) {
		t.Errorf("much: %d, %d bytes", got.exit, len(got.out))
	}
}

// What did not begin did not happen, and says so; what the set-up lacks is for later.
func TestCarryProgramNot(t *testing.T) {
	e := newEffects(t)
	put(t, e.workspace+"/text", "touch ran\n", 0o755)
	for link, to := range map[string]string{"/link": "sub", "/out": e.dir + "/outside"} {
		if err := os.Symlink(to, e.workspace+link); err != nil {
			t.Fatal(err)
		}
	}
	cmdlinetest.Own(t, e.dir)
	for _, c := range []struct {
		dir  string
		argv []string
		exit int
		said string
	}{
		{e.workspace, []string{"no-such-program"}, 69, "executable file not found"},
		{e.workspace, []string{"./sub"}, 69, "did not begin"},
		{e.workspace, []string{"./text"}, 69, "exec format error"},
		{e.workspace, []string{"printf", "a\x00b"}, 69, "not the start of a program"},
		{e.workspace, []string{"true", strings.Repeat("x", 200_000)}, 69, "argument list too long"},
		{e.workspace, nil, 69, "not the start of a program"},
		{e.workspace + "/link", []string{"true"}, 69, "too many levels of symbolic links"},
		{e.workspace + "/out", []string{"true"}, 69, "too many levels of symbolic links"},
		{e.workspace + "/sub/../sub/../..", []string{"true"}, 69, "invalid cross-device link"},
		{e.dir + "/outside", []string{"true"}, 69, "not in the workspace"},
		{"sub", []string{"true"}, 69, "not in the workspace"},
		{e.workspace + "/none", []string{"true"}, 69, "no such file"},
	} {
		got := e.program(t, c.dir, c.argv...)
		if got.exit != c.exit || got.out != "" || !strings.Contains(got.err, c.said) {
			t.Errorf("%s %q: %+v", c.dir, c.argv, got)
		}
	}
	if _, err := os.Stat(e.workspace + "/ran"); err == nil {
		t.Error("a shell read a file")
	}
	if got := e.carry(t, map[string]any{"action": "code_or_computer", "tool": "exec", "args": map[string]any{"argv": []string{"true"}, "dir": e.workspace}}, "--ro", "/none"); got.exit != 75 {
		t.Errorf("%+v", got)
	}
}

// A program in the box reaches the workspace and nothing else, and nothing that it leaves goes on.
func TestCarryProgramIsShut(t *testing.T) {
	e := newEffects(t)
	got := e.program(t, e.workspace, "/bin/sh", "-c",
		"cat "+e.dir+"/outside/file "+e.policy+" /etc/passwd; echo x >"+e.dir+"/outside/new; echo x >new; ls /proc | grep -c '^[0-9]'; ln "+e.dir+"/outside/file hard; (sleep 2; echo late >late) &")
	if got.exit != 0 || strings.Contains(got.out, "outside\\n") || strings.Contains(got.out, "root:") {
		t.Errorf("%+v", got)
	}
	for path, there := range map[string]bool{"/ws/new": true, "/outside/new": false, "/ws/hard": false, "/ws/late": false} {
		if _, err := os.Stat(e.dir + path); (err == nil) != there {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// The box begins in the directory that was checked, or does not begin: one that was replaced by a
// link meanwhile is not the one that was shown.
func TestBoxBeginsElsewhere(t *testing.T) {
	e := newEffects(t)
	if err := os.Symlink("sub", e.workspace+"/link"); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := cmdlinetest.Ordinary(exec.Command("pulse-queue", "boxed-once", "3", e.workspace, identity(t, e.workspace), e.workspace+"/link", "true"))
	cmd.Dir, cmd.ExtraFiles, cmd.Env = e.workspace+"/link", []*os.File{w}, []string{"PATH=" + os.Getenv("PATH"), "PWD=" + e.workspace + "/link"}
	got := start(t, cmd)
	w.Close()
	if b := make([]byte, 1); got.exit == 0 || !strings.Contains(got.err, "is not the directory that was shown") {
		t.Errorf("%+v", got)
	} else if n, _ := r.Read(b); n != 0 {
		t.Error("it says that it begins")
	}
}

// identity returns what tells a directory from every other one.
func identity(t *testing.T, dir string) string {
	t.Helper()
	var st syscall.Stat_t
	if err := syscall.Stat(dir, &st); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}

// The box shows the workspace that was checked, or the program does not begin: an account that may
// rename it could put a link to any directory in its place meanwhile.
func TestBoxOfAnotherWorkspace(t *testing.T) {
	e := newEffects(t)
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		t.Fatal("bwrap is missing: apt-get install bubblewrap")
	}
	put(t, e.dir+"/swap/bwrap", "#!/bin/sh\ncase $* in *boxed-once*) mv "+e.workspace+" "+e.dir+"/moved && ln -s outside "+e.workspace+";; esac\nexec "+bwrap+" \"$@\"\n", 0o755)
	cmdlinetest.Own(t, e.dir)
	e.env = []string{"PATH=" + e.dir + "/swap:" + os.Getenv("PATH")}
	got := e.program(t, e.workspace, "touch", "ran")
	if got.exit != 69 || !strings.Contains(got.err, "is not the workspace any more") {
		t.Errorf("%+v", got)
	}
	if _, err := os.Lstat(e.dir + "/outside/ran"); err == nil {
		t.Error("it ran in another directory")
	}
	if _, err := os.Lstat(e.dir + "/moved"); err != nil {
		t.Error(err)
	}
}

// A write that can't be the one that was shown is none.
func TestCarryWrite(t *testing.T) {
	const kept = "sha256:a0c8d8b5ec1d2d1b7d2c0c4f7c7f4f8e"
	e := newEffects(t)
	for link, to := range map[string]string{"/link": "sub/file", "/dirlink": "sub", "/out": e.dir + "/outside"} {
		if err := os.Symlink(to, e.workspace+link); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(e.dir+"/outside/file", e.workspace+"/hard"); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(e.workspace+"/fifo", 0o666); err != nil {
		t.Fatal(err)
	}
	cmdlinetest.Own(t, e.dir)
	const hello = "sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"
	for _, c := range []struct {
		path string
		exit int
		said string
	}{
		{"new", 0, ""},
		{"new", 0, ""}, // killed before its end was recorded, and started again
		{"sub/file", 69, "no longer the file that was judged"},
		{"link", 69, "too many levels of symbolic links"},
		{"dirlink/new", 69, "too many levels of symbolic links"},
		{"out/new", 69, "too many levels of symbolic links"},
		{"../outside/new", 69, "invalid cross-device link"},
		{e.dir + "/outside/new", 69, "not in the workspace"},
		{"hard", 69, "hard links"},
		{"fifo", 69, "neither a directory nor a regular file"},
		{"sub", 69, "neither a directory nor a regular file"},
		{"none/new", 69, "no such file"},
		{".", 69, "not in the workspace"},
	} {
		args := map[string]any{"path": c.path, "text": "hello\n", "was": "absent", "becomes": hello}
		got := e.carry(t, map[string]any{"action": "write_local", "tool": "fs.write", "args": args})
		if got.exit != c.exit || !strings.Contains(got.err, c.said) || (got.out != "") != (c.exit == 0) {
			t.Errorf("%s: %+v", c.path, got)
		}
	}
	for _, args := range []map[string]any{
		{"path": "x", "text": "hello\n"}, {"path": "x", "text": "hello\n", "was": "absent", "becomes": kept},
		{"path": "x", "text": "hello\n", "was": "absent", "becomes": hello, "mode": "0777"}, {"path": "x", "cell": "1", "new": "y", "was": "absent", "becomes": hello},
	} {
		if got := e.carry(t, map[string]any{"action": "write_local", "tool": "fs.write", "args": args}); got.exit != 69 || got.out != "" {
			t.Errorf("%v: %+v", args, got)
		}
	}
	if left, err := os.ReadDir(e.workspace); err != nil || len(left) != 7 {
		t.Errorf("%v, %v", left, err)
	}
}
