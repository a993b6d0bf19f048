package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

func TestMain(m *testing.M) {
	cmdlinetest.Main(m, "pulse-approve", main, "pulse-authorize", "pulse-classify", "pulse-queue")
}

func TestSessions(t *testing.T) { cmdlinetest.Run(t) }

// world is a queue with its policy, and a directory to work in.
type world struct {
	t   *testing.T
	dir string
}

const rules = `owners = ["me@example.com"]
`

func newDesk(t *testing.T) *world {
	t.Helper()
	d := &world{t, t.TempDir()}
	d.write("policy.toml", rules)
	d.must("", "pulse-queue", "init")
	return d
}

func (d *world) path(name string) string { return filepath.Join(d.dir, name) }

func (d *world) write(name, text string) {
	d.t.Helper()
	if err := os.WriteFile(d.path(name), []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func (d *world) read(name string) string {
	b, err := os.ReadFile(d.path(name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		d.t.Fatal(err)
	}
	return string(b)
}

func (d *world) command(name string, args ...string) *exec.Cmd {
	d.t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		d.t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = d.dir
	cmd.Env = append(os.Environ(), "PULSE_QUEUE="+d.path("q"), "PULSE_POLICY="+d.path("policy.toml"))
	return cmd
}

// run runs a command without a terminal and returns its stdout and exit status.
func (d *world) run(stdin, name string, args ...string) (string, int) {
	d.t.Helper()
	cmd := d.command(name, args...)
	cmd.Stdin = strings.NewReader(stdin)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		d.t.Fatal(err)
	}
	if complaint.Len() > 0 {
		d.t.Logf("%s %v: %s", name, args, &complaint)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// must is run for a command that has to succeed.
func (d *world) must(stdin, name string, args ...string) string {
	d.t.Helper()
	out, status := d.run(stdin, name, args...)
	if status != 0 {
		d.t.Fatalf("%s %v: exit status %d", name, args, status)
	}
	return out
}

// proposal is an effect as a worker proposes it.
const proposal = `{"request":{"action":"external_send","target":"bob@partner.example","tool":"","args":{"text":"hi"}},` +
	`"identity":{"sender":"me@example.com","trust":"owner_verified_email","verified":true,"stale":false,"automatic":false,` +
	`"reason":"authenticated_owner","why":"","via":"agent","parent":"0123456789abcdef0123456789abcdef"}}` + "\n"

// add takes a record into the queue and returns the id of its task.
func (d *world) add(line string) string {
	d.t.Helper()
	return d.task(d.must(d.must(line, "pulse-authorize"), "pulse-queue", "add")).ID
}

// shown is what the tests look at of a record.
type shown struct {
	ID, State, Digest, Reason string
	Since                     time.Time
	NotBefore                 time.Time `json:"not_before"`
}

func (d *world) task(line string) shown {
	d.t.Helper()
	var rec struct{ Task shown }
	if err := json.Unmarshal([]byte(line), &rec); err != nil {
		d.t.Fatalf("%q: %v", line, err)
	}
	return rec.Task
}

func (d *world) show(id string) shown {
	d.t.Helper()
	return d.task(d.must("", "pulse-queue", "show", id, "--json"))
}

// sit starts pulse-approve at a terminal.
func (d *world) sit(args ...string) *cmdlinetest.Person {
	d.t.Helper()
	p, err := cmdlinetest.Sit(d.command("pulse-approve", args...))
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(p.Leave)
	return p
}

// code waits for the prompt.
func (d *world) code(p *cmdlinetest.Person) string {
	d.t.Helper()
	code, err := p.Code()
	if err != nil {
		d.t.Fatal(err)
	}
	return code
}

// answer answers the question of a command and returns its exit status and screen.
func (d *world) answer(answer func(code string) string, args ...string) (int, string) {
	d.t.Helper()
	p := d.sit(args...)
	if err := p.Type(answer(d.code(p))); err != nil {
		d.t.Fatal(err)
	}
	status, screen := p.Wait()
	return status, string(screen)
}

func right(code string) string { return code + "\n" }
