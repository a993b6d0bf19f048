package monthkit

import (
	"bytes"
	"container/heap"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pulse/lib/fetch/mailbox/imaptest"
	"pulse/lib/queue/pgtest"
	"pulse/lib/shared/cmdline/cmdlinetest"
)

// world is a machine with the gate of the crontab, its mailbox, a person, and the time.
type world struct {
	t   *testing.T
	rng *rand.Rand
	dir string

	disk  string // the mount point of the file system with the queue, or dir
	place string // the queue's directory, in disk

	now   time.Time     // the true time
	wrong time.Duration // how far the machine's clock is ahead of it
	real  time.Time     // when now was set, by the clock of this process

	env  []string
	jobs []*job
	todo agenda
	seq  int
	wake map[string]bool // what is played in a minute already

	inbox            *imaptest.Server
	sent             int
	arrived, fetched int // mails in the mailbox, and how many there were when it was read last
	model            *model
	logs             reader
	key              string

	holiday, ignores bool // the person answers nothing, or not all
	down, full       bool // there is no gate, or no room on its disk
	misdated         bool
	replays          bool       // the log is one that was read before
	clock            []byte     // of the database server
	server           *pgtest.DB // while the queue is in a database
	incidents        []*incident
	worst, noisy     int
	head             string
	letters          []*letter
	noted            int64 // how far the notes of workers were read
	cuts             int   // how often the power went
}

// letter is a mail of cron: what a job printed.
type letter struct {
	at   time.Time
	job  string
	text string
}

const worker = `#!/bin/bash
read -r line
[[ $line =~ \"subject\":\"([^\"]*)\" ]]
s=${BASH_REMATCH[1]}
echo "ask $PULSE_TASK $s" >>OUT/notes
[ ! -e OUT/away ] || exit 75
[ ! -e OUT/revoked ] || { echo '401 invalid x-api-key' >&2; exit 1; }
case $s in
*send*) printf '{"action":"external_send","target":["%s"],"args":{"subject":"%s","text":"."}}\n' "${s##* }" "${s%% *}" ;;
*prose*) printf 'Dear you,\n\nnothing is new.\n' ;;
*later*) ! mkdir "OUT/once-$PULSE_TASK" 2>/dev/null || exit 75 ;;
*crash*) echo 'it broke' >&2; exit 1 ;;
*hang*) exec sleep 600 ;;
esac
`

const sender = `#!/bin/bash
cat >/dev/null
[ ! -e OUT/nosmtp ] || exit 75
echo "sent $PULSE_TASK -" >>OUT/notes
`

const notify = `#!/bin/bash
cat >>OUT/notices
`

// newWorld makes a machine. Its time begins at start.
func newWorld(t *testing.T, seed uint64, bin string, start time.Time) *world {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 28)), dir: t.TempDir(), place: "queue", model: newModel(), wake: map[string]bool{}}
	w.disk = w.volume()
	w.inbox = imaptest.Start(t, false)
	for _, d := range []string{"etc", "lock", "run", "bin", "out", "home"} {
		if err := os.Mkdir(filepath.Join(w.dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{filepath.Dir(w.dir), w.dir} {
		if err := os.Chmod(d, 0o755); err != nil { // the account of the worker comes through
			t.Fatal(err)
		}
	}
	if err := os.Chmod(w.dir+"/out", 0o777); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("bash", "-c", `cp "$0"/pulse-* "$1"`, bin, w.dir+"/bin").CombinedOutput(); err != nil { // the clock lies beside them
		t.Fatalf("%v: %s", err, out)
	}
	as := "" // without root everything has one account, and health is told so
	if os.Geteuid() == 0 {
		as = "--as nobody"
	}
	w.env, w.jobs = readCrontab(t, strings.NewReplacer("/var/lib/pulse/queue", w.queue(), "/var/lib/pulse/lock/", w.dir+"/lock/",
		"/run/", w.dir+"/run/", "/etc/pulse/", w.dir+"/etc/", "PATH=", "PATH="+w.dir+"/bin:",
		"--as pulse-reader", as, "--as pulse-worker", as, "--as pulse-sender", as, "--as pulse-drafter", as))
	w.put("out/notes", "", 0o666)
	w.keys()
	w.settle()
	w.at(start.In(zone))
	w.must("pulse-queue init")
	if err := os.Chtimes(w.queue()+"/format", w.now, w.now); err != nil { // when it was made, by the kernel's clock
		t.Fatal(err)
	}
	return w
}

// queue returns the queue's directory, or its last one if it is in a database.
func (w *world) queue() string { return w.disk + "/" + w.place }

// put writes a file of the machine.
func (w *world) put(name, text string, mode os.FileMode) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "OUT", w.dir+"/out")), mode); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		w.t.Fatal(err)
	}
}

// take removes a file of the machine.
func (w *world) take(name string) {
	if err := os.Remove(filepath.Join(w.dir, name)); err != nil {
		w.t.Fatal(err)
	}
}

// settle writes what lies in /etc/pulse, and the programs.
func (w *world) settle() {
	w.put("bin/worker", worker, 0o755)
	w.put("bin/sender", sender, 0o755)
	w.put("bin/notify", notify, 0o755)
	w.put("etc/password", imaptest.Password+"\n", 0o600)
	w.put("etc/environment", fmt.Sprintf(`INBOX="imaps://%s@%s/INBOX"
FETCH_FLAGS="--tls-ca %s"
ADD_FLAGS="--notify %s/bin/notify"
HEALTH_FLAGS="%s"
READER=""
WORKER="%s/bin/worker"
RUN_FLAGS="--proposals --timeout 5s --notify %s/bin/notify"
SENDER="%s/bin/sender"
DRAFTER=""
`, imaptest.User, w.inbox.Addr, w.inbox.CA, w.dir, w.accepted(), w.dir, w.dir, w.dir), 0o644)
	w.policy(perDay, externals)
}

// keys makes the person's key.
func (w *world) keys() {
	w.key = w.dir + "/home/key"
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", w.key).CombinedOutput(); err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
	public, err := os.ReadFile(w.key + ".pub")
	if err != nil {
		w.t.Fatal(err)
	}
	w.put("etc/allowed_signers", owner+` namespaces="pulse-approve" `+string(public), 0o644)
}

// perDay is limits.max_per_day.
const perDay = 30

func (w *world) policy(perDay int, listed []string) {
	w.put("etc/policy.toml", fmt.Sprintf(`authserv_id = "mx.example.com"
owners = ["%s"]
allowed_external = ["%s"]
recipients = ["agent@example.com"]
[limits]
max_per_day = %d
[outbound]
allow = ["@partner.example", "@customer.example"]
[approval]
allowed_signers = "%s/etc/allowed_signers"
ledger = "%s/home/nonces"
`, owner, strings.Join(listed, `", "`), perDay, w.dir, w.dir), 0o644)
}

// at sets the true time.
func (w *world) at(now time.Time) {
	w.now, w.real = now, time.Now()
	if w.clock != nil {
		binary.NativeEndian.PutUint64(w.clock, uint64(now.Sub(w.real)/time.Second))
	}
}

// command is a line of bash, as cron would start it.
func (w *world) command(ctx context.Context, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/bin/bash", "-c", line)
	ahead := w.now.Add(w.wrong).Sub(w.real)
	w.put("bin/clock", fmt.Sprint(int64(ahead/time.Second)), 0o644)
	cmd.Dir = w.dir + "/home"
	cmd.Env = append([]string{"HOME=" + cmd.Dir, "LOGNAME=pulse", "TZ=Europe/Berlin", "XDG_STATE_HOME=" + w.dir + "/home"}, append(w.env, "PULSE_QUEUE="+w.named())...)
	cmd.Cancel = powerOff
	return cmd
}

// patience is how long a line may take, in real time.
const patience = time.Minute

// sh runs a line, and returns what it printed.
func (w *world) sh(line string) (out string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	b, err := w.command(ctx, line).CombinedOutput()
	if ctx.Err() != nil {
		w.disagree("takes more than %s: %s", patience, line)
	}
	return string(b), err
}

// must runs a line that has to do well.
func (w *world) must(line string) string {
	w.t.Helper()
	out, err := w.sh(line)
	if err != nil {
		w.disagree("%s: %v: %s", line, err, out)
	}
	return out
}

// play starts a job as cron does. What it prints is mailed.
func (w *world) play(j *job) {
	if w.down {
		return
	}
	out, _ := w.sh(j.command)
	if out != "" {
		w.letters = append(w.letters, &letter{w.now, name(j), out})
		w.logf("cron: %s: %s", name(j), strings.TrimSpace(out))
	}
	w.look()
}

func name(j *job) string {
	for _, n := range []string{"pulse-fetch", "run --extract", "$WORKER", "outbox", "external_send", "write_local", "health", "prune", "way"} {
		if j.does(n) {
			return strings.Trim(n, "$")
		}
	}
	return "?"
}

// minute starts the jobs that are due now and do one of these things.
func (w *world) minute(words ...string) {
	for _, j := range w.jobs {
		if j.due(w.now.Add(w.wrong)) && j.does(words...) {
			w.play(j)
		}
	}
}

// cut starts a job and takes the power away while it runs.
func (w *world) cut(j *job, after time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), after)
	defer cancel()
	_ = w.command(ctx, j.command).Run()
	if err := powerOff(); err != nil {
		w.t.Fatal(err)
	}
	w.cuts++
	w.look()
}

// event is something that happens at a time.
type event struct {
	at  time.Time
	seq int
	do  func()
}

type agenda []event

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	return a[i].at.Before(a[j].at) || a[i].at.Equal(a[j].at) && a[i].seq < a[j].seq
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(event)) }
func (a *agenda) Pop() any {
	e := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return e
}

// on lets something happen at a time.
func (w *world) on(at time.Time, do func()) {
	w.seq++
	heap.Push(&w.todo, event{at.Truncate(time.Minute), w.seq, do})
}

// live lets everything happen until a time.
func (w *world) live(until time.Time) {
	for len(w.todo) > 0 && w.todo[0].at.Before(until) {
		e := heap.Pop(&w.todo).(event)
		if !e.at.Equal(w.now) {
			w.at(e.at.In(w.now.Location()))
		}
		e.do()
	}
}

// sit lets a person type the codes that a command shows.
func (w *world) sit(line string) {
	p, err := cmdlinetest.Sit(w.command(context.Background(), line))
	if err != nil {
		w.t.Fatal(err)
	}
	defer p.Leave()
	code, err := p.Code()
	if err == nil {
		err = p.Answer(code)
	}
	if status, out := p.Wait(); err != nil || status != 0 {
		w.disagree("%s: status %d, %v: %s", line, status, err, bytes.TrimSpace(out))
	}
	w.look()
}
