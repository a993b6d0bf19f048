package screen

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// The parameters of Punycode (RFC 3492 §5).
const (
	base, tmin, tmax = 36, 1, 26
	skew, damp       = 38, 700
	firstBias        = 72
)

// maxDelta is the most that an encoder can need for a label of maxLabel letters. A larger
// sum is refused before it overflows.
const maxDelta = utf8.MaxRune * (maxLabel + 1)

// punycode decodes what follows "xn--" in a label of a domain, at most maxLabel bytes
// (RFC 3492 §6.2). ok is false for a text that no encoder writes.
func punycode(s string) (text string, ok bool) {
	at := strings.LastIndexByte(s, '-')
	if at == 0 || len(s) > maxLabel || !ascii(s) {
		return "", false
	}
	out := []rune(s[:max(at, 0)])
	s = s[at+1:]
	n, i, bias := 0x80, 0, firstBias
	for s != "" {
		delta, rest, ok := delta(s, bias)
		if !ok {
			return "", false
		}
		s = rest
		room := len(out) + 1
		bias = adapt(delta, room, i == 0)
		i += delta
		n += i / room
		i %= room
		if n > utf8.MaxRune || !utf8.ValidRune(rune(n)) {
			return "", false
		}
		out = slices.Insert(out, i, rune(n))
		i++
	}
	return string(out), true
}

// delta reads one number of variable length (RFC 3492 §3.3).
func delta(s string, bias int) (delta int, rest string, ok bool) {
	weight := 1
	for k := base; s != ""; k += base {
		d := digit(s[0])
		s = s[1:]
		if d < 0 || weight > maxDelta || d*weight > maxDelta-delta {
			return 0, "", false
		}
		delta += d * weight
		t := min(max(k-bias, tmin), tmax)
		if d < t {
			return delta, s, true
		}
		weight *= base - t
	}
	return 0, "", false
}

// digit returns the value of a letter in either case or a figure, -1 for anything else.
func digit(c byte) int {
	switch {
	case 'a' <= c|0x20 && c|0x20 <= 'z':
		return int(c|0x20) - 'a'
	case '0' <= c && c <= '9':
		return int(c) - '0' + 26
	}
	return -1
}

// adapt returns the bias for the next number (RFC 3492 §6.1).
func adapt(delta, room int, first bool) (bias int) {
	if first {
		delta /= damp
	} else {
		delta /= 2
	}
	delta += delta / room
	k := 0
	for delta > (base-tmin)*tmax/2 {
		delta /= base - tmin
		k += base
	}
	return k + (base-tmin+1)*delta/(delta+skew)
}
