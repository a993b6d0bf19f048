package man

import (
	"os"
	"strings"
	"testing"
)

// The blocks of pulse-deploy(7) are pasted as root, in the order of the
// page, on a machine that nobody else sees, with stand-ins for apt-get and systemctl. What a
// person does after that works: they answer, and a queue that was restored starts tasks again.
func TestPastedAsRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root has accounts to change to: the blocks of pulse-deploy(7) were not pasted")
	}
	dir := world(t)
	must := steps(t, dir)
	for _, name := range []string{"apt-get", "systemctl"} {
		executable(t, dir+"/programs", name, `echo "${0##*/} $*" >>/usr/local/sent/said`)
	}
	executable(t, dir+"/programs", "pulse-fetch", "exec fetch /usr/local/mail/owner.eml")
	must("exec unshare --mount bash --norc")
	must(system)
	must("mount -t tmpfs none /home && useradd --no-create-home --user-group you && mkdir -p /etc/profile.d && unset PULSE_POLICY PULSE_QUEUE && cd / && umask 077")
	for _, b := range read(t, "pulse-deploy.7").blocks() {
		name, ok := strings.CutPrefix(b.mark, "paste: ")
		if !ok {
			continue
		}
		text := strings.NewReplacer("/var/backups", "/usr/local/backups", "/root/", "/usr/local/backups/", "/var/spool", "/usr/local/spool").
			Replace(strings.Join(b.text, "\n")) + "\n"
		if strings.Contains(text, "\nread -rsp ") {
			text += "s3cret\n"
		}
		put(t, dir, name, text)
		out := must("bash -eu </mnt/" + name)
		switch name {
		case "mailbox":
			must("stat -c '%U %a' /etc/pulse/password | grep -x 'pulse 600' && . /etc/profile.d/pulse.sh")
			if out := must("as you pulse-queue health"); out != "" {
				t.Errorf("health: %s", out)
			}
			must("as you sh -c '. /etc/profile.d/pulse.sh; pulse-approve'")
		case "signature":
			must("as you cat /etc/pulse/allowed_signers /etc/pulse/policy.toml /etc/pulse/environment")
		case "restore":
			if !strings.Contains(out, "STATE") {
				t.Errorf("restored: %s", out)
			}
			must("pulse-queue release --restored && as pulse pulse-queue submit --action read_public later")
			if said := must("cat /usr/local/sent/said"); !strings.Contains(said, "systemctl enable --now pulse.target\n") {
				t.Error(said)
			}
		case "move":
			must("mv /var/lib/pulse /var/lib/old && mv /etc/pulse /etc/old && rm /etc/profile.d/pulse.sh") // another machine
		case "moved":
			must("pulse-queue list | grep scheduled && as you pulse-queue health")
		case "remove-all":
			must("! getent passwd $(sed -n 's/^u \\([^ ]*\\).*/\\1/p' /usr/local/sysusers.conf) pulse-phone | grep . && ! compgen -G '/etc/pulse*' && ! compgen -G '/var/lib/pulse*'")
			return
		}
	}
	t.Error("the page has no block remove-all")
}
