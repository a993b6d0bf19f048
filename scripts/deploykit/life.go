package main

import (
	"fmt"
	"os"
	"slices"

	"pulse/scripts/machine"
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
printf '{"action":"write_local","tool":"mail.draft","target":["friend@example.org"],"args":{"subject":"draft of %s","text":"."}}\n' "$subject"
`

// life is what the machine goes through.
type life struct {
	*container
	pkg    string
	next   string          // a later version of it
	blocks []machine.Block // of the page
	pasted map[string]bool // by the name of the block
	key    string          // public, of the person
	fifo   *os.File        // at which a program of the machine says how far it is
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

func (l *life) steps() []step { return slices.Concat(l.set(), l.works(), l.lasts()) }

// set are the steps by which the page makes a gate.
func (l *life) set() []step {
	return []step{
		{"the machine is up", []act{l.prepare, l.boot}},
		{"it has an account, a mail provider and a model", []act{l.do(equip)}},
		{"the package is installed, by the first block of the page", []act{l.upload(l.pkg), l.read, l.paste("install"), l.installed}},
		{"the blocks up to a mailbox are pasted, and mail is read", []act{
			l.mail(owner, letter(owner, "first", false)), l.paste("mailbox"),
			l.do(gate + `pulse-queue log --why | grep owner_claim_unverified`), l.do(configure),
		}},
		{"those of models, a second mailbox, a sender, drafts and a telephone are pasted", []act{
			l.paste("model", "second"), l.do(untimed), l.paste("send", "drafts", "phone"),
			l.types("root", "su --pty pulse-phone -c '. /etc/profile.d/pulse.sh; pulse-approve'"),
		}},
	}
}

// works are those of mail that becomes what a person sends.
func (l *life) works() []step {
	return []step{
		{"mail of the owner and of a friend becomes asks, a forged one does not", []act{
			l.mail(owner, letter(owner, "mine", false), letter(friend, "of a friend", false), letter(owner, "forged", true)),
			l.start("pulse-intake"), l.state("ask", "mine", "scheduled"), l.state("ask", "of a friend", "scheduled"),
			l.do(gate + `! pulse-queue list --all --json | grep '"forged"' || exit 1; grep -q '"reason":"not_permitted"' $PULSE_QUEUE/audit/*`),
		}},
		{"a reader makes the extract, in a box that leads to its model alone", []act{
			l.start("pulse-extract"), l.asked("pulse-reader"), l.state("ask", "of a friend", "scheduled"),
		}},
		{"a worker is started, in a box likewise", []act{
			l.start("pulse-run"), l.asked("pulse-worker"), l.state("ask", "mine", "completed"), l.state("ask", "of a friend", "completed"),
			// Otherwise systemd would end it after 90 seconds, with what goes through it.
			l.do("systemctl is-active --quiet pulse-out@pulse-worker.service"),
		}},
		{"what it proposes waits for a person", []act{
			l.start("pulse-outbox"), l.state("effect", "Hello", "awaiting_review"), l.start("pulse-effects"), l.sent("Hello", 0),
		}},
		{"a person says yes, and it is sent once", []act{
			l.yes("Hello", ""), l.start("pulse-effects"), l.state("effect", "Hello", "completed"), l.sent("Hello", 1),
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
	}
}

// lasts are those of failures, of keeping and of leaving.
func (l *life) lasts() []step {
	return []step{
		{"the power fails while a worker runs: it runs again, and proposes once", l.interrupted("power", l.cut)},
		{"the power fails while a mail is handed over: it is not sent again", l.handedOver("power")},
		{"the machine is shut down while a worker runs, and starts again by itself", append(
			l.interrupted("shut down", l.do("systemctl enable --quiet --now pulse.target"), l.shutdown),
			l.do(timers), l.do("systemctl disable --quiet --now pulse.target"),
		)},
		{"a notice tells that something waits, and that a unit fails until it works", l.notices("shut down")},
		{"a yes is signed", []act{
			l.paste("signature"), l.yes("shut down", " --key /home/you/key"), l.start("pulse-effects"), l.sent("shut down", 1),
			l.state("effect", "shut down", "completed"),
		}},
		{"systemd counts no unit as exposed", []act{l.exposure}},
		{"the page's restore brings back its backup", []act{
			l.paste("backup"), l.mail(owner, letter(owner, "after the backup", false)), l.start("pulse-intake"),
			l.state("ask", "after the backup", "scheduled"),
			l.paste("restore"), l.state("ask", "after the backup", "scheduled"), // fetched again
			l.confirms("root", "pulse-queue release --restored --was /var/lib/pulse/queue.*"),
			l.confirms("root", "runuser -u pulse -- pulse-queue release --restored --was /var/lib/pulse/queue.*"),
			l.do(gate + `runuser -u pulse -- pulse-queue cancel $(runuser -u pulse -- pulse-queue list --state scheduled | awk 'NR > 1 {print $1}')`),
			l.start("pulse-effects"), l.sent("shut down", 1), l.sent("power", 1), l.sound,
		}},
		{"a later package is installed, and the page says where text goes", []act{
			l.upload(l.next), l.do("systemctl enable --quiet --now pulse.target"), l.paste("upgrade", "residency"),
			l.do("dpkg-query -W -f '${Version}' pulse | grep -F +later; systemctl is-active --quiet pulse.target pulse-run.timer"), l.sound,
		}},
		{"it moves, and nothing of it is left", []act{
			l.paste("move", "remove", "remove-all"),
			l.do(`! getent passwd | grep ^pulse || exit 1
! systemctl list-units --plain --no-legend 'pulse*' | grep . || exit 1
! find / -xdev '(' -nouser -o -nogroup ')' -not -path '/run/*' -print | grep . || exit 1
! find /etc /var/lib /var/spool -name 'pulse*' -not -path '/var/lib/dpkg/*' -not -path '/var/lib/systemd/timers/*' | grep .`),
		}},
		{"another machine has it all", []act{
			l.paste("install", "moved"), l.do("systemctl stop pulse.target"), l.mail(owner, letter(owner, "moved", false)),
			l.worker("/usr/libexec/pulse/box --model /run/pulse-out/pulse-worker --env OPENAI_API_KEY -- /usr/libexec/pulse/workers/llm -m NAME"),
			l.start("pulse-intake"), l.start("pulse-run"), l.state("ask", "moved", "completed"),
			l.start("pulse-effects"), l.sent("shut down", 1), l.sent("power", 1),
		}},
		{"the queue is sound, and health says nothing; every block was pasted", []act{l.sound, l.all}},
	}
}

// timers fails unless each timer of the target runs.
const timers = "systemctl is-active --quiet pulse-{intake,extract,run,outbox,effects,health,prune}.timer"

// configure is what the page leaves to its reader: what their server is called, and who else may
// ask. From then on the test starts the units, and not their timers, and no mail waits for another.
const configure = timers + `
systemctl disable --quiet --now pulse.target
! systemctl is-active --quiet pulse-run.timer || exit 1
sed -i 's/^# authserv_id = .*/authserv_id = "` + machine.Receiver + `"/; s/^allowed_external = .*/allowed_external = ["` + friend + `"]/; s/^\[outbound\]$/&\nmin_reply_interval = "0s"/' /etc/pulse/policy.toml
grep -q '^min_reply_interval = "0s"' /etc/pulse/policy.toml
pulse-authorize check --policy /etc/pulse/policy.toml`

// untimed ends the timer that the second mailbox has begun. A fetch that it starts waits for mail, and
// leaves it to the next one if the policy, which the blocks after that change, is another by then.
const untimed = `
systemctl is-active --quiet pulse-intake@work.timer
systemctl stop pulse-intake@work.timer pulse-intake@work.service
! systemctl list-units --plain --no-legend 'pulse*.timer' | grep .`

// interrupted ends the machine while a worker runs, and boots it again; then it runs once more,
// and what it proposes is there once.
func (l *life) interrupted(subject string, end ...act) []act {
	return slices.Concat([]act{
		l.worker("/usr/local/bin/slow"), l.do("rm -rf /var/lib/pulse-worker/first"), l.listen("var/lib/pulse-worker/started"),
		l.mail(owner, letter(owner, subject, false)), l.start("pulse-intake"), l.start("--no-block", "pulse-run"), l.heard,
		l.state("ask", subject, "running"),
	}, end, []act{
		l.boot, l.start("pulse-run"), l.state("ask", subject, "completed"),
		func() error {
			r, err := l.only("ask", subject)
			if err == nil && r.Task.Restarts != 1 {
				err = fmt.Errorf("it was started again %d times", r.Task.Restarts)
			}
			return err
		},
		l.start("pulse-run", "pulse-outbox"), l.start("pulse-outbox"), l.state("effect", subject, "awaiting_review"),
	})
}

// handedOver cuts the power after the provider took a mail, and before it says so: nobody here
// knows whether it was sent, so a person is asked.
func (l *life) handedOver(subject string) []act {
	return []act{
		l.listen("srv/provider/silent"), l.yes(subject, ""), l.start("--no-block", "pulse-effects"), l.heard,
		l.sent(subject, 1), l.state("effect", subject, "running"), l.cut, l.boot,
		l.start("pulse-effects"), l.state("effect", subject, "awaiting_review"), l.sent(subject, 1),
		func() error {
			r, err := l.only("effect", subject)
			if err == nil && r.Task.Reason != "effect_unknown" {
				err = fmt.Errorf("it waits for another reason: %+v", r)
			}
			return err
		},
		// A worker that died may have read anything, so that even a draft waits.
		l.yes("draft of "+subject, ""), l.start("pulse-effects"), l.start("pulse-effects"), l.do(`[ "$(grep -rl '^Subject: draft of ` + subject + `' /srv/mail/` + owner + `/.Drafts/cur | wc -l)" = 1 ]`),
	}
}

// notices pastes the notice: a task that comes to wait is told, and a unit that fails, whose
// notice is also shown at login until it works, which is told, too.
func (l *life) notices(subject string) []act {
	return []act{
		l.paste("notice"), l.mail(owner, letter(owner, "to be told", false)), l.start("pulse-intake"), l.start("pulse-run"),
		l.start("pulse-outbox"), l.told("waiting for you: 1"),
		l.do("systemctl stop dovecot.socket dovecot"), l.listen("srv/provider/noticed"),
		l.do("! systemctl start pulse-intake 2>/dev/null"), l.heard,
		// Which returns when that one has ended that the failure started.
		l.start("pulse-failed@pulse-intake.service.service"),
		l.do("grep 'pulse-intake.service fails' /run/motd.d/pulse-intake.service"), l.told("pulse-intake.service fails"),
		l.do("systemctl start dovecot; systemctl start pulse-intake; ! [ -e /run/motd.d/pulse-intake.service ]"),
		l.start("pulse-failed@pulse-intake.service.service"), l.told("pulse-intake.service works again"),
	}
}
