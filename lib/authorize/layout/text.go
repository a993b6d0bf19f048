package layout

import (
	"regexp"
	"strings"
)

// System is where the policy of a machine lies. Any other directory holds all of a gate that
// has one account.
const System = "/etc/pulse"

// environment is read by systemd and, as BASH_ENV, by bash.
const environment = `# The units and the crontab read this: a line NAME="value" each, without ", $, ` + "`" + ` and \ in a
# value. What holds several words is split at blanks. The last line of a name counts.
INBOX="@INBOX@"

# Flags of pulse-fetch when a timer or cron starts it: new mail is read within seconds if the server
# has IDLE, and else every five minutes. Empty: each minute.
WAIT_FLAGS="@WAIT@"

# More flags of each pulse-fetch; of each pulse-queue add, such as --notify CMD; of pulse-queue health.
FETCH_FLAGS=""
ADD_FLAGS=""
HEALTH_FLAGS="@ACCEPT@"

# What starts a worker, and a reader if the policy has [extract], in a box: see pulse-deploy(7).
# TO="api.openai.com:443" in @ETC@/out-pulse-worker and out-pulse-reader is their way out, and
# OPENAI_API_KEY="..." in @ETC@/key is their key. None is started without these lines.
# WORKER="/usr/local/libexec/pulse/box --model /run/pulse-out/pulse-worker --env OPENAI_API_KEY -- /usr/local/libexec/pulse/workers/llm -m gpt-5-mini"
# RUN_FLAGS="--proposals --env OPENAI_API_KEY"
# READER="/usr/local/libexec/pulse/box --model /run/pulse-out/pulse-reader --env OPENAI_API_KEY -- /usr/local/libexec/pulse/readers/llm -m gpt-5-mini"
# READ_FLAGS="--env OPENAI_API_KEY"

# What carries out effects after a yes, and what makes drafts.
# SENDER="/usr/local/libexec/pulse/senders/msmtp -C @ETC@/msmtprc"
# DRAFTER="/usr/local/libexec/pulse/senders/drafts --password-file @ETC@/drafts --socket /run/pulse-out/pulse-drafter imaps://me@imap.example.com/"

# With systemd: what is given a line if a unit fails, besides the notice at login.
# NOTIFY="mail -s pulse root"
`

// crontab has the command lines of the units in scripts/systemd; its test holds them to be
// the same.
const crontab = `# For /etc/cron.d/pulse, where there is no systemd: what its units do. Debian's packages for it
# are bubblewrap, cron, jq and util-linux. See "From cron" in pulse-deploy(7).
# Cron mails what is printed to MAILTO: an address, or an account whose mail a person reads.
MAILTO=root
SHELL=/bin/bash
PATH=/usr/local/bin:/usr/bin:/bin
BASH_ENV=/etc/pulse/environment
PULSE_POLICY=/etc/pulse/policy.toml
PULSE_QUEUE=/var/lib/pulse/queue

* * * * * pulse flock -no /var/lib/pulse/lock/intake.lock /bin/bash -fo pipefail -c '[ -z "$INBOX" ] || pulse-fetch $WAIT_FLAGS $FETCH_FLAGS --password-file /etc/pulse/password "$INBOX" | pulse-classify | pulse-authorize | pulse-queue add $ADD_FLAGS >/dev/null'
* * * * * root for f in /etc/pulse/out-*; do a=${f##*/out-}; [ ! -e $f ] || { . $f; mkdir -p /run/pulse-out; flock -no /run/pulse-way-$a.lock pulse-queue way $WAY_FLAGS --listen /run/pulse-out/$a --owner $a $TO; } & done; wait
* * * * * root set -a; [ ! -e /etc/pulse/key ] || . /etc/pulse/key; set +a; flock -no /run/pulse-extract.lock /bin/bash -fc '[ -z "$READER" ] || exec pulse-queue run --extract $READ_FLAGS --as pulse-reader -- $READER'
* * * * * root set -a; [ ! -e /etc/pulse/key ] || . /etc/pulse/key; set +a; flock -no /run/pulse-run.lock /bin/bash -fc '[ -z "$WORKER" ] || exec pulse-queue run $RUN_FLAGS --as pulse-worker -- $WORKER'
* * * * * pulse flock -no /var/lib/pulse/lock/outbox.lock /bin/bash -fo pipefail -c 'pulse-queue outbox | pulse-authorize | pulse-queue add $ADD_FLAGS >/dev/null'
* * * * * root flock -no /run/pulse-send.lock /bin/bash -fc '[ -z "$SENDER" ] || exec pulse-queue run --effect external_send --as pulse-sender -- $SENDER'
* * * * * root flock -no /run/pulse-draft.lock /bin/bash -fc '[ -z "$DRAFTER" ] || exec pulse-queue run --effect write_local --as pulse-drafter -- $DRAFTER'
10 * * * * pulse pulse-queue health $HEALTH_FLAGS
20 4 * * * pulse pulse-queue prune --older-than 90d
`

// Place is a directory for the files of a gate, one for what it makes of them, and the prefix that
// the commands are installed under. A gate of a machine has its own for the second.
type Place struct{ Dir, Data, Prefix string }

// Environment returns the text of the file.
func (p Place) Environment(inbox string) string {
	accept, wait := "", ""
	if p.Dir != System {
		accept = "--accept not_separated"
	}
	if strings.HasPrefix(inbox, "imap") { // what else there is can't say that there is mail
		wait = "--wait 4m"
	}
	return p.put(strings.NewReplacer("@INBOX@", inbox, "@WAIT@", wait, "@ETC@", p.Dir, "@ACCEPT@", accept).Replace(environment))
}

// Crontab returns the text of the file.
func (p Place) Crontab() string {
	text := crontab
	if p.Dir != System {
		_, text, _ = strings.Cut(text, "\nSHELL")
		text = "# BEGIN pulse: all that it starts has your account. See \"Without root\" in pulse-deploy(7).\nSHELL" + text +
			"# END pulse\n"
		text = strings.NewReplacer("* root ", "* ", "* pulse ", "* ", " --owner $a", "").Replace(text)
		text = regexp.MustCompile(`--as \S+ `).ReplaceAllString(text, "")
	}
	return p.put(text)
}

// put puts the directory and the prefix in their places. Other programs are still looked for in
// /usr/local/bin, too.
func (p Place) put(text string) string {
	list := []string{"/usr/local/libexec/pulse", p.Prefix + "/libexec/pulse"}
	if p.Prefix != "/usr" && p.Prefix != "/usr/local" {
		list = append(list, "PATH=/usr/local/bin:", "PATH="+p.Prefix+"/bin:/usr/local/bin:")
	}
	if p.Dir != System {
		list = append(list, "/etc/pulse", p.Dir, "/var/lib/pulse/queue", p.Data+"/queue", "/var/lib/pulse/lock", p.Data,
			"/run/pulse-out", p.Data+"/out", "/run/pulse-", p.Data+"/")
	}
	return strings.NewReplacer(list...).Replace(text)
}
