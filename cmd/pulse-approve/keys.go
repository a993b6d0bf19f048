package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"pulse/lib/approve/desk"
	"pulse/lib/approve/screen"
	"pulse/lib/approve/tty"
	"pulse/lib/queue"
	"pulse/lib/queue/consent"
	"pulse/lib/queue/store"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/task"
)

// showing is one task of a walk, as it was when it was shown.
type showing struct {
	*walker
	task  *queue.Stored
	pages *screen.Pages
}

// errStay means that there is no answer yet, and the keys are shown again.
var errStay = errors.New("no answer yet")

// answer shows the task to its end and takes keys until it is answered or skipped. If the
// process was stopped meanwhile, the task is shown again first.
func (s *showing) answer() error {
	err := s.show()
	for err == nil || errors.Is(err, errStay) || errors.Is(err, tty.ErrResumed) {
		if errors.Is(err, tty.ErrResumed) {
			err = s.show()
			continue
		}
		var key string
		if key, err = s.key(); errors.Is(err, tty.ErrResumed) {
			continue
		}
		if err != nil {
			return desk.Unanswered(err)
		}
		do, known := keys[key]
		switch {
		case key == "":
			err = s.goOn()
			continue
		case !known:
			err = s.Terminal.Tell("no such key; ? explains them")
			continue
		}
		if err = do(s); err == nil {
			return nil
		}
	}
	return err
}

func (s *showing) show() error {
	return desk.Unanswered(s.Terminal.Show(s.Context(), s.pages, !s.part.whole()))
}

// goOn shows the pages that were skipped, if any were.
func (s *showing) goOn() error {
	if s.pages.Skipped() == "" {
		return nil
	}
	return desk.Unanswered(s.Terminal.GoOn(s.Context(), s.pages))
}

func (s *showing) key() (string, error) {
	if skipped := s.pages.Skipped(); skipped != "" {
		if err := s.Terminal.Tell(skipped + ": no y before they were shown; Enter shows them"); err != nil {
			return "", err
		}
	}
	return s.Terminal.Ask(s.Context(), "your answer [y,m,n,e,r,s,b,t,a,q,?]: ")
}

// keys are the answers that can be typed. Each returns nil once the task is settled.
var keys map[string]func(*showing) error

func init() {
	keys = map[string]func(*showing) error{
		"y": (*showing).yes,
		"m": (*showing).many,
		"n": (*showing).no,
		"e": (*showing).correct,
		"r": (*showing).revise,
		"s": func(*showing) error { return nil },
		"b": func(s *showing) error { return stay(s.show()) },
		"t": (*showing).thread,
		"a": func(s *showing) error { return s.tell(screen.Always(s.task, s.Policy)) },
		"q": func(*showing) error { return tty.ErrQuit },
		"?": func(s *showing) error { return s.tell(append(slices.Clone(help), screen.Words...)) },
	}
}

var help = []string{
	"  y  approve it: once, these bytes, for 24 hours; wants the code",
	"  m  approve it and others for the same ask, shown whole on one page: one code",
	"  n  refuse it: wants a reason and the code",
	"  e  correct it in an editor: what comes of it is shown, and wants the code",
	"  r  refuse it as n does, and have its ask started again with the reason",
	"  s  skip it: it goes on waiting",
	"  b  show it again from the beginning",
	"  t  the text of the ask that it is for, or that it answers, in whole",
	"  a  what a policy would have to say so as not to ask; stores nothing",
	"  q  quit: what is left goes on waiting",
}

// tell says something and stays.
func (s *showing) tell(lines []string) error { return stay(s.Terminal.Tell(lines...)) }

func stay(err error) error {
	if err != nil {
		return err
	}
	return errStay
}

func (s *showing) yes() error {
	if s.pages.Skipped() != "" {
		return errStay
	}
	err := s.settle(approving())
	if err == nil {
		return s.Terminal.Tell(s.gave(s.task))
	}
	return s.undone(err)
}

// gave counts a yes, and says what came of it: which run starts the task, or whose yes it waits for.
func (s *showing) gave(to *queue.Stored) string {
	if left := s.Left(to.Task.ID); left != "" {
		s.partly++
		return escape.Message("partly approved: it waits for " + left)
	}
	s.approved++
	return "approved: " + desk.Starts(to)
}

// many shows the task once more with all that may stand on a page with it, and approves them with
// one code.
func (s *showing) many() error {
	ids, err := s.akin()
	if err != nil {
		return err
	}
	if ids, err = s.Beside(s.task, ids, approving()); err != nil {
		return s.undone(fmt.Errorf("%w: %w", store.ErrConflict, err))
	}
	if len(ids) < 2 {
		return s.tell([]string{"nothing else may stand on its page: other asks, actions and recipients do not"})
	}
	done, err := s.Together(ids, approving())
	partly := 0
	for _, id := range ids {
		if s.Left(id) != "" {
			partly++
		}
	}
	s.approved, s.partly = s.approved+done-partly, s.partly+partly
	if done > 0 {
		for _, id := range ids[1:] {
			s.paged[id] = true
		}
		return cmp.Or(err, s.Terminal.Tell(fmt.Sprintf("approved: %d%s", done-partly, some(partly, "partly approved"))))
	}
	if errors.Is(err, tty.ErrQuit) || errors.Is(err, tty.ErrRefused) || errors.Is(err, store.ErrConflict) {
		return s.tell([]string{escape.Message(err.Error())})
	}
	return err
}

// akin returns what waits, is of the part and began with the same ask.
func (s *showing) akin() (ids []string, err error) {
	all, err := s.waiting()
	if err != nil {
		return nil, err
	}
	for _, stay := range all {
		at, err := s.place(stay.id)
		if err != nil {
			return nil, err
		}
		if at.in && at.root == s.task.Root() {
			ids = append(ids, stay.id)
		}
	}
	return ids, nil
}

// thread shows the ask that the task belongs to.
func (s *showing) thread() error {
	lines, err := s.Ask(s.task)
	if err != nil {
		return err
	}
	return stay(desk.Unanswered(s.Terminal.Show(s.Context(), screen.NewPages(lines), false)))
}

// correct lets a person change the task in an editor, and approve what comes of it.
func (s *showing) correct() error {
	as, err := s.Correct(s.task)
	switch {
	case err == nil:
		return s.Terminal.Tell("corrected and " + s.gave(as))
	case errors.Is(err, tty.ErrRefused), errors.Is(err, store.ErrConflict), fault.KindOf(err) == fault.Temporary:
		return s.undone(err)
	case fault.KindOf(err) == fault.Refused && !errors.Is(err, tty.ErrEnd) && !errors.Is(err, tty.ErrQuit), fault.KindOf(err) == fault.Usage:
		return s.tell([]string{escape.Message(err.Error())})
	}
	return err
}

func (s *showing) no() error {
	return s.refuse("refused, also if it comes again", func(reason string) desk.Question { return refusing(reason, s.Level) })
}

// revise refuses the task with words, and has its ask started again.
func (s *showing) revise() error {
	err := s.refuse("refused: its agent is told why, and starts again", func(reason string) desk.Question {
		return revising(reason, s.Level, &s.Policy.Limits)
	})
	if errors.Is(err, queue.ErrRevised) {
		return s.tell([]string{escape.Message(err.Error() + ": nothing was changed")})
	}
	return err
}

func (s *showing) refuse(said string, question func(reason string) desk.Question) error {
	reason, err := s.reasonLine()
	if err != nil {
		return desk.Unanswered(err)
	}
	if reason == "" {
		return s.tell([]string{"no reason, no answer: nothing was changed"})
	}
	if err := s.Terminal.Tell(screen.Quote("reason", reason)...); err != nil {
		return err
	}
	if err = s.settle(question(reason)); err == nil {
		s.refused++
		return s.Terminal.Say(said)
	}
	return s.undone(err)
}

func (s *showing) settle(q desk.Question) error { return s.Settle(s.task, q) }

// undone explains an answer that did not count. A wrong code changes nothing. If another
// approver answered, the walk goes on; if the task differs from what was shown for any
// other reason, the walk ends.
func (s *showing) undone(err error) error {
	if errors.Is(err, tty.ErrRefused) {
		return s.tell([]string{"that is not the code: nothing was changed"})
	}
	if errors.Is(err, consent.ErrNotGood) {
		return s.tell([]string{escape.Message(err.Error())})
	}
	if !errors.Is(err, store.ErrConflict) {
		return err
	}
	moved, lerr := s.elsewhere()
	if lerr != nil {
		return lerr
	}
	if !moved {
		return err
	}
	return s.overtaken(s.task)
}

// elsewhere reports whether the task made a transition after it was shown: it is in
// another state, or has left this one and come back.
func (s *showing) elsewhere() (moved bool, err error) {
	id := s.task.Task.ID
	err = s.Queue.View(func(v store.View) error {
		now, err := v.Where(id)
		if err != nil || now != task.Awaiting {
			moved = now != ""
			return err
		}
		t, err := queue.Load(v, now, id)
		moved = err == nil && !t.Task.Since.Equal(s.task.Task.Since)
		return nil
	})
	return moved, err
}
