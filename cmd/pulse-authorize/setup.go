package main

import (
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"pulse/lib/authorize/clientfile"
	"pulse/lib/authorize/hook"
	"pulse/lib/authorize/settings"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
)

// setUps are what can be done about the hook of a client.
var setUps map[string]func(c *cli.Context, client hook.Client, file *clientfile.File) error

func init() {
	setUps = map[string]func(*cli.Context, hook.Client, *clientfile.File) error{"install": install, "uninstall": uninstall, "check": checkHook}
}

const setUpHint = "pulse-authorize hook install claude-code --policy FILE"

func setUp(c *cli.Context, do func(*cli.Context, hook.Client, *clientfile.File) error) error {
	what, client := c.Args().First(), hook.Client(c.Args().Get(1))
	switch {
	case !client.Valid() || c.Args().Len() != 2:
		return fault.Usagef(setUpHint, "hook %s: want a client: claude-code, codex or gemini", what)
	case c.Bool("user") && c.String("dir") != "" && what != "check":
		return fault.Usagef("--user, or --dir DIR", "hook %s: either the settings of the account or those of a project", what)
	case what == "check" && c.Bool("dry-run"):
		return fault.Usagef("", "hook check: it changes nothing anyway")
	case c.Bool("terminal"), c.Bool("pin"), c.IsSet("judge"):
		return fault.Usagef(setUpHint, "hook %s: --terminal, --pin and --judge are for the hook itself", what)
	}
	path, err := settingsOf(client, c.String("dir"), what == "check")
	if err != nil {
		return err
	}
	return do(c, client, &clientfile.File{Client: client, Named: path})
}

// homesOf has the variables by which clients take another place for their settings, and what of
// the name of the file lies in there.
var homesOf = map[hook.Client]struct {
	variable string
	below    string
}{
	hook.ClaudeCode: {"CLAUDE_CONFIG_DIR", "settings.json"}, hook.Codex: {"CODEX_HOME", "config.toml"}, hook.Gemini: {"GEMINI_CLI_HOME", settings.User(hook.Gemini)},
}

// settingsOf returns the settings file of a client, for a project or the account.
func settingsOf(client hook.Client, dir string, check bool) (string, error) {
	if dir != "" && !check {
		if settings.Project(client) == "" {
			return "", fault.Usagef("--user; or with CODEX_HOME=DIR, where DIR has a home of its own for Codex", "hook: --dir: %s trusts no hook of a project", client)
		}
		return filepath.Abs(filepath.Join(dir, settings.Project(client)))
	}
	if own := homesOf[client]; os.Getenv(own.variable) != "" {
		return filepath.Abs(filepath.Join(os.Getenv(own.variable), own.below))
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fault.Usagef("HOME=DIR, or --dir DIR", "hook: %w", err)
	}
	return filepath.Join(home, settings.User(client)), nil
}

func install(c *cli.Context, client hook.Client, f *clientfile.File) error {
	p, err := cmdline.Policy(c)
	if err != nil {
		return err
	}
	name, err := cmdline.Absolute(p.Name)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	command := settings.Command(program, "hook", string(client), "--terminal", "--policy", name)
	changed, err := f.Add(c.App.Writer, c.Bool("dry-run"), command)
	switch {
	case err != nil:
		return err
	case !changed:
		cmdline.Note(c, "%s: the hook is there already", escape.Message(f.Named))
	case !c.Bool("dry-run"):
		cmdline.Note(c, "a %s that runs now goes on without it; to see that it is asked: pulse-authorize hook check %s", client, client)
	}
	return nil
}

func uninstall(c *cli.Context, client hook.Client, f *clientfile.File) error {
	changed, err := f.Remove(c.App.Writer, c.Bool("dry-run"))
	if err == nil && !changed {
		cmdline.Note(c, "%s: there is no hook of pulse", escape.Message(f.Named))
	}
	return err
}
