package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const root = "0123456789abcdef0123456789abcdef" // the ask of every proposal

// wants is an effect with these targets, and a text to tell it from others.
func wants(action, text string, targets ...string) string {
	list, _ := json.Marshal(append([]string{}, targets...))
	line := strings.Replace(proposal, `"target":"bob@partner.example"`, `"target":`+string(list), 1)
	line = strings.Replace(line, "external_send", action, 1)
	return strings.Replace(line, `"text":"hi"`, fmt.Sprintf(`"text":%q`, text), 1)
}

func (d *world) grants(list ...string) {
	d.t.Helper()
	for _, args := range list {
		if status, screen := d.answer(right, append([]string{"grant"}, strings.Fields(args)...)...); status != 0 {
			d.t.Fatalf("grant %s: exit %d\n%s", args, status, screen)
		}
	}
}

// left returns how many grants there are.
func (d *world) left() int {
	return strings.Count(d.must("", "pulse-approve", "grants", "--json"), "\n")
}

func (d *world) starts() int { return strings.Count(d.read("starts"), "\n") }

// TestRunSpendsGrants: which grants start which effects; OWN stands for the effect's id.
func TestRunSpendsGrants(t *testing.T) {
	const bob, eve = "bob@partner.example", "eve@partner.example"
	for name, c := range map[string]struct {
		action  string
		targets []string
		grants  []string
		starts  bool
		left    int
	}{
		"target":                     {"external_send", []string{bob}, []string{bob}, true, 0},
		"target and ask":             {"external_send", []string{bob}, []string{bob + " --task " + root}, true, 0},
		"target and effect":          {"external_send", []string{bob}, []string{bob + " --task OWN"}, true, 0},
		"any":                        {"external_send", []string{bob}, []string{"--any"}, true, 0},
		"any of the ask":             {"external_send", []string{bob}, []string{"--any --task " + root}, true, 0},
		"the best of them":           {"external_send", []string{bob}, []string{"--any", bob, "--any --task OWN", bob + " --task " + root}, true, 3},
		"none":                       {"external_send", []string{bob}, nil, false, 0},
		"another target":             {"external_send", []string{bob}, []string{eve}, false, 1},
		"another task":               {"external_send", []string{bob}, []string{bob + " --task " + strings.Repeat("f", 32)}, false, 1},
		"two":                        {"external_send", []string{bob, eve}, []string{eve, bob}, true, 0},
		"one for two":                {"external_send", []string{bob, eve}, []string{bob}, false, 1},
		"any for two":                {"external_send", []string{bob, eve}, []string{"--any"}, false, 1},
		"any and one":                {"external_send", []string{bob, eve}, []string{"--any", eve}, true, 0},
		"twice the same":             {"external_send", []string{bob, bob}, []string{bob}, false, 1},
		"a deletion, any":            {"destructive", nil, []string{"--any"}, false, 1},
		"a deletion of the ask":      {"destructive", nil, []string{"--any --task " + root}, false, 1},
		"this deletion":              {"destructive", nil, []string{"--any --task OWN"}, true, 0},
		"a deletion there":           {"destructive", []string{"x"}, []string{"x", "--any"}, false, 2},
		"this deletion, elsewhere":   {"destructive", []string{"x"}, []string{"y --task OWN"}, false, 1},
		"this deletion there":        {"destructive", []string{"x"}, []string{"x --task OWN"}, true, 0},
		"a program":                  {"code_or_computer", []string{bob}, []string{bob, "--any", bob + " --task " + root}, false, 3},
		"a target without an effect": {"destructive", nil, []string{"x --task OWN"}, false, 1},
	} {
		d := newDesk(t)
		id := d.add(wants(c.action, "hi", c.targets...))
		for _, g := range c.grants {
			d.grants(strings.ReplaceAll(g, "OWN", id))
		}
		for range 2 {
			d.must("", "pulse-queue", "run", "--effect", c.action, "--", "sh", "-c", "cat >/dev/null; "+started+d.path("starts"))
		}
		want, state := 0, "awaiting_review"
		if c.starts {
			want, state = 1, "completed"
		}
		if got := d.show(id); got.State != state || d.starts() != want || d.left() != c.left || d.approvals() != 0 {
			t.Errorf("%s: %+v, started %d times, %d grants left", name, got, d.starts(), d.left())
		}
		d.must("", "pulse-queue", "verify")
		log := d.must("", "pulse-queue", "show", id)
		if c.starts != strings.Contains(log, "by grant ") {
			t.Errorf("%s:\n%s", name, log)
		}
	}
}

// TestGrantsAreNoReview: what a person has to look at is not started on a yes to
// something else.
func TestGrantsAreNoReview(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(d *world) (id string)
		state   string
	}{
		"nobody knows the end": {func(d *world) string {
			id := d.add(proposal)
			d.answer(right, "yes", id)
			d.send("exit 1")
			return id
		}, "awaiting_review"},
		"its approval went bad": {func(d *world) string {
			id := d.add(proposal)
			d.answer(right, "yes", id)
			d.write("q/approvals/"+id+".json", "{}")
			d.send("exit 0")
			return id
		}, "awaiting_review"},
		"refused": {func(d *world) string {
			id := d.add(proposal)
			d.answer(right, "no", id, "--reason", "no")
			return id
		}, "rejected"},
		"of an external": {func(d *world) string {
			d.write("policy.toml", rules+"allowed_external = [\"me@friend.example\"]\n")
			line := strings.Replace(strings.Replace(proposal, "me@example.com", "me@friend.example", 1), "owner_verified_email", "external_verified", 1)
			return d.add(line)
		}, "awaiting_review"},
		"rejected by the policy of today": {func(d *world) string {
			id := d.add(proposal)
			d.write("policy.toml", rules+"[matrix.owner_verified_email]\nallow = [\"read_public\"]\n")
			return id
		}, "rejected"},
		"for review by the policy of today": {func(d *world) string {
			id := d.add(proposal)
			d.write("policy.toml", rules+"[matrix.owner_verified_email]\nqueue_for_review = [\"external_send\"]\n")
			return id
		}, "awaiting_review"},
		"edited": {func(d *world) string {
			id := d.add(proposal)
			file := "q/awaiting_review/" + id + ".json"
			d.write(file, strings.Replace(d.read(file), `"hi"`, `"ho"`, 1))
			return id
		}, "awaiting_review"},
	} {
		d := newDesk(t)
		id := c.prepare(d)
		d.grants("bob@partner.example", "--any --task "+id)
		d.send(started + d.path("starts"))
		if got := d.show(id); got.State != c.state || d.starts() != 0 || d.left() != 2 {
			t.Errorf("%s: %+v, started %d times, %d grants left", name, got, d.starts(), d.left())
		}
	}
}

// TestGrantsAndLimits: what a limit holds back keeps its grant.
func TestGrantsAndLimits(t *testing.T) {
	d := newDesk(t)
	d.add(wants("external_send", "one", "bob@partner.example"))
	d.add(wants("external_send", "two", "eve@partner.example"))
	d.grants("bob@partner.example", "eve@partner.example")
	d.write("policy.toml", rules+"[limits]\nmax_per_day = 1\n")
	for range 2 {
		d.send(started + d.path("starts"))
	}
	if d.starts() != 1 || d.left() != 1 {
		t.Errorf("started %d times, %d grants left", d.starts(), d.left())
	}
	d.must("", "pulse-queue", "hold")
	d.write("policy.toml", rules)
	d.run("", "pulse-queue", "run", "--effect", "external_send", "--", "sh", "-c", started+d.path("starts"))
	if d.starts() != 1 || d.left() != 1 {
		t.Errorf("held: started %d times, %d grants left", d.starts(), d.left())
	}
	d.must("", "pulse-queue", "release")
	d.send("exit 75")
	if d.left() != 0 || d.approvals() != 1 {
		t.Errorf("nothing happened: %d grants, %d approvals", d.left(), d.approvals())
	}
	d.must("", "pulse-queue", "verify")
}

// TestGrantIsSpentByOneRun: fifty runs and fifty scripts want the same grant.
func TestGrantIsSpentByOneRun(t *testing.T) {
	d := newDesk(t)
	for n := range 5 {
		d.add(wants("external_send", fmt.Sprint(n), "bob@partner.example"))
	}
	d.grants("bob@partner.example")
	won := make(chan bool)
	for i := range 50 {
		cmd := d.command("pulse-queue", "run", "--effect", "external_send", "--", "sh", "-c", "cat >/dev/null; "+started+d.path("starts"))
		if i%2 == 0 {
			cmd = d.command("pulse-approve", "consume", "bob@partner.example")
		}
		go func() {
			cmd.Run()
			won <- i%2 == 0 && cmd.ProcessState.ExitCode() == 0
		}()
	}
	n := 0
	for range 50 {
		if <-won {
			n++
		}
	}
	if n+d.starts() != 1 || d.left() != 0 {
		t.Errorf("%d scripts, %d effects, %d grants left", n, d.starts(), d.left())
	}
	d.must("", "pulse-queue", "verify")
}
