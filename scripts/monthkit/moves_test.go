package monthkit

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pulse/lib/queue/pgtest"
)

// named returns the name of the queue for the jobs.
func (w *world) named() string {
	if w.server != nil {
		return w.server.DSN("machine1")
	}
	return w.queue()
}

// person returns a command of the person, who has a login of their own at a server.
func (w *world) person(command string) string {
	if w.server != nil {
		return "PULSE_QUEUE='" + w.server.DSN("ann") + "' " + command
	}
	return command
}

var (
	isHeld   = regexp.MustCompile(`held`)
	restored = regexp.MustCompile(`restored`)
)

// moves plays what happens to a queue as a whole. d is the first of thirty-two days.
func (w *world) moves(d time.Time) {
	at := func(days int) time.Time { return w.local(d.AddDate(0, 0, days), 6, 0) }
	w.during(&incident{name: "UIDVALIDITY changes", quiet: true},
		at(1), hour, w.renewed, nothing)
	w.during(&incident{name: "a hold of three hours, and another policy", named: isHeld, stops: true},
		at(4), 3*hour, w.narrow, w.widen)
	w.on(at(8), w.backup)
	w.during(&incident{name: "restored from a backup of two days ago", named: restored, stops: true},
		at(10), 2*hour, w.restore, w.resume)
	w.during(&incident{name: "PostgreSQL for ten days", quiet: true},
		at(15), 10*day, w.toServer, w.fromServer)
}

// narrow holds the queue, and lists one sender less, whose mail is in it.
func (w *world) narrow() {
	w.must("pulse-queue hold")
	w.batch(externals[3], "question", 2, genuine, false)()
	w.on(w.now.Add(hour), func() {
		w.policy(perDay, externals[:3])
		w.model.expects = expects{refusals: true, parked: true}
	})
}

// widen lets it go on. The policy is as it was a day later.
func (w *world) widen() {
	w.must("pulse-queue release")
	w.on(w.now.Add(day), func() {
		w.policy(perDay, externals)
		w.model.expects = expects{}
	})
}

func (w *world) backup() {
	w.must("pulse-queue hold && pulse-queue verify >backup.head && " +
		"flock --shared " + w.queue() + "/lock cp -a " + w.queue() + " " + w.disk + "/backup")
	w.must("pulse-queue release")
	w.look()
}

// restore puts the copy in the queue's place. Nothing starts until a person says so.
func (w *world) restore() {
	w.must("mv " + w.queue() + " " + w.disk + "/was && mv " + w.disk + "/backup " + w.queue())
	w.must(`pulse-queue verify --head "$(cat backup.head)" >/dev/null`)
	old := w.model.tasks
	w.model.tasks, w.logs, w.head = map[string]*ticket{}, reader{all: w.logs.all}, ""
	w.replays = true
	w.look()
	w.replays = false
	for id, was := range old {
		if t := w.model.tasks[id]; t != nil {
			t.observed, t.lost = was.observed, was.started
			continue
		}
		w.model.gone[id] = was
		if m := w.model.mails[was.mail]; m != nil {
			m.added, m.lost = 0, true
		}
	}
}

// resume takes the mail that came since, as the page says, and then lets the queue go on.
func (w *world) resume() {
	for _, j := range w.jobs {
		if j.does("pulse-fetch", "outbox") {
			w.play(j)
		}
	}
	w.sit("exec pulse-queue release --restored --was " + w.disk + "/was")
	w.must("rm -r " + w.disk + "/was")
}

// toServer copies the queue to a database whose server has the clock of this world.
func (w *world) toServer() {
	w.preload()
	w.server = nil
	db := pgtest.New(w.t)
	spared = append(spared, descendants(os.Getpid())...)
	w.must("pulse-queue hold && pulse-queue copy --to '" + db.DSN("dba1") + "'")
	w.look()
	w.must("mv " + w.queue() + " " + w.disk + "/before-server")
	w.server, w.logs.lines = db, w.logs.all
	w.settle()
	w.must(w.person("pulse-queue release"))
	w.look()
}

// fromServer copies it back.
func (w *world) fromServer() {
	w.must("pulse-queue hold")
	w.look()
	w.place = "queue-again"
	w.must("pulse-queue copy --to " + w.queue())
	w.server = nil
	w.logs.sizes = nil
	w.replays = true
	tasks := w.model.tasks
	w.model.tasks = map[string]*ticket{}
	w.look()
	w.replays = false
	for id, t := range w.model.tasks {
		if was := tasks[id]; was == nil || was.state != t.state {
			w.disagree("task %s is %q in the copy", id, t.state)
		}
	}
	w.model.tasks = tasks
	w.settle()
	w.must("pulse-queue release")
	w.look()
}

// preload builds what sets the clock of a server, and the clock.
func (w *world) preload() {
	w.put("out/clock", "00000000", 0o644)
	f, err := os.OpenFile(w.dir+"/out/clock", os.O_RDWR, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	if w.clock, err = unix.Mmap(int(f.Fd()), 0, 8, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		w.t.Fatal(err)
	}
	w.at(w.now)
	so := w.dir + "/out/clock.so"
	gcc := exec.Command("gcc", "-Wall", "-Werror", "-shared", "-fPIC", "-o", so, "testdata/clock.c", "-ldl")
	if out, err := gcc.CombinedOutput(); err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
	pgtest.Env = []string{"LD_PRELOAD=" + so, "MONTH_CLOCK=" + w.dir + "/out/clock"}
}

// accepted are the findings that this machine lives with.
func (w *world) accepted() string {
	var codes []string
	if os.Geteuid() != 0 {
		codes = append(codes, "not_separated")
	}
	if w.server != nil {
		codes = append(codes, "no_standby", "server_reachable", "two_hats", "unlimited") // of the server that the tests use
	}
	if codes == nil {
		return ""
	}
	return fmt.Sprintf("--accept %s", strings.Join(codes, ","))
}
