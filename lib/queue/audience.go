package queue

import (
	"pulse/lib/shared/audience"
	"pulse/lib/shared/task"
)

// An ask's audience is that of its message, and what it leads to has no larger one. The record of
// an effect says what was known when it was proposed. That is what its pipe says, so wherever it
// counts, the ask in the queue narrows it.

// Hear sets the ask that an effect began with, and leaves to its audience those who have seen that
// too. If the queue does not have it any more, nobody knows who has.
func (s *Stored) Hear(v View) error {
	if s.Kind() == task.Ask {
		return nil
	}
	ask, err := anywhere(v, s.Root())
	if err == nil {
		s.Began, s.Audience = ask, s.Audience.Intersect(seen(ask))
	}
	return err
}

// seen returns the audience of an ask; nil: it can't be read.
func seen(ask *Stored) audience.Audience {
	if ask == nil || ask.Kind() != task.Ask {
		return audience.Audience{}
	}
	return ask.Audience
}
