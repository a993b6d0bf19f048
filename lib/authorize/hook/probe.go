package hook

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// probe begins a command of a shell that does nothing, and a pattern that no file has.
const probe = ": pulse-authorize hook check "

// Probe returns a command, or a pattern for files, by which a person finds out whether a client
// asks its hook: it does nothing, and is refused whatever the policy says.
func Probe(token string) string { return probe + token }

// Probes reports whether a use is that of Probe.
func (u *Use) Probes() bool { return strings.HasPrefix(u.probed(), probe) }

// probing are the tools that are probed, with the name of the text in their input.
var probing = map[string]string{"Bash": "command", "glob": "pattern"}

func (u *Use) probed() (text string) {
	in := input{u.Input, u.Dir}
	v := in.value(probing[u.Name])
	if v == "" || u.Server != "" || v.Into(&text) != nil {
		return ""
	}
	return text
}

// Held returns the refusal of a use that probes. Only a hook that was asked can tell it.
func (u *Use) Held() string { return HeldBy(strings.TrimPrefix(u.probed(), probe)) }

// HeldBy returns the refusal of Probe.
func HeldBy(token string) string {
	return fmt.Sprintf("pulse: held %.8x", sha256.Sum256([]byte(token)))
}
