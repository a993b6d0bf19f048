package policy

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// characters skips a byte order mark, and refuses what no TOML file may contain, wherever
// it stands.
func (r *reader) characters() {
	for _, mark := range []string{"\ufeff", "\xff\xfe", "\xfe\xff"} {
		if r.pos == 0 && strings.HasPrefix(r.text, mark) {
			r.pos = len(mark)
		}
	}
	line, text := 1, r.text[r.pos:]
	for i, c := range text {
		if ' ' <= c && c < 0x7f {
			continue
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r.out.Fault != nil:
			return
		case c == '\n':
			line++
		case c == utf8.RuneError && size == 1:
			r.fail(line, nil, "the byte 0x%02x is not UTF-8: save the file as UTF-8", text[i])
		case c == '\r' && !strings.HasPrefix(text[i+1:], "\n"):
			r.fail(line, nil, "a carriage return stands without a line feed: want plain ends of lines")
		case c == 0:
			r.fail(line, nil, "a zero byte stands here, as in UTF-16: save the file as UTF-8")
		case c < ' ' && c != '\t' && c != '\r', c == 0x7f:
			r.fail(line, nil, "the control character U+%04X stands here: remove it", c)
		}
	}
}

// odd refuses a character that looks like one of TOML's and is none: a quote of a word
// processor, a blank that is not the space bar's.
func (r *reader) odd() bool {
	c, _ := utf8.DecodeRuneInString(r.text[r.pos:])
	switch {
	case r.done():
	case strings.ContainsRune("“”„‟«»″＂", c):
		r.fail(r.line, nil, "%c is not a quote of TOML: want \"", c)
	case strings.ContainsRune("‘’‚‛‹›′＇`´", c):
		r.fail(r.line, nil, "%c is not a quote of TOML: want \" or '", c)
	case c >= utf8.RuneSelf && (unicode.IsSpace(c) || unicode.Is(unicode.Cf, c)):
		r.fail(r.line, nil, "the character U+%04X can't be seen and is not a blank of TOML: remove it", c)
	}
	return r.out.Fault != nil
}

// quoted reads a string in any kind of quotes. A name is on one line.
func (r *reader) quoted(isName bool) string {
	start, line := r.pos, r.line
	quote := r.text[r.pos : r.pos+1]
	if three := strings.Repeat(quote, 3); strings.HasPrefix(r.text[r.pos:], three) && !isName {
		quote = three
	}
	r.pos += len(quote)
	for !r.done() {
		switch c := r.peek(); {
		case strings.HasPrefix(r.text[r.pos:], quote):
			r.pos += len(quote)
			for n := 0; len(quote) == 3 && n < 2 && r.peek() == quote[0]; n++ {
				r.pos++ // """ may come after two quotes that belong to the text
			}
			return r.since(start)
		case c == '\n' && len(quote) == 1:
			r.fail(line, nil, "the string that begins with %s is not closed: want %s at its end",
				clip(strings.TrimRight(r.since(start), "\r")), quote)
		case c == '\\' && quote[0] == '"':
			r.escape(len(quote) == 3)
		default:
			if c == '\n' {
				r.line++
			}
			r.pos++
		}
	}
	r.fail(line, nil, "the string that begins with %s is not closed: want %s at its end",
		clip(strings.TrimRight(firstLine(r.text[start:]), "\r")), quote)
	return ""
}

// escape reads what begins with a backslash.
func (r *reader) escape(several bool) {
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}
	after := r.text[r.pos+1:]
	switch {
	case after == "":
		r.pos++
	case strings.IndexByte(`btnfre"\`, after[0]) >= 0:
		r.pos += 2
	case several && strings.Trim(firstLine(after), " \t\r") == "":
		r.pos++
	case digits[after[0]] > 0:
		n := digits[after[0]]
		if len(after) <= n || strings.Trim(after[1:n+1], "0123456789abcdefABCDEF") != "" {
			r.fail(r.line, nil, "\\%c wants %d hex digits after it", after[0], n)
			return
		}
		if c, err := strconv.ParseUint(after[1:n+1], 16, 32); err != nil || c > unicode.MaxRune || !utf8.ValidRune(rune(c)) {
			r.fail(r.line, nil, "\\%s is not a character", after[:n+1])
			return
		}
		r.pos += 2 + n
	default:
		c, _ := utf8.DecodeRuneInString(after)
		r.fail(r.line, nil, "\\%c means nothing in a string: want \\\\ for a backslash, or single quotes around the string",
			c)
	}
}

// notValue says why a word without quotes is not a value.
func (r *reader) notValue(w string, names []string) {
	switch {
	case w == "":
		r.fail(r.line, names, "want a value here, not %s", r.shownNext())
	case strings.Trim(w, "0123456789_") == "":
		r.fail(r.line, names, "%s is not a number: want no zero in front, and _ between digits only", clip(w))
	case strings.HasSuffix(w, `"`):
		r.fail(r.line, names, "the quote before %s is missing: want \"%s", clip(w), clip(w))
	case strings.ContainsAny(w, `"'`) || strings.IndexByte(bare+".+@*/:", w[0]) < 0:
		r.fail(r.line, names, "%s is not a value: want a string in quotes, a number, true, false or a list",
			clip(w))
	default:
		r.fail(r.line, names, "%s has no quotes: want \"%s\"", clip(w), clip(w))
		r.out.Fault.Bare = w
	}
}

// noPair says why what begins a line is not a key with its value.
func (r *reader) noPair(start int, in, names []string) {
	line := strings.TrimRight(firstLine(r.text[start:]), " \t\r")
	key, _, hasValue := strings.Cut(line, "=")
	key = strings.TrimRight(key, " \t")
	c := r.peek()
	switch {
	case r.odd():
	case line == "" || key == "" && hasValue:
		r.fail(r.line, nil, "nothing stands before =: want the name of a key")
	case strings.IndexByte("]})", line[0]) >= 0:
		r.stray(line[0])
	case strings.HasPrefix(line, "//") || line[0] == ';':
		r.fail(r.line, nil, "want # where a comment begins, not %s", line[:1+strings.Count(line[:1], "/")])
	case line[0] == '{':
		r.fail(r.line, nil, "want lines of key = value: a policy is TOML, not JSON")
	case len(names) > 0 && c == ':':
		r.fail(r.line, below(in, names...), "want = after the key, not :")
	case len(names) > 0 && (line[0] == '"' || line[0] == '\'') && !hasValue:
		r.fail(r.line, nil, "%s stands alone: want key = value; or a list above it is not open, or was closed too early",
			clip(line))
	case len(names) > 0 && strings.HasSuffix(r.text[start:r.pos], strings.TrimRight(line, " \t")):
		r.fail(r.line, below(in, names...), "want = and a value after the key")
	case len(names) > 0 && strings.IndexByte(" \t\"'[{", before(r.text, r.pos)) >= 0 || c == '"' || c == '\'' || c == '[':
		r.fail(r.line, below(in, names...), "want = after the key, before %s", r.shownNext())
	case hasValue:
		r.fail(r.line, nil, "%s needs quotes where it is not a to z, digits, _ or -: want %s =",
			clip(key), `"`+strings.Trim(key, `"'`)+`"`)
	default:
		r.fail(r.line, nil, "%s is not a line of TOML: want key = value, a [table], or # before a comment",
			clip(line))
	}
}

// stray says of a bracket at the beginning of a line what is missing: if the value above is
// none that a bracket opens, its bracket.
func (r *reader) stray(shut byte) {
	if e := r.ended(); e != nil && e.Kind != isArray && e.Kind != isInline && e.Text != "" && shut != ')' {
		r.fail(e.Line, e.Names, "%c in line %d closes nothing: want %c before %s",
			shut, r.line, shut-2, clip(e.Text))
		return
	}
	r.fail(r.line, nil, "%c closes nothing that is open here", shut)
}

// before returns the byte before a position.
func before(text string, pos int) byte {
	if pos == 0 {
		return 0
	}
	return text[pos-1]
}

// lineEnd demands that the line ends after a key with its value, or after a header.
func (r *reader) lineEnd(header string) {
	r.space()
	if r.done() || r.ends() || r.odd() {
		return
	}
	var names []string
	what := header
	if e := r.ended(); header == "" && e != nil {
		names, what = e.Names, clip(e.Text)
	}
	switch c := r.peek(); {
	case c == ',' && header == "" && strings.Trim(r.rest()[1:], " \t\r") != "":
		r.fail(r.line, names, "a comma stands after %s: want a list in brackets, [%s, …], or one key a line",
			what, what)
	case c == ',' || c == ';':
		r.fail(r.line, names, "%c stands after %s: want nothing at the end of the line", c, what)
	case c == ']' && header == "":
		r.fail(r.line, names, "] stands after %s: want [ before it, or one ] less", what)
	case c == '}':
		r.fail(r.line, names, "} stands after %s: want { before it, or one } less", what)
	case header != "":
		r.fail(r.line, nil, "want a new line after %s, before %s", what, r.shownNext())
	case strings.HasSuffix(what, `"`) || strings.HasSuffix(what, "'"):
		r.fail(r.line, names, "%s follows %s: is a quote missing, or one too many? want one value and the end of the line",
			r.shownNext(), what)
	default:
		r.fail(r.line, names, "%s follows %s: want one value and the end of the line; a string wants quotes",
			r.shownNext(), what)
	}
}

// ended returns the entry that was read last, of the whole value and not of its elements,
// or nil.
func (r *reader) ended() *outlined {
	text := strings.TrimRight(r.text[:r.pos], " \t\r\n")
	for i := len(r.out.Entries) - 1; i >= 0; i-- {
		if e := &r.out.Entries[i]; !e.Element && strings.HasSuffix(text, e.Text) {
			return e
		}
	}
	return nil
}

// shownNext returns what follows, up to the next blank or bracket.
func (r *reader) shownNext() string {
	rest := strings.TrimRight(r.rest(), " \t\r")
	if rest == "" {
		return "the end of the line"
	}
	if i := strings.IndexAny(rest[1:], " \t,]}"); i >= 0 {
		rest = rest[:i+1]
	}
	return clip(rest)
}

// opened names a bracket, and its line if that is another than the fault's.
func opened(g *group) string {
	if g.begun == g.end {
		return fmt.Sprintf("the %c", g.open)
	}
	return fmt.Sprintf("the %c of line %d", g.open, g.begun)
}

func after(last string) string {
	if last == "" {
		return ""
	}
	return " after " + clip(last)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// clip shortens a text that is quoted.
func clip(s string) string {
	const most = 40
	if s = firstLine(s); utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}
