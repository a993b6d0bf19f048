package monthkit

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pulse/lib/fetch/mailbox/imaptest"
)

const worker = `#!/bin/bash
read -r line
[[ $line =~ \"subject\":\"([^\"]*)\" ]]
s=${BASH_REMATCH[1]}
echo "ask $PULSE_TASK $s" >>OUT/notes
[ ! -e OUT/away ] || exit 75
[ ! -e OUT/revoked ] || { echo '401 invalid x-api-key' >&2; exit 1; }
case $s in
*send*) printf '{"action":"external_send","target":["%s"],"args":{"subject":"%s","text":"."}}\n' "${s##* }" "${s%% *}" ;;
*prose*) printf 'Dear you,\n\nnothing is new.\n' ;;
*later*) ! mkdir "OUT/once-$PULSE_TASK" 2>/dev/null || exit 75 ;;
*crash*) echo 'it broke' >&2; exit 1 ;;
esac
`

const sender = `#!/bin/bash
cat >/dev/null
[ ! -e OUT/nosmtp ] || exit 75
echo "sent $PULSE_TASK -" >>OUT/notes
`

const notify = `#!/bin/bash
cat >>OUT/notices
`

// newWorld makes a machine. Its time begins at start.
func newWorld(t *testing.T, seed uint64, bin string, start time.Time) *world {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 28)), dir: t.TempDir(), place: "queue"}
	w.model, w.wake = newModel(), map[string]bool{}
	w.disk = w.volume()
	w.inbox = imaptest.Start(t, false)
	for _, d := range []string{"etc", "lock", "run", "bin", "out", "home"} {
		if err := os.Mkdir(filepath.Join(w.dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{filepath.Dir(w.dir), w.dir} {
		if err := os.Chmod(d, 0o755); err != nil { // the account of the worker comes through
			t.Fatal(err)
		}
	}
	if err := os.Chmod(w.dir+"/out", 0o777); err != nil {
		t.Fatal(err)
	}
	// The clock lies beside them.
	if out, err := exec.Command("bash", "-c", `cp "$0"/pulse-* "$1"`, bin, w.dir+"/bin").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	as := "" // without root everything has one account, and health is told so
	if os.Geteuid() == 0 {
		as = "--as nobody"
	}
	w.env, w.jobs = readCrontab(t, strings.NewReplacer("/var/lib/pulse/queue", w.queue(), "/var/lib/pulse/lock/", w.dir+"/lock/",
		"/run/", w.dir+"/run/", "/etc/pulse/", w.dir+"/etc/", "PATH=", "PATH="+w.dir+"/bin:",
		"--as pulse-reader", as, "--as pulse-worker", as, "--as pulse-sender", as, "--as pulse-drafter", as))
	w.put("out/notes", "", 0o666)
	w.keys()
	w.settle()
	w.at(start.In(zone))
	w.must("pulse-queue init")
	if err := os.Chtimes(w.queue()+"/format", w.now, w.now); err != nil { // when it was made, by the kernel's clock
		t.Fatal(err)
	}
	return w
}

// queue returns the queue's directory, or its last one if it is in a database.
func (w *world) queue() string { return w.disk + "/" + w.place }

// put writes a file of the machine.
func (w *world) put(name, text string, mode os.FileMode) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "OUT", w.dir+"/out")), mode); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		w.t.Fatal(err)
	}
}

// take removes a file of the machine.
func (w *world) take(name string) {
	if err := os.Remove(filepath.Join(w.dir, name)); err != nil {
		w.t.Fatal(err)
	}
}

// settle writes what lies in /etc/pulse, and the programs.
func (w *world) settle() {
	w.put("bin/worker", worker, 0o755)
	w.put("bin/sender", sender, 0o755)
	w.put("bin/notify", notify, 0o755)
	w.put("etc/password", imaptest.Password+"\n", 0o600)
	w.put("etc/environment", fmt.Sprintf(`INBOX="imaps://%s@%s/INBOX"
FETCH_FLAGS="--tls-ca %s"
ADD_FLAGS="--notify %s/bin/notify"
HEALTH_FLAGS="%s"
READER=""
WORKER="%s/bin/worker"
RUN_FLAGS="--proposals --notify %s/bin/notify"
SENDER="%s/bin/sender"
DRAFTER=""
`, imaptest.User, w.inbox.Addr, w.inbox.CA, w.dir, w.accepted(), w.dir, w.dir, w.dir), 0o644)
	w.policy(perDay, externals)
}

// keys makes the person's key.
func (w *world) keys() {
	w.key = w.dir + "/home/key"
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", w.key).CombinedOutput(); err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
	public, err := os.ReadFile(w.key + ".pub")
	if err != nil {
		w.t.Fatal(err)
	}
	w.put("etc/allowed_signers", owner+` namespaces="pulse-approve" `+string(public), 0o644)
}

// perDay is limits.max_per_day.
const perDay = 30

func (w *world) policy(perDay int, listed []string) {
	w.put("etc/policy.toml", fmt.Sprintf(`authserv_id = "mx.example.com"
owners = ["%s"]
allowed_external = ["%s"]
recipients = ["agent@example.com"]
[limits]
max_per_day = %d
[outbound]
allow = ["@partner.example", "@customer.example"]
[approval]
allowed_signers = "%s/etc/allowed_signers"
ledger = "%s/home/nonces"
`, owner, strings.Join(listed, `", "`), perDay, w.dir, w.dir), 0o644)
}
