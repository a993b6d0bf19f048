package schema

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"pulse/lib/shared/record"
)

// rule is a keyword that a value breaks or keeps, as draft 2020-12 has it.
type rule struct {
	keyword string
	keeps   func(written) bool
}

// written is a value in its one spelling.
type written struct {
	kind  string
	text  string   // what a string says, and the spelling of any other value
	json  string   // the spelling
	parts []string // the spellings of the elements, or the names of the members
}

// rule adds a rule. If null will do, the keywords of a kind do not look at it.
func (n *node) rule(keyword string, keeps func(written) bool) {
	n.rules = append(n.rules, rule{keyword, func(v written) bool {
		return v.kind == isNull && n.null && n.kind != isWord || keeps(v)
	}})
}

// hold reports the first keyword that a value breaks.
func (w *writer) hold(n *node, v written, at string) {
	for _, r := range n.rules {
		if w.broken == nil && !r.keeps(v) {
			w.broken = fmt.Errorf("%w: %s breaks %s", errUnfit, at, r.keyword)
		}
	}
}

// ofType adds the rule of type, as far as the kind of the node does not say it.
func (n *node) ofType(name string) {
	n.rule("type", func(v written) bool {
		return v.kind == name || v.kind == isNull && n.null ||
			v.kind == isNumber && name == isInteger && !strings.Contains(v.text, ".")
	})
}

func (n *node) oneOf(keyword string, words []string) {
	n.rule(keyword, func(v written) bool { return slices.Contains(words, v.json) })
}

func (n *node) lengths(most int, bounded bool, least int) {
	n.rule("minLength", func(v written) bool { return utf8.RuneCountInString(v.text) >= least })
	n.rule("maxLength", func(v written) bool { return !bounded || utf8.RuneCountInString(v.text) <= most })
}

func (n *node) matches(re *regexp.Regexp) {
	n.rule("pattern", func(v written) bool { return re.MatchString(v.text) })
}

func (n *node) counts(least, most int, unique bool) {
	n.rule("minItems", func(v written) bool { return len(v.parts) >= least })
	n.rule("maxItems", func(v written) bool { return len(v.parts) <= most })
	n.rule("uniqueItems", func(v written) bool {
		sorted := slices.Sorted(slices.Values(v.parts))
		return !unique || len(slices.Compact(sorted)) == len(v.parts)
	})
}

func (n *node) requires(names []string) {
	n.rule("required", func(v written) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(v.parts, name) })
	})
}

// compares says what a number has to be to the number of a keyword. Decimals are compared
// exactly: 0.3 is a multiple of 0.1.
var compares = map[string]func(n, to *big.Rat) bool{
	"minimum":          func(n, to *big.Rat) bool { return n.Cmp(to) >= 0 },
	"exclusiveMinimum": func(n, to *big.Rat) bool { return n.Cmp(to) > 0 },
	"maximum":          func(n, to *big.Rat) bool { return n.Cmp(to) <= 0 },
	"exclusiveMaximum": func(n, to *big.Rat) bool { return n.Cmp(to) < 0 },
	"multipleOf":       func(n, to *big.Rat) bool { return to.Sign() > 0 && n.Quo(n, to).IsInt() },
}

func (n *node) compared(keyword, to string) {
	bound, _ := new(big.Rat).SetString(to)
	n.rule(keyword, func(v written) bool {
		number, ok := new(big.Rat).SetString(v.text)
		return ok && bound != nil && compares[keyword](number, bound)
	})
}

// spelling returns the one spelling of a word.
func spelling(v record.Value) string {
	switch kindOf(v) {
	case isString:
		s, _ := v.String()
		return string(record.AppendString(nil, s))
	case isNumber:
		s, _ := number(v)
		return s
	}
	return string(v)
}
