package man

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The blocks of pulse-deploy(7), up to that of a restore, are pasted as root, in the order of the
// page, on a machine that nobody else sees, with stand-ins for apt-get and systemctl. What a
// person does after that works: they answer, and a queue that was restored starts tasks again.
func TestPastedAsRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root has accounts to change to")
	}
	scripts, err := filepath.Abs("../scripts")
	if err != nil {
		t.Fatal(err)
	}
	dir := world(t)
	sh := start(t, dir)
	must := func(line string) string {
		t.Helper()
		out, status := sh.run(t, strings.NewReplacer("@DIR@", dir, "@BIN@", bin, "@SCRIPTS@", scripts).Replace(line))
		if status != "0" {
			t.Fatalf("%s\nexit %s: %s", line, status, out)
		}
		return out
	}
	for _, name := range []string{"apt-get", "systemctl"} {
		executable(t, dir+"/programs", name, `echo "${0##*/} $*" >>/usr/local/sent/said`)
	}
	executable(t, dir+"/programs", "pulse-fetch", "exec fetch /usr/local/mail/owner.eml")
	must("exec unshare --mount bash --norc")
	must(system)
	must("mount -t tmpfs none /home && useradd --no-create-home --user-group you && mkdir -p /etc/profile.d && unset PULSE_POLICY PULSE_QUEUE && cd /")
	for _, b := range read(t, "pulse-deploy.7").blocks() {
		name, ok := strings.CutPrefix(b.mark, "paste: ")
		if !ok {
			continue
		}
		text := strings.Replace(strings.Join(b.text, "\n"), "/var/backups", "/usr/local/backups", 1) + "\n"
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
			must("as you pulse-approve")
		case "restore":
			if !strings.Contains(out, "STATE") {
				t.Errorf("restored: %s", out)
			}
			must("pulse-queue release --restored")
			if said := must("cat /usr/local/sent/said"); !strings.Contains(said, "systemctl enable --now pulse.target\n") {
				t.Error(said)
			}
			return
		}
	}
	t.Error("the page has no block restore")
}
