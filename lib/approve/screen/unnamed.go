package screen

import (
	"slices"
	"strings"
	"unicode/utf8"

	"pulse/lib/approve/named"
	"pulse/lib/queue"
	"pulse/lib/shared/address"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/lazy"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/terms"
)

// Unnamed returns what an effect would reach and nobody who is known named, each with the line
// that warns of it: its targets, and arguments that are a URL. What the policy lists is known.
// The line is empty where there is a warning already that its ask can't be read.
func (c *Case) Unnamed(s *queue.Stored) map[string]string {
	if !s.Identity.Effect() || c.Closes != nil {
		return nil
	}
	p := c.Policy
	if p == nil {
		p = policy.Default()
	}
	marks := map[string]string{}
	var talk *named.Conversation
	for _, t := range slices.Concat(s.Target(), urls(s)) {
		if _, met := marks[t]; met || Listed(p, t) {
			continue
		}
		if talk == nil {
			talk = named.Of(p.Outbound.Same, c.sources()...)
		}
		by := talk.Find(t)
		switch why := by.Warning(shortened(t)); {
		case why == "":
		case !c.Root.readable():
			marks[t] = ""
		default:
			marks[t] = exact("warning", why)
		}
	}
	return marks
}

// mostNamed is how many bytes of a target are repeated in a warning.
const mostNamed = 100

func shortened(target string) string {
	if len(target) <= mostNamed {
		return target
	}
	return target[:mostNamed] + "..."
}

// Listed reports whether a policy lists a target: an owner, a partner, or what outbound.allow has.
func Listed(p *policy.Policy, target string) bool {
	return p.Outbound.Lists(target) || address.Listed(p.AllowedExternal, target) ||
		slices.ContainsFunc(p.Owners, func(o string) bool { return address.Equal(o, target) })
}

// urls returns the arguments of an effect that are a URL, at any depth. What reads finds one inside
// an argument, too: some clients fetch what a prompt names.
func urls(s *queue.Stored) (list []string) {
	if s.Request == nil {
		return nil
	}
	reads := s.Decision.Action == terms.ReadPublic || s.Decision.Action == terms.ReadPrivate
	walk(s.Request.Args, func(text string) {
		text = strings.TrimSpace(text)
		found := web().FindAllString(text, -1)
		if len(found) == 1 && found[0] == text {
			list = append(list, text)
			return
		}
		for _, url := range found {
			if reads {
				list = append(list, strings.TrimRight(url, ".,;:!?)]}'*"))
			}
		}
	})
	return list
}

// web matches a URL as far as a program may read it.
var web = lazy.Regexp("(?i)https?://[^\\s<>\"`]+")

// walk calls fn for every string of a value.
func walk(v record.Value, fn func(text string)) {
	switch {
	case v == "":
	case v[0] == '{':
		_ = v.Each(func(_ string, v record.Value) error { walk(v, fn); return nil })
	case v[0] == '[':
		_ = v.Elements(func(_ int, v record.Value) error { walk(v, fn); return nil })
	case v[0] == '"':
		if text, err := v.String(); err == nil {
			fn(text)
		}
	}
}

// sources returns what of the conversation of an effect the queue has: its ask, the ask with which
// that began, and the effect that was answered, which reached its targets.
func (c *Case) sources() (list []named.Source) {
	for _, o := range []*Origin{c.Root, c.Began} {
		if o.readable() {
			list = append(list, source(o.Stored))
		}
	}
	if o := c.Answers; o.readable() {
		list = append(list, named.Source{Writers: o.Stored.Target()})
	}
	return list
}

// source returns what somebody wrote in a task, and whom its proven fields name.
func source(s *queue.Stored) (src named.Source) {
	who := &s.Identity
	_, listed := trusts[who.Trust]
	src = named.Source{Author: who.Sender, Known: who.Verified && listed && who.TextProven(), Text: Asked(s)}
	switch {
	case !who.Verified && who.Sender != "":
		src.Author += ", who is not proven,"
	case !who.Verified:
		src.Author = "a sender who is not proven"
	case !who.TextProven():
		src.Author += ", of which not all is proven,"
	}
	if who.Verified {
		src.Writers = append(src.Writers, who.Sender)
	}
	if m := s.Message; m != nil {
		if !s.Audience.None() {
			src.Writers = append(src.Writers, s.Audience.Words()...)
		}
		for _, f := range m.Headers {
			src.Beside = append(src.Beside, f.Value)
		}
	}
	if m := s.Shown; m != nil {
		src.Beside = append(src.Beside, beside(s)...)
		if !slices.Contains(who.Unsigned.Names(), "Subject") && m.Thread == nil && !strings.Contains(firstWord(m.Subject), ":") {
			src.Text = m.Subject + "\n" + src.Text // of a mail that is no answer, and passes nothing on
		}
		if m.Sender != nil && who.Verified {
			src.Writers = append(src.Writers, m.Source+":"+string(m.Sender.Chat))
		}
	}
	if r := s.Request; r != nil && !who.Effect() {
		src.Text += "\n" + strings.Join(r.Target, "\n")
		walk(r.Args, func(text string) { src.Text += "\n" + text })
	}
	return src
}

func firstWord(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return word
}

// beside returns what came with a message, and is not its text.
func beside(s *queue.Stored) []string {
	list := []string{s.Shown.From, s.Shown.Subject}
	for i := range s.Shown.Attachments {
		a := &s.Shown.Attachments[i]
		if list = append(list, a.Name); utf8.Valid(a.Data) {
			list = append(list, string(a.Data))
		}
	}
	s.Shown.Left.Each(func(_ envelope.LeftKind, _ int64, text string) bool {
		list = append(list, text)
		return true
	})
	return list
}
