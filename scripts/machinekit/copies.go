package main

import (
	"errors"
	"fmt"
	"strings"
)

// sql runs statements on the server that can be written, which is the second one by now.
func (w *world) sql(db, statements string) (string, error) {
	return w.machines["db2"].Sh("cd /; runuser -u postgres -- psql -qAtv ON_ERROR_STOP=1 " + db + " <<'END'\n" + statements + "\nEND")
}

// restored puts an older copy of the database in the place of the queue. A machine that saw more
// starts nothing, and stops the other one, until an approver lends it a login, as the page says.
func (w *world) restored() error {
	m := w.machines["runner1"]
	if _, err := w.sql("postgres", "CREATE DATABASE older TEMPLATE pulse;"); err != nil {
		return err
	}
	if _, err := m.Sh(m.as("pulse-queue hold")); err != nil {
		return err
	}
	if _, err := w.sql("postgres", "ALTER DATABASE pulse RENAME TO newer; ALTER DATABASE older RENAME TO pulse;"); err != nil {
		return err
	}
	err := errors.Join(w.refused("runner1", "pulse-queue run --as pulse-worker -- true", "exit status 75"), w.refused("runner1", "pulse-queue health --all >&2", "restored: "),
		w.refused("runner2", "pulse-queue run --as pulse-worker -- true", "exit status 75"), w.refused("runner2", "pulse-queue health --all >&2", "on runner1: it lacks a line"))
	if err != nil {
		return err
	}
	if err := w.here("mkdir lent; cp -a ann/home/ann/.pg_service.conf ann/home/ann/.postgresql lent; rm -rf outside/lent; mv lent outside"); err != nil {
		return err
	}
	text, err := w.block("resume", nil)
	if err != nil {
		return err
	}
	if _, err := m.Sh("useradd -m ann; cp -a /srv/lent/. ~ann"); err != nil {
		return err
	}
	m.says("set -e\n" + text)
	_, err = m.Sh(m.as("pulse-queue run --as pulse-worker -- true"))
	return err
}

// moved copies the queue there and back.
func (w *world) moved() error {
	gate := w.machines["gate2"]
	if _, err := gate.Sh("install -d -o pulse -m 700 /var/lib/pulse/back"); err != nil {
		return err
	}
	head, err := gate.Sh(gate.as("pulse-queue hold; pulse-queue copy --to ~/back/queue; pulse-queue verify"))
	if err != nil {
		return err
	}
	flat, err := gate.Sh(gate.as("pulse-queue verify --queue ~/back/queue") + "")
	if err == nil {
		_, err = gate.Sh("cp -a /var/lib/pulse/back/queue /srv/queue")
	}
	if err == nil {
		_, err = w.machines["db2"].Sh(`install -d -m 755 /var/lib/pulse; cp -r /srv/queue /var/lib/pulse/queue; chmod -R go= /var/lib/pulse/queue
cd /; runuser -u postgres -- createdb --encoding=UTF8 --template=template0 second
runuser -u postgres -- pulse-queue init --queue 'postgres:///second?host=/run/postgresql'`)
	}
	if err == nil {
		err = w.paste("db2", "copy", map[string]string{"pulse?host": "second?host"})
	}
	if err != nil {
		return err
	}
	second, err := w.sql("second", "SELECT substr(head, 8) FROM pulse.queue")
	if err == nil && (flat != head || second != head || strings.TrimSpace(head) == "") {
		err = fmt.Errorf("the heads are %s, %s and %s", head, flat, second)
	}
	return err
}
