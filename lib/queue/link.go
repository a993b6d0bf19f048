package queue

import (
	"cmp"
	"slices"

	"pulse/lib/shared/address"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// link finds out which effect a message answers. Its sender says so and must be one of
// those to whom the effect was sent, and proven: anyone can write an id into a field, also
// one who got a copy of the mail. Nothing is decided by a link.
func (in *intake) link(it *item) (l task.Link, err error) {
	if it.Kind() != task.Ask || it.Message == nil || it.Message.Thread == nil || !it.Identity.Verified {
		return l, nil
	}
	id, err := in.nearest(it.Message.Thread)
	if id == "" || err != nil {
		return l, err
	}
	effect, err := anywhere(in.tx, id)
	if effect == nil || err != nil || !effect.sentTo(it.Identity.Sender) {
		return l, err
	}
	l.Answers = id
	l.Thread, err = in.began(effect)
	return l, err
}

// began returns the task with which the conversation began in which an effect was sent. If
// the root of the effect was pruned, only the log says whether that answered anything.
func (in *intake) began(effect *Stored) (string, error) {
	root := effect.Identity.Root
	if !task.ValidID(root) {
		return effect.Task.ID, nil
	}
	ask, err := anywhere(in.tx, root)
	if ask == nil || err != nil {
		return root, err
	}
	return cmp.Or(ask.Task.Thread, root), nil
}

// nearest returns the task that a message answers first of all, if the queue knows it: the
// one in In-Reply-To, or the last of References that it knows.
func (in *intake) nearest(t *envelope.Thread) (id string, err error) {
	refs := slices.Clone(t.References)
	slices.Reverse(refs)
	for _, messageID := range slices.Concat(t.InReplyTo, refs) {
		id := task.SentID(messageID)
		if id == "" {
			continue
		}
		st, err := in.tx.Where(id)
		if err == nil && st == "" {
			st, err = PrunedOf(in.tx, id)
		}
		if st != "" || err != nil {
			return id, err
		}
	}
	return "", nil
}

// sentTo reports whether an effect is a mail to an address that went out, or may have: its
// sender was started, and did not say that nothing happened.
func (s *Stored) sentTo(addr string) bool {
	mail := s.Outward() && s.Decision.Action == terms.ExternalSend && s.Request != nil &&
		(s.Request.Tool == "" || s.Request.Tool == mailTool)
	if !mail || !slices.ContainsFunc(s.Target(), func(t string) bool { return address.Equal(t, addr) }) {
		return false
	}
	switch s.Task.State {
	case task.Running, task.Completed:
		return true
	case task.Awaiting:
		return s.Task.Reason == ReasonUnknownEffect
	case task.Rejected: // such as by a person who found that it had been sent
		return s.begun()
	case task.Failed: // an earlier attempt may have sent it
		return s.Task.Attempts+s.Task.Restarts > 1
	}
	return false
}

// mailTool is the tool of an effect that becomes a mail. Without a tool it becomes one, too.
const mailTool = "mail.send"
