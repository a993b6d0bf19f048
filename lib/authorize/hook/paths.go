package hook

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"pulse/lib/shared/lazy"
)

// Clients trim a path, and expand ~ in it. What a client opens is then not what is written
// in the call, so an odd path leads out of the workspace, and is refused.

// odd reports whether a client may understand a path in another way than pulse.
func odd(path string) bool {
	if path == "" {
		return false
	}
	first, _ := utf8.DecodeRuneInString(path)
	last, _ := utf8.DecodeLastRuneInString(path)
	return first == '~' || blank(first) || blank(last) || strings.ContainsFunc(path, hidden)
}

// blank reports what a client may trim.
func blank(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Z, r) }

// hidden reports what a client may drop, or end a path at.
func hidden(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }

// absolute returns a path as it is from the working directory.
func absolute(path, dir string) string {
	switch {
	case odd(path):
		return "../" + path
	case strings.HasPrefix(path, "/"):
		return path
	}
	return dir + "/" + path
}

// maxBraces bounds what a pattern is expanded to.
const maxBraces = 1000

var (
	group   = lazy.Regexp(`^(.*)\{([^{}]*)\}(.*)$`)
	outward = lazy.Regexp(`[{,][/~]`)
	strange = lazy.Regexp(`[{}]|\.\[|\[[^]]*\.|\([^)]*\.|\\|[\s\p{Z}][/~]`)
	upward  = lazy.Regexp(`^/|(^|[/,])\.\.([/,]|$)`)
)

// away returns the paths that a pattern reaches besides those in its directory. One that may
// leave its directory by braces, brackets or backslashes counts as a path that leads out.
func away(pattern string) []string {
	all, ok := braces(pattern)
	if !ok || len(pattern) > maxBraces || odd(pattern) || outward().MatchString(pattern) {
		return []string{"../" + pattern}
	}
	var out []string
	for _, one := range all {
		if odd(one) || strange().MatchString(one) {
			return []string{"../" + pattern}
		}
		if upward().MatchString(one) {
			out = append(out, one)
		}
	}
	return out
}

// braces expands the groups of a pattern, with the empty word as one more choice of each. It
// reports false if there would be too many.
func braces(pattern string) (all []string, ok bool) {
	todo := []string{pattern}
	for len(todo) > 0 {
		one := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		m := group().FindStringSubmatch(one)
		if m == nil {
			all = append(all, one)
		} else {
			for _, choice := range append(strings.Split(m[2], ","), "") {
				todo = append(todo, m[1]+choice+m[3])
			}
		}
		if len(all)+len(todo) > maxBraces {
			return nil, false
		}
	}
	return all, true
}
