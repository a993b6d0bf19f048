package policy

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"pulse/lib/shared/lazy"
)

// lines knows on which lines of a file its keys and tables stand.
type lines struct {
	outline *outline
	at      map[string]int      // by key, with [n] after each name that is one of several
	all     map[string][]int    // by key without these, see Line
	tables  map[string][]string // of [[tables]], by key without numbers: the keys with them
	keys    []string            // of the outline's entries, without quotes
}

func index(text string) *lines {
	l := &lines{readOutline(text), map[string]int{}, map[string][]int{}, map[string][]string{}, nil}
	list := l.outline.Entries
	for i, e := range list {
		key := unquoted(e.Key)
		l.at[key], l.keys = e.Line, append(l.keys, key)
		tables := e.Kind == isArray && i+1 < len(list) && list[i+1].Element && list[i+1].Kind == isInline
		if !tables && (!e.Element || e.Kind == isInline) { // [[x]] may be written x = [{…}]
			name := unquoted(strings.Join(e.Names, "."))
			l.all[name] = append(l.all[name], e.Line)
			if e.Kind == isTables || e.Element {
				l.tables[name] = append(l.tables[name], key)
			}
		}
	}
	return l
}

// of returns the line of a key, of the first one if it is one of several and has no [n],
// else of the first thing below it, else of what it is below; 1 if the file has none of
// these.
func (l *lines) of(key string) int {
	for key != "" {
		if line := l.at[unquoted(key)]; line > 0 {
			return line
		}
		if all := l.all[unquoted(key)]; len(all) > 0 {
			return all[0]
		}
		for _, e := range l.outline.Entries {
			if strings.HasPrefix(e.Key, key+".") {
				return e.Line
			}
		}
		key = key[:max(strings.LastIndexAny(key, ".["), 0)]
	}
	return 1
}

// Line returns the line of a key or table, such as matrix.owner_verified_email.allow. For
// [[tables]] and what is in one, nth says which of all of that name in the file, from 0. It is
// 0 if the file does not have it. Quotes in key make no difference.
func (p *Policy) Line(key string, nth int) int {
	l := p.lines()
	if it, ok := l.numbered(key, nth); ok {
		return l.at[it]
	}
	if lines := l.all[unquoted(key)]; nth >= 0 && nth < len(lines) {
		return lines[nth]
	}
	return 0
}

// numbered returns a key of [[tables]], or of one of them, as the outline has it; ok is false
// for other keys.
func (l *lines) numbered(key string, nth int) (it string, ok bool) {
	key = unquoted(key)
	for table := key; table != ""; table = table[:max(strings.LastIndexByte(table, '.'), 0)] {
		if list := l.tables[table]; nth >= 0 && nth < len(list) {
			return list[nth] + key[len(table):], true
		} else if list != nil {
			return "", true
		}
	}
	return key, false
}

// Says returns what the file says under a key or in a table, as it stands there; nth is that
// of Line. It is empty if the file does not have it.
func (p *Policy) Says(key string, nth int) string {
	l, b := p.lines(), new(strings.Builder)
	it, _ := l.numbered(key, nth)
	l.under(it, func(e *outlined, rest string) {
		for _, s := range []string{rest, " ", string(e.Kind), " ", e.Text, "\n"} {
			b.WriteString(s)
		}
	})
	return b.String()
}

// Count returns how many of [[tables]] the file has by that name; 1 for other keys.
func (p *Policy) Count(key string) int { return max(1, len(p.lines().tables[unquoted(key)])) }

// Keys returns the keys that a table of the file has, as a person would write them.
func (p *Policy) Keys(key string, nth int) (list []string) {
	l := p.lines()
	it, _ := l.numbered(key, nth)
	l.under(it, func(e *outlined, rest string) {
		if name := e.Names[len(e.Names)-1]; rest == "."+unquoted(name) && e.Kind != isTable && e.Kind != isTables {
			list = append(list, key+"."+KeyName(name))
		}
	})
	return list
}

// Entry is an element of a list, as it stands in the file.
type Entry struct {
	Text string
	Line int
}

// Entries returns the elements of a list that the file has.
func (p *Policy) Entries(key string, nth int) (list []Entry) {
	l := p.lines()
	it, _ := l.numbered(key, nth)
	l.under(it, func(e *outlined, rest string) {
		if e.Element && strings.Count(rest, "[") == 1 && !strings.Contains(rest, ".") {
			list = append(list, Entry{e.Text, e.Line})
		}
	})
	return list
}

// under calls fn for a key of the outline and all below it, with what is below it.
func (l *lines) under(key string, fn func(e *outlined, rest string)) {
	if key == "" {
		return
	}
	for i := range l.keys {
		rest, found := strings.CutPrefix(l.keys[i], key)
		if found && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			fn(&l.outline.Entries[i], rest)
		}
	}
}

// bare are the characters of a name without quotes.
const bare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// KeyName returns a name as it has to be written in a key: in quotes, unless it is bare.
func KeyName(name string) string {
	if name != "" && strings.Trim(name, bare) == "" {
		return name
	}
	return strconv.Quote(name)
}

// read has the lines of every file that became a policy, by the digest of its bytes. They
// are not in Policy, so that two files that say the same are equal policies.
var read sync.Map

func (p *Policy) lines() *lines {
	if l, ok := read.Load(p.Digest); ok {
		return l.(*lines)
	}
	return &lines{outline: &outline{}}
}

func unquoted(key string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("\"' \t", r) {
			return -1
		}
		return r
	}, key)
}

// at returns the key of the nth of several.
func at(key string, n int) string { return fmt.Sprintf("%s[%d]", key, n) }

var numbers = lazy.Regexp(`\[\d+\]`)

// unnumbered returns a key as people know it.
func unnumbered(key string) string { return numbers().ReplaceAllString(key, "") }
