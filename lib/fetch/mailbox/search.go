package mailbox

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/emersion/go-imap/v2"
)

// Search narrows down on the server what is fetched. The zero value narrows down nothing.
type Search struct {
	criteria imap.SearchCriteria
	set      bool
}

func (s Search) empty() bool { return !s.set }

// maxSearchDepth is how deep NOT, OR and parentheses may be nested.
const maxSearchDepth = 16

// ParseSearch parses IMAP search keys (RFC 9051 §6.4.4): FROM, TO, CC, BCC,
// SUBJECT, BODY, TEXT and a string; HEADER, a name and a string; SINCE, BEFORE,
// ON, SENTSINCE, SENTBEFORE, SENTON and a date, 2-Jan-2006 or 2006-01-02; LARGER,
// SMALLER and bytes; KEYWORD, UNKEYWORD and a flag; ANSWERED, DELETED, DRAFT,
// FLAGGED, SEEN and the same with UN; ALL; NOT key; OR key key; (keys). Strings
// are words or "quoted". Sequence numbers and UIDs can't be searched for, because pulse
// chooses these itself.
func ParseSearch(s string) (Search, error) {
	words, err := searchWords(s)
	if err != nil {
		return Search{}, err
	}
	p := searchParser{words: words}
	var c imap.SearchCriteria
	for len(p.words) > 0 {
		if err := p.key(&c); err != nil {
			return Search{}, err
		}
	}
	return Search{c, len(words) > 0}, nil
}

// searchWord is a word, a parenthesis, or a quoted string, which is never a key.
type searchWord struct {
	text   string
	quoted bool
}

func searchWords(s string) ([]searchWord, error) {
	var words []searchWord
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == ' ':
			i++
		case c == '(' || c == ')':
			words = append(words, searchWord{string(c), false})
			i++
		case c == '"':
			text, n, ok := quotedWord(s[i+1:])
			if !ok {
				return nil, fmt.Errorf("search: a quote is not closed")
			}
			words = append(words, searchWord{text, true})
			i += 1 + n
		case c < ' ' || c == 0x7f:
			return nil, fmt.Errorf("search: control character")
		default:
			n := strings.IndexAny(s[i:]+" ", " ()\"")
			words = append(words, searchWord{s[i : i+n], false})
			i += n
		}
	}
	return words, nil
}

// quotedWord reads up to the closing quote. n is how many bytes it read.
func quotedWord(s string) (text string, n int, ok bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), i + 1, true
		case s[i] < ' ' || s[i] == 0x7f:
			return "", 0, false
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return "", 0, false
}

type searchParser struct {
	words []searchWord
	depth int
}

// next takes the word that must follow what.
func (p *searchParser) next(what string) (string, error) {
	if len(p.words) == 0 || !p.words[0].quoted && (p.words[0].text == "(" || p.words[0].text == ")") {
		return "", fmt.Errorf("search: %s needs a value", what)
	}
	w := p.words[0].text
	p.words = p.words[1:]
	return w, nil
}

// searchFlags are the keys without a value. With UN before them they mean the opposite.
var searchFlags = map[string]imap.Flag{
	"ANSWERED": imap.FlagAnswered, "DELETED": imap.FlagDeleted, "DRAFT": imap.FlagDraft,
	"FLAGGED": imap.FlagFlagged, "SEEN": imap.FlagSeen,
}

// key parses one key into c.
func (p *searchParser) key(c *imap.SearchCriteria) error {
	if p.depth++; p.depth > maxSearchDepth {
		return fmt.Errorf("search: nested deeper than %d", maxSearchDepth)
	}
	defer func() { p.depth-- }()
	if len(p.words) == 0 {
		return fmt.Errorf("search: a key is missing")
	}
	w := p.words[0]
	p.words = p.words[1:]
	key := upper(w.text)
	if w.quoted {
		key = "" // a string where a key belongs
	}
	if flag, ok := searchFlags[key]; ok {
		and(c, &imap.SearchCriteria{Flag: []imap.Flag{flag}})
		return nil
	}
	if flag, ok := searchFlags[strings.TrimPrefix(key, "UN")]; ok {
		and(c, &imap.SearchCriteria{NotFlag: []imap.Flag{flag}})
		return nil
	}
	switch key {
	case "ALL":
		return nil
	case "NOT", "OR", "(":
		return p.compound(key, c)
	}
	one, err := p.valued(key, w.text)
	if err == nil {
		and(c, &one)
	}
	return err
}

// and adds to a what b asks for. The library's And forgets SMALLER if only one of them has
// it.
func and(a, b *imap.SearchCriteria) {
	smaller := a.Smaller
	a.And(b)
	if b.Smaller == 0 {
		a.Smaller = smaller
	}
}

// compound parses a key that holds other keys.
func (p *searchParser) compound(key string, c *imap.SearchCriteria) error {
	var a, b imap.SearchCriteria
	switch key {
	case "NOT":
		if err := p.key(&a); err != nil {
			return err
		}
		c.Not = append(c.Not, a)
		return nil
	case "OR":
		if err := p.key(&a); err != nil {
			return err
		}
		if err := p.key(&b); err != nil {
			return err
		}
		c.Or = append(c.Or, [2]imap.SearchCriteria{a, b})
		return nil
	}
	for len(p.words) > 0 && (p.words[0].quoted || p.words[0].text != ")") {
		if err := p.key(c); err != nil {
			return err
		}
	}
	if len(p.words) == 0 {
		return fmt.Errorf("search: a parenthesis is not closed")
	}
	p.words = p.words[1:]
	return nil
}

// valued parses the keys that have a value; typed is the key as it was typed.
func (p *searchParser) valued(key, typed string) (c imap.SearchCriteria, err error) {
	switch key {
	case "FROM", "TO", "CC", "BCC", "SUBJECT", "BODY", "TEXT", "HEADER", "KEYWORD", "UNKEYWORD",
		"SINCE", "BEFORE", "ON", "SENTSINCE", "SENTBEFORE", "SENTON", "LARGER", "SMALLER":
	default:
		return c, fmt.Errorf("search: unknown key %s", typed)
	}
	v, err := p.next(key)
	if err != nil {
		return c, err
	}
	switch key {
	case "BODY":
		c.Body = []string{v}
	case "TEXT":
		c.Text = []string{v}
	case "HEADER":
		value, err := p.next(key + " " + v)
		c.Header = []imap.SearchCriteriaHeaderField{{Key: v, Value: value}}
		return c, err
	case "KEYWORD", "UNKEYWORD":
		return keyword(key, v)
	case "LARGER", "SMALLER":
		return sized(key, v)
	case "FROM", "TO", "CC", "BCC", "SUBJECT":
		c.Header = []imap.SearchCriteriaHeaderField{{Key: key, Value: v}}
	default:
		return dated(key, v)
	}
	return c, nil
}

func keyword(key, v string) (c imap.SearchCriteria, err error) {
	if strings.Trim(v, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789$-_.") != "" {
		return c, fmt.Errorf("search: %s %q is not a flag", key, v)
	}
	if key == "KEYWORD" {
		c.Flag = []imap.Flag{imap.Flag(v)}
	} else {
		c.NotFlag = []imap.Flag{imap.Flag(v)}
	}
	return c, nil
}

func sized(key, v string) (c imap.SearchCriteria, err error) {
	n, err := strconv.ParseUint(v, 10, 32)
	if err != nil || n == 0 {
		return c, fmt.Errorf("search: %s %q is not a number of bytes", key, v)
	}
	if key == "LARGER" {
		c.Larger = int64(n)
	} else {
		c.Smaller = int64(n)
	}
	return c, nil
}

func dated(key, v string) (c imap.SearchCriteria, err error) {
	t, err := time.Parse("2-Jan-2006", v)
	if err != nil {
		t, err = time.Parse(time.DateOnly, v)
	}
	if err != nil {
		return c, fmt.Errorf("search: %s %q is not a date: want 2-Jan-2006 or 2006-01-02", key, v)
	}
	next := t.AddDate(0, 0, 1)
	switch key {
	case "SINCE":
		c.Since = t
	case "BEFORE":
		c.Before = t
	case "ON":
		c.Since, c.Before = t, next
	case "SENTSINCE":
		c.SentSince = t
	case "SENTBEFORE":
		c.SentBefore = t
	case "SENTON":
		c.SentSince, c.SentBefore = t, next
	}
	return c, nil
}
