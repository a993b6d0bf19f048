package hook

import (
	"strings"
	"unicode"

	"pulse/lib/shared/record"
)

// Outcome is what becomes of a use.
type Outcome string

// The outcomes.
const (
	Allow Outcome = "allow"
	Ask   Outcome = "ask" // the person at the client's terminal
	Deny  Outcome = "deny"
)

// Asks reports whether the client can ask the person at its terminal. Codex goes on at an
// answer that it does not know.
func (c Client) Asks() bool { return c == ClaudeCode || c == Gemini }

// Say returns the answer about a use, without a newline. Codex has no word for allow.
func (c Client) Say(o Outcome, why string) []byte {
	var out, in record.Object
	switch {
	case c == Codex && o == Allow:
	case c == ClaudeCode || c == Codex:
		in.Str("hookEventName", "PreToolUse")
		in.Str("permissionDecision", string(o))
		in.Str("permissionDecisionReason", why)
		out.Raw("hookSpecificOutput", in.Bytes())
	case c == Gemini:
		out.Str("decision", string(o))
		out.Str("reason", why)
	default:
		out.Str("outcome", string(o))
		out.Str("reason", why)
	}
	return out.Bytes()
}

// Greet returns the answer to the beginning of a session. Gemini CLI takes the ask from it.
func (c Client) Greet(ask string) []byte {
	var out, in record.Object
	if ask != "" {
		in.Str("hookEventName", "SessionStart")
		in.Str("additionalContext", ask)
		out.Raw("hookSpecificOutput", in.Bytes())
	}
	return out.Bytes()
}

// Refuse returns the answer that keeps a prompt from the model.
func (c Client) Refuse(why string) []byte {
	var out record.Object
	out.Str("decision", "block")
	out.Str("reason", why)
	return out.Bytes()
}

// maxShown bounds what of a text is shown to a model or at a terminal, in characters.
const maxShown = 400

// Shown returns a text without what could move a cursor, reorder or hide.
func Shown(s string) string {
	n := 0
	return strings.Map(func(r rune) rune {
		if n++; n > maxShown {
			return -1
		}
		if r == ' ' || unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S) && r != unicode.ReplacementChar {
			return r
		}
		return '?'
	}, s)
}
