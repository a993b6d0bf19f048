package queue

import (
	"pulse/lib/queue/store"
	"pulse/lib/shared/audience"
	"pulse/lib/shared/task"
)

// An ask's audience is that of its message, and of the things that were read in it; what it leads to
// has no larger one. The record of an effect says what was known when it was proposed. That is
// what its pipe says, so wherever it counts, the ask in the queue narrows it.

// Hear sets the ask that an effect began with, and leaves to its audience those who have seen that
// too. If the queue does not have it any more, nobody knows who has.
func (s *Stored) Hear(v store.View) error {
	ask := s
	if s.Kind() != task.Ask {
		var err error
		if ask, err = anywhere(v, s.Root()); err != nil {
			return err
		}
		s.Began = ask
	}
	all, err := seen(v, ask)
	s.Audience = s.Audience.Intersect(all)
	return err
}

// seen returns the audience of an ask, with what was read in it; nil: it can't be read.
func seen(v store.View, ask *Stored) (audience.Audience, error) {
	all := sent(ask)
	if all.None() {
		return all, nil
	}
	read, err := originOf(v, readsOf(ask.Task.ID))
	if err != nil || read.None() {
		return all, err
	}
	more, err := read.Audience(v)
	return all.Intersect(more), err
}

// sent returns the audience of an ask's message alone; nil: it can't be read.
func sent(ask *Stored) audience.Audience {
	if ask == nil || ask.Kind() != task.Ask {
		return audience.Audience{}
	}
	return ask.Audience
}
