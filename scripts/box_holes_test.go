package scripts_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

// tried runs testdata/holes.c, and returns the errno of each attempt.
func tried(t *testing.T, cmd *exec.Cmd) map[string]int {
	t.Helper()
	got := start(t, cmd)
	if got.exit != 0 || got.err != "" {
		t.Fatalf("%+v", got)
	}
	all := map[string]int{}
	for line := range strings.Lines(got.out) {
		var name string
		var errno int
		if _, err := fmt.Sscan(line, &name, &errno); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all[name] = errno
	}
	return all
}

// What the kernel has for a program that wants out of a box is refused there: sockets of all
// families but three, calls about other processes, keys, namespaces, mounts, and whole
// subsystems; calls by the numbers of another architecture; typing into a terminal. Process 1 of
// the box can't be looked into. Outside of the box much of it is allowed, or this would prove
// nothing.
func TestBoxHasNoHoles(t *testing.T) {
	inside := tried(t, box(t, "/", "--", "holes"))
	const killed = 1000 + int(syscall.SIGSYS)
	special := map[string]int{
		"family-1": 0, "family-2": 0, "family-10": 0, "clone3": int(syscall.ENOSYS), "x32": int(syscall.ENOSYS), "i386": killed,
		"core_pattern": int(syscall.EACCES), "process-mem": int(syscall.EACCES), "process-environ": int(syscall.EACCES),
		"process-exe": int(syscall.EACCES), "process-fd": int(syscall.EACCES), "process-maps": int(syscall.EACCES), "process-root": int(syscall.EACCES),
	}
	for name, errno := range inside {
		want, ok := special[name]
		if !ok {
			want = int(syscall.EPERM)
		}
		if errno != want {
			t.Errorf("%s: errno %d, want %d", name, errno, want)
		}
	}
	if len(inside) < 80 {
		t.Errorf("only %d attempts", len(inside))
	}
	outside := tried(t, cmdlinetest.Ordinary(exec.Command("sh", "-c", "sleep 1000 & holes $!; kill $!")))
	for _, name := range []string{"family-16", "io_uring", "keyctl", "add_key", "ptrace", "kcmp", "pidfd_getfd", "process-mem", "process-fd", "personality"} {
		if outside[name] != 0 {
			t.Errorf("outside of the box, %s: errno %d", name, outside[name])
		}
	}
	for _, name := range []string{"process_vm_writev", "bpf", "TIOCSETD", "mptcp", "tipc-pair", "clone3"} {
		if outside[name] == inside[name] {
			t.Errorf("outside of the box, %s: errno %d, too", name, outside[name])
		}
	}
}

// A program in the box has no descriptor and no key that the box was started with, and it can't
// end process 1 by a signal.
func TestBoxKeepsWhatItWasHanded(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/handed") // none of /etc, which other tests replace
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	const look = "cat /proc/keys; readlink /proc/self/fd/*; for s in TERM INT QUIT HUP KILL ABRT SEGV USR1 CHLD PIPE; do kill -$s 1; done; echo lives"
	in := box(t, "/", "--", "sh", "-c", look)
	in.Args = append([]string{"holes", "keys", in.Path}, in.Args[1:]...)
	in.Path = bin + "/holes"
	in.ExtraFiles = []*os.File{file}
	if got := start(t, in); strings.Contains(got.out, "key-of-a-test") || strings.Contains(got.out, "/handed") || !strings.HasSuffix(got.out, "lives\n") {
		t.Errorf("%+v", got)
	}
	out := cmdlinetest.Ordinary(exec.Command("holes", "keys", "sh", "-c", "cat /proc/keys; readlink /proc/self/fd/3"))
	out.ExtraFiles = []*os.File{file}
	if got := start(t, out); !strings.Contains(got.out, "key-of-a-test") || !strings.HasSuffix(got.out, "/handed\n") {
		t.Errorf("outside of the box: %+v", got)
	}
}

// Root is not put into a box, nor what becomes root there.
func TestBoxIsNotForRoot(t *testing.T) {
	argv := []string{script(t, "box"), "--", "touch", t.TempDir() + "/ran"}
	if os.Geteuid() != 0 {
		argv = append([]string{"unshare", "--user", "--map-root-user"}, argv...)
	}
	want := "box: hint: pulse-queue run --as USER; or User=USER in the unit\nbox: error: a box does not hold root: it is for an ordinary account\n"
	if got := start(t, exec.Command(argv[0], argv[1:]...)); got != (ended{64, "", want}) {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(argv[len(argv)-1]); err == nil {
		t.Error("it was started")
	}
}

// The programs that agents are made of, and start, do their work in the box.
func TestBoxHoldsOrdinaryPrograms(t *testing.T) {
	dir := cmdlinetest.OrdinaryDir(t)
	cert, key := certificate(t, "localhost")
	put(t, dir+"/cert.pem", string(cert), 0o644)
	put(t, dir+"/key.pem", string(key), 0o644)
	put(t, dir+"/work.js", node, 0o644)
	put(t, dir+"/work.py", python, 0o644)
	put(t, dir+"/main.go", "package main\n\nfunc main() { println(\"go\") }\n", 0o644)
	put(t, dir+"/main.c", "#include <pthread.h>\n#include <stdio.h>\nstatic void *say(void *w) { puts(w); return 0; }\nint main(void) { pthread_t t; return pthread_create(&t, 0, say, \"gcc\") || pthread_join(t, 0); }\n", 0o644)
	for _, c := range []struct{ line, out string }{
		{"node " + dir + "/work.js " + dir, "thread\nspawned\nfile\nhttps\n"},
		{"/usr/bin/python3 " + dir + "/work.py", "pool [1, 2]\nspawned\nunix\ntcp\nmmap\n"},
		{"git init -q a && cd a && echo x >f && git add f && git -c user.name=a -c user.email=a@example.com commit -qm m && git gc -q && git clone -q . ../b 2>&1 && git -C ../b log --format=%s", "m\n"},
		{"gcc -pthread -o c " + dir + "/main.c && ./c", "gcc\n"},
		{"cp " + dir + "/main.go . && GOCACHE=$HOME/.cache go build -o g main.go && ./g 2>&1", "go\n"},
		{"mkfifo p && { echo fifo >p & cat p; } && timeout 500 nice -n 5 taskset -c 0 script -qc 'echo terminal' /dev/null </dev/null | tr -d '\\r'; echo a | xargs echo; printf 'exec echo sh' >s && chmod +x s && ./s", "fifo\nterminal\na\nsh\n"},
	} {
		name, _, _ := strings.Cut(c.out, "\n")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := boxed(t, dir, "--ro", dir, "--", "sh", "-c", c.line); got.exit != 0 || got.out != c.out {
				t.Errorf("%+v, want %q", got, c.out)
			}
		})
	}
}

const node = `const fs = require("fs"), https = require("https"), {Worker} = require("worker_threads"), dir = process.argv[2];
const pem = fs.readFileSync(dir + "/cert.pem");
const thread = () => new Promise(done => new Worker("require('worker_threads').parentPort.postMessage('thread')", {eval: true}).on("message", done));
const spawned = () => new Promise(done => require("child_process").execFile("sh", ["-c", "echo spawned"], (_, out) => done(out.trim())));
const file = async () => { fs.watch(".").close(); await fs.promises.writeFile("f", "file"); return fs.promises.readFile("f", "utf8"); };
const secure = () => new Promise((done, fail) => {
  const server = https.createServer({cert: pem, key: fs.readFileSync(dir + "/key.pem")}, (_, out) => out.end("https")).listen(0, "127.0.0.1", () =>
    https.get({host: "127.0.0.1", servername: "localhost", port: server.address().port, ca: pem}, answer => {
      answer.on("data", b => { server.close(); done(b.toString()); });
    }).on("error", fail));
});
(async () => { for (const one of [thread, spawned, file, secure]) console.log(await one()); process.exit(0); })();
`

const python = `import mmap, multiprocessing, socket, subprocess, tempfile, threading
if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool:
        print("pool", pool.map(abs, [-1, -2]), flush=True)
    print(subprocess.check_output(["echo", "spawned"], text=True), end="", flush=True)
    a, b = socket.socketpair()
    threading.Thread(target=lambda: a.sendall(b"unix")).start()
    print(b.recv(4).decode())
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        conn, _ = server.accept()
        conn.sendall(b"tcp")
        print(client.recv(3).decode())
    with tempfile.TemporaryFile() as f:
        f.write(b"mmap")
        f.flush()
        print(mmap.mmap(f.fileno(), 0)[:].decode())
`

// The socket of a judge is there, and passed on, and no other beside it; and the programs of
// pulse are where they are outside, even if they are not below /usr.
func TestBoxReachesItsJudge(t *testing.T) {
	dir := cmdlinetest.OrdinaryDir(t)
	for _, name := range []string{"judge", "other"} {
		l, err := net.Listen("unix", dir+"/"+name)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = c.Write([]byte("no\n"))
				c.Close()
			}
		}()
	}
	cmdlinetest.Own(t, dir)
	asking := func(judge string) ended {
		t.Helper()
		cmd := box(t, dir, "--", "sh", "-c", `ls "$(dirname "$PULSE_JUDGE")" && /usr/bin/python3 -c 'import os, socket
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ["PULSE_JUDGE"])
print(s.recv(9).decode(), end="")' && pulse-authorize --version && pulse-queue --version`)
		cmd.Env = append(cmd.Env, "PULSE_JUDGE="+judge)
		return start(t, cmd)
	}
	if got := asking(dir + "/judge"); got.exit != 0 || !strings.HasPrefix(got.out, "judge\nno\npulse-authorize ") || strings.Count(got.out, "\n") != 4 {
		t.Errorf("%+v", got)
	}
	for _, judge := range []string{dir + "/none", dir, "judge", "", bin + "/holes"} {
		want := "box: error: PULSE_JUDGE=" + judge + ": there is no such socket\n"
		if got := asking(judge); got.exit != 75 || got.out != "" || !strings.HasSuffix(got.err, want) {
			t.Errorf("%q: %+v", judge, got)
		}
	}
}
