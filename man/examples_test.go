package man

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// world makes the directory that pulse(7) describes and returns it.
func world(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "policy.toml", read(t, "pulse-policy.5").marked(t, "policy: example"))
	now := time.Now()
	for i, name := range []string{"owner", "spoof", "friend", "stranger", "send"} {
		b, err := os.ReadFile("testdata/mail/" + name + ".eml")
		if err != nil {
			t.Fatal(err)
		}
		mail := strings.ReplaceAll(string(b), "@DATE@", now.UTC().Format(time.RFC1123Z))
		put(t, dir, "mail/"+name+".eml", mail)
		if name == "send" {
			continue
		}
		in := put(t, dir, fmt.Sprintf("Maildir/new/%d.1.example", i+1), mail)
		when := now.Add(time.Duration(i-60) * time.Second)
		if err := os.Chtimes(in, when, when); err != nil {
			t.Fatal(err)
		}
	}
	hook, err := os.ReadFile("../scripts/hook")
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "hook", string(hook))
	put(t, dir, "updates.json", strings.ReplaceAll(string(fixture(t, "updates.json")), "@UNIX@", strconv.FormatInt(now.Unix(), 10)))
	for _, empty := range []string{"cur", "tmp"} {
		if err := os.Mkdir(filepath.Join(dir, "Maildir", empty), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func fixture(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func put(t *testing.T, dir, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// step is one command of an example and what the page says it prints.
type step struct {
	line    int
	command string
	want    []string
}

// steps splits an example: "$ " begins a command, "> " goes on with it, all else
// is what it prints.
func (b block) steps() (list []step) {
	for i, l := range b.text {
		if command, ok := strings.CutPrefix(l, "$ "); ok {
			list = append(list, step{line: b.line + i, command: command})
			continue
		}
		if len(list) == 0 {
			continue
		}
		s := &list[len(list)-1]
		if more, ok := strings.CutPrefix(l, "> "); ok && s.want == nil {
			s.command += "\n" + more
			continue
		}
		s.want = append(s.want, l)
	}
	return list
}

// The examples of a page are run in one shell, from the first to the last, and
// print what the page says.
func TestExamples(t *testing.T) {
	for _, name := range pages(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := world(t)
			sh := start(t, dir)
			seen := tokens{}
			for _, b := range read(t, name).blocks() {
				if file, ok := strings.CutPrefix(b.mark, "file: "); ok {
					put(t, dir, file, strings.Join(b.text, "\n")+"\n")
					continue
				}
				for _, s := range b.steps() {
					got, status := sh.run(t, seen.replace(s.command))
					if status != "0" {
						t.Fatalf("%s:%d: $ %s\nexit %s, it printed\n%s", name, s.line, s.command, status, got)
					}
					if err := seen.match(strings.Join(s.want, "\n"), got); err != nil {
						t.Errorf("%s:%d: $ %s\n%v", name, s.line, s.command, err)
					}
				}
			}
		})
	}
}

// tokens are what differs each time: the page's, and what stands there now.
type tokens map[string]string

var (
	blanks = regexp.MustCompile(`[ \t]+`)
	varies = regexp.MustCompile(`\.\.\.|[0-9a-f]{16,}|\d{4}-\d\d-\d\d(?:T[0-9:.]+Z)?|\b\d+s\b|code: \w{4}|not to: \w{4}`)
)

// match returns nil if the output is what the page says: "..." stands for
// anything, alone on a line for any number of lines; an id or a digest for another
// of that length, the same each time; a time for a time; blanks for blanks.
func (seen tokens) match(want, got string) error {
	want, got = tidy(want), tidy(got)
	var pattern strings.Builder
	var ids []string
	rest := want
	for {
		at := varies.FindStringIndex(rest)
		if at == nil {
			break
		}
		tok := rest[at[0]:at[1]]
		pattern.WriteString(regexp.QuoteMeta(rest[:at[0]]))
		alone := strings.HasPrefix(rest[at[1]:]+"\n", "\n") && (at[0] == 0 || rest[at[0]-1] == '\n')
		p, isID := like(tok, alone)
		if isID {
			ids = append(ids, tok)
		}
		pattern.WriteString(p)
		rest = rest[at[1]:]
	}
	pattern.WriteString(regexp.QuoteMeta(rest))
	m := regexp.MustCompile(`^(?:` + pattern.String() + `)$`).FindStringSubmatch(got)
	if m == nil {
		return fmt.Errorf("it should print\n%s\nand prints\n%s", want, got)
	}
	for i, id := range ids {
		if now, ok := seen[id]; ok && now != m[i+1] {
			return fmt.Errorf("%s was %s and is %s", id, now, m[i+1])
		}
		seen[id] = m[i+1]
	}
	return nil
}

// replace returns a command with the ids that the page shows replaced by those that
// stand there now.
func (seen tokens) replace(command string) string {
	return varies.ReplaceAllStringFunc(command, func(tok string) string {
		if now, ok := seen[tok]; ok {
			return now
		}
		return tok
	})
}

// like returns a pattern for a token, and whether it must be the same each time.
func like(tok string, alone bool) (pattern string, isID bool) {
	switch {
	case tok == "..." && alone:
		return `[^\n]*(?:\n[^\n]*)*`, false
	case tok == "...":
		return `[^\n]*`, false
	case strings.HasPrefix(tok, "code: "):
		return `code: [a-z2-9]{4}`, false
	case strings.HasPrefix(tok, "not to: "):
		return `not to: [a-z2-9]{4}`, false
	case strings.HasSuffix(tok, "Z"):
		return `\d{4}-\d\d-\d\dT[0-9:.]+Z`, false
	case strings.Contains(tok, "-"):
		return `\d{4}-\d\d-\d\d`, false
	case strings.HasSuffix(tok, "s"):
		return `\d+s`, false
	}
	return fmt.Sprintf("([0-9a-f]{%d})", len(tok)), true
}

func tidy(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(blanks.ReplaceAllString(l, " "), " \r")
	}
	return strings.Join(lines, "\n")
}

// The script of pulse-queue(5) agrees with verify, and sees what was changed.
func TestChainScript(t *testing.T) {
	dir := world(t)
	script := put(t, dir, "chain", read(t, "pulse-queue.5").marked(t, "file: chain"))
	sh := start(t, dir)
	for _, s := range []string{
		"export PULSE_QUEUE=queue; pulse-queue init; pulse-queue submit --action read_public one",
		"pulse-queue submit --action read_public two",
		"pulse-queue run -- true",
	} {
		if got, status := sh.run(t, s); status != "0" {
			t.Fatalf("%s: exit %s: %s", s, status, got)
		}
	}
	head, _ := sh.run(t, "pulse-queue verify")
	if got, status := sh.run(t, "sh chain queue"); got != head || status != "0" {
		t.Errorf("the script says %q (exit %s), verify %q", got, status, head)
	}
	logs, err := filepath.Glob(dir + "/queue/audit/*.jsonl")
	if err != nil || len(logs) == 0 {
		t.Fatal(logs, err)
	}
	var whole string
	for _, name := range logs { // two if a month ended meanwhile: all of it goes into one
		part, err := os.ReadFile(name)
		if err = errors.Join(err, os.Remove(name)); err != nil {
			t.Fatal(err)
		}
		whole += string(part)
	}
	lines := strings.SplitAfter(whole, "\n")
	for what, text := range map[string]string{
		"a word changed": strings.Replace(whole, "scheduled", "Scheduled", 1),
		"a line removed": lines[0] + strings.Join(lines[2:], ""),
		"lines swapped":  lines[1] + lines[0] + strings.Join(lines[2:], ""),
	} {
		put(t, dir, "queue/audit/"+filepath.Base(logs[0]), text)
		if out, err := exec.Command("sh", script, dir+"/queue").CombinedOutput(); err == nil {
			t.Errorf("%s: the script says %s", what, out)
		}
	}
}
