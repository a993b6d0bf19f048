package man

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// scripts/crontab is what pulse-authorize init writes for /etc/pulse, and each entry that could
// start twice at a time has a lock.
func TestCrontabFile(t *testing.T) {
	text := strings.Join(read(t, "../scripts/crontab"), "\n") + "\n"
	_, entries := crontab(t, text)
	if len(entries) == 0 {
		t.Error("it starts nothing")
	}
	for _, e := range entries {
		if e.account == "" {
			t.Errorf("without an account: %s", e.command)
		}
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "*") && !strings.Contains(line, "flock -no ") {
			t.Errorf("without flock: %s", line)
		}
	}
}

// system are the steps that make the accounts, directories and mounts of a machine where pulse
// is installed, seen by nobody else. @DIR@ is a directory, @BIN@ has the commands, @SCRIPTS@ is
// scripts of the source, which may lie below /tmp and is not seen then. cron runs an entry as an account.
// Other tests may be adding accounts: neither their lock files nor what they added so far is copied.
const system = `as() { account=$1; shift; home=$(getent passwd $account | cut -d: -f6); (cd / && HOME=$home exec setpriv --reuid $account --regid $account --init-groups "$@"); }
cron() { (. /mnt/cron.env; as $1 env -i HOME=$(getent passwd $1 | cut -d: -f6) LOGNAME=$1 "${env[@]}" /bin/bash -c "$(cat /mnt/$2)"); }
mount --make-rprivate / && mkdir @DIR@/{lib,run,local} && chmod 755 @DIR@/{lib,run,local} && tar -C / -c --exclude="etc/*.lock" --exclude="etc/*.lock.*" etc 2>/dev/null | tar -C @DIR@ -xp &&
sed -i /^pulse/d @DIR@/etc/{passwd,shadow,group,gshadow} &&
mkdir -p @DIR@/local/{bin,mail,sent,libexec/pulse} && cp @BIN@/pulse-* @DIR@/local/bin && mv @DIR@/local/bin/pulse-fetch @DIR@/local/bin/fetch && cp @DIR@/local/bin/pulse-queue @DIR@/local/bin/queue &&
cp @DIR@/mail/owner.eml @DIR@/local/mail && cp -r @DIR@/programs/. @DIR@/local/bin && cp -r @SCRIPTS@/senders @DIR@/local/libexec/pulse && cp @SCRIPTS@/systemd/*.conf @DIR@/local &&
chmod -R go+rX @DIR@/local && chmod 777 @DIR@/local/sent &&
mount --bind @DIR@/etc /etc && mount --bind @DIR@/lib /var/lib && mount --bind @DIR@/local /usr/local && mount --bind @DIR@/run /run && mount --bind @DIR@ /mnt && mount -t tmpfs -o mode=1777 none /tmp &&
systemd-sysusers /usr/local/sysusers.conf 2>/dev/null && systemd-tmpfiles --create /usr/local/tmpfiles.conf &&
useradd --no-create-home --user-group me && usermod -aG pulse-approvers me && umask 022 && unset XDG_STATE_HOME &&
export PATH=/usr/local/bin:$PATH PULSE_POLICY=/etc/pulse/policy.toml PULSE_QUEUE=/var/lib/pulse/queue`

// steps returns what types a line, in one shell for all lines, and fails if the line does.
func steps(t *testing.T, dir string) func(line string) string {
	t.Helper()
	scripts, err := filepath.Abs("../scripts")
	if err != nil {
		t.Fatal(err)
	}
	sh, places := start(t, dir), strings.NewReplacer("@DIR@", dir, "@BIN@", bin, "@SCRIPTS@", scripts)
	return func(line string) string {
		t.Helper()
		out, status := sh.run(t, places.Replace(line))
		if status != "0" {
			t.Fatalf("%s\nexit %s: %s", line, status, out)
		}
		return out
	}
}

// What pulse-authorize init wrote for /etc/pulse is run as cron runs /etc/cron.d, as root with
// the accounts of sysusers.conf and a queue for approvers. A worker proposes a mail, somebody
// who is neither root nor the gate says yes, and it is sent once; at the levels user and
// signature, without another edit for them.
func TestCrontabOfTheSystem(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root has accounts to change to: the crontab of a machine was not tried")
	}
	for _, level := range []string{"user", "signature"} {
		t.Run(level, func(t *testing.T) {
			dir := world(t)
			must := steps(t, dir)
			executable(t, dir+"/programs", "agent", `cat >/dev/null; [ "$(id -un) $KEY" = "pulse-worker k1" ] && echo '`+
				strings.TrimSuffix(read(t, "pulse-agents.7").marked(t, "file: proposed"), "\n")+`'`)
			executable(t, dir+"/programs", "msmtp", `[ "$1" = --pretend ] || { echo "$(id -un) $*" >>/usr/local/sent/mail; cat >/dev/null; }`)
			executable(t, dir+"/programs", "pulse-queue", `[ "$1" != way ] || { echo "$*" >>/usr/local/sent/ways; exit; }; exec queue "$@"`)
			executable(t, dir+"/programs", "pulse-fetch", `[ "$*" = "--wait 4m --limit 9 --password-file /etc/pulse/password imaps://agent%40example.com@imap.example.com/INBOX" ] || exit 64
[ "$(id -un)" = pulse ] && exec fetch /usr/local/mail/owner.eml`)
			must("exec unshare --mount bash --norc")
			must(system)
			signer, key := "", ""
			if level == "signature" {
				must("ssh-keygen -q -t ed25519 -N '' -f /usr/local/mail/key && chown me /usr/local/mail/key")
				signer, key = " --signer /usr/local/mail/key.pub", " --key /usr/local/mail/key"
			}
			said := must("pulse-authorize init --owner me@example.com --inbox imaps://agent%40example.com@imap.example.com/INBOX --dir /etc/pulse" + signer)
			_, queue, _ := strings.Cut(said, "usermod -aG pulse-approvers YOU; ")
			queue, _, _ = strings.Cut(queue, "\n")
			must(queue)
			must(`sed -i 's/^# authserv_id/authserv_id/; s/^allow = \[\]/allow = ["@partner.example"]/' /etc/pulse/policy.toml
cat >>/etc/pulse/environment <<'END'
FETCH_FLAGS="--limit 9"
WORKER="agent"
RUN_FLAGS="--proposals --env KEY"
SENDER="/usr/local/libexec/pulse/senders/msmtp -C /etc/pulse/msmtprc"
END
(umask 077; echo 'KEY="k1"' >/etc/pulse/key; echo pw >/etc/pulse/password; chown pulse /etc/pulse/password); echo 'TO="api.example.com:443"' >/etc/pulse/out-pulse-worker`)
			if must("cat /etc/pulse/crontab") != strings.Join(read(t, "../scripts/crontab"), "\n")+"\n" {
				t.Error("/etc/pulse/crontab is not scripts/crontab")
			}
			env, entries := crontab(t, strings.Join(read(t, "../scripts/crontab"), "\n"))
			put(t, dir, "cron.env", "env=('"+strings.Join(env, "' '")+"')\n")
			all := func() {
				t.Helper()
				for _, e := range entries {
					put(t, dir, "entry", e.command)
					if out := must("cron " + e.account + " entry"); out != "" {
						t.Errorf("%s\ncron would mail %q", e.command, out)
					}
				}
			}
			all()
			all()
			if out := must("cat /usr/local/sent/mail 2>&1 || true"); !strings.Contains(out, "No such file") {
				t.Fatalf("before anybody agreed: %s", out)
			}
			must("as me pulse-approve yes" + key + " $(as me pulse-queue list --state awaiting_review --json | jq -r .task.id)")
			all()
			all()
			if out := must("cat /usr/local/sent/mail"); out != "pulse-sender --debug -C /etc/pulse/msmtprc -- bob@partner.example\n" {
				t.Errorf("sent: %q", out)
			}
			if out := must("sort -u /usr/local/sent/ways"); out != "way --listen /run/pulse-out/pulse-worker --owner pulse-worker api.example.com:443\n" {
				t.Errorf("ways out: %q", out)
			}
			if out := must("as pulse pulse-queue health"); out != "" {
				t.Errorf("health: %s", out)
			}
		})
	}
}
