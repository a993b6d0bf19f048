package man

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// boxed is a worker that tries to get at what is not its own, and prints what it got.
const boxed = `read -r line
case $line in *'"task"'*) echo record; esac
[ ${#PULSE_TASK} -eq 32 ] && echo task
[ "$(ls /home)" = agent ] && [ "$(pwd)" = /home/agent ] && echo home
touch note && echo own
[ -e "$1" ] && echo queue
[ -e /etc/passwd ] && echo passwd
[ "$(ls -d /proc/[0-9]* | wc -l)" -gt 6 ] && echo processes
env | grep -q SECRET && echo secret
bash -c "exec 3<>/dev/tcp/127.0.0.1/$2" 2>/dev/null && echo network
exit 0
`

// What a worker in the box of pulse(7) gets at: the record, and nothing else. Outside it
// gets at all of it, or the box would prove nothing.
func TestBoxedWorker(t *testing.T) {
	dir := world(t)
	box := put(t, dir, "boxed", read(t, "pulse.7").marked(t, "box: bubblewrap"))
	if err := os.Chmod(box, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	queue := filepath.Join(dir, "queue")
	worker := func(before ...string) []string {
		return append(before, "bash", "-c", boxed, "worker", queue, port)
	}
	for _, c := range []struct {
		argv []string
		want string
	}{
		{worker(box), "record task home own"},
		{worker("env", "-C", dir), "record task own queue passwd processes secret network"},
	} {
		sh := func(line string, args ...string) string {
			cmd := exec.Command("bash", append([]string{"-c", line, "bash"}, args...)...)
			cmd.Dir, cmd.Stderr = dir, os.Stderr
			cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "PULSE_QUEUE="+queue, "PULSE_POLICY="+dir+"/policy.toml", "SECRET=x")
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			return strings.TrimSpace(string(out))
		}
		sh("pulse-queue init")
		id := sh("pulse-queue submit --action read_public x | jq -r .task.id")
		sh(`pulse-queue run --env SECRET -- "$@"`, c.argv...)
		got := sh("cat queue/results/" + id)
		if words := strings.Join(strings.Fields(got), " "); words != c.want {
			t.Errorf("%v: the worker got at %q, want %q", c.argv[:1], words, c.want)
		}
	}
}
