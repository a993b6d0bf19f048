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
	"syscall"
	"time"

	"pulse/scripts/machine"
)

func (l *life) do(line string) act {
	return func() error {
		_, err := l.Sh(line)
		return err
	}
}

func (l *life) start(units ...string) act {
	return l.do("systemctl start " + strings.Join(units, " ") + " || { journalctl --no-pager -n 50 -o cat; exit 1; }")
}

// upload puts a package where root's shell begins, as the page wants it: no other is there.
func (l *life) upload(pkg string) act {
	return func() error {
		deb, err := os.ReadFile(pkg)
		if err != nil {
			return err
		}
		_, err = l.Sh("rm -f /root/pulse_*.deb")
		return errors.Join(err, l.put("root/"+filepath.Base(pkg), string(deb), 0o644))
	}
}

// read learns the blocks of the page in the tree.
func (l *life) read() error {
	text, err := os.ReadFile("man/pulse-deploy.7")
	if err != nil {
		return err
	}
	if l.blocks, err = machine.Blocks(string(text)); err != nil {
		return err
	}
	l.pasted = map[string]bool{}
	l.key, err = l.Sh("cat /home/you/key.pub")
	l.key = strings.TrimSpace(l.key)
	return errors.Join(err, known(l.blocks))
}

// installed goes on with the page as it was installed.
func (l *life) installed() error {
	text, err := l.Sh("zcat -f /usr/share/man/man7/pulse-deploy.7*")
	if err != nil {
		return err
	}
	list, err := machine.Blocks(text)
	l.blocks = list
	return errors.Join(err, known(list))
}

// asked fails unless an account asked the model, with its key, and could reach nothing else
// from its box.
func (l *life) asked(account string) act {
	return func() error {
		uid, err := l.Sh("id -u " + account)
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

// yes is what a person types who has an account of this machine.
func (l *life) yes(subject, flags string) act {
	return func() error {
		r, err := l.only("effect", subject)
		if err != nil {
			return err
		}
		return l.confirms("you", gate+"pulse-approve yes "+r.Task.ID+flags)()
	}
}

// confirms runs a line at a terminal, and types the code that it asks for.
func (l *life) confirms(account, line string) act {
	return func() error {
		return l.at(account, func(t *terminal) error {
			if err := t.Type(line + "\r"); err != nil {
				return err
			}
			code, err := t.Code()
			if err != nil {
				return err
			}
			return errors.Join(t.Type(code+"\r"), t.prompted())
		})
	}
}

// types runs a line at a terminal.
func (l *life) types(account, line string) act {
	return func() error {
		return l.at(account, func(t *terminal) error { return errors.Join(t.Type(line+"\r"), t.prompted()) })
	}
}

// worker sets the command of the worker.
func (l *life) worker(command string) act {
	return l.do(`echo 'WORKER="` + command + `"' >>/etc/pulse/environment`)
}

// reached returns what "llm reach" could do, with its uid first.
func (l *life) reached() ([]string, error) {
	out, err := l.Sh("cat /var/lib/pulse-worker/reached; rm /var/lib/pulse-worker/reached")
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
	uid, err := l.Sh("id -u pulse-worker")
	if err != nil {
		return err
	}
	got, err := l.reached()
	if err == nil && !slices.Equal(got, []string{strings.TrimSpace(uid), "read policy", "write home"}) {
		err = fmt.Errorf("a worker reaches %q", got)
	}
	return err
}

// listen makes a fifo at which a program of the machine will say that it is so far.
func (l *life) listen(name string) act {
	return func() (err error) {
		path := filepath.Join(l.root, name)
		if err := errors.Join(syscall.Mkfifo(path, 0o666), os.Chmod(path, 0o666)); err != nil {
			return err
		}
		l.fifo, err = os.OpenFile(path, os.O_RDWR, 0) // which waits for no writer
		return err
	}
}

// heard waits until it is so far.
func (l *life) heard() error {
	err := l.fifo.SetReadDeadline(time.Now().Add(machine.Patience))
	if err == nil {
		_, err = l.fifo.Read(make([]byte, 1))
	}
	if err != nil {
		said, _ := l.Sh(gate + "runuser -u pulse -- pulse-queue list --all; journalctl --no-pager -n 30 -o cat")
		err = fmt.Errorf("%w\n%s", err, said)
	}
	return errors.Join(err, os.Remove(l.fifo.Name()), l.fifo.Close())
}

// told fails unless a telephone was told once.
func (l *life) told(text string) act {
	return func() error {
		all, err := l.kept("notice")
		n := strings.Count(strings.Join(all, "\n"), text)
		if err == nil && n != 1 {
			err = fmt.Errorf("%q was told %d times: %q", text, n, all)
		}
		return err
	}
}

// sound fails unless the queue is.
func (l *life) sound() error {
	return l.do(gate + "runuser -u pulse -- pulse-queue verify >/dev/null; runuser -u pulse -- pulse-queue health")()
}

var level = regexp.MustCompile(`Overall exposure level for (\S+): ([0-9.]+)`)

// exposure prints what systemd counts for the units that run. Those that make a box may have
// more.
func (l *life) exposure() error {
	out, err := l.Sh(`for unit in pulse-{intake,intake@work,extract,run,outbox,effects,health,prune,out@pulse-sender}.service; do
case $unit in pulse-extract.* | pulse-run.*) limit=30 ;; *) limit=15 ;; esac
systemd-analyze security --no-pager --threshold=$limit $unit | grep Overall; done`)
	found := level.FindAllStringSubmatch(out, -1)
	for _, m := range found {
		fmt.Printf("          %s %s\n", m[1], m[2])
	}
	if err == nil && len(found) != 9 {
		err = fmt.Errorf("%d units: %s", len(found), out)
	}
	return err
}
