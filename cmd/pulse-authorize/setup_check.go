package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"pulse/lib/authorize/clientfile"
	"pulse/lib/authorize/held"
	"pulse/lib/authorize/hook"
	"pulse/lib/authorize/settings"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
)

// checkHook tries the client, as it is set up here.
func checkHook(c *cli.Context, client hook.Client, f *clientfile.File) error {
	r, err := held.Try(c.Context, client, c.String("dir"))
	if errors.Is(err, held.ErrMissing) {
		return fault.Usagef("is it in PATH?", "hook check: %w", err)
	}
	if err != nil {
		return err
	}
	name := string(client) + " " + r.Version
	switch {
	case !r.Tried:
		return fault.Failedf("start "+string(client)+" here, and see that it works",
			"%s could not be tried: it did not get as far as using a tool: %s", name, escape.Message(r.Said))
	case r.Held:
		_, err := fmt.Fprintf(c.App.Writer, "%s: held\n", escape.Line(name))
		return errors.Join(err, unknownVersion(client, r.Version))
	case r.Refused != "":
		return fault.Failedf("pulse-authorize hook install "+string(client), "%s is held, but is refused everything: %s", name, escape.Message(r.Refused))
	}
	return notHeld(name, f, c.String("dir"))
}

func unknownVersion(client hook.Client, version string) error {
	if client.Knows(version) {
		return nil
	}
	return fault.Failedf("an older "+string(client), "nobody has tried whether %s %s tells its hook all that it does", client, version)
}

// whyNot says why clients run no hook that is in their settings.
var whyNot = map[hook.Client]string{
	hook.ClaudeCode: "disableAllHooks in any of its settings, or settings of the machine, take it away",
	hook.Codex:      "it has another number among the hooks, and so no trust: install it anew; or features.hooks is false",
	hook.Gemini:     "hooksConfig in any of its settings takes it away, or those of another place count",
}

func notHeld(name string, f *clientfile.File, dir string) error {
	install := "pulse-authorize hook install " + string(f.Client) + " --policy FILE"
	for _, path := range []string{f.Named, projectFile(f.Client, dir)} {
		text, _, err := clientfile.Read(path)
		if err != nil {
			continue
		}
		command, err := settings.Find(f.Client, text)
		switch {
		case err != nil:
			return fault.Failedf("less "+escape.Shell(path), "%s is not held: %s: %w", name, path, err)
		case command != "":
			return fault.Failedf("pulse-authorize hook uninstall "+string(f.Client)+"; "+install, "%s is not held, although %s has the hook: %s", name, path, whyNot[f.Client])
		}
	}
	return fault.Failedf(install, "%s is not held: %s has no hook of pulse", name, f.Named)
}

func projectFile(client hook.Client, dir string) string {
	path, err := settingsOf(client, cmp.Or(dir, "."), false)
	if settings.Project(client) == "" || err != nil {
		return ""
	}
	return path
}
