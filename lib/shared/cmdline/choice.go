package cmdline

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"pulse/lib/shared/fault"
)

// Choice returns the value of a flag, which is one of a list; empty if the flag is.
func Choice[T ~string](c *cli.Context, flag string, list []T) (T, error) {
	if c.String(flag) == "" {
		return "", nil
	}
	return choice(flag, c.String(flag), list)
}

// Choices returns the values of a flag, with commas between them, each of which is one of a list.
func Choices[T ~string](c *cli.Context, flag string, list []T) (values []T, err error) {
	for word := range strings.SplitSeq(c.String(flag), ",") {
		value, err := choice(flag, word, list)
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, nil
}

func choice[T ~string](flag, word string, list []T) (T, error) {
	if slices.Contains(list, T(word)) {
		return T(word), nil
	}
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = string(w)
	}
	return "", fault.Usagef("--"+flag+" is one of "+strings.Join(words, ", "), "--%s: there is no %s %s", flag, flag, word)
}
