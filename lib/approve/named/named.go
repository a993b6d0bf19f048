// Package named finds out who named what an effect is about to reach: an address, another
// target, or a URL. It does no I/O.
//
// Invariant: a target counts as named only if it stands as a whole word, in one piece, in the
// own words of an author who is known, or if it is a correspondent by a proven header. Whatever
// hides it better makes it named by nobody. Caveat: what an author passes on without a mark of
// that counts as their own words.
package named

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"pulse/lib/shared/address"
	"pulse/lib/shared/lazy"
)

// Source is a message or a request of the conversation that an effect belongs to.
type Source struct {
	Author  string   // in words
	Known   bool     // the author is no stranger, and the text is proven to be theirs
	Text    string   // what they wrote, with what they pass on
	Beside  []string // what came with it: attachments, what HTML hides, fields that are not proven
	Writers []string // correspondents by a proven header
}

// By says who named a target.
type By struct {
	Known   bool     // an author who is known, or a proven header
	Passed  []string // authors who are known, in what they passed on or attached
	Strange []string // the others, in their text or beside it
}

// Conversation is what several sources have in them.
type Conversation struct {
	sources []Source
	same    func(a, b string) bool
	own     []string   // of those who are known
	pressed [][]string // nil: not needed yet
}

// Of returns the conversation of sources. same reports whether two spellings are of one target.
func Of(same func(a, b string) bool, sources ...Source) *Conversation {
	c := &Conversation{sources: sources, same: same, own: make([]string, len(sources)), pressed: make([][]string, len(sources))}
	for i := range sources {
		if sources[i].Known {
			c.own[i] = own(sources[i].Text)
		}
	}
	return c
}

// Find says who named a target.
func (c *Conversation) Find(target string) (by By) {
	words := spellings(target)
	for i := range c.sources {
		s := &c.sources[i]
		switch {
		case slices.ContainsFunc(s.Writers, func(w string) bool { return c.same(w, target) }), words.in(c.own[i]):
			return By{Known: true}
		case !slices.ContainsFunc(c.press(i), words.hinted):
		case s.Known:
			by.Passed = append(by.Passed, s.Author)
		default:
			by.Strange = append(by.Strange, s.Author)
		}
	}
	return by
}

// press returns all texts of a source, pressed.
func (c *Conversation) press(i int) []string {
	if c.pressed[i] == nil {
		for _, text := range append([]string{c.sources[i].Text}, c.sources[i].Beside...) {
			c.pressed[i] = append(c.pressed[i], press(text))
		}
	}
	return c.pressed[i]
}

// Warning says in words who named a target; it is empty if an author did who is known.
func (by *By) Warning(target string) string {
	switch {
	case by.Known:
		return ""
	case len(by.Strange) > 0 && len(by.Passed) == 0:
		return "only the text of " + strings.Join(by.Strange, " and ") + " names " + target
	case len(by.Strange) > 0:
		return "only what " + strings.Join(by.Passed, " and ") + " passed on, and the text of " + strings.Join(by.Strange, " and ") + ", names " + target
	case len(by.Passed) > 0:
		return "only what " + strings.Join(by.Passed, " and ") + " passed on names " + target
	}
	return "nobody in this conversation names " + target + ": its agent has it from elsewhere"
}

// words are what stands for a target in a text.
type words struct {
	exact, folded []string // folded: in any case of ASCII letters
	hosts         []string // folded: of a URL, without its scheme
	dialled       bool     // a telephone number, which people write in groups
}

// leastValue is how long what follows a scheme has to be so as to stand for a target alone.
const leastValue = 5

// spellings returns the words that stand for a target: an address in any case; what has a scheme
// with it or without; a URL also without its last slash or with one, or its host if that stands
// alone; and a name as it is written.
func spellings(target string) (w words) {
	if _, _, err := address.Split(target); err == nil {
		return words{folded: []string{address.Fold(target)}}
	}
	w.exact = []string{target}
	u, err := url.Parse(target)
	switch {
	case err != nil || u.Scheme == "":
	case len(u.Opaque) >= leastValue:
		w.exact = append(w.exact, u.Opaque)
		w.dialled = u.Scheme == "tel"
	case u.Host != "" && u.User == nil:
		bare, host := strings.TrimRight(target, "/"), strings.ToLower(u.Host)
		w.exact = []string{bare, bare + "/"}
		w.folded = []string{u.Scheme + "://" + host, u.Scheme + "://" + host + "/"}
		w.hosts = []string{host, host + "/"}
	}
	return w
}

// own returns the own words of a text: not its quoted lines, and nothing from where it passes
// something on.
func own(text string) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		l := strings.TrimSpace(l)
		if passesOn(l) {
			break
		}
		if !strings.HasPrefix(l, ">") && !strings.HasPrefix(l, "|") {
			b.WriteString(l + "\n")
		}
	}
	return b.String()
}

// part begins the line before a further part of a text (pulse-record(5)).
const part = "\u241d"

// senders begin the line with which mail programs say whose mail follows, and writers end it.
var (
	senders = []string{"from:", "von:", "absender:", "de:", "exp\u00e9diteur:", "remitente:", "da:", "van:", "od:", "fra:",
		"\u043e\u0442:", "\u53d1\u4ef6\u4eba:", "\u5dee\u51fa\u4eba:"}
	writers = []string{"wrote:", "schrieb:", "\u00e9crit:", "escribi\u00f3:", "escreveu:", "scritto:", "schreef:", "napisa\u0142:", "napisa\u0142(a):"}
)

// rules begin a line that mail programs draw above what they pass on.
var rules = []string{part, "----", "____", "====", "~~~~"}

// year is in the line above what is quoted, as in On Mon, 2 Nov 2026 Ann wrote: in any language.
var year = lazy.Regexp(`\b(19|20)[0-9]{2}\b`)

// passesOn reports whether something follows a line that another person may have written.
func passesOn(l string) bool {
	plain := strings.ToLower(strings.Trim(l, "*_ "))
	plain = strings.ReplaceAll(strings.Join(strings.Fields(plain), " "), " :", ":")
	starts := func(s string) bool { return strings.HasPrefix(plain, s) }
	ends := func(s string) bool { return strings.HasSuffix(plain, s) }
	return slices.ContainsFunc(rules, func(r string) bool { return strings.HasPrefix(l, r) }) ||
		slices.ContainsFunc(senders, starts) || slices.ContainsFunc(writers, ends) ||
		ends(":") && (year().MatchString(plain) || strings.Contains(plain, "@") && strings.Contains(plain, ">"))
}

// in reports whether a text has one of the words, as a whole one.
func (w *words) in(text string) bool {
	if w.dialled {
		text = digits(text)
	}
	folded := address.Fold(text)
	return slices.ContainsFunc(w.exact, func(word string) bool { return standsIn(text, word) }) ||
		slices.ContainsFunc(slices.Concat(w.folded, w.hosts), func(word string) bool { return standsIn(folded, word) })
}

// standsIn reports whether a word stands in a text as a whole one.
func standsIn(text, word string) bool {
	for at := 0; word != ""; at++ {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		if at += i; begins(text[:at]) && ends(text[at+len(word):]) {
			return true
		}
	}
	return false
}

// digits drops what people write between the digits of a telephone number.
func digits(text string) string {
	var b strings.Builder
	last, gap := false, ""
	for _, r := range text {
		digit := '0' <= r && r <= '9'
		if last && !digit && strings.ContainsRune(" -.()", r) {
			gap += string(r)
			continue
		}
		if !digit {
			b.WriteString(gap)
		}
		b.WriteRune(r)
		last, gap = digit, ""
	}
	return b.String() + gap
}

// around are the characters that end a word on either side of it; sentence, those that do if a
// word ends before or after them.
const around, sentence = "()<>[]{}\",;|", ".:!?'*_"

// mostMarks is how many marks in a row are taken for the end of a word or of a sentence.
const mostMarks = 4

// begins reports whether a word can begin after a text. A colon does as in To:bob@example.com.
func begins(before string) bool {
	for range mostMarks {
		r, n := utf8.DecodeLastRuneInString(before)
		switch {
		case n == 0, unicode.IsSpace(r), strings.ContainsRune(around+":", r):
			return true
		case !strings.ContainsRune("'*_", r):
			return false
		}
		before = before[:len(before)-n]
	}
	return false
}

// ends reports whether a word can end before a text.
func ends(after string) bool {
	for range mostMarks {
		r, n := utf8.DecodeRuneInString(after)
		switch {
		case n == 0, unicode.IsSpace(r), strings.ContainsRune(around, r):
			return true
		case !strings.ContainsRune(sentence, r):
			return false
		}
		after = after[n:]
	}
	return false
}

// hinted reports whether a text that was pressed has one of the words, in whatever pieces it stood
// there and as a part of whatever word. It decides how a warning is put, and not whether there is one.
func (w *words) hinted(pressed string) bool {
	return slices.ContainsFunc(slices.Concat(w.exact, w.folded), func(word string) bool {
		word = press(word)
		return word != "" && strings.Contains(pressed, word)
	})
}

// press drops what a text can be broken with: blanks, line ends, the mark of a soft one in
// quoted-printable (RFC 2045 §6.7), and what is not seen.
func press(text string) string {
	text = strings.NewReplacer("=\r\n", "", "=\n", "").Replace(text)
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.In(r, unicode.Cf, unicode.Mn) {
			return -1
		}
		return unicode.ToLower(r)
	}, text)
}
