package health

import (
	"pulse/lib/shared/audit"
	"pulse/lib/shared/duration"
	"pulse/lib/shared/task"
)

// message notes whether a message was accepted or refused, if the line is about one.
func (p *past) message(l *audit.Line) {
	switch {
	case l.Source == "":
	case l.Event == task.Added && p.taken.IsZero():
		p.taken = l.Time
	case l.Event == task.Refused && p.refusal == "":
		p.refusal = l.Change.Reason
	}
}

// refused finds that no message is accepted, though messages may come. Their senders get
// no answer, and silence does not notice. Like silence it counts from the making of the
// queue at first, and does not count if tasks come only in other ways.
func (f *Facts) refused(p *past) []Finding {
	since := p.taken
	if since.Before(f.Made) {
		since = f.Made
	}
	if f.MaxRefused == 0 || f.Now.Sub(since) <= f.MaxRefused || p.mail.IsZero() && p.added {
		return nil
	}
	text, do := "no message was taken for "+duration.Span(f.MaxRefused)+": ", "crontab -l"
	if p.refusal == "" {
		text += "none came"
	} else {
		text += "all that came were refused, the last one as " + p.refusal
		do = "pulse-queue log --event refused"
	}
	return []Finding{{Code: codeRefused, Text: text, Do: do}}
}
