package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"pulse/lib/queue/pgtest"
	"pulse/lib/shared/cmdline/cmdlinetest"
)

// The part of a session from the first line on that looks at files of the queue, or changes
// them, is about a queue in a directory alone. So are some sessions as a whole, mostly because
// of where they stop.
var (
	flat     = regexp.MustCompile(`(?m)^.*(\bq/|\$WORK'?/q\b| q |q/\*|--queue|PULSE_FENCE|moved by hand).*$`)
	flatOnly = map[string]string{
		"absent.txtar": "a queue that is not there", "first-day.txtar": "the first queue", "server-name.txtar": "names",
		"health.txtar": "of a directory", "snapshot.txtar": "of a directory", "unsafe.txtar": "init", "usage.txtar": "init",
		"digest.txtar": "begins without a queue", "html.txtar": "begins without a queue", "tampering.txtar": "of files",
		"worker.txtar": "a worker here has PULSE_FENCE, too", "thread.txtar": "a level in a text that is compared as a whole",
		"hostile-text.txtar": "a shell at a terminal", "recurs.txtar": "a shell at a terminal",
		"findings.txtar": "of a directory",
	}
)

// What makes a session one on a server: another queue, which is there already; a person's
// commands under a person's login; and no look at files of the queue.
var served = []struct {
	from *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`(?m)^env PULSE_QUEUE=\$WORK/q$`), "env PULSE_QUEUE=$$MACHINE"},
	{regexp.MustCompile(`(?m)^exec pulse-queue init$`), ""},
	{regexp.MustCompile(`(?m)^(! )?exists (q/\S* ?)+$`), ""},
	{regexp.MustCompile(`(level"?[ :]"?)terminal`), "${1}(terminal|user)"}, // the server knows the login
	{regexp.MustCompile(`by \.\*uid`), "by ann,?"},
	{regexp.MustCompile(`\.\*uid \[0-9\]\+`), "(machine1|ann)"},
	{regexp.MustCompile(`(attempts \d, restarts \d)\$`), "${1} by machine1$$"},
	{regexp.MustCompile(`(?m) -\$'$`), " (-|machine1)$$'"},
	{regexp.MustCompile(`(?m)^((?:! )?(?:exec|exits \d+|person) )(pulse-approve|pulse-queue (?:release|cancel|requeue)) `), "${1}env PULSE_QUEUE=$$PERSON $2 "},
	{regexp.MustCompile(`(?m)^((?:! )?(?:exec|exits \d+|person) )(pulse-queue release)$`), "${1}env PULSE_QUEUE=$$PERSON $2"},
	{regexp.MustCompile(`(sh -c '[^'\n]*)pulse-queue (release|cancel|requeue)`), "${1}PULSE_QUEUE=$$PERSON pulse-queue $2"},
	{regexp.MustCompile(`(sh -c '[^'\n]*)pulse-approve`), "${1}PULSE_QUEUE=$$PERSON pulse-approve"},
}

// upTo returns a session up to the first line that looks at files, with its own files.
func upTo(text string) string {
	archive := strings.Index(text, "\n-- ")
	if archive < 0 {
		archive = len(text)
	}
	if at := flat.FindStringIndex(text[:archive]); at != nil {
		text = text[:at[0]] + text[archive:]
	}
	return text
}

// TestServed: what a person types and sees is the same where the queue is on a server. A short test
// tries one of four sessions.
func TestServed(t *testing.T) {
	all, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(all) == 0 {
		t.Fatal(err)
	}
	t.Cleanup(pgtest.End)
	dir, n := t.TempDir(), 0
	for _, name := range all {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text := string(b)
		if !strings.Contains(text, "env PULSE_QUEUE=$WORK/q\n") || flatOnly[filepath.Base(name)] != "" {
			continue
		}
		if n++; testing.Short() && n%4 != 0 {
			continue
		}
		for _, s := range served {
			text = s.from.ReplaceAllString(text, s.to)
		}
		text = upTo(text)
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(dir, os.DirFS("testdata/served")); err != nil {
		t.Fatal(err)
	}
	if n < 20 {
		t.Errorf("only %d sessions", n)
	}
	other := pgtest.New(t)
	cmdlinetest.RunIn(t, dir, func(e *testscript.Env) {
		d := pgtest.New(t)
		e.Setenv("SERVER", d.Dir)
		e.Setenv("DATABASE", d.Name)
		e.Setenv("EMPTY", other.Name)
		e.Setenv("MACHINE", d.DSN("machine1"))
		e.Setenv("PERSON", d.DSN("ann"))
		e.Setenv("PGCONNECT_TIMEOUT", os.Getenv("PGCONNECT_TIMEOUT"))
	})
}
