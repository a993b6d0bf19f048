package screen

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"pulse/lib/shared/address"
	"pulse/lib/shared/escape"
)

// maxLabel is how long a label of a domain may be, in bytes (RFC 1035 §2.3.4). Mail to a
// longer one can't be delivered.
const maxLabel = 63

// maxAlike is how much of an address or a target is looked at, in bytes.
const maxAlike = 1000

// lookalikes returns what a person should know about the letters of an address or
// another target before believing that it is what it looks like: names in
// Punycode decoded, letters of several scripts in one label, letters that look
// like others. Every line is safe to print. No notes do not mean that all is well: l and
// 1 are both Latin.
func lookalikes(target string) (notes []string) {
	if len(target) > maxAlike {
		notes = append(notes, fmt.Sprintf("%d bytes long: only the first %d were looked at", len(target), maxAlike))
		target = target[:maxAlike]
	}
	if address.Relayed(target) {
		notes = append(notes, "a mail server may take it for an address of another host: what stands before the last @ is not a plain name")
	}
	var seen []string
	for label := range strings.FieldsFuncSeq(target, func(r rune) bool { return !inLabel(r) }) {
		note := labelNote(label)
		if note != "" && !slices.Contains(seen, label) {
			seen, notes = append(seen, label), append(notes, note)
		}
	}
	return notes
}

func inLabel(r rune) bool {
	return r == '-' || r == '_' || unicode.In(r, unicode.L, unicode.M, unicode.N)
}

// labelNote returns what there is to know about one label, or nothing.
func labelNote(label string) string {
	shown := escape.ASCII(label)
	if len(label) > 4 && strings.EqualFold(label[:4], "xn--") {
		text, ok := punycode(label[4:])
		if !ok {
			return shown + " says it is written in other letters, and can't be decoded"
		}
		return shown + " stands for " + escape.ASCII(text) + letters(text)
	}
	if ascii(label) {
		return ""
	}
	return shown + letters(label)
}

func ascii(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// letters names the scripts of a label's letters, and says what the label looks like.
func letters(label string) string {
	names := scripts(label)
	text := ": it has no letters"
	if len(names) > 0 {
		text = ": letters are " + strings.Join(names, " and ")
	}
	if len(names) > 1 && !together(names) {
		text = ": it MIXES letters that are " + strings.Join(names, " and ")
	}
	if plain, ok := skeleton(label); ok {
		text += "; it looks like " + plain
	}
	return text
}

// scripts returns the names of the scripts of a text's letters, sorted.
func scripts(text string) (names []string) {
	for _, r := range text {
		name := script(r)
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func script(r rune) string {
	if r < utf8.RuneSelf {
		if unicode.IsLetter(r) {
			return "Latin"
		}
		return ""
	}
	for name, table := range unicode.Scripts {
		if name != "Common" && name != "Inherited" && unicode.Is(table, r) {
			return name
		}
	}
	return ""
}

// together reports whether one language is written in all these scripts at once
// (UTS 39 §5.2, without the levels that let Latin in).
func together(names []string) bool {
	for _, language := range [][]string{
		{"Han", "Hiragana", "Katakana"}, {"Hangul", "Han"}, {"Bopomofo", "Han"},
	} {
		if !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(language, n) }) {
			return true
		}
	}
	return false
}

// skeleton returns the ASCII that a text looks like. ok is false if one of its letters
// does not look like ASCII, and if all of it is ASCII anyway.
func skeleton(text string) (plain string, ok bool) {
	var b strings.Builder
	for _, r := range text {
		if like, found := twins()[r]; found {
			ok, r = true, like
		}
		if r >= utf8.RuneSelf {
			return "", false
		}
		b.WriteRune(r)
	}
	return b.String(), ok
}

// twins are letters that most fonts draw like an ASCII one: the lower case of UTS
// 39's confusables that can stand in a domain, and capitals that stand in mail.
var twins = sync.OnceValue(func() map[rune]rune {
	return pairs(
		"абвгеѕіјӏкмнорстухьһԁԛԝѵүҽғ", "a6bresijlkmhopctyxbhdqwvyef", // Cyrillic
		"АВЕЅІЈКМНОРСТУХ", "ABESIJKMHOPCTYX",
		"αβγεηικνορστυχωϲϳ", "abyenikvopotuxwcj", // Greek
		"ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABEZHIKMNOPTYX",
		"օսոհցզաքյ", "ounhgqwpj", // Armenian
		"ıɑɡɩʋƅ", "iagivb", // Latin beyond ASCII
	)
})

// pairs makes a table from pairs of texts of the same length.
func pairs(texts ...string) map[rune]rune {
	m := map[rune]rune{}
	for i := 0; i < len(texts); i += 2 {
		plain := []rune(texts[i+1])
		for j, r := range []rune(texts[i]) {
			m[r] = plain[j]
		}
	}
	return m
}
