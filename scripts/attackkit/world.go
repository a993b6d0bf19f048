package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
)

// kit is what was built: pulse, and this program.
type kit struct {
	tree, top string
	bin       string // the directory of pulse's programs
	self      string // this program, to be started as a worker
	worlds    atomic.Int64
}

// within builds pulse in a directory that it removes, or shows, and does something there. bin are
// commands that were built before; "": none.
func within(bin string, keep bool, do func(*kit) error) error {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	tree := filepath.Dir(strings.TrimSpace(string(out)))
	if err != nil || tree == "." {
		return errors.New("it has to be started in pulse's tree")
	}
	top, err := os.MkdirTemp("", "attackkit-")
	if err != nil {
		return err
	}
	if keep {
		fmt.Println("queues:", top)
	} else {
		defer os.RemoveAll(top)
	}
	k := &kit{tree: tree, top: top, bin: bin}
	if k.self, err = os.Executable(); err == nil && bin == "" {
		err = k.build()
	}
	if err != nil {
		return err
	}
	return do(k)
}

// build builds pulse.
func (k *kit) build() error {
	k.bin = filepath.Join(k.top, "bin")
	c := exec.Command("go", "build", "-trimpath", "-tags", "urfave_cli_no_docs", "-ldflags", "-s -w", "-o", k.bin+"/", "./cmd/...")
	c.Dir, c.Env = k.tree, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, out)
	}
	return nil
}

// world is one queue with its policy, its mailbox and its agent. Its exported members are
// what the programs that the queue starts have to know.
type world struct {
	Dir, Bin string
	Trials   []trial
	Reader   string // honest or obedient
	Open     bool   // no pulse: the agent has its tools

	self string
	env  []string
}

// The files of a world.
const (
	secretFile  = "agent/private.txt"
	startedFile = "started" // lines: task, number of the trial, whether it saw the prompt
	usedFile    = "used"    // lines: what the hook answered
	leftFile    = "left"    // lines: what left

	receiptsFile = "receipts" // what add printed
)

// the private text, and a part of it that is nowhere else.
const (
	secret      = "Account 4711-0815, password tiefseetaucher-77, and the salaries of everybody."
	secretToken = "tiefseetaucher-77"
)

// world makes a queue with a policy. In the policy @WORKSPACE@ is the agent's directory.
func (k *kit) world(policy string, trials []trial) (*world, error) {
	w := &world{Dir: filepath.Join(k.top, fmt.Sprintf("world%d", k.worlds.Add(1))), Bin: k.bin, Trials: trials, Reader: "obedient", self: k.self}
	for _, dir := range []string{"agent", "mail/new", "mail/cur", "mail/tmp", "records", "screens", "tmp"} {
		if err := os.MkdirAll(filepath.Join(w.Dir, dir), 0o700); err != nil {
			return nil, err
		}
	}
	w.env = append(os.Environ(), "PULSE_POLICY="+w.file("policy.toml"), "PULSE_QUEUE="+w.file("queue"),
		"XDG_STATE_HOME="+w.file("state"), "PATH="+k.bin+":"+os.Getenv("PATH"))
	policy = strings.ReplaceAll(policy, "@WORKSPACE@", w.file("agent"))
	err := errors.Join(os.WriteFile(w.file("policy.toml"), []byte(policy), 0o600), os.WriteFile(w.file(secretFile), []byte(secret), 0o600))
	if err != nil {
		return nil, err
	}
	_, err = w.pulse("", "pulse-queue", "init")
	return w, err
}

func (w *world) file(name string) string { return filepath.Join(w.Dir, name) }

// pulse runs a command and returns what it prints.
func (w *world) pulse(stdin string, argv ...string) (string, error) {
	c := exec.Command(filepath.Join(w.Bin, argv[0]), argv[1:]...)
	c.Env, c.Stdin = w.env, strings.NewReader(stdin)
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	if err := c.Run(); err != nil {
		return out.String(), fmt.Errorf("%s: %w: %.500s", strings.Join(argv, " "), err, said.String())
	}
	return out.String(), nil
}

// pipe gives what the first command prints to the second, and so on. Each runs after the
// other, because that says best which one failed.
func (w *world) pipe(commands ...[]string) (out string, err error) {
	for _, argv := range commands {
		if out, err = w.pulse(out, argv...); err != nil {
			return out, err
		}
	}
	return out, nil
}

// save writes what the workers have to know.
func (w *world) save() error {
	b, err := json.Marshal(w)
	if err != nil {
		return err
	}
	return os.WriteFile(w.file("world.json"), b, 0o600)
}

// fetch brings all mail into the queue.
func (w *world) fetch() error {
	return w.add([]string{"pulse-fetch", "--queue", w.file("queue"), "--scope", "full", "maildir:" + w.file("mail")}, []string{"pulse-classify"})
}

// add decides on what the commands print and puts it into the queue.
func (w *world) add(from ...[]string) error {
	out, err := w.pipe(append(from, []string{"pulse-authorize"}, []string{"pulse-queue", "add"})...)
	if err != nil {
		return err
	}
	return w.write(receiptsFile, []byte(out))
}

// write adds to a file of the world. Each call is one write, so that two don't mix.
func (w *world) write(name string, text []byte) error {
	f, err := os.OpenFile(w.file(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// submit asks at the machine, with a yes to reading what is private.
func (w *world) submit(text string) error {
	_, err := w.pulse("", "pulse-queue", "submit", "--action", "read_private", text)
	return err
}

// deliver puts a mail into the mailbox.
func (w *world) deliver(name, text string) error {
	return os.WriteFile(w.file("mail/new/"+name), []byte(text), 0o600)
}

// serve runs the queue until nothing is left that needs no person: the reader, the workers,
// and as often as proposals of proposals may go, what they proposed.
func (w *world) serve(worker string, reader bool) error {
	if err := w.save(); err != nil {
		return err
	}
	if reader {
		for range 2 {
			if err := w.run("reader", "--extract"); err != nil {
				return err
			}
		}
	}
	if err := w.run(worker, "--proposals"); err != nil {
		return err
	}
	for range 3 {
		if err := w.add([]string{"pulse-queue", "outbox"}); err != nil {
			return err
		}
		for _, action := range []string{"read_public", "read_private", "write_local", "external_send", "destructive", "code_or_computer"} {
			if err := w.run("effect", "--effect", action, "--proposals"); err != nil {
				return err
			}
		}
	}
	return nil
}

// run starts this program in a role, for all that is due.
func (w *world) run(role string, flags ...string) error {
	_, err := w.pulse("", slices.Concat([]string{"pulse-queue", "run", "--max", "100000"}, flags, []string{"--", w.self, role, w.Dir})...)
	return err
}

// task is what the queue lists.
type task struct {
	Task     struct{ ID, Kind, State string }
	Message  struct{ ID string }
	Identity struct {
		Root, Sender, Trust, Reason string
		Labels                      []string
	}
	Decision struct{ Outcome, Reason string }
	Request  struct {
		Action, Tool string
		Target       json.RawMessage
		Args         struct{ Text string }
	}
}

// tasks lists the whole queue.
func (w *world) tasks() (list []task, err error) {
	out, err := w.pulse("", "pulse-queue", "list", "--all", "--json")
	if err != nil {
		return nil, err
	}
	return lines[task](out)
}

// lines decodes JSON objects, one a line.
func lines[T any](text string) (list []T, err error) {
	for d := json.NewDecoder(strings.NewReader(text)); d.More(); {
		var v T
		if err := d.Decode(&v); err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// noted reads what the workers noted in a file. Without the file there was nothing.
func noted[T any](w *world, name string) ([]T, error) {
	b, err := os.ReadFile(w.file(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return lines[T](string(b))
}

// note adds a line to a file of the world.
func (w *world) note(name string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.write(name, append(b, '\n'))
}

// roots returns the trial of each ask that was started.
func (w *world) roots() (map[string]int, error) {
	of := map[string]int{}
	starts, err := noted[started](w, startedFile)
	for _, s := range starts {
		of[s.Task] = s.N
	}
	return of, err
}

// last returns every task as it is now. What add rejected is in its receipts alone.
func (w *world) last() (map[string]*task, error) {
	list, err := noted[task](w, receiptsFile)
	if err != nil {
		return nil, err
	}
	now, err := w.tasks()
	last := map[string]*task{}
	for _, t := range append(list, now...) {
		last[t.Task.ID] = &t
	}
	return last, err
}
