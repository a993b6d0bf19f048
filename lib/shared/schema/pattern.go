package schema

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A pattern is ^, then characters and classes of characters in any number, then $. Each may
// have one repetition: ?, *, +, {3}, {3,} or {3,5}. What the regular expressions of Go and of
// ECMA-262 might read in two ways is refused: groups, alternatives, the point, classes that
// say what is not in them, and escapes of letters except \d and \w.

var errAnchors = errors.New("want ^ at its beginning and $ at its end, so that nothing can stand before or after it")

// characters may stand for themselves outside of a class if they are escaped, and only then.
const characters = `^$\.*+?()[]{}|/`

// pattern is a pattern that is being read.
type pattern struct {
	rest    string
	longest int // of the texts that fit so far
}

// longest returns how long a text that fits a pattern can be, and maxLength if there is no
// bound.
func longest(s string) (int, error) {
	inner, begins := strings.CutPrefix(s, "^")
	inner, ends := strings.CutSuffix(inner, "$")
	if !begins || !ends {
		return 0, errAnchors
	}
	p := &pattern{rest: inner}
	for p.rest != "" {
		if err := p.atom(); err != nil {
			return 0, err
		}
		times, err := p.repetition()
		if err != nil {
			return 0, err
		}
		p.longest = min(p.longest+times, maxLength)
	}
	return p.longest, nil
}

// next takes a byte.
func (p *pattern) next() byte {
	if p.rest == "" {
		return 0
	}
	c := p.rest[0]
	p.rest = p.rest[1:]
	return c
}

// atom takes a character or a class.
func (p *pattern) atom() error {
	switch c := p.next(); {
	case c == '[':
		return p.class()
	case c == '\\':
		_, err := p.escaped(characters)
		return err
	case c < ' ' || c > '~':
		return errASCII
	case strings.IndexByte(characters[:len(characters)-1], c) >= 0:
		return fmt.Errorf("%c is not known here: want characters, classes such as [A-Za-z0-9 ], ?, *, + and {1,8}; "+
			`a character of %s itself is written with \ before it`, c, characters)
	}
	return nil
}

var errASCII = errors.New("want ASCII characters, no controls")

// escaped takes what follows a backslash. It returns a character, or 0 for a class.
func (p *pattern) escaped(known string) (byte, error) {
	switch c := p.next(); {
	case c == 'd' || c == 'w':
		return 0, nil
	case c != 0 && strings.IndexByte(known, c) >= 0:
		return c, nil
	}
	return 0, fmt.Errorf(`want \d, \w or one of %s after \`, known)
}

// class takes what follows [, up to ].
func (p *pattern) class() error {
	if strings.HasPrefix(p.rest, "]") || strings.HasPrefix(p.rest, "^") {
		return errors.New(`want after [ what the class has: not ^, which says what it has not, and ] only as \]`)
	}
	for {
		if strings.HasPrefix(p.rest, "]") {
			p.next()
			return nil
		}
		from, err := p.element()
		if err != nil {
			return err
		}
		if !strings.HasPrefix(p.rest, "-") || strings.HasPrefix(p.rest, "-]") {
			continue
		}
		p.next()
		to, err := p.element()
		if err != nil {
			return err
		}
		if from == 0 || to == 0 || from > to {
			return errors.New(`want a range from a lower character to a higher one; - itself is written \-`)
		}
	}
}

// element takes a character of a class, or 0 for a class in it.
func (p *pattern) element() (byte, error) {
	switch c := p.next(); {
	case c == 0:
		return 0, errors.New("the [ is not closed: want ]")
	case c == '[':
		return 0, errors.New(`want no class in a class: [ itself is written \[`)
	case c == '\\':
		return p.escaped(characters + "-")
	case c < ' ' || c > '~':
		return 0, errASCII
	default:
		return c, nil
	}
}

// repetition takes what may follow an atom, and returns how often that may stand at most.
func (p *pattern) repetition() (int, error) {
	if p.rest == "" || strings.IndexByte("?*+{", p.rest[0]) < 0 {
		return 1, nil
	}
	switch p.next() {
	case '?':
		return 1, nil
	case '{':
		inner, rest, _ := strings.Cut(p.rest, "}")
		p.rest = rest
		return times(inner)
	}
	return maxLength, nil
}

// times reads what stands in braces.
func times(s string) (int, error) {
	from, to, open := strings.Cut(s, ",")
	if !open {
		to = from
	} else if to == "" {
		to = strconv.Itoa(maxLength)
	}
	least, err := strconv.ParseUint(from, 10, 8)
	most, err2 := strconv.ParseUint(to, 10, 8)
	if err != nil || err2 != nil || least > most || most > maxLength {
		return 0, fmt.Errorf("want {n}, {n,} or {n,m}, at most %d", maxLength)
	}
	return int(most), nil
}
