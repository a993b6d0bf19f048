// Package escape makes hostile text safe to show. Everything in pulse that prints
// text from outside, error messages included, prints it through this package.
//
// Invariant: the result holds no byte that moves a cursor, starts an escape sequence
// or begins a line, and no character that reorders text, hides text or is invisible.
// Different texts give different results, except through Message and Text, where text
// from outside can look escaped already. Caveat: letters of other scripts stay
// readable, so look-alikes do too; use ASCII where a person must compare exactly.
package escape

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMarks is how many marks may sit on one character (Joins): enough for
// Vietnamese, Hebrew and Thai, too few to paint over the lines around it.
const maxMarks = 3

// Line returns s as one safe line. Newlines and tabs are escaped too, and a backslash is
// doubled, so that no two texts look the same.
func Line(s string) string {
	if plainASCII(s) {
		return s
	}
	return render(s, shown)
}

// ASCII returns s as one safe line of ASCII, for text that a person must compare
// exactly, such as an address.
func ASCII(s string) string {
	if plainASCII(s) {
		return s
	}
	return render(s, func(r rune) bool { return r < utf8.RuneSelf && shown(r) })
}

// Message returns s as one safe line in which backslashes stay single. It is for error
// messages, which people read and never compare.
func Message(s string) string {
	parts := strings.Split(s, `\`)
	for i, p := range parts {
		parts[i] = Line(p)
	}
	return strings.Join(parts, `\`)
}

// Text returns s as safe lines, split at LF and CRLF, tabs widened to four blanks.
func Text(s string) []string {
	return lines(strings.ReplaceAll(s, "\r\n", "\n"), "")
}

// Exact is Text for what a program reads: lines end at LF alone, and blanks at the end of a line
// are seen, because a backslash before either of these means something else than at the end.
func Exact(s string) []string { return lines(s, " \t") }

// lines returns the lines of s; characters of seen that end one are escaped.
func lines(s, seen string) []string {
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	for i, l := range lines {
		text := strings.TrimRight(l, seen)
		if text == "" {
			text = l
		}
		lines[i] = Line(strings.ReplaceAll(text, "\t", "    ")) + strings.NewReplacer(" ", `\x20`, "\t", `\t`).Replace(l[len(text):])
	}
	return lines
}

// Shell returns s quoted as one word of a shell, to be typed as it stands.
func Shell(s string) string {
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+=,"
	if s != "" && strings.Trim(s, safe) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func plainASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > '~' || s[i] == '\\' {
			return false
		}
	}
	return true
}

func render(s string, show func(rune) bool) string {
	var b strings.Builder
	marks := maxMarks // a mark at the beginning would sit on the text before s
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		mark := Joins(r)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\\':
			b.WriteString(`\\`)
		case mark && marks >= maxMarks || !show(r):
			b.WriteString(code(r))
			marks = maxMarks
			i += n
			continue
		default:
			b.WriteString(s[i : i+n])
		}
		if marks++; !mark {
			marks = 0
		}
		i += n
	}
	return b.String()
}

// Joins reports whether a terminal draws r on the character before it: a combining
// mark, or a vowel or final consonant of Hangul, for which wcwidth(3) counts no column
// either. A line that begins with one changes the text before it.
func Joins(r rune) bool { return unicode.In(r, unicode.M, jamo) }

// jamo are the Hangul_Syllable_Types V and T.
var jamo = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x1160, Hi: 0x11ff, Stride: 1}, {Lo: 0xd7b0, Hi: 0xd7c6, Stride: 1}, {Lo: 0xd7cb, Hi: 0xd7fb, Stride: 1},
}}

// Fit returns how many bytes of a text to put into so many columns: all of them, or those up to the last
// blank after more than from columns, or as many as fit. A character that is not ASCII counts as two
// columns wide, which is never too little, and a mark stays with its letter.
func Fit(text string, columns, from int) int {
	used, whole, blank := 0, 0, 0
	for i, r := range text {
		if !Joins(r) {
			whole = i
			if i > 0 && text[i-1] == ' ' && used > from {
				blank = i
			}
		}
		used++
		if r >= utf8.RuneSelf {
			used++
		}
		if used > columns {
			return cmp.Or(blank, whole, i)
		}
	}
	return len(text)
}

// Clip cuts a text that was escaped to at most so many columns. The mark of a cut is ASCII.
func Clip(text string, columns int) string {
	const cut = "..."
	if Fit(text, columns, columns) == len(text) {
		return text
	}
	return text[:Fit(text, columns-len(cut), columns)] + cut
}

func code(r rune) string {
	switch r {
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	switch {
	case r < 0x80:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// shown reports whether a terminal draws r visibly and in its own place.
func shown(r rune) bool {
	return unicode.IsPrint(r) && !unicode.Is(invisible, r)
}

// invisible lists characters that unicode.IsPrint accepts and a reader can't see: the
// Default_Ignorable_Code_Points (UAX 44 §5.3) that are letters or marks, and blanks
// that are letters or symbols. unicode.IsPrint itself refuses controls, format
// characters (bidi, zero-width, tags), separators, private use and unassigned code
// points.
var invisible = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x034f, Hi: 0x034f, Stride: 1}, // combining grapheme joiner
		{Lo: 0x115f, Hi: 0x1160, Stride: 1}, // Hangul fillers
		{Lo: 0x17b4, Hi: 0x17b5, Stride: 1}, // Khmer inherent vowels
		{Lo: 0x180b, Hi: 0x180f, Stride: 1}, // Mongolian variation selectors
		{Lo: 0x2800, Hi: 0x2800, Stride: 1}, // Braille blank
		{Lo: 0x3164, Hi: 0x3164, Stride: 1}, // Hangul filler
		{Lo: 0xfe00, Hi: 0xfe0f, Stride: 1}, // variation selectors
		{Lo: 0xffa0, Hi: 0xffa0, Stride: 1}, // halfwidth Hangul filler
		{Lo: 0xfffc, Hi: 0xfffc, Stride: 1}, // object replacement
	},
	R32: []unicode.Range32{
		{Lo: 0x13441, Hi: 0x13442, Stride: 1}, // Egyptian blanks
		{Lo: 0x16fe4, Hi: 0x16fe4, Stride: 1}, // Khitan filler
		{Lo: 0x1d159, Hi: 0x1d159, Stride: 1}, // null notehead
		{Lo: 0x1d173, Hi: 0x1d17a, Stride: 1}, // musical beams
		{Lo: 0xe0100, Hi: 0xe01ef, Stride: 1}, // variation selectors supplement
	},
}
