package mailbox

import "strings"

const (
	maxSaid  = 300 // bytes of a server's text that are shown
	maxShown = 7   // bytes of a secret that may stand in it by chance
)

// redact returns the beginning of text without what it has in common with a secret: a
// short secret as a whole, and any piece of a longer one that has more than maxShown bytes,
// in upper or lower case.
func redact(text string, secrets []string) string {
	cut := len(text) > maxSaid
	if cut {
		text = text[:maxSaid]
	}
	var b strings.Builder
	folded := upper(text)
	for i := 0; i < len(text); {
		n := 0
		for _, s := range secrets {
			n = max(n, common(folded[i:], upper(s)))
		}
		if n == 0 {
			b.WriteByte(text[i])
			i++
			continue
		}
		b.WriteString("…")
		i += n
	}
	if cut {
		b.WriteString("…")
	}
	return b.String()
}

// common returns how many bytes at the beginning of text are a piece of the secret, or 0 if
// there are so few that it may be chance.
func common(text, secret string) int {
	least := min(len(secret), maxShown+1)
	if least == 0 || len(text) < least || !strings.Contains(secret, text[:least]) {
		return 0
	}
	n := least
	for n < len(text) && strings.Contains(secret, text[:n+1]) {
		n++
	}
	return n
}
