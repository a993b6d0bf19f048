package main

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// step is one thing that is done, which is a line of what is printed.
type step struct {
	what string
	do   func() error
}

// play goes through all steps.
func (w *world) play() error {
	for _, s := range []step{
		{"there are nine machines at a switch", w.machinesUp},
		{"two servers, the second one a synchronous standby", w.servers},
		{"logins, certificates, policies and crontabs", w.configure},
		{"a login needs the certificate of its name, and has no room of its own", w.forged},
		{"all work; mail comes in, and two people say yes", w.working},
		{"a runner is cut off with its worker", w.cutOff},
		{"a gate loses its power", w.gate},
		{"the other runner loses its power in its worker", w.runner},
		{"the sender loses its power while it hands over", w.sender},
		{"the primary loses its power, the standby is promoted, and the first one is made a standby", w.primary},
		{"the worker that was cut off is ended, the task is started elsewhere, and the runner comes back", w.healed},
		{"everything that was handed in is done", w.drained},
		{"nothing is lost, doubled, or different from machine to machine", w.count},
		{"a database that was restored starts nothing until a person says so", w.restored},
		{"the queue moves into a directory, and on to another database, with the same head", w.moved},
	} {
		if err := s.do(); err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
		w.log("%s", s.what)
	}
	return nil
}

var (
	servers  = []string{"db1", "db2"}
	jobs     = []string{"gate1", "gate2", "runner1", "runner2", "sender1"}
	people   = []string{"ann", "bob"}
	accounts = map[string]string{"gate1": "pulse", "gate2": "pulse", "runner1": "root", "runner2": "root", "sender1": "root", "ann": "ann", "bob": "bob"}
)

func (w *world) machinesUp() error {
	if err := w.prepare(); err != nil {
		return err
	}
	err := w.each(names, func(m *computer) error {
		err := m.boot()
		if err == nil {
			_, err = m.Sh(system)
		}
		return err
	})
	if err == nil {
		err = w.paste("", "ca", nil)
	}
	if err != nil {
		return err
	}
	return w.each(names, func(m *computer) error {
		copied := fmt.Sprintf("cp ca/ca.crt ca/%[1]s.crt ca/%[1]s.key %[1]s/root/tls", m.name)
		if strings.HasPrefix(m.name, "db") {
			copied += "; cp ca/standby.crt ca/standby.key " + m.name + "/root/tls"
		}
		return w.here(copied)
	})
}

// servers makes them: a fresh cluster is what the package makes.
func (w *world) servers() error {
	err := w.each(servers, func(m *computer) error {
		_, err := m.Sh(fmt.Sprintf("rm -rf /etc/postgresql/%[1]s /var/lib/postgresql/%[1]s; pg_createcluster %[1]s main -- --no-sync >/dev/null", w.version))
		if err == nil {
			err = w.paste(m.name, "server", nil)
		}
		return err
	})
	if err == nil {
		err = w.paste("db1", "queue", nil)
	}
	if err == nil {
		err = w.paste("db2", "standby", nil)
	}
	return err
}

// configure makes the policy once, and copies it.
func (w *world) configure() error {
	_, err := w.machines["gate1"].Sh(`pulse-authorize init --owner you@example.com --inbox imaps://you%40example.com@imap.example.com/INBOX --dir /etc/pulse >/dev/null
cd /etc/pulse
sed -i 's/^# authserv_id = .*/authserv_id = "mx.example.com"/; s/^allow = \[\]$/&\nmin_reply_interval = "0s"/; s/^allow = \[\]/allow = ["friend@example.org"]/; s/^max_per_run .*/max_per_run = 1000/; s/^max_per_day .*/max_per_day = 100000\nper_sender_per_hour = 100000\npending_per_sender = 1000/' policy.toml
printf 'WORKER="agent"\nRUN_FLAGS="--proposals"\nSENDER="deliver"\n' >>environment
install -o pulse -m 600 /dev/null password
pulse-authorize check --policy policy.toml
cp -a /etc/pulse /srv/policy`)
	if err != nil {
		return err
	}
	return w.each(append(people, jobs...), func(m *computer) error {
		account := accounts[m.name]
		if m.name != "gate1" {
			if _, err := m.Sh("rm -rf /etc/pulse; cp -a /srv/policy /etc/pulse"); err != nil {
				return err
			}
		}
		if m.name == account {
			if _, err := m.Sh("useradd -m " + account); err != nil {
				return err
			}
		}
		if err := w.paste(m.name, "machine", map[string]string{"ME=gate1 ACCOUNT=pulse": "ME=" + m.name + " ACCOUNT=" + account}); err != nil {
			return err
		}
		if m.name == account {
			return nil
		}
		return w.paste(m.name, "crontab", nil)
	})
}

// as returns a line that runs a command as the account of a machine that uses the queue.
func (m *computer) as(line string) string {
	a := accounts[m.name]
	return fmt.Sprintf(`cd /; export PULSE_QUEUE=postgres:///?service=pulse PULSE_POLICY=/etc/pulse/policy.toml HOME=$(getent passwd %[1]s | cut -d: -f6)
exec setpriv --reuid %[1]s --regid %[1]s --init-groups -- bash -euo pipefail -c '%[2]s'`, a, line)
}

// refused runs something that must fail, for a reason.
func (w *world) refused(on, line, why string) error {
	m := w.machines[on]
	out, err := m.Sh(m.as(line))
	if err == nil || !strings.Contains(err.Error(), why) {
		return fmt.Errorf("%s on %s was not refused for %q: %s %v", line, on, why, out, err)
	}
	return nil
}

func (w *world) forged() error {
	return errors.Join(
		w.refused("runner1", "pulse-queue list --queue postgres://ann@db1/pulse?service=pulse", "certificate authentication failed"),
		w.refused("gate1", "pulse-queue list --queue postgres://postgres@db1/pulse?service=pulse", "certificate authentication failed"),
		w.refused("gate1", `psql service=pulse -c "CREATE TABLE public.x ()"`, "permission denied for schema public"),
		w.refused("gate1", `psql service=pulse -c "CREATE TEMPORARY TABLE x ()"`, "permission denied to create temporary tables"),
	)
}

// working starts cron everywhere, a stream of mail, and two people.
func (w *world) working() error {
	if err := w.each(jobs, (*computer).work); err != nil {
		return err
	}
	w.stream()
	for _, name := range people {
		w.awake.Add(1)
		go w.machines[name].answer()
	}
	return w.until("mail was sent", func() (bool, error) { return len(w.noted("sent", "send")) > 0, nil })
}

// stream hands in mail for as long as machines are taken away.
func (w *world) stream() {
	w.streaming.Add(1)
	go func() {
		defer w.streaming.Done()
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for i := 0; ; i++ {
			subject := fmt.Sprintf("mail %d", i)
			if i%3 == 0 {
				subject += " send"
			}
			if err := w.hand(subject); err != nil {
				w.log("%v", err)
			}
			select {
			case <-w.enough:
				return
			case <-tick.C:
			}
		}
	}()
}

// caught hands in a mail, waits until something of it is noted outside, and returns the machine.
func (w *world) caught(subject, file string) (*computer, error) {
	if err := w.hand(subject); err != nil {
		return nil, err
	}
	err := w.until(subject+" is in "+file, func() (bool, error) { return len(w.noted(file, subject)) > 0, nil })
	if err != nil {
		return nil, err
	}
	return w.machines[w.noted(file, subject)[0][2]], nil
}
