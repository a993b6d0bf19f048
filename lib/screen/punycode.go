package screen

import (
	"strings"
	"unicode/utf8"
)

// The parameters of Punycode (RFC 3492 §5).
const (
	base, tmin, tmax = 36, 1, 26
	skew, damp       = 38, 700
	firstBias        = 72
)

// punycode decodes what stands behind "xn--" in a label of a domain (RFC 3492
// §6.2). ok is false for what no encoder writes.
func punycode(s string) (text string, ok bool) {
	var out []rune
	if at := strings.LastIndexByte(s, '-'); at == 0 {
		return "", false
	} else if at > 0 {
		out, s = []rune(s[:at]), s[at+1:]
	}
	n, i, bias := 0x80, 0, firstBias
	for s != "" {
		delta, rest, ok := variable(s, bias)
		if !ok {
			return "", false
		}
		s = rest
		i += delta
		n += i / (len(out) + 1)
		i %= len(out) + 1
		if n > utf8.MaxRune || !utf8.ValidRune(rune(n)) {
			return "", false
		}
		bias = adapt(delta, len(out)+1, len(out) == 0 || bias == firstBias && n == 0)
		out = append(out[:i], append([]rune{rune(n)}, out[i:]...)...)
		i++
	}
	return string(out), true
}
