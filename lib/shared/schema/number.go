package schema

import (
	"fmt"
	"strings"

	"pulse/lib/shared/record"
)

// maxDigits bounds the digits of a number: so many every program reads alike (RFC 8259 §6).
const maxDigits = 15

var errNumber = fmt.Errorf("want a number of at most %d digits, without an exponent", maxDigits)

// number returns the one spelling of a number: without zeros at the end of a fraction, and
// without a minus before zero. An exponent is refused, because a few bytes can make a number
// of any length.
func number(v record.Value) (string, error) {
	digits, minus := strings.CutPrefix(string(v), "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	fraction = strings.TrimRight(fraction, "0")
	if kindOf(v) != isNumber || strings.ContainsAny(digits, "eE") || len(whole)+len(fraction) > maxDigits {
		return "", errNumber
	}
	if fraction != "" {
		whole += "." + fraction
	}
	if minus && whole != "0" {
		whole = "-" + whole
	}
	return whole, nil
}
