package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	friend = "friend@partner.example" // who may ask for a little
	target = "friend@example.org"     // to whom the agent may write, by the page
)

// slow is a worker that says that it runs, and ends by itself only the second time.
const slow = `#!/bin/sh
subject=$(jq -r .message.subject)
cd /var/lib/pulse-worker
if mkdir first 2>/dev/null; then
	echo >started
	exec sleep infinity
fi
printf '{"action":"external_send","target":["friend@example.org"],"args":{"subject":"%s","text":"."}}\n' "$subject"
`

// life is what the machine goes through.
type life struct {
	*machine
	pkg    string
	blocks []block // of the page, those that were not pasted yet
}

// An act is one thing that is done or has to be true; a step is some of them, and one line of
// what is printed.
type (
	act  func() error
	step struct {
		what string
		acts []act
	}
)

func (l *life) steps() []step {
	return []step{
		{"the machine is up", []act{l.prepare, l.boot}},
		{"it has an account, a mail provider and a model", []act{l.do(equip)}},
		{"the package is installed, by the first block of the page", []act{l.upload, l.pasteTo("install"), l.installed}},
		{"the blocks up to a mailbox are pasted, and mail is read", []act{
			l.mail(owner, letter(owner, "first", false)), l.pasteTo("mailbox"),
			l.do(gate + `pulse-queue log --why | grep owner_claim_unverified`), l.do(configure),
		}},
		{"the blocks up to an agent that sends are pasted", []act{l.pasteTo("send")}},
		{"mail of the owner and of a friend becomes asks, a forged one does not", []act{
			l.mail(owner, letter(owner, "mine", false), letter(friend, "of a friend", false), letter(owner, "forged", true)),
			l.start("pulse-intake"), l.state("ask", "mine", "scheduled"), l.state("ask", "of a friend", "scheduled"),
			l.do(gate + `! pulse-queue list --all --json | grep -q '"forged"'; grep -q '"reason":"not_permitted"' $PULSE_QUEUE/audit/*`),
		}},
		{"a reader makes the extract, in a box that leads to its model alone", []act{
			l.start("pulse-extract"), l.asked("pulse-reader"), l.state("ask", "of a friend", "scheduled"),
		}},
		{"a worker is started, in a box likewise", []act{
			l.start("pulse-run"), l.asked("pulse-worker"), l.state("ask", "mine", "completed"), l.state("ask", "of a friend", "completed"),
			// Otherwise systemd would end it after 90 seconds, with what goes through it.
			l.do("systemctl is-active pulse-out@pulse-worker.service"),
		}},
		{"what it proposes waits for a person", []act{
			l.start("pulse-outbox"), l.state("effect", "Hello", "awaiting_review"), l.start("pulse-effects"), l.sent("Hello", 0),
		}},
		{"a person says yes, and it is sent once", []act{
			l.yes("Hello"), l.start("pulse-effects"), l.state("effect", "Hello", "completed"), l.sent("Hello", 1),
			l.start("pulse-outbox", "pulse-effects"), l.sent("Hello", 1),
		}},
		{"a worker without a box reaches nothing either", []act{
			l.do("cd /var/lib/pulse-worker; HOME=$PWD llm reach; rm .try"), l.everything,
			l.worker("/usr/bin/llm reach"), l.mail(owner, letter(owner, "reach", false)),
			l.start("pulse-intake"), l.start("pulse-run"), l.state("ask", "reach", "completed"), l.nothing,
		}},
		{"a second mailbox", []act{
			l.mail(ownerAtWork, letter(owner, "at work", false)), l.start("pulse-intake@work"), l.state("ask", "at work", "scheduled"),
			l.start("pulse-run"), l.state("ask", "at work", "completed"),
		}},
		{"the power fails while a worker runs: it runs again, once", l.interrupted("power", l.cut, "completed")},
		{"the power fails while a mail is handed over: it is not sent again", l.handedOver("power")},
		// It counts as an attempt, and the next one is later.
		{"shut down while a worker runs: it is put off", l.interrupted("shut down", l.shutdown, "scheduled")},
		{"a unit that fails leaves a notice, until it works", []act{
			l.do(`systemctl stop dovecot.socket dovecot
! systemctl start pulse-intake 2>/dev/null
until [ -s /run/motd.d/pulse-intake.service ]; do sleep 0.1; done
systemctl start dovecot
systemctl start pulse-intake
! [ -e /run/motd.d/pulse-intake.service ]`),
		}},
		{"systemd counts no unit as exposed", []act{l.exposure}},
		{"the queue is sound, and health says nothing", []act{
			l.do(gate + "runuser -u pulse -- pulse-queue verify >/dev/null; runuser -u pulse -- pulse-queue health"),
		}},
		{"it is moved to another machine, which has its mailboxes and ways out", []act{
			l.skip("upgrade"), l.pasteTo("move"), l.do(otherMachine), l.pasteTo("moved"), l.do(moved),
		}},
		{"it is removed, and nothing is left", []act{
			l.pasteTo("remove-all"),
			l.do(`! getent passwd | grep '^pulse' && ! find /etc/systemd/system /etc/pulse /var/lib/pulse* -name '*pulse*' 2>/dev/null | grep .`),
			l.do(`! systemctl list-units --plain --no-legend 'pulse-*.socket' 'pulse-*.timer' | grep .`),
		}},
	}
}

// configure is what the page leaves to its reader: what their server is called, and who else may
// ask. From then on the test starts the units, and not their timers.
const configure = `systemctl is-active --quiet pulse-{intake,extract,run,outbox,effects,health,prune}.timer
systemctl stop pulse.target
! systemctl is-active --quiet pulse-run.timer
sed -i 's/^# authserv_id = .*/authserv_id = "` + receiver + `"/; s/^allowed_external = .*/allowed_external = ["` + friend + `"]/' /etc/pulse/policy.toml
pulse-authorize check --policy /etc/pulse/policy.toml`

// otherMachine makes of the machine one on which nothing but the package was installed.
const otherMachine = `find /etc/systemd/system -type l -name 'pulse*' -printf '%f\n' | xargs systemctl disable --now 2>/dev/null
rm -rf /etc/pulse/* /var/lib/pulse/queue`

const moved = `systemctl is-active pulse-intake.timer pulse-intake@work.timer pulse-out@pulse-{reader,worker,sender}.socket`

// skip leaves out the blocks before one.
func (l *life) skip(first string) act {
	return func() error {
		at := slices.IndexFunc(l.blocks, func(b block) bool { return b.name == first })
		if at < 0 {
			return fmt.Errorf("the page has no block %s, or not where it was", first)
		}
		l.blocks = l.blocks[at:]
		return nil
	}
}

func (l *life) do(line string) act {
	return func() error {
		_, err := l.sh(line)
		return err
	}
}

func (l *life) start(units ...string) act {
	return l.do("systemctl start " + strings.Join(units, " ") + " || { journalctl --no-pager -n 50 -o cat; exit 1; }")
}

// upload puts the package where root's shell begins, as the page wants it.
func (l *life) upload() error {
	deb, err := os.ReadFile(l.pkg)
	if err != nil {
		return err
	}
	page, err := os.ReadFile("man/pulse-deploy.7")
	if err != nil {
		return err
	}
	l.blocks, err = blocks(string(page))
	return errors.Join(err, l.put("root/"+filepath.Base(l.pkg), string(deb), 0o644))
}

// installed goes on with the page as it was installed.
func (l *life) installed() error {
	text, err := l.sh("zcat -f /usr/share/man/man7/pulse-deploy.7*")
	if err != nil {
		return err
	}
	list, err := blocks(text)
	if err == nil && (len(list) != len(l.blocks)+1 || list[0].name != "install") {
		err = errors.New("the installed page has other blocks than that in the tree")
	}
	l.blocks = list[1:]
	return err
}

// asked fails unless an account asked the model, with its key, and could reach nothing else
// from its box.
func (l *life) asked(account string) act {
	return func() error {
		uid, err := l.sh("id -u " + account)
		if err != nil {
			return err
		}
		all, err := l.kept("model")
		if err != nil {
			return err
		}
		n := 0
		for _, text := range all {
			var q question
			if err := json.Unmarshal([]byte(text), &q); err != nil {
				return err
			}
			if fmt.Sprintln(q.UID) != uid {
				continue
			}
			n++
			if q.Key != "Bearer "+modelKey || !slices.Equal(q.Reached, []string{"write home"}) {
				return fmt.Errorf("%s: %+v", account, q)
			}
		}
		if n == 0 {
			return fmt.Errorf("%s asked nothing: %q", account, all)
		}
		return nil
	}
}

// sent fails unless so many mails with this subject were taken by the provider.
func (l *life) sent(subject string, want int) act {
	return func() error {
		all, err := l.kept("mail")
		if err != nil {
			return err
		}
		n := 0
		for _, text := range all {
			if !strings.HasPrefix(text, "from "+owner+"\nto "+target+"\n\n") {
				return fmt.Errorf("another envelope: %s", text)
			}
			if strings.Contains(text, "\nSubject: "+subject+"\r\n") {
				n++
			}
		}
		if n != want {
			return fmt.Errorf("%d mails %q were sent, and not %d: %q", n, subject, want, all)
		}
		return nil
	}
}

var code = regexp.MustCompile(`code: (\w{4})\r\n[^\r\n]*: $`)

// yes is what a person types who has an account of this machine.
func (l *life) yes(subject string) act {
	return func() error {
		r, err := l.only("effect", subject)
		if err != nil {
			return err
		}
		t, err := l.login("you")
		if err != nil {
			return err
		}
		defer t.close()
		if err := t.types(gate + "pulse-approve yes " + r.Task.ID + "\r"); err != nil {
			return err
		}
		_, groups, err := t.until(code)
		if err != nil {
			return err
		}
		if err := t.types(groups[0] + "\r"); err != nil {
			return err
		}
		return t.prompted()
	}
}

// worker sets the command of the worker.
func (l *life) worker(command string) act {
	return l.do(`echo 'WORKER="` + command + `"' >>/etc/pulse/environment`)
}

// reached returns what "llm reach" could do, with its uid first.
func (l *life) reached() ([]string, error) {
	out, err := l.sh("cat /var/lib/pulse-worker/reached; rm /var/lib/pulse-worker/reached")
	return strings.Split(strings.TrimSpace(out), "\n"), err
}

// everything fails unless all that is tried can be done, by root.
func (l *life) everything() error {
	got, err := l.reached()
	if err == nil && len(got) != 17 {
		err = fmt.Errorf("root reaches only %q", got)
	}
	return err
}

// nothing fails if a worker can do more than read the policy and write to its home.
func (l *life) nothing() error {
	uid, err := l.sh("id -u pulse-worker")
	if err != nil {
		return err
	}
	got, err := l.reached()
	if err == nil && !slices.Equal(got, []string{strings.TrimSpace(uid), "read policy", "write home"}) {
		err = fmt.Errorf("a worker reaches %q", got)
	}
	return err
}

// interrupted ends the machine while a worker runs, and boots it again; then the ask is in a state.
func (l *life) interrupted(subject string, end act, after string) []act {
	started := filepath.Join(l.root, "var/lib/pulse-worker/started")
	return []act{
		l.worker("/usr/local/bin/slow"), l.do("cd /var/lib/pulse-worker; rm -rf first; [ -e started ] || mkfifo -m 666 started"),
		l.mail(owner, letter(owner, subject, false)), l.start("pulse-intake"), l.start("--no-block", "pulse-run"),
		func() error {
			_, err := os.ReadFile(started) // it is not open until the worker says so
			return err
		},
		l.state("ask", subject, "running"), end, l.boot, l.start("pulse-run"), l.state("ask", subject, after),
	}
}

// handedOver cuts the power after the provider took a mail, and before it says so: nobody here
// knows whether it was sent, so a person is asked.
func (l *life) handedOver(subject string) []act {
	silent := filepath.Join(l.root, "srv/provider/silent")
	return []act{
		l.start("pulse-outbox"), l.state("effect", subject, "awaiting_review"), l.do("mkfifo /srv/provider/silent"),
		l.yes(subject), l.start("--no-block", "pulse-effects"),
		func() error {
			f, err := os.Open(silent) // it is not open until the provider has the mail
			if err != nil {
				return err
			}
			return errors.Join(f.Close(), l.sent(subject, 1)(), l.cut(), os.Remove(silent))
		},
		l.boot, l.start("pulse-effects"), l.state("effect", subject, "awaiting_review"), l.sent(subject, 1),
		l.do(gate + "pulse-queue list | grep effect_unknown"),
	}
}

var level = regexp.MustCompile(`Overall exposure level for (\S+): ([0-9.]+)`)

// exposure prints what systemd counts for the units that run, the worst of which makes a box.
func (l *life) exposure() error {
	out, err := l.sh(`for unit in pulse-{intake,intake@work,extract,run,outbox,effects,health,prune,out@pulse-sender}.service; do
systemd-analyze security --no-pager --threshold=30 $unit | grep Overall; done`)
	for _, m := range level.FindAllStringSubmatch(out, -1) {
		fmt.Printf("          %s %s\n", m[1], m[2])
	}
	return err
}
