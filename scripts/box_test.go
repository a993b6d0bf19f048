package scripts_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

// socket starts a way out, as systemd does, and returns its socket.
func socket(t *testing.T, args ...string) (path string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "box-") // a short path: the name of a socket has 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path = dir + "/model"
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	handed, err := l.File()
	if err != nil {
		t.Fatal(err)
	}
	defer handed.Close()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmdlinetest.Own(t, path)
	cmd := exec.Command("sh", append([]string{"-c", `LISTEN_PID=$$ LISTEN_FDS=1 exec pulse-queue way "$@"`, "sh"}, args...)...)
	cmd.ExtraFiles, cmd.Stderr = []*os.File{handed}, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return path
}

// box returns a command that starts the box as an ordinary account, in a directory.
func box(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := cmdlinetest.Ordinary(exec.Command(script(t, "box"), args...))
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	return cmd
}

// boxed starts the box in a directory, with variables and a record.
func boxed(t *testing.T, dir string, args ...string) ended {
	t.Helper()
	cmd := box(t, dir, args...)
	cmd.Stdin = strings.NewReader("a record\n")
	cmd.Env = append(cmd.Env, "PULSE_TASK=0123", "PULSE_POLICY="+dir+"/policy.toml", "KEY=k1", "SECRET=s1")
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
# What can be reached here is reached at once, and elsewhere nobody may answer.
for host in 127.0.0.1 "$ADDRESS"; do timeout 300 bash -c "exec 3<>/dev/tcp/$host/$PORT" 2>/dev/null && echo "tcp $host"; done
timeout 5 bash -c "exec 3<>/dev/tcp/192.0.2.1/$PORT" 2>/dev/null && echo "tcp 192.0.2.1"
timeout 5 getent ahosts deb.debian.org >/dev/null && echo names
timeout 300 bash -c 'echo x >/dev/udp/192.0.2.1/53' 2>/dev/null && echo udp
exit 7
`

// What a program in the box gets at: its record, its task, the variables that --env names. Outside
// of it, it gets at all the rest, or this would prove nothing.
func TestBoxIsShut(t *testing.T) {
	dir := cmdlinetest.OrdinaryDir(t)
	for _, name := range []string{"policy.toml", "queue/format", ".ssh/id_ed25519"} {
		put(t, dir+"/"+name, "secret", 0o600)
	}
	cmdlinetest.Own(t, dir)
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
	vars := "export PORT=" + port + " ADDRESS=" + own(t) + " BOX=" + script(t, "box") + "\n"
	argv := []string{"sh", "-c", vars + getting, "program", dir, dir + "/policy.toml", dir + "/queue", dir + "/.ssh"}

	for _, model := range [][]string{nil, {"--model", socket(t, "--plain", "127.0.0.1:"+port)}} {
		got := boxed(t, dir, append(append(model, "--env", "KEY", "--"), argv...)...)
		if got != (ended{7, "a record\ntask 0123 key k1\n", ""}) {
			t.Errorf("%v: it got at %+v", model, got)
		}
	}

	cmd := cmdlinetest.Ordinary(exec.Command(argv[0], argv[1:]...))
	cmd.Dir, cmd.Stdin, cmd.Env = dir, strings.NewReader("a record\n"), append(os.Environ(), "HOME="+dir, "SECRET=s1")
	open := start(t, cmd)
	for _, want := range []string{"secret", dir + "/policy.toml", dir + "/queue", dir + "/.ssh", "/etc/passwd", "/etc/shadow", "processes", "tcp 127.0.0.1", "tcp " + own(t), "udp"} {
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

// A program in the box reaches the model: over TLS by its name, as its proxy variables say, and
// as plain HTTP. It reaches nothing else, even if the same address serves it; except what the
// model's host itself serves under another name in a connection to that name.
func TestBoxReachesTheModel(t *testing.T) {
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s\n", r.Host, b)
	})
	secure, plain := httptest.NewUnstartedServer(answer), httptest.NewServer(answer)
	cert, key := certificate(t, "localhost", "example.com")
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	secure.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	secure.StartTLS()
	defer secure.Close()
	defer plain.Close()
	dir := cmdlinetest.OrdinaryDir(t)
	put(t, dir+"/ca.pem", string(cert), 0o644)
	named := "localhost:" + fmt.Sprint(secure.Listener.Addr().(*net.TCPAddr).Port)
	curl := []string{"--ro", dir + "/ca.pem", "--", "curl", "-sS", "--max-time", "20", "--cacert", dir + "/ca.pem", "--data", "hello"}
	for _, c := range []struct {
		way  []string
		url  []string
		exit int
		out  string
	}{
		{[]string{named}, []string{"https://localhost/v1"}, 0, "localhost hello\n"},
		{[]string{named}, []string{"https://example.com/v1"}, 35, ""},
		{[]string{named}, []string{"--http1.1", "-H", "Host: example.com", "https://localhost/v1"}, 0, "example.com hello\n"},
		{[]string{named}, []string{"http://127.0.0.1:3129/v1"}, 52, ""},
		{[]string{"--plain", plain.Listener.Addr().String()}, []string{"http://127.0.0.1:3129/v1"}, 0, "127.0.0.1:3129 hello\n"},
		{[]string{"--plain", plain.Listener.Addr().String()}, []string{"http://192.0.2.1/"}, 7, ""},
		{[]string{"--plain", plain.Listener.Addr().String()}, []string{"http://example.com/"}, 6, ""},
	} {
		got := boxed(t, dir, append(append([]string{"--model", socket(t, c.way...)}, curl...), c.url...)...)
		if got.exit != c.exit || got.out != c.out {
			t.Errorf("%s: %+v, want %d and %q", c.url, got, c.exit, c.out)
		}
	}
}

// certificate makes one of its own authority for some names, and its key.
func certificate(t *testing.T, names ...string) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: names[0]}, DNSNames: names, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}

// A boxed reader is the real one, with the real model's program.
func TestBoxedReader(t *testing.T) {
	dir := claude(t)
	requests := make(chan []byte, 100)
	server := httptest.NewServer(says(`{"type":"question"}`, requests))
	defer server.Close()
	cmd := box(t, cmdlinetest.OrdinaryDir(t), "--model", socket(t, "--plain", server.Listener.Addr().String()), "--env", "ANTHROPIC_BASE_URL", "--env", "ANTHROPIC_API_KEY",
		"--env", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "--ro", dir, "--", script(t, "readers/claude"))
	cmd.Stdin = strings.NewReader(read)
	cmd.Env = []string{
		"PATH=" + dir + "/node_modules/.bin:" + bin + ":" + os.Getenv("PATH"), "HOME=" + cmd.Dir,
		"ANTHROPIC_BASE_URL=http://127.0.0.1:3129", "ANTHROPIC_API_KEY=sk-x", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	}
	if got := start(t, cmd); got != (ended{0, "{\"type\":\"question\"}\n", ""}) || len(requests) != 1 {
		t.Errorf("%+v, after %d requests", got, len(requests))
	}
}

// A worker in the box reaches the judge of its run, and the programs that ask it.
func TestBoxReachesTheJudge(t *testing.T) {
	dir := cmdlinetest.OrdinaryDir(t)
	l, err := net.Listen("unix", dir+"/s")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cmdlinetest.Own(t, dir)
	go func() {
		if c, err := l.Accept(); err == nil {
			_, _ = bufio.NewReader(c).ReadString('\n')
			_, _ = io.WriteString(c, "{\"say\":{\"yes\":1}}\n")
			c.Close()
		}
	}()
	cmd := exec.Command(script(t, "box"), "--", "sh", "-c", "echo '{}' | pulse-authorize hook codex; pulse-queue --version; ls "+dir)
	cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "PULSE_JUDGE=" + dir + "/s"}
	cmdlinetest.Ordinary(cmd)
	if got := start(t, cmd); got.exit != 0 || !strings.HasPrefix(got.out, "{\"yes\":1}\npulse-queue ") || !strings.HasSuffix(got.out, "\ns\n") {
		t.Errorf("%+v", got)
	}
}

// What --ro and --rw name is there, and only what --rw names can be written.
func TestBoxShows(t *testing.T) {
	dir := cmdlinetest.OrdinaryDir(t)
	put(t, dir+"/shown/file", "text\n", 0o600)
	put(t, dir+"/own/file", "text\n", 0o600)
	cmdlinetest.Own(t, dir)
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
		dir := cmdlinetest.OrdinaryDir(t)
		put(t, dir+"/own/lock", "", 0o600)
		cmdlinetest.Own(t, dir)
		cmd := box(t, dir, "--rw", dir+"/own", "--", "sh", "-c", "setsid flock lock sh -c 'echo up; sleep 300; echo survived' & exec sleep 300")
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
	cmd := cmdlinetest.Ordinary(exec.Command("sh", "-c", `"$1" -- sh -c 'echo up; sleep 60; echo survived'; :`, "parent", script(t, "box")))
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

// A variable outside may have any name: that of the script's own, and ones that are no names
// of shells. None gets in.
func TestBoxAndOtherVariables(t *testing.T) {
	cmd := box(t, "/", "--model", socket(t, "--plain", "127.0.0.1:9"), "--env", "KEY", "--", "env")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "KEY=k1", "A B=x", "A.B=x", "X*=x", "BASH_FUNC_f%%=() { x; }"}
	for _, name := range []string{"here", "HOME", "HTTPS_PROXY", "PULSE_QUEUE", "BASH_ENV", "IFS"} {
		cmd.Env = append(cmd.Env, name+"=x")
	}
	got := start(t, cmd)
	if got.exit != 0 || got.err != "" || strings.Contains(got.out, "=x") || !strings.Contains(got.out, "KEY=k1\n") || !strings.Contains(got.out, "https_proxy=http://127.0.0.1:3128\n") {
		t.Errorf("%+v", got)
	}
}

// Where no box can be made, or a word of the command line is wrong, nothing is started.
func TestBoxFailsClosed(t *testing.T) {
	dir := cmdlinetest.OrdinaryDir(t)
	put(t, dir+"/bwrap", "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n", 0o755)
	put(t, dir+"/file", "", 0o600)
	for _, c := range []struct {
		path, want string
		exit       int
		args       []string
	}{
		{dir + ":" + os.Getenv("PATH"), "box: error: this kernel or its settings let nobody make a box\n", 75, []string{"--"}},
		{without(t, "bwrap"), "box: hint: as root: apt-get install bubblewrap\nbox: error: there is no bwrap\n", 64, []string{"--"}},
		{without(t, "pulse-queue"), "box: error: there is no pulse-queue in PATH\n", 64, []string{"--"}},
		{"", "box: error: --model " + dir + "/none: there is no such socket\n", 75, []string{"--model", "none", "--"}},
		{"", "box: error: --model " + dir + "/file: there is no such socket\n", 75, []string{"--model", "file", "--"}},
		{"", "box: error: --env NOSUCH: there is no such variable\n", 64, []string{"--env", "NOSUCH", "--"}},
		{"", "box: error: --env wants the name of a variable alone\n", 64, []string{"--env", "KEY=secret", "--"}},
		{"", "box: error: --ro " + dir + "/none: there is no such file\n", 64, []string{"--ro", "none", "--"}},
		{"", "box: error: --share-net: there is no such flag\n", 64, []string{"--share-net", "--"}},
		{"", "box: error: touch: there is no such flag\n", 64, nil},
		{"", "box: error: --\\x1b[2J: there is no such flag\n", 64, []string{"--\x1b[2J"}},
		{"", "box: error: nosuch: executable file not found in $PATH\n", 64, []string{"--", "nosuch"}},
	} {
		cmd := box(t, dir, append(c.args, "touch", dir+"/ran")...)
		cmd.Env = []string{"PATH=" + c.path, "HOME=" + dir, "KEY=x"}
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
	if got := boxed(t, dir, "--rw"); got.exit != 64 || !strings.HasSuffix(got.err, "box: error: --rw: it has no value\n") {
		t.Errorf("%+v", got)
	}
	if got := boxed(t, dir, "--"); got.exit != 64 || !strings.HasSuffix(got.err, "box: error: there is no CMD\n") {
		t.Errorf("%+v", got)
	}
}

// without makes a PATH that has what box needs, except for one program.
func without(t *testing.T, missing string) string {
	t.Helper()
	dir := cmdlinetest.OrdinaryDir(t)
	for _, name := range []string{"sh", "readlink", "dirname", "bwrap", "pulse-queue"} {
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
