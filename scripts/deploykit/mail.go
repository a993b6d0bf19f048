package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pulse/scripts/machine"
)

// letter is a mail that may be forged.
func letter(from, subject string, forged bool) string {
	return machine.Letter(from, subject, strings.ReplaceAll(subject, " ", "-"), forged)
}

// mail puts mail into a mailbox, as the provider does.
func (l *life) mail(user string, letters ...string) act {
	return l.do("/usr/lib/dovecot/dovecot-lda -d " + user + " <<'END'\n" +
		strings.Join(letters, "END\n/usr/lib/dovecot/dovecot-lda -d "+user+" <<'END'\n") + "END")
}

// kept returns what the providers kept of a kind.
func (m *container) kept(kind string) (list []string, err error) {
	names, err := filepath.Glob(filepath.Join(m.root, "srv/provider", kind+"-*"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		list = append(list, string(b))
	}
	return list, nil
}

// gate is the environment of the gate, for a line of sh.
const gate = "export PULSE_POLICY=/etc/pulse/policy.toml PULSE_QUEUE=/var/lib/pulse/queue; "

// record is what a listing says of a task.
type record struct {
	Task struct {
		ID, Kind, State, Reason string
		Restarts                int
	}
	Message  struct{ Subject string }
	Identity struct{ Sender, Trust string }
	Request  struct {
		Action string
		Args   struct{ Subject string }
	}
}

// tasks returns all tasks, the oldest first.
func (m *container) tasks() (list []record, err error) {
	out, err := m.Sh(gate + "runuser -u pulse -- pulse-queue list --all --json")
	if err != nil {
		return nil, err
	}
	for d := json.NewDecoder(strings.NewReader(out)); d.More(); {
		var r record
		if err := d.Decode(&r); err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// only returns the one task of a kind that has this subject.
func (m *container) only(kind, subject string) (record, error) {
	all, err := m.tasks()
	if err != nil {
		return record{}, err
	}
	list := slices.DeleteFunc(slices.Clone(all), func(r record) bool {
		// One stands beside each mail that is proposed, and is not what the agent calls a draft.
		draft := r.Request.Action == "write_local" && !strings.HasPrefix(r.Request.Args.Subject, "draft of ")
		return draft || r.Task.Kind != kind || r.Message.Subject+r.Request.Args.Subject != subject
	})
	if len(list) != 1 {
		return record{}, fmt.Errorf("%d of kind %s are called %q: %+v", len(list), kind, subject, all)
	}
	return list[0], nil
}

// state fails unless the one task of a kind that has this subject is in a state.
func (l *life) state(kind, subject, state string) act {
	return func() error {
		r, err := l.only(kind, subject)
		if err == nil && r.Task.State != state {
			err = fmt.Errorf("%s %q is %s, and not %s: %+v", kind, subject, r.Task.State, state, r)
		}
		return err
	}
}
