package agentkit

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mentioning names a file in all the ways in which an agent reads one that a prompt names. No
// hook is asked about that.
func mentioning(w *world) string {
	return `See @secret , x@secret , @./secret and @"secret" , @` + w.inside + `/secret and @` + w.outside + "/secret now.\n@secret\n\\@secret @" + w.outside + "/secret \n" +
		"/init $planted [$planted](skill://" + w.inside + "/.codex/skills/x/SKILL.md) @{secret} !{cat secret} <file>secret</file>"
}

// TestMentions: where a text names a file as a person at a terminal would to have it read, no
// worker reads it.
func TestMentions(t *testing.T) {
	for name := range workers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShift(t, name, "Do it.")
			s.policy(t, "")
			s.calls = nil
			s.queue(t, "submit", "--action", "write_local", mentioning(s.world))
			if end, _ := s.works(t); *end.Exit != 0 || !bytes.Contains(s.seen.Bytes(), []byte("secret now.")) {
				t.Fatalf("%+v; the model has seen %s", end, &s.seen)
			}
			s.unread(t)
			s.kind(t)
		})
	}
}

// TestReaderMentions: nor does the reader.
func TestReaderMentions(t *testing.T) {
	s := newShift(t, "claude", "Do it.")
	record := `{"schema":{},"message":{"text":` + string(encode(mentioning(s.world))) + `}}`
	cmd := exec.Command(filepath.Dir(authorize)+"/pulse-queue", "agent", "--reader", "claude")
	cmd.Dir, cmd.Stdin = s.inside, strings.NewReader(record)
	cmd.Env = append(s.urls(s.worker.env), "PATH="+s.path, "HOME="+s.home, "TMPDIR="+os.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(s.seen.Bytes(), []byte("secret now.")) {
		t.Fatalf("%v: %s; the model has seen %s", err, out, &s.seen)
	}
	s.unread(t)
	s.kind(t)
}

// unread fails if the model has seen what is in a file.
func (s *shift) unread(t *testing.T) {
	t.Helper()
	for _, secret := range []string{insideSecret, outsideSecret + "\n", outsideSecret + `\n`} {
		if bytes.Contains(s.seen.Bytes(), []byte(secret)) {
			t.Errorf("the model has seen %q", secret)
		}
	}
}
