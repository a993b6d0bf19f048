package scripts_test

import (
	"bufio"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// socket starts the forwarder of scripts/crontab to a model, and returns its socket.
func socket(t *testing.T, model string) (path string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "box-") // a short path: the name of a socket has 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	path = dir + "/model"
	cmd := exec.Command("socat", "-d", "-d", "UNIX-LISTEN:"+path+",fork,unlink-early,mode=600", "TCP:"+model)
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(log)
	for lines.Scan() && !strings.Contains(lines.Text(), " listening on ") {
	}
	go func() { _, _ = io.Copy(io.Discard, log) }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		os.RemoveAll(dir)
	})
	return path
}

// boxed starts the box in a directory, with variables and a record.
func boxed(t *testing.T, dir string, args ...string) ended {
	t.Helper()
	cmd := exec.Command(script(t, "box"), args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader("a record\n")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "PULSE_TASK=0123", "PULSE_POLICY=" + dir + "/policy.toml", "KEY=k1", "SECRET=s1"}
	return start(t, cmd)
}

// getting is a program that tries to get at what is not its own, and prints what it got.
const getting = `read -r line && echo "$line"
echo "task $PULSE_TASK key $KEY"
[ -z "${SECRET:-}${PULSE_POLICY:-}" ] || echo secret
for file in "$@" /etc/passwd /etc/shadow /etc/ssl/private /run/systemd /root /var /sys /dev/sda /dev/mem; do
	[ -e "$file" ] && echo "$file"
done
mine=written-by-a-test-of-the-box-$$
for place in / /usr /etc /home "$(dirname "$BOX")"; do
	touch "$place/$mine" 2>/dev/null && echo "writes $place" && rm "$place/$mine"
done
touch "/tmp/$mine" ~/"$mine" && rm "/tmp/$mine" ~/"$mine" || echo "writes nothing"
[ "$(pwd)" = "$HOME" ] || pwd
[ "$(ls -d /proc/[0-9]* | wc -l)" -gt 12 ] && echo processes
grep -q '^CapEff:.*[1-9a-f]' /proc/self/status && echo capabilities
[ -n "$KEY" ] && grep -q "$KEY" /proc/1/cmdline && echo arguments
unshare --user true 2>/dev/null && echo namespace
[ "$(ps -o sid= -p $$)" -eq 0 ] && echo session
timeout 5 bash -c "exec 3<>/dev/tcp/127.0.0.1/$PORT" 2>/dev/null && echo loopback
for host in 192.0.2.1 "$ADDRESS"; do timeout 5 bash -c "exec 3<>/dev/tcp/$host/$PORT" 2>/dev/null && echo "tcp $host"; done
timeout 5 getent ahosts deb.debian.org >/dev/null && echo names
timeout 5 bash -c 'echo x >/dev/udp/192.0.2.1/53' 2>/dev/null && echo udp
exit 7
`

// What a program in the box gets at: its record, its task, the variables that --env names. Outside
// of it, it gets at all the rest, or this would prove nothing.
func TestBoxIsShut(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"policy.toml", "queue/format", ".ssh/id_ed25519"} {
		put(t, dir+"/"+name, "secret", 0o600)
	}
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
	vars := "export PORT=" + port + " ADDRESS=" + own(t) + " BOX=" + script(t, "box") + "\n"
	argv := []string{"sh", "-c", vars + getting, "program", dir, dir + "/policy.toml", dir + "/queue", dir + "/.ssh"}

	for _, model := range [][]string{nil, {"--model", socket(t, "127.0.0.1:"+port)}} {
		got := boxed(t, dir, append(append(model, "--env", "KEY", "--"), argv...)...)
		if got != (ended{7, "a record\ntask 0123 key k1\n", ""}) {
			t.Errorf("%v: it got at %+v", model, got)
		}
	}

	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdin, cmd.Env = dir, strings.NewReader("a record\n"), append(os.Environ(), "HOME="+dir, "SECRET=s1")
	open := start(t, cmd)
	for _, want := range []string{"secret", dir + "/policy.toml", dir + "/queue", dir + "/.ssh", "/etc/passwd", "/etc/shadow", "processes", "loopback", "tcp " + own(t), "udp"} {
		if !strings.Contains(open.out, "\n"+want+"\n") {
			t.Errorf("outside of the box it does not get at %s", want)
		}
	}
}

// own returns an address of this machine that other machines could use, or loopback's.
func own(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String()
		}
	}
	return "127.0.0.1"
}

// A program in the box reaches the model: over TLS as its proxy variables say, whatever
// certificate stands between is found out, and as plain HTTP. It reaches nothing else.
func TestBoxReachesTheModel(t *testing.T) {
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s\n", r.Host, b)
	})
	secure, plain := httptest.NewTLSServer(answer), httptest.NewServer(answer)
	defer secure.Close()
	defer plain.Close()
	dir := t.TempDir()
	put(t, dir+"/ca.pem", pemOf(secure.Certificate().Raw), 0o644)
	curl := []string{"--ro", dir + "/ca.pem", "--", "curl", "-sS", "--max-time", "20", "--cacert", dir + "/ca.pem", "--data", "hello"}
	for _, c := range []struct {
		server *httptest.Server
		url    string
		exit   int
		out    string
	}{
		{secure, "https://example.com/v1", 0, "example.com hello\n"}, // the name in httptest's certificate
		{secure, "https://evil.example/v1", 60, ""},
		{plain, "http://127.0.0.1:3129/v1", 0, "127.0.0.1:3129 hello\n"},
		{plain, "http://192.0.2.1/", 7, ""},
		{plain, "http://example.com/", 6, ""},
	} {
		way := socket(t, c.server.Listener.Addr().String())
		got := boxed(t, dir, append(append([]string{"--model", way}, curl...), c.url)...)
		if got.exit != c.exit || got.out != c.out {
			t.Errorf("%s: %+v, want %d and %q", c.url, got, c.exit, c.out)
		}
	}
}

func pemOf(der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// A boxed reader is the real one, with the real model's program.
func TestBoxedReader(t *testing.T) {
	dir := claude(t)
	requests := make(chan []byte, 100)
	server := httptest.NewServer(says(`{"type":"question"}`, requests))
	defer server.Close()
	cmd := exec.Command(script(t, "box"), "--model", socket(t, server.Listener.Addr().String()), "--env", "ANTHROPIC_BASE_URL", "--env", "ANTHROPIC_API_KEY",
		"--env", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "--ro", dir, "--", script(t, "readers/claude"))
	cmd.Dir, cmd.Stdin = t.TempDir(), strings.NewReader(read)
	cmd.Env = []string{
		"PATH=" + dir + "/node_modules/.bin:" + os.Getenv("PATH"), "HOME=" + cmd.Dir,
		"ANTHROPIC_BASE_URL=http://127.0.0.1:3129", "ANTHROPIC_API_KEY=sk-x", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	}
	if got := start(t, cmd); got != (ended{0, "{\"type\":\"question\"}\n", ""}) || len(requests) != 1 {
		t.Errorf("%+v, after %d requests", got, len(requests))
	}
}

// What --ro and --rw name is there, and only what --rw names can be written.
func TestBoxShows(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/shown/file", "text\n", 0o600)
	put(t, dir+"/own/file", "text\n", 0o600)
	got := boxed(t, dir, "--ro", "shown", "--rw", "own", "--", "sh", "-c", "pwd && cat file ../shown/file && echo more >>file && echo more >>../shown/file")
	if got.exit == 0 || got.out != dir+"/own\ntext\ntext\n" || !strings.Contains(got.err, "Read-only file system") {
		t.Errorf("%+v", got)
	}
	if content(t, dir+"/own/file") != "text\nmore\n" || content(t, dir+"/shown/file") != "text\n" {
		t.Error("it wrote something else")
	}
}

// Whatever ends the box ends all that was started in it, a daemon too; and a stop of the
// box alone is enough.
func TestBoxDiesWhole(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		dir := t.TempDir()
		put(t, dir+"/own/lock", "", 0o600)
		cmd := exec.Command(script(t, "box"), "--rw", dir+"/own", "--", "sh", "-c", "setsid flock lock sh -c 'echo up; sleep 20; echo survived' & exec sleep 20")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if n, err := out.Read(make([]byte, 3)); n != 3 {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if rest, _ := io.ReadAll(out); len(rest) > 0 { // it ends once nobody inside holds it
			t.Errorf("%v: something lived on", sig)
		}
		_ = cmd.Wait()
		if lock := exec.Command("flock", "--nonblock", dir+"/own/lock", "true"); lock.Run() != nil {
			t.Errorf("%v: something still runs", sig)
		}
	}
}

// If its parent is killed, the box dies with it.
func TestBoxDiesWithItsParent(t *testing.T) {
	// bwrap asks for its parent's end once more after it has given up its rights, which may be
	// just after what is inside began: then it hears of no end before that.
	for range 3 {
		if !livesOn(t) {
			return
		}
	}
	t.Error("it lived on, three times")
}

// livesOn kills the parent of a box, and reports whether what is inside goes on.
func livesOn(t *testing.T) bool {
	cmd := exec.Command("sh", "-c", `"$1" -- sh -c 'echo up; sleep 5; echo survived'; :`, "parent", script(t, "box"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if n, err := out.Read(make([]byte, 3)); n != 3 {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(out) // it ends once nobody inside holds it
	_ = cmd.Wait()
	return len(rest) > 0
}

// A variable outside may have any name: those of the script's own, and ones that are no names
// of shells. None gets in.
func TestBoxAndOtherVariables(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(script(t, "box"), "--model", socket(t, "127.0.0.1:9"), "--env", "KEY", "--", "env")
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "KEY=k1", "A B=x", "A.B=x", "X*=x", "BASH_FUNC_f%%=() { x; }"}
	for _, name := range []string{"model", "here", "dir", "passed", "environment", "name", "flag", "value", "left", "usage", "HOME", "HTTPS_PROXY"} {
		cmd.Env = append(cmd.Env, name+"=x")
	}
	got := start(t, cmd)
	if got.exit != 0 || got.err != "" || strings.Contains(got.out, "=x") || !strings.Contains(got.out, "KEY=k1\n") || !strings.Contains(got.out, "https_proxy=http://127.0.0.1:3128\n") {
		t.Errorf("%+v", got)
	}
}

// Where no box can be made, or a word of the command line is wrong, nothing is started.
func TestBoxFailsClosed(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/bwrap", "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n", 0o755)
	put(t, dir+"/file", "", 0o600)
	for _, c := range []struct {
		path, want string
		exit       int
		args       []string
	}{
		{dir + ":" + os.Getenv("PATH"), "box: error: this kernel or its settings let nobody make a box\n", 75, []string{"--"}},
		{without(t, "bwrap"), "box: hint: as root: apt-get install bubblewrap socat\nbox: error: there is no bwrap\n", 64, []string{"--"}},
		{without(t, "socat"), "box: error: there is no socat\n", 64, []string{"--model", socket(t, "127.0.0.1:9"), "--"}},
		{"", "box: error: --model " + dir + "/none: there is no such socket\n", 75, []string{"--model", "none", "--"}},
		{"", "box: error: --model " + dir + "/file: there is no such socket\n", 75, []string{"--model", "file", "--"}},
		{"", "box: error: --env NOSUCH: there is no such variable\n", 64, []string{"--env", "NOSUCH", "--"}},
		{"", "box: error: --env wants the name of a variable alone\n", 64, []string{"--env", "KEY=secret", "--"}},
		{"", "box: error: --ro " + dir + "/none: there is no such file\n", 64, []string{"--ro", "none", "--"}},
		{"", "box: error: --share-net: there is no such flag\n", 64, []string{"--share-net", "--"}},
		{"", "box: error: touch: there is no such flag\n", 64, nil},
	} {
		cmd := exec.Command(script(t, "box"), append(c.args, "touch", dir+"/ran")...)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + c.path, "HOME=" + dir, "KEY=x"}
		if c.path == "" {
			cmd.Env[0] = "PATH=" + os.Getenv("PATH")
		}
		if got := start(t, cmd); got.exit != c.exit || !strings.HasSuffix(got.err, c.want) || strings.Contains(got.err, "secret") {
			t.Errorf("%v: %+v, want %d: %s", c.args, got, c.exit, c.want)
		}
		if _, err := os.Stat(dir + "/ran"); err == nil {
			t.Fatalf("%v: it was started", c.args)
		}
	}
	if got := boxed(t, dir, "--"); got.exit != 64 || !strings.HasSuffix(got.err, "box: error: there is no CMD\n") {
		t.Errorf("%+v", got)
	}
}

// without makes a PATH that has what box needs, except for one program.
func without(t *testing.T, missing string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"sh", "readlink", "dirname", "awk", "bwrap", "socat", "env"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if name != missing {
			if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}
