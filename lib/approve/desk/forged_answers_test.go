package desk_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// forgedAnswer is a file that is nobody's answer. If there is an armor, it is given to
// yes and to no, too.
type forgedAnswer struct{ name, file, armor string }

// forger makes answers out of what passes by on the way: statements, which anyone may
// read, and answers that were given to something else, or to other bytes.
type forger struct {
	*elsewhere
	list []forgedAnswer
}

func (f *forger) put(name, file, armor string) {
	f.list = append(f.list, forgedAnswer{name, file, armor})
}

// unsigned are answers without a signature, or with what only looks like one.
func (f *forger) unsigned(line, good string) {
	const begin, end = "-----BEGIN SSH SIGNATURE-----\n", "-----END SSH SIGNATURE-----\n"
	f.put("no armor", line, "")
	f.put("an armor alone", good, "")
	f.put("an armor first", good+line, "")
	for name, armor := range map[string]string{
		"an empty armor": begin + end, "an armor that does not end": begin + "AAAA\n", "an armor that does not begin": "AAAA\n" + end,
		"an armor of four letters": begin + "AAAA\n" + end, "an armor of blanks": begin + "    \n" + end, "an armor of zeros": begin + strings.Repeat("A", 400) + "\n" + end,
		"the magic word alone": begin + "U1NIU0lH\n" + end, "a PGP signature": "-----BEGIN PGP SIGNATURE-----\n\niQEz\n-----END PGP SIGNATURE-----\n",
		"a key for an armor": f.read("keys/id.pub"), "yes": "yes\n", "a private key": f.read("keys/eve"),
		"an armor in lower case": strings.ToLower(good), "an armor in one line": strings.ReplaceAll(good, "\n", ""), "an armor after blanks": strings.ReplaceAll(good, "\n", "\n "),
		"an armor with a NUL": strings.Replace(good, "\n", "\n\x00", 1), "an armor after a NUL": "\x00" + good, "1,000 half armors": strings.Repeat(begin, 1000),
		"a megabyte of base64": begin + strings.Repeat(strings.Repeat("A", 70)+"\n", 15_000) + end,
	} {
		f.put(name, line+armor, armor)
	}
	lines := strings.Split(strings.TrimSuffix(good, "\n"), "\n")
	for i := 1; i < len(lines)-1; i++ {
		less := strings.Join(slices.Delete(slices.Clone(lines), i, i+1), "\n") + "\n"
		f.put(fmt.Sprint("an armor without line ", i), line+less, less)
		swapped := slices.Clone(lines)
		swapped[i], swapped[i-1] = swapped[i-1], swapped[i]
		f.put(fmt.Sprint("an armor whose line stands before line ", i), line+strings.Join(swapped, "\n")+"\n", strings.Join(swapped, "\n")+"\n")
	}
	for i := len(begin); i < len(good)-len(end); i += 11 {
		b := []byte(good)
		for b[i] == '\n' || b[i] == '=' {
			i--
		}
		b[i] = map[bool]byte{true: 'B', false: 'A'}[b[i] == 'A']
		f.put(fmt.Sprint("a bit turned at ", i), line+string(b), string(b))
	}
}

// strangers are signed by keys that don't count for this, or not now.
func (f *forger) strangers(line string) {
	for _, key := range []string{"eve", "eversa", "evetoken", "git", "over", "early", "authority", "untouched"} {
		armor := f.sign(key, line)
		f.put("signed by "+key, line+armor, armor)
	}
	for _, namespace := range []string{"file", "git", "pulse", "pulse-approve ", "Pulse-Approve", "pulse-approve,file", "pulse-queue"} {
		armor := f.signFor(namespace, "id", line)
		f.put("signed for "+namespace, line+armor, armor)
	}
}

// strange makes the keys that strangers signs with, and lists those that are listed.
func (f *forger) strange() {
	for _, name := range []string{"eve", "git", "over", "early", "authority"} {
		f.key(name, "-t", "ed25519")
	}
	f.key("eversa", "-t", "rsa", "-b", "2048")
	f.softKey("evetoken")
	f.softKey("untouched", "no-touch-required")
	f.signers("me@example.com namespaces=\"git\" " + f.read("keys/git.pub") +
		"me@example.com valid-before=\"20200101\" " + f.read("keys/over.pub") +
		"me@example.com valid-after=\"20990101\" " + f.read("keys/early.pub") +
		"me@example.com cert-authority " + f.read("keys/authority.pub") +
		"me@example.com " + f.read("keys/untouched.pub"))
}

// harmless is what mail does to a text, and what take reads as if it had not.
var harmless = []string{"CRLF", "a blank before the newline", "a newline more", "a newline before", "a byte order mark", "the line twice"}

// others are answers of the right key: to other bytes, to another task, to another
// question about this one.
func (f *forger) others(line, good string, other map[string]string) {
	for name, text := range altered(f.t, line) {
		armor := f.sign("id", text)
		f.put("altered and signed: "+name, text+armor, "")
		f.put("altered, and signed as altered: "+name, line+armor, armor)
		if !slices.Contains(harmless, name) {
			f.put("altered after it was signed: "+name, text+good, "")
		}
	}
	for name, answer := range other {
		at := strings.IndexByte(answer, '\n') + 1
		f.put("the answer to "+name, line+answer[at:], answer[at:])
		f.put("the line of "+name, answer[:at]+good, "")
		f.put("two lines, the first of this and then of "+name, line+answer[:at]+good, "")
		f.put("two armors, the first of "+name, line+answer[at:]+good, answer[at:]+good)
	}
}

// TestForgedAnswers: nothing that is brought from elsewhere starts an effect unless it is
// the answer of a key that counts to what is asked, byte for byte. By take and through
// --signature, at each level; and then the genuine one does, once.
func TestForgedAnswers(t *testing.T) {
	for _, level := range levels {
		t.Run(level, func(t *testing.T) { forgedAnswers(t, &forger{elsewhere: newElsewhere(t, level)}) })
	}
}

func forgedAnswers(t *testing.T, f *forger) {
	f.strange()
	stale := f.stale()
	id := f.propose("bob@partner.example")
	line := f.statement(id)
	if again := f.statement(id); again != line {
		t.Errorf("asked twice:\n%s%s", line, again)
	}
	good := f.sign("id", line)
	other := f.propose("carol@partner.example")
	same := f.add(strings.Replace(strings.Replace(proposed, "%TARGET%", "bob@partner.example", 1), `"hi"`, `"ho"`, 1))
	f.unsigned(line, good)
	f.strangers(line)
	refusal := f.statement(id, "--no")
	f.others(line, good, map[string]string{
		"another task": f.answer("id", other), "other text to the same target": f.answer("id", same),
		"a grant for it": f.answer("id", "--grant", "bob@partner.example", "--task", id), "a grant for any": f.answer("id", "--any"),
	})
	f.put("the signature of a no, as a yes", line+f.sign("id", refusal), "")
	f.put("the signature of a yes, as a no", refusal+good, "")
	for name, answer := range stale {
		f.put(name, answer, answer[strings.IndexByte(answer, '\n')+1:])
	}
	f.tries(id)

	// What was forged was one step from this.
	before, genuine := f.sent(), f.spool("genuine", line+good)
	if out, status := f.take(genuine); status != 0 || strings.Count(out, "\n") != 1 {
		t.Errorf("the genuine answer: exit %d: %s", status, out)
	}
	for range 3 {
		f.send()
		f.take(genuine)
	}
	if got := f.show(id); f.sent() != before+1 || got.State != "completed" {
		t.Errorf("the genuine answer: sent %d, %+v", f.sent()-before, got)
	}
	for _, left := range []string{other, same} {
		if got := f.show(left); got.State != "awaiting_review" {
			t.Errorf("what nobody answered: %+v", got)
		}
	}
	f.must("", "pulse-queue", "verify")
}

// tries brings all forgeries, by each door, and sees that nothing comes of them.
func (f *forger) tries(id string) {
	f.t.Helper()
	t, before, sent := f.t, f.image(), f.sent()
	unchanged := func(what string) {
		t.Helper()
		if after := f.image(); after != before {
			t.Errorf("%s: changed: %v", what, changes(before, after))
			before = after
		}
	}
	var files []string
	for i, a := range f.list {
		files = append(files, f.spool(fmt.Sprintf("%04d %s", i, a.name), a.file))
	}
	out, status := f.take(files...)
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	for _, a := range f.list {
		if !strings.Contains(out, fileName(a.name)+":") {
			t.Errorf("%s: take says nothing of it", a.name)
		}
	}
	if n := strings.Count(out, ": left: "); status != 77 || n != len(lines)-2 || n < len(files) || strings.Contains(out, "not read") { // an error and its hint
		t.Errorf("take: exit %d, %d lines of %d files, of which %d were left", status, len(lines), len(files), n)
	}
	unchanged("take")
	if t.Failed() { // which one was it?
		for i, file := range files {
			if out, status := f.take(file); status != 77 {
				t.Errorf("%s: exit %d: %s%s", f.list[i].name, status, out, f.list[i].file)
			}
			unchanged(f.list[i].name)
		}
	}
	doors := 0
	for i, a := range f.list {
		if a.armor == "" || f.level != "signature" && i%4 > 0 { // what is refused before a level matters
			continue
		}
		doors++
		for _, word := range []string{"yes", "no"}[:1+min(i%3, 1)] {
			if out, status := f.intake(a.armor, "pulse-approve", word, id, "--signature", "-"); status != 77 && status != 64 {
				t.Errorf("%s, by %s --signature: exit %d: %s", a.name, word, status, out)
			}
		}
		unchanged(a.name)
	}
	f.send()
	f.run(0, "", "pulse-queue", "run", "--as", worker, "--", "/bin/sh", "-c", "echo asked >>"+f.path("out/sent"))
	unchanged("run")
	if f.sent() != sent {
		t.Errorf("%d were started", f.sent()-sent)
	}
	t.Logf("level %s: %d forged answers by take, %d of them by yes, and most by no, with --signature: nothing was changed, none was started", f.level, len(files), doors)
	if len(files) < 200 || doors < 40 {
		t.Error("too few were tried")
	}
}

// stale are genuine answers that were good once, or would have been.
func (f *forger) stale() map[string]string {
	f.t.Helper()
	all := map[string]string{}
	yes := func(name, target string) (id string) {
		id = f.propose(target)
		all[name] = f.answer("id", id)
		if out, status := f.take(f.spool("stale", all[name])); status != 0 {
			f.t.Fatalf("%s: exit %d: %s", name, status, out)
		}
		return id
	}
	yes("taken, started and done", "done@partner.example")
	f.send("exit 0")
	yes("taken, started, and nobody knows", "unknown@partner.example")
	f.send("exit 1")
	refused := f.propose("refused@partner.example")
	all["a yes to what was refused"] = f.answer("id", refused)
	all["a no that was taken"] = f.answer("id", refused, "--no")
	if out, status := f.take(f.spool("stale", all["a no that was taken"])); status != 0 {
		f.t.Fatalf("a no: exit %d: %s", status, out)
	}
	cancelled := yes("taken, and cancelled then", "cancelled@partner.example")
	f.must("", "pulse-queue", "cancel", cancelled)
	unasked := f.propose("twice@partner.example") // never brought, and asked about again
	all["the question before"] = f.answer("id", unasked)
	if out, status := f.take(f.spool("stale", f.answer("token", unasked))); status != 0 {
		f.t.Fatalf("with the token: exit %d: %s", status, out)
	}
	f.send("exit 1")
	all["of no task"] = strings.Replace(all["the question before"], unasked, strings.Repeat("a", 32), 1)
	return all
}

// TestFilesOfAnswers: what lies in a spool may be no file, or no end of one.
func TestFilesOfAnswers(t *testing.T) {
	e := newElsewhere(t, "signature")
	id := e.propose("bob@partner.example")
	genuine := e.spool("genuine", e.answer("token", id))
	before := e.image()
	e.do(os.Symlink("genuine", e.path("spool/link")))
	e.do(syscall.Mkfifo(e.path("spool/fifo"), 0o644))
	e.do(os.Mkdir(e.path("spool/directory"), 0o755))
	e.spool("empty", "")
	e.spool("NULs", strings.Repeat("\x00", 1<<16))
	e.spool("huge", "")
	e.do(os.Truncate(e.path("spool/huge"), 1<<40))
	e.spool("secret", e.read("spool/genuine"))
	e.do(os.Chmod(e.path("spool/secret"), 0))
	e.spool("held", "")
	e.do(os.Remove(e.path("spool/held")))
	e.do(syscall.Mkfifo(e.path("spool/held"), 0o644))
	held, err := os.OpenFile(e.path("spool/held"), os.O_RDWR, 0) // and says nothing
	e.do(err)
	defer held.Close()
	var files []string
	for _, name := range []string{"fifo", "held", "directory", "empty", "NULs", "huge", "secret", "none"} {
		file := e.path("spool/" + name)
		files = append(files, file)
		want := 1 // it was not read to its end
		if name == "empty" || name == "NULs" {
			want = 77
		}
		if out, status := e.take(file); status != want || strings.Count(out, ": left: ") != 1 {
			t.Errorf("%s: exit %d: %s", name, status, out)
		}
	}
	if out, status := e.take(append(files, "/dev/zero", "/dev/null", "/proc/self/mem")...); status == 0 {
		t.Errorf("exit %d: %s", status, out)
	}
	if after := e.image(); after != before {
		t.Errorf("changed: %v", changes(before, after))
	}
	// None of them stops anybody's answer, nor does a file that is full of others.
	files = append(files, e.spool("full", strings.Repeat("-----BEGIN SSH SIGNATURE-----\n", 20_000)))
	if out, status := e.take(append(files, genuine)...); status == 0 || e.show(id).State != "scheduled" {
		t.Errorf("exit %d, %+v: %.2000s", status, e.show(id), out)
	}
	e.send()
	if e.sent() != 1 {
		t.Errorf("sent %d", e.sent())
	}
}
