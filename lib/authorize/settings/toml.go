package settings

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"pulse/lib/authorize/hook"
	"pulse/lib/shared/lazy"
	"pulse/lib/shared/record"
)

// tomlForm is the configuration of Codex. Our hook is a group at its end, with the trust
// without which Codex runs no hook.
type tomlForm struct {
	text []byte // nil: there is no file
	read struct {
		Hooks struct {
			PreToolUse []struct {
				Hooks []struct {
					Command string `toml:"command"`
				} `toml:"hooks"`
			} `toml:"PreToolUse"`
		} `toml:"hooks"`
	}
}

func openTOML(b []byte) (*tomlForm, error) {
	f := &tomlForm{text: b}
	if err := toml.Unmarshal(b, &f.read); err != nil {
		return nil, fmt.Errorf("%w: %w", errSettings, err)
	}
	return f, nil
}

func (f *tomlForm) command() (command string, err error) {
	for _, g := range f.read.Hooks.PreToolUse {
		for _, h := range g.Hooks {
			switch {
			case !ours(hook.Codex, h.Command):
			case command != "":
				return "", errTwice
			default:
				command = h.Command
			}
		}
	}
	return command, nil
}

// block is what is added. Before it stands a line's end, unless there was no file.
const block = `# The hook of pulse, which "pulse-authorize hook uninstall codex" takes away.
[[hooks.PreToolUse]]
matcher = "*"
[[hooks.PreToolUse.hooks]]
type = "command"
timeout = 60
command = %s
[hooks.state.%s]
trusted_hash = "%s"
`

var blocks = lazy.Regexp(`(?m)\n?^` + strings.ReplaceAll(regexp.QuoteMeta(block), "%s", ".*"))

func (f *tomlForm) with(path, command string) ([]byte, error) {
	key := path + ":pre_tool_use:" + strconv.Itoa(len(f.read.Hooks.PreToolUse)) + ":0"
	added := fmt.Sprintf(block, record.AppendString(nil, command), record.AppendString(nil, key), trust(command))
	if f.text == nil {
		return []byte(added), nil
	}
	return []byte(string(f.text) + "\n" + added), nil
}

// trust returns the hash by which Codex knows a hook: of its parts in the order of their names.
func trust(command string) string {
	var h, g record.Object
	h.Bool("async", false)
	h.Str("command", command)
	h.Raw("timeout", []byte("60"))
	h.Str("type", "command")
	g.Str("event_name", "pre_tool_use")
	g.Raw("hooks", append(append([]byte("["), h.Bytes()...), ']'))
	g.Str("matcher", "*")
	return fmt.Sprintf("sha256:%x", sha256.Sum256(g.Bytes()))
}

func (f *tomlForm) without() ([][]byte, error) {
	at := blocks().FindAllIndex(f.text, 2)
	if len(at) != 1 {
		return nil, errEdited
	}
	rest := append([]byte{}, f.text[:at[0][0]]...)
	return [][]byte{nil, append(rest, f.text[at[0][1]:]...)}, nil
}
