package sandbox

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMain lets this test binary be a stage: TestStages starts it again.
func TestMain(m *testing.M) {
	if text := os.Getenv("SANDBOX_STAGE"); text != "" {
		os.Exit(stage([]byte(text)))
	}
	os.Exit(m.Run())
}

// order is what a stage of the test is told.
type order struct {
	Profile Profile
	Mode    Mode
	World   world
}

// world is what a stage tries to reach.
type world struct {
	Kept, Other string // directories, each with a file
	TCP, Unix   string // addresses on which the test listens
	Parent      int
}

// answer is what a stage says: the level in force, the error of each attempt, empty if it
// succeeded, and what it read from its standard input.
type answer struct {
	Level string
	Errno map[string]unix.Errno
	Stdin string
}

// attempts are what a stage may try to do.
var attempts = map[string]func(w *world) error{
	"read kept":      func(w *world) error { return openAndClose(filepath.Join(w.Kept, "file"), os.O_RDONLY) },
	"list kept":      func(w *world) error { _, err := os.ReadDir(w.Kept); return err },
	"create kept":    func(w *world) error { return openAndClose(filepath.Join(w.Kept, "new"), os.O_CREATE|os.O_WRONLY) },
	"move kept":      func(w *world) error { return move(w.Kept) },
	"read other":     func(w *world) error { return openAndClose(filepath.Join(w.Other, "file"), os.O_RDONLY) },
	"list other":     func(w *world) error { _, err := os.ReadDir(w.Other); return err },
	"write other":    func(w *world) error { return openAndClose(filepath.Join(w.Other, "file"), os.O_WRONLY) },
	"truncate other": func(w *world) error { return os.Truncate(filepath.Join(w.Other, "file"), 0) },
	"create other":   func(w *world) error { return openAndClose(filepath.Join(w.Other, "new"), os.O_CREATE|os.O_WRONLY) },
	"remove other":   func(w *world) error { return os.Remove(filepath.Join(w.Other, "spare")) },
	"link other":     func(w *world) error { return os.Link(filepath.Join(w.Other, "file"), filepath.Join(w.Other, "link")) },
	"passwd":         func(w *world) error { return openAndClose("/etc/passwd", os.O_RDONLY) },
	"environ":        func(w *world) error { return openAndClose("/proc/self/environ", os.O_RDONLY) },

	"tcp":           func(w *world) error { return dial("tcp", w.TCP) },
	"tcp 53":        func(w *world) error { return dial("tcp", "127.0.0.1:53") },
	"tcp 5353":      func(w *world) error { return dial("tcp", "127.0.0.1:5353") },
	"udp":           func(w *world) error { return socket(unix.AF_INET, unix.SOCK_DGRAM, 0) },
	"udp6":          func(w *world) error { return socket(unix.AF_INET6, unix.SOCK_DGRAM, 0) },
	"mptcp":         func(w *world) error { return socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP) },
	"unix":          func(w *world) error { return dial("unix", w.Unix) },
	"unix datagram": func(w *world) error { return socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0) },
	"netlink":       func(w *world) error { return socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE) },
	"upper half": func(w *world) error { // the kernel takes this for AF_UNIX
		return call(unix.SYS_SOCKET, 1<<32|unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	},
	"socketpair": func(w *world) error { _, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0); return err },
	"listen":     func(w *world) error { return listen() },

	"exec":        func(w *world) error { return exec.Command("/bin/true").Run() },
	"exec itself": func(w *world) error { return unix.Exec("/nonexistent", nil, nil) },
	"fork":        func(w *world) error { return call(fork, uintptr(unix.SIGCHLD)) },
	"signal":      func(w *world) error { return unix.Kill(w.Parent, 0) },
	"ptrace":      func(w *world) error { return call(unix.SYS_PTRACE, unix.PTRACE_PEEKUSR, uintptr(w.Parent), 0, 0) },
	"peek":        func(w *world) error { return call(unix.SYS_PROCESS_VM_READV, uintptr(w.Parent), 0, 0, 0, 0, 0) },
	"io_uring":    func(w *world) error { return call(unix.SYS_IO_URING_SETUP, 1, 0) },
	"type ahead":  func(w *world) error { return call(unix.SYS_IOCTL, 0, unix.TIOCSTI, 0) },
	"mount":       func(w *world) error { return call(unix.SYS_MOUNT, 0, 0, 0, 0, 0) },
	"namespace":   func(w *world) error { return call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER) },
	"bpf":         func(w *world) error { return call(unix.SYS_BPF, 99, 0, 0) },

	// What the runtime needs still works.
	"thread":     func(w *world) error { return threads() },
	"memory":     func(w *world) error { _ = make([]byte, 64<<20); runtime.GC(); return nil },
	"random":     func(w *world) error { _, err := unix.Getrandom(make([]byte, 8), 0); return err },
	"timer":      func(w *world) error { <-time.After(time.Millisecond); return nil },
	"own signal": func(w *world) error { return unix.Kill(os.Getpid(), 0) },
	"null":       func(w *world) error { return call(unix.SYS_GETPID) },
}

// always are the attempts that succeed under every profile.
var always = []string{"thread", "memory", "random", "timer", "own signal", "null", "own limits", "own affinity"}

// byLandlock are the attempts that only Landlock refuses.
var byLandlock = []string{
	"read kept", "list kept", "create kept", "move kept", "read other", "list other", "write other", "truncate other",
	"create other", "remove other", "link other", "passwd", "environ", "out of memory",
}

func TestStages(t *testing.T) {
	w := newWorld(t)
	dns := []string{"udp", "udp6", "tcp 53"}
	for _, s := range []struct {
		name    string
		profile Profile
		may     []string
	}{
		{"classify", Pipe(), nil},
		{"authorize", Pipe(w.Kept, "/nonexistent"), []string{"read kept", "list kept"}},
		{"fetch of a server", Source(0), nil},
		{"fetch of a server, with DNS", Source(53), dns},
		{"fetch of files", Source(0, w.Kept), []string{"read kept", "list kept"}},
		{"fetch of files, with DNS", Source(53, w.Kept), append([]string{"read kept", "list kept"}, dns...)},
		{"fetch of files, with a name server at another port", Source(5353, w.Kept), []string{"read kept", "list kept", "udp", "udp6", "tcp 5353"}},
		{"queue", Queue(w.Kept), []string{"read kept", "list kept", "create kept", "move kept", "chmod kept", "times kept"}},
	} {
		t.Run(s.name, func(t *testing.T) {
			got := run(t, order{s.profile, Auto, refresh(t, w)})
			if here := Here().String(); got.Level != here || got.Stdin != "line" {
				t.Errorf("%+v, want %s", got, here)
			}
			for name := range attempts {
				free := slices.Contains(s.may, name) || slices.Contains(always, name) ||
					!Here().Seccomp && !slices.Contains(byLandlock, name) || Here().Landlock == 0 && slices.Contains(byLandlock, name) ||
					s.profile.DNS != 0 && Here().Landlock < leastForPorts && strings.HasPrefix(name, "tcp") // the filter sees no ports
				if refused := isRefusal(got.Errno[name]); refused == free {
					t.Errorf("%s: %v, want it free: %v", name, got.Errno[name], free)
				}
			}
		})
	}
}

// TestControl: a stage that is not confined can do what the others can't.
func TestControl(t *testing.T) {
	got := run(t, order{Pipe(), Off, newWorld(t)})
	if got.Level != "none" {
		t.Errorf("level %s", got.Level)
	}
	for _, name := range append([]string{"tcp", "udp", "unix", "unix datagram", "upper half", "socketpair", "listen", "exec", "fork", "signal"}, byLandlock...) {
		if e := got.Errno[name]; e != 0 {
			t.Errorf("%s: %v", name, e)
		}
	}
	for name := range others {
		if e := got.Errno[name]; isRefusal(e) {
			t.Errorf("%s: %v", name, e)
		}
	}
}

// TestLeastKernel: a kernel that has only one of the two confines as far as that goes.
func TestLeastKernel(t *testing.T) {
	w := newWorld(t)
	os.Setenv("SANDBOX_HERE", "seccomp")
	defer os.Unsetenv("SANDBOX_HERE")
	got := run(t, order{Pipe(), Auto, w})
	if got.Level != "seccomp" || isRefusal(got.Errno["passwd"]) || !isRefusal(got.Errno["unix"]) {
		t.Errorf("%+v", got)
	}
}

// TestInherited: a stage closes what it was handed, except its standard streams and a file
// that it has to read.
func TestInherited(t *testing.T) {
	for name, s := range map[string]struct {
		profile Profile
		mode    Mode
		want    unix.Errno
	}{
		"pipe":       {Pipe(), Auto, unix.EBADF},
		"queue":      {Queue(t.TempDir()), Auto, unix.EBADF},
		"source":     {Source(53), Auto, unix.EBADF},
		"a file":     {Source(0, "/dev/fd/3"), Auto, 0},
		"same file":  {Source(0, "/proc/self/fd/3"), Auto, 0},
		"unconfined": {Pipe(), Off, 0},
	} {
		file, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if got := run(t, order{s.profile, s.mode, newWorld(t)}, file); got.Errno["inherited"] != s.want || got.Stdin != "line" {
			t.Errorf("%s: %v, %+v", name, got.Errno["inherited"], got)
		}
	}
}

func newWorld(t *testing.T) world {
	t.Helper()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "s") // its path must be short
	if err != nil {
		t.Fatal(err)
	}
	local, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tcp.Close(); local.Close(); os.RemoveAll(dir) })
	return refresh(t, world{TCP: tcp.Addr().String(), Unix: local.Addr().String(), Parent: os.Getpid(), Kept: t.TempDir(), Other: t.TempDir()})
}

// refresh restores what a stage may have changed.
func refresh(t *testing.T, w world) world {
	t.Helper()
	for _, dir := range []string{w.Kept, w.Other} {
		for _, name := range []string{"file", "spare"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		os.Remove(filepath.Join(dir, "link"))
		os.Remove(filepath.Join(dir, "new"))
	}
	for _, sub := range []string{"a", "b"} {
		os.MkdirAll(filepath.Join(w.Kept, sub), 0o700)
	}
	return w
}

// run starts a stage, and returns what it says.
func run(t *testing.T, o order, handed ...*os.File) (a answer) {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SANDBOX_STAGE="+string(text))
	cmd.Stdin = strings.NewReader("line\n")
	cmd.Stderr, cmd.ExtraFiles = os.Stderr, handed
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &a)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return a
}

// stage confines itself and tries everything, also from a thread that existed before.
func stage(text []byte) int {
	var o order
	if err := json.Unmarshal(text, &o); err != nil {
		return 1
	}
	here := Here()
	if os.Getenv("SANDBOX_HERE") == "seccomp" {
		here.Landlock = 0
	}
	older, begin := make(chan map[string]unix.Errno), make(chan bool)
	go func() {
		runtime.LockOSThread()
		<-begin
		older <- try(&o.World)
	}()
	level, err := enforce(o.Profile, o.Mode, here)
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		return 1
	}
	var handed unix.Stat_t
	inherited, _ := unix.Fstat(3, &handed).(unix.Errno)
	a := answer{Level: level.String(), Errno: try(&o.World)}
	a.Errno["inherited"] = inherited
	begin <- true
	for name, e := range <-older {
		if isRefusal(e) != isRefusal(a.Errno[name]) && name != "create kept" {
			a.Errno[name+" on another thread"] = e
			a.Level += ", but not on every thread: " + name
		}
	}
	line, _ := bufio.NewReader(os.Stdin).ReadString('\n')
	a.Stdin = strings.TrimSpace(line)
	if json.NewEncoder(os.Stdout).Encode(a) != nil {
		return 1
	}
	return 0
}

func try(w *world) map[string]unix.Errno {
	m := map[string]unix.Errno{}
	for name, attempt := range attempts {
		var e unix.Errno
		err := attempt(w)
		if err != nil && !errors.As(err, &e) {
			e = unix.EIO // which does not count as a refusal
		}
		m[name] = e
	}
	return m
}

// isRefusal reports whether the sandbox gives this error: EPERM is seccomp's, EACCES is
// Landlock's, and so is EXDEV, for a link out of what it guards.
func isRefusal(e unix.Errno) bool { return e == unix.EPERM || e == unix.EACCES || e == unix.EXDEV }

func openAndClose(name string, flag int) error {
	f, err := os.OpenFile(name, flag, 0o600)
	if err == nil {
		f.Close()
	}
	return err
}

// move moves a file between two directories and back, as a queue does.
func move(dir string) error {
	a, b := filepath.Join(dir, "a", "f"), filepath.Join(dir, "b", "f")
	if err := openAndClose(a, os.O_CREATE|os.O_WRONLY); err != nil {
		return err
	}
	if err := os.Rename(a, b); err != nil {
		return err
	}
	return os.Remove(b)
}

func dial(network, address string) error {
	conn, err := net.Dial(network, address)
	if err == nil {
		conn.Close()
	}
	return err
}

func listen() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		l.Close()
	}
	return err
}

// socket makes a socket as the net package does.
func socket(family, kind, protocol int) error {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, protocol)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// fork is the oldest call that makes a child. arm64 has no fork(2).
var fork = cmp.Or(map[string]uintptr{"amd64": 57}[runtime.GOARCH], unix.SYS_CLONE)

// call makes a system call. If that makes a child, the child ends at once.
func call(number uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	r, _, errno := unix.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	if number == fork && errno == 0 && r == 0 {
		unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	if errno != 0 {
		return errno
	}
	return nil
}

// threads makes new threads.
func threads() error {
	done := make(chan bool)
	for range 8 {
		go func() {
			runtime.LockOSThread() // and never unlocks: the thread ends with it
			done <- true
		}()
	}
	for range 8 {
		<-done
	}
	return nil
}
