package agent

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"pulse/lib/shared/record"
)

// Claude Code runs the hook SessionStart before it reads an input of JSON lines. It loads no
// settings of a project or a directory if it is told to load the user's, whose home is the
// run's. What it prints is the transcript.

func workClaude(ctx context.Context, t *turn) (string, error) {
	env, err := t.claudeEnv()
	if err != nil {
		return "", err
	}
	version, err := t.version(ctx, env)
	if err != nil {
		return "", err
	}
	if err := t.judge.begin(ctx, version, ""); err != nil {
		return "", err
	}
	args := append(append([]string{"-p"}, t.args...),
		"--settings", string(claudeSettings(t.judge.command())), "--setting-sources", "user", "--strict-mcp-config",
		"--disable-slash-commands", "--tools", strings.Join(t.judge.tools, ","),
		"--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
	session, err := t.restore()
	if err != nil {
		return "", err
	}
	if session != "" {
		args = append(args, "--resume", session)
	}
	seen := claudeRun{ends: make(chan string, 1)}
	p, err := t.start(ctx, env, "", seen.line, args...)
	if err != nil {
		return "", err
	}
	if err = t.judge.hello(ctx, helloWithin, p.done); err == nil {
		p.converse(t.ask, &seen)
	} else {
		p.end()
	}
	if err := t.counted(p, seen.uses(), err); err != nil {
		return "", err
	}
	t.keep(seen.session)
	return t.claudeEnd(p, &seen)
}

// nul is what Claude Code ends a turn with, before it asks the hook, if a model names a file
// that has a NUL in it.
const nul = "Path contains null bytes"

// converse gives Claude Code the ask, and waits for its end. A turn that a NUL has ended goes
// on, a few times: a model that was talked into one must not end the run. A client that was
// silent until now may read to the end of its input before it says anything.
func (p *process) converse(ask string, seen *claudeRun) {
	_, _ = p.in.Write(claudePrompt(ask)) // if it has ended, it says so
	for range maxNuls {
		if !seen.talks.Load() {
			break
		}
		select {
		case <-p.done:
			return
		case how := <-seen.ends:
			if how != nul {
				_ = p.wait()
				return
			}
			_, _ = p.in.Write(claudePrompt("pulse: the call was refused, because no path has a NUL. Go on without it."))
		}
	}
	_ = p.wait()
}

const maxNuls = 5

// readClaude asks Claude Code without its tools, settings, servers, skills and instructions, in
// an empty directory.
func readClaude(ctx context.Context, t *turn) (string, error) {
	env, err := t.claudeEnv()
	if err == nil {
		err = t.home.put("empty/none", nil)
	}
	if err == nil {
		err = os.Remove(t.home.path("empty/none"))
	}
	if err != nil {
		return "", err
	}
	args := append(append([]string{"-p"}, t.args...),
		"--tools", "", "--strict-mcp-config", "--setting-sources", "", "--disable-slash-commands", "--no-session-persistence",
		"--system-prompt", reading, "--output-format", "stream-json", "--verbose")
	var seen claudeRun
	p, err := t.start(ctx, env, t.home.path("empty"), seen.line, args...)
	if err != nil {
		return "", err
	}
	_, _ = p.in.Write([]byte(inert(t.ask)))
	_ = p.wait()
	return t.claudeEnd(p, &seen)
}

func (t *turn) claudeEnv() ([]string, error) {
	err := t.home.login(".claude/.credentials.json", filepath.Join(configOf("CLAUDE_CONFIG_DIR", ".claude"), ".credentials.json"))
	// A provider that is away for long is for pulse to wait for.
	return t.env("CLAUDE_CONFIG_DIR="+t.home.path(".claude"), "DISABLE_AUTOUPDATER=1", orElse("CLAUDE_CODE_MAX_RETRIES", "3")), err
}

// claudeSettings has no list of tools that need no leave: one that stands there is used if the
// hook is gone. From 2.1.295 on a hook that fails in whatever way is a no; earlier versions do not
// know the word, and have the status 2 of the command for that.
func claudeSettings(command string) []byte {
	hook := func(dst []byte) []byte {
		return append(record.AppendString(append(dst, `[{"matcher":"*","hooks":[{"type":"command","timeout":60,"onFailure":"block","command":`...), command), `}]}]`...)
	}
	var hooks, o record.Object
	hooks.Nested("SessionStart", hook)
	hooks.Nested("PreToolUse", hook)
	o.Raw("hooks", hooks.Bytes())
	return o.Bytes()
}

func claudePrompt(ask string) []byte {
	var message, o record.Object
	message.Str("role", "user")
	message.Str("content", ask)
	o.Str("type", "user")
	o.Raw("message", message.Bytes())
	return append(o.Bytes(), '\n')
}
