package health

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// Starts that end alike, and none that is good among them, say more of what all workers need than
// of a task: a provider that is away, a key that was revoked, a program that is gone.

// side is what is started by runs of one kind: asks, their readers, or effects with one action.
type side string

// The sides that are not an action.
const (
	asks    side = "asks"
	readers side = "readers"
)

// sideOf returns the side of a start, or of one that failed by the line of its end.
func sideOf(l *audit.Line) side {
	if l.Kind == task.Effect {
		return side(l.Action)
	}
	switch l.Change.Reason {
	case queue.ReasonReading, queue.ReasonUnread, queue.ReasonUnfit:
		return readers
	}
	return asks
}

// streak is how the starts of a side have ended since one ended well. Those that ended
// like most of them are told apart.
type streak struct {
	side        side
	All         int // ends since then
	Alike       int // ends that are like the newest of these
	Exit        int // how those ended, as the log has it
	Said, Task  string
	Since, Last time.Time       // the start of the oldest, the end of the newest
	Tasks       map[string]bool // those that ended so
}

// The bounds of what is kept of ends, whatever the log holds, and of what is read of it.
const (
	maxSides = 100
	maxAlike = 100 // ways to end, of a side
	maxBack  = 2000
)

// ends folds the log into streaks. It is given the lines newest first.
type ends struct {
	open  map[string]attempt // ends whose start is not reached yet, by task
	sides map[side]*sideEnds
}

type attempt struct {
	at  time.Time
	end audit.End
}

type sideEnds struct {
	all   int
	good  bool // an end was
	alike []*streak
}

// add takes a line. How an attempt ended is known from its end, and what it was from its start.
func (e *ends) add(l *audit.Line) {
	if e.open == nil {
		e.open, e.sides = map[string]attempt{}, map[side]*sideEnds{}
	}
	if l.Event == task.Started {
		if a, ended := e.open[l.Task]; ended {
			delete(e.open, l.Task)
			e.start(l, &a)
		}
	} else if counts(l) {
		end := audit.End{Exit: l.End.Exit, Said: strings.Clone(l.End.Said)} // a line is long
		e.open[strings.Clone(l.Task)] = attempt{l.Time, end}
	}
}

// counts reports whether a line is the end of an attempt that says anything of what workers need:
// it was not told to stop, and it did not end because of what its client did.
func counts(l *audit.Line) bool {
	return l.End != nil && l.Moves() && l.Change.Reason != queue.ReasonDied && l.Change.Reason != queue.ReasonUngated
}

func (e *ends) start(l *audit.Line, a *attempt) {
	of := sideOf(l)
	s := e.sides[of]
	if s == nil && len(e.sides) < maxSides {
		s = &sideEnds{}
		e.sides[side(strings.Clone(string(of)))] = s
	}
	if s == nil || s.good {
		return
	}
	if s.good = a.end.Exit == 0; s.good {
		return
	}
	s.all++
	i := slices.IndexFunc(s.alike, func(k *streak) bool { return alike(k.Exit, a.end.Exit, k.Said, a.end.Said) })
	if i < 0 {
		if i = len(s.alike); i == maxAlike {
			return
		}
		k := &streak{side: of, Exit: a.end.Exit, Said: a.end.Said, Task: strings.Clone(l.Task), Last: a.at, Tasks: map[string]bool{}}
		s.alike = append(s.alike, k)
	}
	k := s.alike[i]
	k.Alike, k.Since = k.Alike+1, l.Time
	k.Tasks[strings.Clone(l.Task)] = true
}

// streaks returns one streak of each side that has no good end: that of most ends, the newest of
// those with as many.
func (e *ends) streaks() (list []streak) {
	for _, s := range e.sides {
		if len(s.alike) == 0 {
			continue
		}
		most := s.alike[0]
		for _, k := range s.alike {
			if k.Alike > most.Alike {
				most = k
			}
		}
		one := *most
		one.All = s.all
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b streak) int { return strings.Compare(string(a.side), string(b.side)) })
	return list
}

// alike reports whether two attempts ended in the same way. What is said by a worker that asks to
// be run later does not count: its status says it.
func alike(exit, other int, said, also string) bool {
	return exit == other && (exit == queue.ExitLater || gist(said) == gist(also))
}

// gist returns a line that a program wrote without the words that differ each time, as times and
// ids do: those that hold a digit and are not a status such as 401.
func gist(said string) string {
	words := strings.FieldsFunc(said, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.:/@+", r)
	})
	return strings.Join(slices.DeleteFunc(words, func(w string) bool {
		w = strings.Trim(w, "-_.:/@+")
		digits := len(w) - len(strings.TrimLeft(w, "0123456789"))
		return strings.ContainsAny(w, "0123456789") && (digits != len(w) || len(w) != 3) || w == ""
	}), " ")
}

// repeats reports whether today (UTC), or within two days if a person knows of the streak, an attempt
// ended like the one whose end is the line: of the same task, or of the same side and none ended well
// since. The line is in the log.
func repeats(v store.View, line *audit.Line, known bool) (repeats bool, err error) {
	n, own, well := 0, false, false
	good := []string{queue.ReasonDone, queue.ReasonPaused, queue.ReasonNoMore}
	if sideOf(line) == readers {
		good = []string{queue.ReasonExtracted}
	}
	err = v.Back(func(l audit.Line) bool {
		if n++; n > maxBack || !sameDay(l.Time, line.Time) && !(known && line.Time.Sub(l.Time) < stale) {
			return false
		}
		switch {
		case l.End == nil || l.Kind != line.Kind || l.Kind == task.Effect && l.Action != line.Action:
		case l.Task == line.Task && !own:
			own = true
		case slices.Contains(good, l.Change.Reason):
			well = true
		default:
			repeats = (!well || l.Task == line.Task) && l.Change.Reason == line.Change.Reason &&
				alike(l.End.Exit, line.End.Exit, l.End.Said, line.End.Said)
		}
		return !repeats
	})
	return repeats, err
}

func sameDay(a, b time.Time) bool {
	return a.UTC().Format(time.DateOnly) == b.UTC().Format(time.DateOnly)
}
