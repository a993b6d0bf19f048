// Package hint completes a command that is suggested to a person with what the command
// that suggests it was told: which queue, which policy.
//
// Invariant: what comes out can be typed as it stands. It bears only flags that the
// command has, and their values are quoted for the shell. Caveat: what the environment
// says, it leaves out; it holds for the shell from which the first command was started.
package hint

import "strings"

// Where is the queue and the policy that the flags of a command named. The commands that
// it suggests need the same flags. An empty one was not named by a flag, so the environment
// names it to those commands, too.
type Where struct {
	Queue, Policy string
}

// judges are the commands that look at a policy.
var judges = []string{
	"pulse-queue run", "pulse-queue requeue", "pulse-queue show", "pulse-queue add",
	"pulse-approve yes", "pulse-approve no", "pulse-authorize", "pulse-authorize matrix",
}

// Command returns a command, or several joined by pipes, with the flags that it needs
// after the name of each and of its subcommand.
func (w Where) Command(text string) string {
	var list []string
	for _, one := range strings.Split(text, " | ") {
		words := strings.SplitN(one, " ", 3)
		name := strings.Join(words[:min(len(words), 2)], " ")
		flags := ""
		if w.Queue != "" && words[0] != "pulse-authorize" {
			flags = " --queue " + quoted(w.Queue)
		}
		for _, judge := range judges {
			if w.Policy != "" && judge == name {
				flags += " --policy " + quoted(w.Policy)
			}
		}
		list = append(list, name+flags+strings.TrimPrefix(one, name))
	}
	return strings.Join(list, " | ")
}

// quoted returns a word as a shell reads it.
func quoted(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:@%+="
	if strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
