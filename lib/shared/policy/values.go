package policy

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"pulse/lib/shared/address"
	"pulse/lib/shared/duration"
)

// oneOf sets dst to a word of a closed list.
func oneOf[T ~string](v *validator, dst *T, key string, value *string, words ...T) {
	if value == nil {
		return
	}
	for _, w := range words {
		if string(w) == *value {
			*dst = w
			return
		}
	}
	v.fail(key, "%s is none of %s", *value, join(words))
}

func join[T ~string](list []T) string { return strings.Join(words(list), ", ") }

// words returns a closed list as strings.
func words[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = string(w)
	}
	return out
}

// isWord reports whether s is printable ASCII without blanks.
func isWord(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

func (v *validator) addresses(key string, list []string, domains bool) []string {
	for i, entry := range list {
		v.address(at(key, i), entry, domains)
	}
	return list
}

func (v *validator) address(key, entry string, domains bool) {
	domain, isDomain := strings.CutPrefix(entry, "@")
	err := Address(entry)
	switch {
	case isDomain && domains && address.Domain(domain):
	case isDomain && !domains:
		v.fail(key, "%s: want an address, not a domain", entry)
	case err != nil && domains && strings.HasPrefix(entry, "*@") && address.Domain(entry[2:]):
		v.fail(key, "%s matches nobody: want %s", entry, entry[1:])
	case err != nil && domains && strings.HasPrefix(entry, "@*."):
		v.fail(key, "%s matches nobody: want each @domain by itself", entry)
	case err != nil && domains && strings.Contains(entry, ".") && address.Domain(strings.TrimPrefix(entry, ".")):
		v.fail(key, "%s matches nobody: want @%s", entry, strings.TrimPrefix(entry, "."))
	case err != nil:
		v.fail(key, "%v", err)
	}
}

// Address returns an error if an entry is not one plain address. A * is a letter of a name to
// mail servers, but in a list it was meant as a pattern, and would match nobody.
func Address(entry string) error {
	_, _, err := address.Split(entry)
	if strings.Contains(entry, "*") {
		return fmt.Errorf("%s matches nobody: want each address by itself", entry)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", entry, err)
	}
	return nil
}

func (v *validator) duration(dst *time.Duration, key string, value *string, least time.Duration) {
	if value == nil {
		return
	}
	d, err := duration.Parse(*value)
	if err != nil || d < least {
		v.fail(key, "%s: want a duration such as 2d, 48h or 90m, at least %s", *value, least)
	}
	*dst = d
}

func (v *validator) absolute(dst *string, key string, value *string) {
	if value == nil {
		return
	}
	if !filepath.IsAbs(*value) {
		v.fail(key, "%s: want an absolute path", *value)
	}
	*dst = *value
}

// size reads bytes with an optional unit: KiB, MiB or GiB.
func (v *validator) size(dst *int64, key string, value *string) {
	if value == nil {
		return
	}
	digits, unit := *value, int64(1)
	for suffix, factor := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
		if rest, ok := strings.CutSuffix(*value, suffix); ok {
			digits, unit = rest, factor
		}
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil {
		v.fail(key, "%s: want bytes such as 64MiB", *value)
	}
	*dst = int64(n) * unit
}
