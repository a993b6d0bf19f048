package message

import (
	"math"
	"slices"
	"strings"
)

// hides reports whether one declaration hides an element and everything in it.
func hides(name, value string) bool {
	n, unit, ok := number(value)
	first, _, _ := strings.Cut(value, " ")
	tight := strings.ReplaceAll(value, " ", "")
	switch name {
	case "display":
		return tight == "none"
	case "content-visibility":
		return tight == "hidden"
	case "opacity":
		return ok && (n < 0.1 || unit == "%" && n < 10)
	case "zoom", "scale":
		n, unit, ok = number(first)
		return ok && (math.Abs(n) < 0.1 || unit == "%" && math.Abs(n) < 10)
	case "letter-spacing":
		return ok && far(n, unit, -0.5, -5)
	case "clip", "clip-path": // honest mail does not cut text, so its shape need not be known
		return tight != "" && tight != "auto" && tight != "none" && !slices.Contains(anew, tight)
	case "transform":
		return transforms(value)
	case "filter":
		return strings.HasPrefix(tight, "opacity(0") || strings.HasPrefix(tight, "alpha(opacity=0")
	}
	return false
}

// transforms reports whether a transformation moves text off the screen or makes a dot of it.
func transforms(value string) bool {
	for value != "" {
		name, rest, _ := strings.Cut(value, "(")
		args, after, _ := strings.Cut(rest, ")")
		value = after
		name = strings.TrimSpace(name)
		list := strings.FieldsFunc(args, func(r rune) bool { return r == ',' || asciiSpace(r) })
		var v [6]float64
		for i, arg := range list {
			n, unit, ok := number(arg)
			if !ok {
				continue
			}
			if i < len(v) {
				v[i] = n
			}
			size := math.Abs(n)
			switch {
			case strings.HasPrefix(name, "translate") && i < 2 && distant(n, unit),
				strings.HasPrefix(name, "scale") && name != "scalez" && i < 2 && (size < 0.1 || unit == "%" && size < 10):
				return true
			}
		}
		if name == "matrix" && (math.Abs(v[0]*v[3]-v[1]*v[2]) < 0.01 || distant(v[4], "") || distant(v[5], "")) {
			return true
		}
	}
	return false
}

// away reports whether a declaration moves text off the screen, in any direction.
func away(name, value string) bool {
	switch name {
	case "text-indent", "left", "right", "top", "bottom", "inset", "margin", "margin-left", "margin-top", "translate":
	default:
		return false
	}
	for _, word := range strings.Fields(value) {
		if n, unit, ok := number(word); ok && distant(n, unit) {
			return true
		}
	}
	return false
}

// distant reports whether text that is moved by a length, in either direction, is off the screen.
func distant(n float64, unit string) bool {
	return far(n, unit, -50, -500) || far(-n, unit, -200, -2000)
}

// far reports whether a length is at most em, if it is relative to the font, or at most px
// otherwise. One per cent of the window counts as ten pixels.
func far(n float64, unit string, em, px float64) bool {
	switch unit {
	case "em", "rem", "ex", "ch":
		return n <= em
	case "%", "vw", "vh":
		n *= 10
	}
	return n <= px
}
