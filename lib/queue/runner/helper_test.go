package runner

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// TestMain lets this test binary be the processes that the tests start, too.
func TestMain(m *testing.M) {
	f := strings.Fields(os.Getenv("RUNNER_TEST"))
	if len(f) == 0 {
		os.Exit(m.Run())
	}
	helpers[f[0]](f[1:])
}

var helpers = map[string]func(args []string){}

func init() {
	helpers["told"] = told
	helpers["session"] = session
	helpers["runner"] = runAs
	helpers["chain"] = func(args []string) {
		links, _ := strconv.Atoi(args[1])
		chains, _ := strconv.Atoi(args[2])
		chain(args[0] == "setsid", args[0] == "double", links, chains)
	}
}

// helper returns a worker that is one of the helpers.
func helper(t *testing.T, args string) *Worker {
	t.Helper()
	w, _ := sh(t, "")
	w.Path, w.Argv, w.Env = "/proc/self/exe", []string{"helper"}, []string{"RUNNER_TEST=" + args, "GORACE=atexit_sleep_ms=0"}
	return w
}

// told says that it is ready, and later which signal it got.
func told(args []string) {
	c := make(chan os.Signal, 1)
	// Not all: Go sends itself SIGURG, which would take the place of the one that is waited for.
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	parent := os.Getppid()
	ready(args[0])
	got := <-c
	for parent == os.Getppid() { // its parent handles no signal, and dies of it first
		runtime.Gosched()
	}
	fmt.Println(got)
}

// session starts a process in another process group of its session.
func session(args []string) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "RUNNER_TEST=told "+args[0])
	cmd.Stdout = os.Stdout
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Run()
}

// ready writes a byte into a FIFO.
func ready(fifo string) {
	f, err := os.OpenFile(fifo, os.O_WRONLY, 0)
	if err == nil {
		f.WriteString("x")
		f.Close()
	}
}

// runAs is the runner of a shell script, with a directory of locks. It says when the worker
// is written down.
func runAs(args []string) {
	locks, err := Dir(args[0]).Take(id)
	if err != nil {
		panic(err)
	}
	w := &Worker{Path: "/bin/sh", Argv: []string{"sh", args[1]}, Env: []string{"PATH=" + os.Getenv("PATH")}, Lock: locks.Worker()}
	_, err = Run(context.Background(), w, func(pid int) error {
		err := locks.Handed(pid)
		fmt.Println(pid)
		return err
	})
	panic(err)
}

// fifo makes a FIFO and opens it for reading and writing.
func fifo(t *testing.T) *os.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// chain starts chains of processes, each of which starts the next one and ends, as fast as
// possible, with only system calls. They begin when this process has ended. A chain that
// comes to its own end says so.
//
//go:norace
func chain(setsid, double bool, links, chains int) {
	var begin [2]int // nothing is written to this pipe: it ends with this process
	if syscall.Pipe(begin[:]) != nil {
		exit()
	}
	for range chains {
		if fork() != 0 {
			continue
		}
		syscall.RawSyscall(syscall.SYS_CLOSE, uintptr(begin[1]), 0, 0)
		var b [1]byte
		syscall.RawSyscall(syscall.SYS_READ, uintptr(begin[0]), uintptr(unsafe.Pointer(&b)), 1)
		for range links {
			if setsid {
				syscall.RawSyscall(syscall.SYS_SETSID, 0, 0, 0)
			}
			leave()
			if double {
				syscall.RawSyscall(syscall.SYS_SETSID, 0, 0, 0)
				leave()
			}
		}
		free := [...]byte{'f', 'r', 'e', 'e', '\n'}
		syscall.RawSyscall(syscall.SYS_WRITE, 2, uintptr(unsafe.Pointer(&free)), uintptr(len(free)))
		exit()
	}
	exit()
}

// leave continues as a child of this process, which ends.
//
//go:norace
func leave() {
	if fork() != 0 {
		exit()
	}
}

//go:norace
func fork() uintptr {
	pid, _, _ := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	return pid
}

//go:norace
func exit() { syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0) }
