package queue_test

import (
	"fmt"
	"strings"
	"testing"

	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/label"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// mailTo is the record of the nth mail of an owner, to agent@example.com and some addresses.
func mailTo(n int, to ...string) string {
	fields := fmt.Sprintf(`"headers":[["From","me@example.com"],["To","%s"]],"id"`, strings.Join(append(to, "agent@example.com"), ", "))
	return strings.Replace(fmt.Sprintf(ask, n), `"id"`, fields, 1)
}

// audience returns who has seen what a task is made of, by its file and by its ask.
func (d *desk) audience(id string) string {
	d.t.Helper()
	s := d.find(id)
	if err := d.store.View(s.Hear); err != nil {
		d.t.Fatal(err)
	}
	return s.Audience.String()
}

const toBob = `{"action":"external_send","target":"bob@partner.example","args":{"n":1}}`

// TestAudience: an effect has the audience of its ask, whatever its record says, and so has what
// is proposed for it in turn. Once the ask is gone, nobody knows who has seen it.
func TestAudience(t *testing.T) {
	const both = "agent@example.com, bob@partner.example, me@example.com"
	d := reader(t, nil)
	root, _ := d.add(mailTo(1, "bob@partner.example"))
	d.work("", `{"action":"read_private","tool":"mail.read","args":{}}`, toBob)
	lines := d.outbox()
	for _, line := range lines {
		if !strings.Contains(line, `"audience":["agent@example.com","bob@partner.example","me@example.com"]`) {
			t.Errorf("proposed: %s", line)
		}
	}
	id, _ := d.add(lines[0])
	if got := d.audience(id); got != both {
		t.Errorf("an effect: %s", got)
	}
	d.work(terms.ReadPrivate, toBob)
	for _, line := range d.outbox() {
		for said, want := range map[string]string{`"anyone"`: both, `["bob@partner.example","eve@evil.example"]`: "bob@partner.example", `[]`: "nobody"} {
			i := strings.Index(line, `"audience":[`)
			j := i + strings.Index(line[i:], "]") + 1
			other := reader(t, nil)
			other.add(mailTo(1, "bob@partner.example"))
			id, _ := other.add(line[:i] + `"audience":` + said + line[j:])
			if got := other.audience(id); got != want {
				t.Errorf("a record that says %s: %s, want %s", said, got, want)
			}
		}
	}
	d.now = d.now.AddDate(1, 0, 0)
	d.update(func(tx *queue.Tx) error {
		_, _, err := queue.Prune(tx, task.Completed, []store.ID{store.IDOf(root)}, &queue.Older{}, "me", d.now)
		return err
	})
	if got := d.audience(id); got != "nobody" {
		t.Errorf("of an ask that is gone: %s", got)
	}
}

// TestAudienceDecides: run believes the ask in the queue, and not what a pipe made of the record.
func TestAudienceDecides(t *testing.T) {
	for _, c := range []struct {
		to   []string
		said string
		want terms.Outcome
	}{
		{[]string{"you@example.com"}, `["me@example.com","you@example.com"]`, terms.Confirm},
		{[]string{"you@example.com"}, `"anyone"`, terms.Confirm},
		{nil, `"anyone"`, terms.Reject},
		{[]string{"you@example.com"}, `["me@example.com"]`, terms.Reject},
	} {
		d := reader(t, map[label.Label]policy.Flow{label.Private: {Deny: []string{"external_send"}}})
		d.p.Owners = []string{"me@example.com", "you@example.com"}
		d.add(mailTo(1, c.to...))
		d.work("", `{"action":"external_send","target":"you@example.com","args":{}}`)
		line := d.outbox()[0]
		i := strings.Index(line, `"audience":[`)
		j := i + strings.Index(line[i:], "]") + 1
		id, _ := d.add(line[:i] + `"audience":` + c.said + line[j:])
		s := d.find(id)
		s.Labels = label.Set{{Label: label.Private}}
		var o queue.Outlook
		err := d.store.View(func(v store.View) (err error) {
			o, err = (&queue.Run{Policy: d.p, Max: 1, Effect: terms.ExternalSend}).Outlook(v, &s, d.now)
			return err
		})
		if err != nil || o.Decision.Outcome != c.want {
			t.Errorf("to %v, and it says %s: %+v, %v", c.to, c.said, o.Decision, err)
		}
	}
}
