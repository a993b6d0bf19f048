package policy

import (
	"fmt"
	"strings"
	"sync"

	"pulse/lib/shared/lazy"
)

// lines knows on which lines of a file its keys and tables stand.
type lines struct {
	outline *outline
	at      map[string]int   // by key, with [n] after each name that is one of several
	all     map[string][]int // by key without these, see Line
}

func index(text string) *lines {
	l := &lines{readOutline(text), map[string]int{}, map[string][]int{}}
	list := l.outline.Entries
	for i, e := range list {
		l.at[e.Key] = e.Line
		tables := e.Kind == isArray && i+1 < len(list) && list[i+1].Element && list[i+1].Kind == isInline
		if !tables && (!e.Element || e.Kind == isInline) { // [[x]] may be written x = [{…}]
			name := unquoted(strings.Join(e.Names, "."))
			l.all[name] = append(l.all[name], e.Line)
		}
	}
	return l
}

// of returns the line of a key, of the first one if it is one of several and has no [n],
// else of the first thing below it, else of what it is below; 1 if the file has none of
// these.
func (l *lines) of(key string) int {
	for key != "" {
		if line := l.at[key]; line > 0 {
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

// Line returns the line of the nth occurrence, from 0, of a key or table such as
// matrix.owner_verified_email.allow or receiver. It is 0 if the file does not have it.
// Quotes in key make no difference.
func (p *Policy) Line(key string, nth int) int {
	if lines := p.lines()[unquoted(key)]; nth >= 0 && nth < len(lines) {
		return lines[nth]
	}
	return 0
}

// read has the lines of every file that became a policy, by the digest of its bytes. They
// are not in Policy, so that two files that say the same are equal policies.
var read sync.Map

func (p *Policy) lines() map[string][]int {
	all, _ := read.Load(p.Digest)
	lines, _ := all.(map[string][]int)
	return lines
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
