package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"pulse/scripts/machine"
)

// names are the machines, in the order of their addresses. People sit at a machine of their own.
var names = []string{"db1", "db2", "gate1", "gate2", "runner1", "runner2", "sender1", "ann", "bob"}

// world is the machines, the switch between them, and what is outside: a mailbox, what workers
// were asked, and what was sent.
type world struct {
	bin, dir string
	begin    time.Time
	version  string // of PostgreSQL
	blocks   []machine.Block
	machines map[string]*computer

	mu   sync.Mutex
	mail []string // subjects, as they were handed in

	streaming sync.WaitGroup
	enough    chan struct{} // closed: no more mail
	awake     sync.WaitGroup
	night     chan struct{} // closed: nobody says yes any more
	cut       *computer     // which is cut off
	since     time.Time
	ended     chan error    // of its worker
	lasted    time.Duration // how long that took
	apart     []string      // what was seen, for the summary
}

// agent is the worker of asks. What it is asked is known outside. For some it takes long, the first time.
const agent = `#!/bin/bash
subject=$(jq -r .message.subject)
! (exec 9<>/dev/tcp/db1/5432) 2>/dev/null || echo "$(hostname)" >>/srv/reached
first= # made before it is known outside: what is known may lose its power
case $subject in long*) ! mkdir "/srv/first/$subject" 2>/dev/null || first=yes ;; esac
echo "$PULSE_TASK $PULSE_FENCE $(hostname) $subject" >>/srv/asked
[ -z "$first" ] || exec sleep infinity
case $subject in *send*) printf '{"action":"external_send","target":["friend@example.org"],"args":{"subject":"%s","text":"."}}\n' "$subject" ;; esac
`

// sender hands effects over.
const sender = `#!/bin/bash
subject=$(jq -r .request.args.subject)
first=
case $subject in slow*) ! mkdir "/srv/first/effect $subject" 2>/dev/null || first=yes ;; esac
echo "$PULSE_TASK $PULSE_FENCE $(hostname) $subject" >>/srv/sent
[ -z "$first" ] || exec sleep infinity
`

// prepare makes what is outside, and what all machines have below /usr/local.
func (w *world) prepare() error {
	all, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if len(all) == 0 {
		return fmt.Errorf("there is no PostgreSQL: apt-get install postgresql")
	}
	w.version = strings.Split(all[len(all)-1], "/")[4]
	text, err := os.ReadFile("man/pulse-deploy.7")
	if err != nil {
		return err
	}
	if w.blocks, err = machine.Blocks(string(text)); err != nil {
		return err
	}
	tree, err := os.Getwd()
	if err != nil {
		return err
	}
	for name, script := range map[string]string{"agent": agent, "deliver": sender, "pulse-fetch": "#!/bin/sh\nexec fetch maildir:/srv/mail\n"} {
		if err := w.put("local/bin/"+name, script, 0o755); err != nil {
			return err
		}
	}
	hosts := "127.0.0.1 localhost\n"
	for i, name := range names {
		m := &computer{w: w, name: name, address: fmt.Sprintf("10.9.8.%d", i+1)}
		w.machines[name] = m
		hosts += m.address + " " + name + "\n"
	}
	return errors.Join(w.put("local/hosts", hosts, 0o644), w.here(`mount --make-rprivate /
chmod 755 .
for c in queue classify authorize approve; do cp `+w.bin+`/pulse-$c local/bin; done
cp `+w.bin+`/pulse-fetch local/bin/fetch
cp `+tree+`/scripts/systemd/{sysusers,tmpfiles}.conf local
mkdir -p outside/mail/{cur,new,tmp} outside/first ca && chmod 1777 outside outside/first
touch outside/asked outside/sent && chmod 666 outside/asked outside/sent
ip link set lo up
ip link add switch type bridge
ip link set switch up`))
}

// system is what stands for the installation of packages.
const system = `cp /usr/local/hosts /etc/hosts
[ "$(hostname)" = db1 ] || [ "$(hostname)" = db2 ] || { systemd-sysusers /usr/local/sysusers.conf; systemd-tmpfiles --create /usr/local/tmpfiles.conf; } 2>/dev/null
install -d -m 700 /root/tls`

// block returns a block of the page, with the reader's own values in it.
func (w *world) block(name string, values map[string]string) (string, error) {
	b, err := machine.Find(w.blocks, "many", name)
	if err != nil {
		return "", err
	}
	text, err := b.Filled(values)
	return strings.NewReplacer("/15/", "/"+w.version+"/", "ctlcluster 15 ", "ctlcluster "+w.version+" ").Replace(text), err
}

// paste runs a block of the page on a machine, or on a computer beside them.
func (w *world) paste(on, name string, values map[string]string) error {
	text, err := w.block(name, values)
	if err != nil {
		return err
	}
	if on == "" {
		return w.here("cd ca\n" + text)
	}
	_, err = w.machines[on].Sh(text)
	return err
}

// each does something on several machines at once.
func (w *world) each(list []string, do func(m *computer) error) error {
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	for i, name := range list {
		wg.Go(func() { errs[i] = do(w.machines[name]) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// hand puts a mail of the owner into the mailbox.
func (w *world) hand(subject string) error {
	w.mu.Lock()
	w.mail = append(w.mail, subject)
	n := len(w.mail)
	w.mu.Unlock()
	text := machine.Letter(machine.Owner, subject, fmt.Sprint(n), false)
	name := fmt.Sprintf("%d.%d.host", time.Now().Unix(), n)
	return errors.Join(w.put("outside/mail/tmp/"+name, text, 0o644), os.Rename(w.dir+"/outside/mail/tmp/"+name, w.dir+"/outside/mail/new/"+name))
}

// noted returns the lines of a file outside in which a word stands.
func (w *world) noted(file, word string) (list [][]string) {
	b, _ := os.ReadFile(w.dir + "/outside/" + file)
	for line := range strings.SplitSeq(string(b), "\n") {
		if f := strings.SplitN(line, " ", 4); len(f) == 4 && strings.Contains(f[3], word) {
			list = append(list, f)
		}
	}
	return list
}
