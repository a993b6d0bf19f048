package layout

import (
	"fmt"
	"path/filepath"
	"strings"

	"pulse/lib/shared/lazy"
)

// Where text goes. Unknown is said of whatever is not certain: nothing is guessed to be safe.
const (
	Unknown = "not known: may be anywhere"
	Nowhere = "nowhere"
	Here    = "this machine"
)

// Absent says where something goes that the environment file does not name.
func (l *Layout) Absent(name string) Way {
	if l.Values == nil {
		return Way{Where: Unknown, Why: "there is no " + l.Name}
	}
	return Way{Where: Nowhere, Why: l.Name + " has no " + name}
}

// Way is where a program's bytes go.
type Way struct {
	Where, Why string
	Boxed      bool
	Keeps      string // where it keeps what it was given; empty: nowhere
}

// programs are those of pulse, by their names below libexec/pulse, and which hosts they are
// known to ask; nothing holds them to these.
var programs = map[string]string{
	"readers/claude": "api.anthropic.com",
	"readers/llm":    "the host of its model",
	"workers/claude": "api.anthropic.com",
	"workers/codex":  "api.openai.com or chatgpt.com",
	"workers/gemini": "generativelanguage.googleapis.com",
	"workers/llm":    "the host of its model",
	"workers/shell":  "nobody",
	"senders/msmtp":  "the mail server of its account",
	"senders/drafts": "the IMAP server of its last argument",
}

// flagsOf are the flags that stand before a program, and sameTasks those that leave it as it is which
// program is given which tasks.
var (
	flagsOf   = map[string]string{"READER": "READ_FLAGS", "WORKER": "RUN_FLAGS"}
	sameTasks = lazy.Regexp(`^(--?(proposals(=\S*)?|(env|max|timeout|notify)(=\S*| [^- ]\S*)) )*`)
)

// Named returns the name of a program that comes with pulse, below its directory; empty: it is none.
func Named(path string) string {
	if _, name, ok := strings.Cut(path, "/libexec/pulse/"); ok && strings.HasPrefix(path, "/") && filepath.Clean(path) == path {
		return name
	}
	return ""
}

// Way returns where the program in a variable has a way to. A box leaves it one socket, whatever
// it is; without one, nothing here holds it.
func (l *Layout) Way(variable, account string) Way {
	words := strings.Fields(l.Values[variable])
	if len(words) == 0 {
		return l.Absent(variable)
	}
	flags := strings.Join(strings.Fields(l.Values[flagsOf[variable]]), " ") + " "
	if odd, _, _ := strings.Cut(flags[len(sameTasks().FindString(flags)):], " "); odd != "" { // a program, or a flag for other tasks, another queue or policy
		return Way{Where: Unknown, Why: flagsOf[variable] + " has " + odd + ", which may start something else"}
	}
	name := Named(words[0])
	if name == "box" {
		return l.box(variable, strings.Join(words[1:], " ")+" ")
	}
	w := Way{Where: "anywhere", Why: fmt.Sprintf("%s, %s, in no box: it asks %s", variable, name, programs[name])}
	if programs[name] == "" {
		w = Way{Where: Unknown, Why: variable + ", " + words[0] + ", which pulse does not know, in no box"}
		w.Keeps = "the home of " + account + ", if " + variable + " keeps one"
	}
	if host := l.out(account); host != "" {
		w.Why += "; under systemd " + host + " and sockets of this machine"
	}
	return w
}

// box returns where a program in a box has a way to, by the flags of the box.
func (l *Layout) box(variable, line string) Way {
	w, seen := Way{Where: Nowhere, Boxed: true}, ""
	flags, command, _ := strings.Cut(" "+line, " -- ")
	program, _, _ := strings.Cut(command, " ")
	if programs[Named(program)] != "" {
		program = Named(program)
	}
	w.Why = variable + ", " + program + " in a box"
	for _, o := range Options(flags) {
		switch {
		case o.Value != "" && o.Name == "--model":
			w.Where, w.Why = l.socket(o.Value), w.Why+", "+o.Value
		case o.Value != "" && (o.Name == "--ro" || o.Name == "--rw"):
			seen += " " + o.Value
		case o.Value == "" || o.Name != "--env":
			return Way{Where: Unknown, Why: variable + ", a box with " + o.Word}
		}
	}
	switch {
	case program == "":
		return Way{Where: Unknown, Why: variable + ", a box without a program"}
	case seen != "":
		w.Where, w.Keeps = w.Where+", and sockets in"+seen, "what it may write of"+seen
	}
	return w
}

// socket returns where a socket that a box has leads to. It lies in one of two directories: the
// second is for a gate without root, and is where init puts it.
func (l *Layout) socket(path string) string {
	dir, account := filepath.Split(path)
	own, err := filepath.Abs(l.Dir)
	if dir == "/run/pulse-out/" || err == nil && dir == filepath.Join(dataOf(own), "out")+"/" {
		if host := l.out(account); host != "" {
			return host
		}
	}
	return Unknown
}

// out returns the one host behind an account's socket, or nothing if that is not known.
func (l *Layout) out(account string) string {
	values, _ := Variables(filepath.Join(l.Dir, "out-"+account))
	return values["TO"]
}
