package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

// gate is a queue with its policy, and a home for what is noted outside of it.
type gate struct{ dir string }

func (g gate) command(args ...string) *exec.Cmd {
	if strings.HasPrefix(args[0], "pulse-") {
		args = append([]string{filepath.Join(bin, args[0])}, args[1:]...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = g.dir
	cmd.Env = []string{"PATH=" + bin + ":/usr/bin:/bin", "HOME=" + g.dir, "XDG_STATE_HOME=" + g.dir + "/state",
		"PULSE_QUEUE=" + g.dir + "/queue", "PULSE_POLICY=" + g.dir + "/policy.toml"}
	return cmd
}

func (g gate) run(t *testing.T, args ...string) string {
	t.Helper()
	return output(t, g.command(args...))
}

// earlier unpacks the queue that the commands of the first plan made.
func earlier(t *testing.T) gate {
	t.Helper()
	g := gate{t.TempDir()}
	output(t, exec.Command("tar", "-xzf", "scripts/packagekit/testdata/queue-1.tar.gz", "--no-same-owner", "-C", g.dir))
	return g
}

// counts returns what stats counts, by state.
func (g gate) counts(t *testing.T) string {
	t.Helper()
	var words []string
	for line := range strings.Lines(g.run(t, "pulse-queue", "stats")) {
		if f := strings.Fields(line); len(f) == 2 {
			words = append(words, f[0]+" "+f[1])
		}
	}
	return strings.Join(words, ", ")
}

// head is the end of the log that the earlier commands printed; it is in the fixture's README.
const head = "dbc7b81a443369a995378fee3c24fd867fc411ffff01ed81568ce057da1e7672"

// A queue that earlier commands made is opened, verified, run, answered and pruned by
// these, and its history stays as it was.
func TestUpgrade(t *testing.T) {
	g := earlier(t)
	if got := g.run(t, "pulse-queue", "verify"); got != head+"\n" {
		t.Errorf("head %s", got)
	}
	want := "scheduled 3, awaiting_review 1, running 1, completed 8, rejected 1, failed 1, corrupt 0"
	if got := g.counts(t); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	waits := strings.TrimSpace(g.run(t, "bash", "-c", "pulse-queue list --state awaiting_review --json | jq -r .task.id"))
	p, err := cmdlinetest.Sit(g.command("pulse-approve", "yes", waits))
	if err != nil {
		t.Fatal(err)
	}
	code, err := p.Code()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Type(code + "\n"); err != nil {
		t.Fatal(err)
	}
	if status, screen := p.Wait(); status != 0 {
		t.Fatalf("exit %d: %s", status, screen)
	}
	g.run(t, "bash", "-o", "pipefail", "-c", "pulse-queue outbox | pulse-authorize | pulse-queue add")
	g.run(t, "pulse-queue", "run", "--max", "20", "--", "true")
	g.run(t, "pulse-queue", "run", "--max", "20", "--effect", "external_send", "--", "sh", "-c", "jq -r .request.target[0] >>sent")
	g.run(t, "pulse-queue", "run", "--max", "20", "--effect", "external_send", "--", "sh", "-c", "jq -r .request.target[0] >>sent")
	if sent, err := os.ReadFile(g.dir + "/sent"); err != nil || string(sent) != "approved@example.com\nwaits@example.com\n" {
		t.Errorf("sent %q, %v", sent, err)
	}
	// One waits for its time, and what nobody had taken for a person.
	want = "scheduled 1, awaiting_review 1, running 0, completed 13, rejected 1, failed 1, corrupt 0"
	if got := g.counts(t); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	g.run(t, "pulse-queue", "verify", "--head", head)
	g.run(t, "bash", "-c", "rm queue/drafts/*") // as a person does who has read them
	g.run(t, "pulse-queue", "prune", "--older-than", "0")
	want = "scheduled 1, awaiting_review 1, running 0, completed 0, rejected 0, failed 0, corrupt 0"
	if got := g.counts(t); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	g.run(t, "pulse-queue", "verify", "--head", head)
}

// everything returns each file's name, mode, owner, size, times and bytes.
func everything(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var text []byte
		if d.Type().IsRegular() {
			if text, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		st := info.Sys().(*syscall.Stat_t)
		_, err = fmt.Fprintf(&b, "%s %v %d %d %d %v %v %x\n", path, info.Mode(), st.Uid, st.Gid, st.Size, st.Mtim, st.Ctim, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var optional = regexp.MustCompile(`\[\S+\]`)

// needs are the flags without which a subcommand does not look at the queue.
var needs = map[string][]string{
	"no": {"0123456789abcdef0123456789abcdef", "--reason", "x"}, "session": {"me@example.com", "--for", "1h", "--max", "2"}, "grant": {"bob@example.com"},
	"prune": {"--older-than", "1d"}, "submit": {"--action", "read_public"}, "thread": {}, "requeue": {"0123456789abcdef0123456789abcdef"},
	"statement": {"0123456789abcdef0123456789abcdef", "--policy", "signed.toml"}, "take": {"signed.toml", "--policy", "signed.toml"},
}

// Each subcommand that takes --queue refuses a queue of a later format with one line, says
// what to do, and changes nothing, not even a time.
func TestLaterFormat(t *testing.T) {
	g := gate{t.TempDir()}
	key := `me@example.com namespaces="pulse-approve" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHgbq6WfGTTb3aNKBJaBIyR+nIUzIYvA8xDrZ9o3Eegh` + "\n"
	policy := "owners = [\"me@example.com\"]\n"
	for name, text := range map[string]string{"policy.toml": policy, "signers": key,
		"signed.toml": policy + "[approval]\nrequire = \"signature\"\nallowed_signers = \"" + g.dir + "/signers\"\n"} {
		if err := os.WriteFile(filepath.Join(g.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	g.run(t, "pulse-queue", "init")
	g.run(t, "pulse-queue", "submit", "--action", "read_public", "hello")
	for _, command := range []string{"add", "health"} { // which make what is remembered beside the queue
		_ = g.command("pulse-queue", command).Run()
	}
	if err := os.WriteFile(g.dir+"/queue/format", []byte("pulse-queue 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := everything(t, g.dir)
	tried := 0
	for _, path := range built(t) {
		c, err := help(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, level := range c.levels() {
			if !strings.Contains(" "+strings.Join(level.flagNames(), " ")+" ", " --queue ") || c.name == "pulse-fetch" || c.name == "pulse-authorize" {
				continue // the one reads a position only, and the other looks beside the queue
			}
			args := append(strings.Fields(c.name+" "+level.name), needs[level.name]...)
			args = append(args, strings.Fields(strings.NewReplacer("-- CMD", "-- true", "VERB CODE SOURCE", "close login x", "DIR", "copy", "ID", "0123456789abcdef0123456789abcdef",
				"TEXT", "hello", "FILE...", "", "SENDER", "", "NAME", "home", "TARGET", "bob@example.com", " G", " 0123456789abcdef").Replace(optional.ReplaceAllString(" "+level.args, "")))...)
			tried++
			refuses(t, g, args)
		}
	}
	if tried < 25 {
		t.Errorf("%d subcommands were tried", tried)
	}
	if after := everything(t, g.dir); after != before {
		t.Errorf("what was refused was changed:\n%s\n%s", before, after)
	}
}

func refuses(t *testing.T, g gate, args []string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := g.command(args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run()
	want := ": the queue's format is pulse-queue 2, and this pulse knows pulse-queue 1\n" + args[0] + ": hint: "
	if cmd.ProcessState.ExitCode() != 64 || stdout.Len() > 0 || strings.Count(stderr.String(), "\n") != 2 ||
		!strings.Contains(stderr.String(), want) || !strings.Contains(stderr.String(), "pulse-deploy") {
		t.Errorf("%v: exit %d, %s%s", args, cmd.ProcessState.ExitCode(), &stdout, &stderr)
	}
}
