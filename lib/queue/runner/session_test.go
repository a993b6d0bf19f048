package runner

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// orphanage is a worker whose runner was killed.
type orphanage struct {
	d      Dir
	worker int
	script *os.File // to which it writes: started
	end    *os.File // for which it waits
}

// orphaned starts a runner and its worker, a shell script that must write a word to
// $started, and kills the runner. The worker then is a child of this process.
func orphaned(t *testing.T, script string) (o orphanage, word string) {
	t.Helper()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	o.d, o.script, o.end = Dir(t.TempDir()), fifo(t), fifo(t)
	file := filepath.Join(t.TempDir(), "script")
	script = "started=" + o.script.Name() + " end=" + o.end.Name() + "\n" + script
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "RUNNER_TEST=runner "+string(o.d)+" "+file)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fscanln(out, &o.worker); err != nil {
		t.Fatal(err)
	}
	word, _ = bufio.NewReader(o.script).ReadString('\n')
	if o.d.Dead(id) {
		t.Error("dead under a living runner")
	}
	cmd.Process.Kill()
	cmd.Wait()
	return o, strings.TrimSpace(word)
}

// TestWorkerClosesItsLock: sudo and closefrom do that. If the runner is killed, there is no
// lock for the worker any more, but it counts as alive.
func TestWorkerClosesItsLock(t *testing.T) {
	o, _ := orphaned(t, `exec 3>&-; echo x >$started; read x <$end`)
	if !o.d.free(id, "runner") || !o.d.free(id, "worker") {
		t.Error("a lock is held")
	}
	if o.d.Dead(id) || o.d.WaitGone(id, 10*time.Millisecond) {
		t.Error("dead while its worker lives")
	}
	if _, err := o.d.Take(id); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("taken beside its worker: %v", err)
	}
	waited := make(chan bool)
	go func() { waited <- o.d.WaitGone(id, 10*time.Minute) }()
	io.WriteString(o.end, "x\n")
	if !<-waited {
		t.Error("its end was not seen")
	}
	unix.Wait4(o.worker, nil, 0, nil)
	if !o.d.Dead(id) {
		t.Error("not dead after its end")
	}
}

// TestSessionWithoutItsLeader: the worker has ended, and its child still works.
func TestSessionWithoutItsLeader(t *testing.T) {
	o, word := orphaned(t, `exec 3>&-; sh -c 'echo $$ >'$started'; read x <'$end & read y <$end`)
	var child int
	if _, err := fmt.Sscan(word, &child); err != nil {
		t.Fatal(err)
	}
	unix.Kill(o.worker, unix.SIGKILL)
	<-zombie(o.worker)
	if o.d.Dead(id) {
		t.Error("dead with a zombie for a leader")
	}
	unix.Wait4(o.worker, nil, 0, nil)
	if o.d.Dead(id) || o.d.WaitGone(id, 10*time.Millisecond) {
		t.Error("dead without a leader")
	}
	io.WriteString(o.end, "x\n")
	<-zombie(child)
	if !o.d.Dead(id) || !o.d.WaitGone(id, 0) {
		t.Error("not dead after all have ended")
	}
	unix.Wait4(child, nil, 0, nil)
}

func TestLeader(t *testing.T) {
	us, err := leaderOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if l, err := parseLeader(us.String()); err != nil || l != us {
		t.Errorf("%q: %v, %v", us, l, err)
	}
	reused, reboot, nobody := us, us, us
	reused.start++
	reboot.world = strings.Replace(us.world, us.world[:8], "00000000", 1)
	nobody.pid = 1 << 30
	d := Dir(t.TempDir())
	for text, dead := range map[string]bool{
		us.String():                    false,
		reused.String():                true,
		reboot.String():                true,
		nobody.String():                true,
		"":                             true,
		"x":                            false,
		"0" + us.String():              false,
		us.String() + "x":              false,
		us.String()[:10]:               false,
		"-" + us.String():              false,
		strings.Repeat("1", 1<<20):     false,
		strings.TrimSpace(us.String()): false,
	} {
		if err := os.WriteFile(d.path(id, "worker"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := d.Dead(id); got != dead {
			t.Errorf("%.80q: dead %v", text, got)
		}
	}
}
