package main

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

func TestYes(t *testing.T) {
	d := newDesk(t)
	id := d.add(proposal)
	status, screen := d.answer(right, "yes", id)
	if got := d.show(id); status != 0 || got.State != "scheduled" || got.Reason != "approved" {
		t.Errorf("exit %d, %+v", status, got)
	}
	for _, want := range []string{"task +" + id + ", effect: .*", "target +bob@partner.example", "action +external_send: send this out.*", "proven +yes, an owner", "proof +owner_verified_email, .*", "digest +" + d.show(id).Digest, `  \| hi`} {
		if !regexp.MustCompile(`(?m)^` + want + `\r$`).MatchString(screen) {
			t.Errorf("the screen does not say %q:\n%s", want, screen)
		}
	}
	log := d.must("", "sh", "-c", "cat q/audit/*")
	if !strings.Contains(log, `"event":"approved"`) || !strings.Contains(log, `"level":"terminal"`) || !strings.Contains(log, `"by":"`) {
		t.Error(log)
	}
}

// TestAnythingElseIsNo: only the code that is shown means yes.
func TestAnythingElseIsNo(t *testing.T) {
	for name, answer := range map[string]func(string) string{
		"empty":          func(string) string { return "\n" },
		"yes":            func(string) string { return "yes\n" },
		"another code":   func(string) string { return "0000\n" },
		"part of it":     func(c string) string { return c[:3] + "\n" },
		"more than it":   func(c string) string { return c + c + "\n" },
		"in capitals":    func(c string) string { return strings.ToUpper(c) + "!\n" },
		"end of input":   func(string) string { return "\x04" },
		"code and end":   func(c string) string { return c + "\x04\x04" },
		"a long line":    func(string) string { return strings.Repeat("x", 1000) + "\n" },
		"then the code":  func(c string) string { return "no\n" + c + "\n" },
		"an interrupted": func(c string) string { return c + "\x03" },
	} {
		d := newDesk(t)
		id := d.add(proposal)
		before := d.must("", "sh", "-c", "cat q/audit/*; ls q/*")
		status, _ := d.answer(answer, "yes", id)
		if after := d.must("", "sh", "-c", "cat q/audit/*; ls q/*"); after != before || status == 0 || status != 77 && name != "an interrupted" {
			t.Errorf("%s: exit %d, then\n%s", name, status, after)
		}
	}
}

func TestHangUpIsNo(t *testing.T) {
	d := newDesk(t)
	id := d.add(proposal)
	p := d.sit("yes", id)
	d.code(p)
	p.Leave()
	p.Wait()
	if got := d.show(id); got.State != "awaiting_review" {
		t.Errorf("%+v", got)
	}
}

func TestNoTerminal(t *testing.T) {
	d := newDesk(t)
	id := d.add(proposal)
	for _, args := range [][]string{
		{"yes", id}, {"no", id, "--reason", "x"}, {"grant", "bob@partner.example"}, {"grant", "--any"}, {"revoke", "abc"},
	} {
		cmd := d.command("pulse-approve", args...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		cmd.Stdin = strings.NewReader("yes\n")
		out, err := cmd.Output()
		if cmd.ProcessState.ExitCode() != 77 || len(out) > 0 {
			t.Errorf("%v: %v, stdout %q", args, err, out)
		}
	}
	if got := d.show(id); got.State != "awaiting_review" {
		t.Errorf("%+v", got)
	}
	if grants := d.must("", "pulse-approve", "grants", "--json"); grants != "" {
		t.Error(grants)
	}
}

// TestTypedAheadIsDiscarded: what was typed before the code was shown is no answer.
func TestTypedAheadIsDiscarded(t *testing.T) {
	d := newDesk(t)
	id := d.add(proposal)
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	if _, err := master.WriteString("no\nyes\n"); err != nil {
		t.Fatal(err)
	}
	cmd := d.command("pulse-approve", "yes", id)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := cmdlinetest.At(cmd, master)
	defer p.Leave()
	tty.Close()
	if err := p.Type(d.code(p) + "\n"); err != nil {
		t.Fatal(err)
	}
	if status, screen := p.Wait(); status != 0 {
		t.Errorf("exit %d:\n%s", status, screen)
	}
}

// TestChangedWhileAsked: the yes is for what was shown.
func TestChangedWhileAsked(t *testing.T) {
	for name, change := range map[string]func(d *world, id string){
		"approved by somebody else": func(d *world, id string) { d.answer(right, "yes", id) },
		"refused by somebody else":  func(d *world, id string) { d.answer(right, "no", id, "--reason", "not now") },
		"edited": func(d *world, id string) {
			name := "q/awaiting_review/" + id + ".json"
			d.write(name, strings.Replace(d.read(name), `"text":"hi"`, `"text":"HI"`, 1))
		},
		"retargeted": func(d *world, id string) {
			name := "q/awaiting_review/" + id + ".json"
			d.write(name, strings.Replace(d.read(name), "bob@", "eve@", 1))
		},
		"removed": func(d *world, id string) { os.Remove(d.path("q/awaiting_review/" + id + ".json")) },
	} {
		d := newDesk(t)
		id := d.add(proposal)
		p := d.sit("yes", id)
		code := d.code(p)
		change(d, id)
		log := d.must("", "sh", "-c", "cat q/audit/*")
		if err := p.Type(code + "\n"); err != nil {
			t.Fatal(err)
		}
		status, _ := p.Wait()
		if after := d.must("", "sh", "-c", "cat q/audit/*"); status != 77 || after != log {
			t.Errorf("%s: exit %d, the log:\n%s", name, status, after)
		}
	}
}

func TestNo(t *testing.T) {
	d := newDesk(t)
	id := d.add(proposal)
	status, _ := d.answer(right, "no", id, "--reason", "not \x1b[31mwanted")
	if got := d.show(id); status != 0 || got.State != "rejected" || got.Reason != "not \x1b[31mwanted" {
		t.Errorf("exit %d, %+v", status, got)
	}
	if story := d.must("", "pulse-queue", "show", id); strings.Contains(story, "\x1b") {
		t.Errorf("%q", story)
	}
	// The refusal sticks to the same proposal.
	if again := d.add(proposal); again != id || d.show(id).State != "rejected" {
		t.Errorf("%s, %+v", again, d.show(again))
	}
}

func TestWhatCannotBeApproved(t *testing.T) {
	d := newDesk(t)
	id := d.add(proposal)
	d.answer(right, "yes", id)
	for _, c := range []struct {
		args []string
		want int
	}{
		{[]string{"yes", id}, 1},
		{[]string{"yes", strings.Repeat("0", 32)}, 1},
		{[]string{"yes", "../../etc/passwd"}, 1},
		{[]string{"yes"}, 64},
		{[]string{"no", id}, 64},
		{[]string{"yes", "--yes", id}, 64},
		{[]string{"grant"}, 64},
		{[]string{"grant", "x", "--any"}, 64},
		{[]string{"grant", "x", "--task", "12"}, 64},
		{[]string{"grant", "x", "--for", "0s"}, 64},
		{[]string{"revoke", "nothing"}, 1},
	} {
		p := d.sit(c.args...)
		if c.args[0] == "revoke" {
			p.Type(right(d.code(p)))
		}
		if status, screen := p.Wait(); status != c.want {
			t.Errorf("%v: exit %d:\n%s", c.args, status, screen)
		}
	}
	d.write("policy.toml", rules+"[approval]\nrequire = \"user\"\n")
	p := d.sit("grant", "--any")
	if status, screen := p.Wait(); status != 77 || !strings.Contains(string(screen), "init --approver-group") {
		t.Errorf("a level it can't give: exit %d:\n%s", status, screen)
	}
}

// TestGrantIsSpentByOne: fifty scripts want the same grant.
func TestGrantIsSpentByOne(t *testing.T) {
	d := newDesk(t)
	d.must("", "pulse-queue", "init")
	if status, _ := d.answer(right, "grant", "bob@partner.example"); status != 0 {
		t.Fatal(status)
	}
	results := make(chan int)
	for range 50 {
		cmd := d.command("pulse-approve", "consume", "Bob@partner.example")
		go func() {
			cmd.Run()
			results <- cmd.ProcessState.ExitCode()
		}()
	}
	count := map[int]int{}
	for range 50 {
		count[<-results]++
	}
	if count[0] != 1 || count[77] != 49 {
		t.Errorf("exit statuses %v", count)
	}
	if grants := d.must("", "pulse-approve", "grants", "--json"); grants != "" {
		t.Error(grants)
	}
	d.must("", "pulse-queue", "verify")
}

func TestGrants(t *testing.T) {
	d := newDesk(t)
	id := d.add(proposal)
	for _, args := range [][]string{
		{"grant", "--any"}, {"grant", "--any", "--task", id}, {"grant", "bob@partner.example"}, {"grant", "bob@partner.example", "--task", id},
	} {
		if status, screen := d.answer(right, args...); status != 0 {
			t.Fatalf("%v: exit %d\n%s", args, status, screen)
		}
	}
	left := func() string {
		return strconv.Itoa(strings.Count(d.must("", "pulse-approve", "grants", "--json"), "\n"))
	}
	for _, c := range []struct {
		args   []string
		status int
		left   string
	}{
		{[]string{"consume", "bob@partner.example", "--task", id}, 0, "3"},
		{[]string{"consume", "bob@partner.example", "--task", id}, 0, "2"},
		{[]string{"consume", "eve@partner.example", "--task", id}, 0, "1"}, // any, for the task
		{[]string{"consume", "eve@partner.example", "--task", id}, 0, "0"}, // any
		{[]string{"consume", "bob@partner.example"}, 77, "0"},
	} {
		if _, status := d.run("", "pulse-approve", c.args...); status != c.status || left() != c.left {
			t.Errorf("%v: exit %d, %s left", c.args, status, left())
		}
	}
	if status, _ := d.answer(right, "grant", "bob@partner.example", "--task", id); status != 0 {
		t.Fatal(status)
	}
	if _, status := d.run("", "pulse-approve", "consume", "bob@partner.example"); status != 77 || left() != "1" {
		t.Errorf("one bound to a task was spent without it: %d", status)
	}
	grant := strings.Split(d.must("", "pulse-approve", "grants", "--json"), `"`)[3]
	if status, _ := d.answer(right, "revoke", grant); status != 0 || left() != "0" {
		t.Errorf("revoke %s: exit %d, %s left", grant, status, left())
	}
}
