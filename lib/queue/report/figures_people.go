package report

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"pulse/lib/queue/health"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/duration"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/record"
)

// What stats says of people, in its three forms.

// percents are the shares of answers of which stats says how long they took at most.
var percents = []struct {
	name, words string
	percent     int
}{{"median", "half within", 50}, {"p90", "nine in ten within", 90}, {"max", "all within", 100}}

// externalCap returns the share of the caps that external senders have.
func externalCap(most int) int { return max(1, most/2) }

func (f *Figures) peopleMetrics() []metric {
	m := f.month
	list := []metric{
		{"pulse_exits_75_1h", "Attempts of the last hour that ended with exit status 75.", number(m.later[0])},
		{"pulse_answers_30d", "Answers of people by sender, and tasks that expired for want of one.", m.answersBySender().samples()},
	}
	for _, p := range percents {
		if m.person.n > 0 {
			list = append(list, metric{"pulse_answer_" + p.name + "_seconds",
				"How long tasks waited for the answer of a person: " + p.words + ".", seconds(m.person.within(p.percent))})
		}
	}
	if f.most > 0 {
		list = append(list, metric{"pulse_starts_24h_max", "The most starts of a kind within 24 hours.", []sample{
			{labels("external", "false"), int64(f.most)}, {labels("external", "true"), int64(externalCap(f.most))},
		}})
	}
	return append(list,
		metric{"pulse_sender_starts_24h", "Starts of workers within the last 24 hours, by sender.", m.starts.samples()},
		metric{"pulse_failing_senders", "Senders whose mail was proven within a week, and is not any more.", number(len(m.proofs.Failing()))})
}

// samples returns a sample for each sender and kind.
func (b *bySender) samples() (list []sample) {
	for _, s := range b.top(statsSenders) {
		for i, kind := range b.kinds {
			pairs := []string{"sender", s.sender, b.of, kind}
			if b.as != "" {
				pairs = append(pairs, b.as, s.as)
			}
			list = append(list, sample{labels(pairs...), int64(s.n[i])})
		}
	}
	return list
}

func (f *Figures) peopleJSON(o *record.Object) {
	m := f.month
	var answers record.Object
	o.Time("log_since", m.oldest)
	o.Raw("exits_75_by_hour", []byte(strings.ReplaceAll(fmt.Sprint(m.later), " ", ",")))
	answers.Int("count", int64(m.person.n))
	for _, p := range percents {
		if m.person.n > 0 {
			answers.Int(p.name, int64(m.person.within(p.percent).Seconds()))
		}
	}
	o.Raw("answer_seconds", answers.Bytes())
	o.Raw("answers", m.answersBySender().json())
	o.Raw("starts_24h_by_sender", m.starts.json())
	if f.most > 0 {
		o.Int("max_per_day", int64(f.most))
		o.Int("max_per_day_external", int64(externalCap(f.most)))
	}
	o.Raw("failing", record.List(nil, m.proofs.Failing(), func(p *health.Proof, dst []byte) []byte {
		one := record.ObjectAfter(dst)
		one.Str("sender", p.Sender)
		one.Str("reason", p.Reason)
		one.Time("passed", p.Passed)
		one.Time("failed", p.Failed)
		return one.Bytes()
	}))
}

func (b *bySender) json() []byte {
	return record.List(nil, b.top(statsSenders), func(s *sent, dst []byte) []byte {
		one := record.ObjectAfter(dst)
		one.Str("sender", s.sender)
		if b.as != "" {
			one.Bool(b.as, s.external())
		}
		for i, kind := range b.kinds {
			one.Int(kind, int64(s.n[i]))
		}
		return one.Bytes()
	})
}

// peopleRows returns the rows of the table, each a name and a text that was escaped.
func (f *Figures) peopleRows() (rows [][2]string) {
	m, later := f.month, 0
	add := func(name, text string) {
		if text != "" {
			rows = append(rows, [2]string{name, text})
		}
	}
	for _, n := range m.later {
		later += n
	}
	if later > 0 {
		add("later", fmt.Sprintf("%s ended with 75 in 24 h, %d within the last hour", cmdline.Count(later, "attempt"), m.later[0]))
	}
	if m.person.n > 0 {
		text := cmdline.Count(m.person.n, "answer")
		for _, p := range percents {
			text += ", " + p.words + " " + duration.Span(m.person.within(p.percent))
		}
		add("answers", text)
	}
	add("yes", leading(m.answersBySender(), digestSome, 60, func(s *sent) string { return fmt.Sprintf("%d of %d", s.n[0], s.all()) }))
	for i, kind := range m.starts.kinds {
		add(kind+"s of", leading(&m.starts, digestSome, 60, func(s *sent) string {
			switch {
			case s.n[i] == 0:
				return ""
			case f.most == 0:
				return strconv.Itoa(s.n[i])
			case s.external():
				return fmt.Sprintf("%d of %d", s.n[i], externalCap(f.most))
			}
			return fmt.Sprintf("%d of %d", s.n[i], f.most)
		}))
	}
	failing := m.proofs.Failing()
	for _, one := range failing[:min(len(failing), digestSome)] {
		add("failing", fmt.Sprintf("%s: %s since %s, proven until %s", shown(one.Sender), shown(one.Reason),
			one.Failed.UTC().Format(time.RFC3339), one.Passed.UTC().Format(time.RFC3339)))
	}
	return rows
}

// leading lists the n most frequent senders, each in at most so many columns and with number(s), leaving out
// those for whom it is empty.
func leading(b *bySender, n, columns int, number func(*sent) string) string {
	var parts []string
	for _, s := range b.top(n) {
		if text := number(&s); text != "" {
			parts = append(parts, cmp.Or(escape.Clip(escape.ASCII(s.sender), columns), "-")+" "+text)
		}
	}
	return strings.Join(parts, ", ")
}

// inAll is how often there was something of a sender.
func inAll(s *sent) string { return fmt.Sprintf("(%d)", s.all()) }
