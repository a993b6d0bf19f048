package queue

import (
	"pulse/lib/queue/proposal"
	"pulse/lib/queue/store"
	"pulse/lib/shared/record"
	"pulse/lib/shared/task"
)

// ReasonCloseUnproven is the reason of a task.close that waits for a person, because no
// proven message speaks for it.
const ReasonCloseUnproven = "close_unproven"

// Closes returns the task that s is a task.close of, or the empty string.
func (s *Stored) Closes() string {
	if !s.own() || s.Request.Tool != proposal.Close {
		return ""
	}
	if id := proposal.Arg(s.Request.Args, "task"); task.ValidID(id) {
		return id
	}
	return ""
}

// unproven reports whether s closes a task, and its evidence is not a verified message of
// the sender of the root. What an agent read elsewhere may tell it to close a task that
// somebody still waits for.
func unproven(v store.View, s *Stored) (bool, error) {
	if !s.own() || s.Request.Tool != proposal.Close {
		return false, nil
	}
	if s.Request.Evidence == "" {
		return true, nil
	}
	var evidence []string
	err := s.Request.Evidence.Elements(func(_ int, v record.Value) error {
		var id string
		err := v.Into(&id)
		evidence = append(evidence, id)
		return err
	})
	if err != nil || len(evidence) == 0 {
		return true, nil
	}
	root, err := anywhere(v, s.Identity.Root)
	return root == nil || !root.Identity.Verified || !root.named(evidence), err
}

// named reports whether evidence names only the message of s. s is nil if the task is gone.
func (s *Stored) named(evidence []string) bool {
	for _, id := range evidence {
		if s == nil || s.Message == nil || id == "" || id != s.Message.ID && id != s.Message.Digest {
			return false
		}
	}
	return true
}
