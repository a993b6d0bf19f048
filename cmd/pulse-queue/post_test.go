package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

// post is a queue with an ask, a workspace, and a sender that submits to a sink.
type post struct {
	*sink
	t      *testing.T
	dir    string
	sender []string
	ask    string
}

const (
	postRules = "owners = [\"me@example.com\"]\nallowed_external = [\"friend@partner.example\"]\n"
	atOnce    = "min_reply_interval = \"0\"\n"
)

func newPost(t *testing.T) *post {
	t.Helper()
	if _, err := exec.LookPath("msmtp"); err != nil {
		t.Fatal("msmtp is missing: apt-get install msmtp")
	}
	script, err := filepath.Abs("../../scripts/senders/msmtp")
	if err != nil {
		t.Fatal(err)
	}
	p := &post{sink: newSink(t), t: t, dir: t.TempDir()}
	p.sender = []string{script, "-C", p.rc}
	for _, dir := range []string{p.dir, p.path("ws")} {
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.Chmod(dir, 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	p.policy(atOnce)
	p.must("", "pulse-queue", "init")
	ask, err := os.ReadFile("testdata/shared/owner.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	p.ask = p.add(string(ask))[0].ID
	return p
}

func (p *post) path(name string) string { return filepath.Join(p.dir, name) }

func (p *post) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(p.path(name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// policy writes the policy. By itself it lets nobody wait for a second mail, which
// would hide one too many.
func (p *post) policy(outbound string) {
	p.t.Helper()
	p.write("policy.toml", postRules+fmt.Sprintf("[exec]\nworkspace = %q\n", p.path("ws"))+"[outbound]\n"+outbound)
}

func (p *post) command(name string, args ...string) *exec.Cmd {
	p.t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), "PULSE_QUEUE="+p.path("q"), "PULSE_POLICY="+p.path("policy.toml"))
	return cmd
}

func (p *post) must(stdin, name string, args ...string) string {
	p.t.Helper()
	cmd := p.command(name, args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("%s %v: %v", name, args, err)
	}
	return string(out)
}

// receipt is what is looked at of a task.
type receipt struct{ ID, Kind, State, Reason, Action string }

func receipts(t *testing.T, lines string) (list []receipt) {
	t.Helper()
	for d := json.NewDecoder(strings.NewReader(lines)); d.More(); {
		var rec struct {
			Task     receipt
			Decision struct{ Action string }
		}
		if err := d.Decode(&rec); err != nil {
			t.Fatal(err)
		}
		rec.Task.Action = rec.Decision.Action
		list = append(list, rec.Task)
	}
	return list
}

func (p *post) add(records string) []receipt {
	p.t.Helper()
	return receipts(p.t, p.must(records, "sh", "-c", "pulse-authorize | pulse-queue add"))
}

// proposes lets a worker of the ask propose, and returns the receipts of what it wants
// to send.
func (p *post) proposes(lines ...string) (list []receipt) {
	p.t.Helper()
	p.write("proposed", strings.Join(lines, "\n")+"\n")
	p.must("", "pulse-queue", "run", "--proposals", "--", "cat", p.path("proposed"))
	out := p.must("", "sh", "-c", "pulse-queue outbox | pulse-authorize | pulse-queue add")
	return slices.DeleteFunc(receipts(p.t, out), func(r receipt) bool { return r.Action != "external_send" })
}

// types answers a question of pulse-approve with its code.
func (p *post) types(args ...string) {
	p.t.Helper()
	person, err := cmdlinetest.Sit(p.command("pulse-approve", args...))
	if err != nil {
		p.t.Fatal(err)
	}
	defer person.Leave()
	code, err := person.Code()
	if err == nil {
		err = person.Type(code + "\n")
	}
	if status, screen := person.Wait(); status != 0 || err != nil {
		p.t.Fatalf("%v: exit %d, %v\n%s", args, status, err, screen)
	}
}

// approved proposes one mail, and a person says yes to it.
func (p *post) approved(line string) (id string) {
	p.t.Helper()
	list := p.proposes(line)
	if len(list) != 1 || list[0].State != "awaiting_review" {
		p.t.Fatalf("%+v", list)
	}
	p.types("yes", list[0].ID)
	return list[0].ID
}

func (p *post) run() *exec.Cmd {
	return p.command("pulse-queue", append([]string{"run", "--effect", "external_send", "--"}, p.sender...)...)
}

// send runs what is approved and returns what run said.
func (p *post) send() (stderr string) {
	p.t.Helper()
	var said strings.Builder
	cmd := p.run()
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		p.t.Fatalf("%v: %s", err, said.String())
	}
	return said.String()
}

func (p *post) show(id string) receipt {
	p.t.Helper()
	return receipts(p.t, p.must("", "pulse-queue", "show", "--json", id))[0]
}
