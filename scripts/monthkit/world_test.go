package monthkit

import (
	"bytes"
	"container/heap"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os/exec"
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
	cmd.Env = []string{"HOME=" + cmd.Dir, "LOGNAME=pulse", "TZ=Europe/Berlin", "XDG_STATE_HOME=" + w.dir + "/home"}
	cmd.Env = append(append(cmd.Env, w.env...), "PULSE_QUEUE="+w.named())
	cmd.Cancel = powerOff
	return cmd
}

// patience is how long a line may take, in real time, and so how much later than its beginning anything of it
// may be: by so much the model is off.
const patience = 5 * time.Minute

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
	for n := range strings.FieldsSeq("pulse-fetch $READER $WORKER outbox $SENDER $DRAFTER health prune way") {
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
