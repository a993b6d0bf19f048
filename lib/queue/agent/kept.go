package agent

import (
	"context"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pulse/lib/authorize/hook"
	"pulse/lib/authorize/wire"
	"pulse/lib/shared/lazy"
	"pulse/lib/shared/record"
)

// The session of a client is a file or a few in the home of the run, which goes with it. The judge
// of the run keeps them until the task goes on, where no agent reaches them, and gives them to no
// other task. So a client can forge what it said itself, and nothing else.

// kept is the session of a client.
type kept struct {
	id    string            // as the client calls it
	files map[string][]byte // by their paths in its home
}

// maxKept bounds the files of a session, in bytes.
const maxKept = 8 << 20

// sessionID matches an id that can't be an option or a path.
var sessionID = lazy.Regexp(`^[0-9A-Za-z][0-9A-Za-z-]{7,63}$`)

var errKept = errors.New("agent: what is kept of the session can not be read")

// readKept reads a session of a client.
func readKept(client hook.Client, v record.Value) (k kept, err error) {
	k.files = map[string][]byte{}
	of := ""
	err = v.Each(func(name string, v record.Value) error {
		switch name {
		case "client":
			return v.Into(&of)
		case "id":
			return v.Into(&k.id)
		case "files":
			return v.Each(func(path string, v record.Value) error {
				text, err := v.String()
				if err == nil {
					k.files[path], err = base64.StdEncoding.DecodeString(text)
				}
				if !inSessions(client, path) {
					err = errKept
				}
				return err
			})
		}
		return errKept
	})
	if of != "" && of != string(client) { // another client goes on, and begins anew
		return kept{}, nil
	}
	if err == nil && !sessionID().MatchString(k.id) {
		err = errKept
	}
	return k, err
}

// sessions are the directories of a client's home in which its sessions lie.
var sessions = map[hook.Client]string{hook.ClaudeCode: ".claude/projects", hook.Codex: "codex/sessions", hook.Gemini: ".gemini/tmp"}

func inSessions(client hook.Client, path string) bool {
	return filepath.IsLocal(path) && strings.HasPrefix(path, sessions[client]+"/") && filepath.Clean(path) == path
}

// restore writes the session into the home of the run, and returns its id; empty: there is none.
func (t *turn) restore() (id string, err error) {
	for path, b := range t.judge.kept.files {
		if err := t.home.put(path, b); err != nil {
			return "", err
		}
	}
	return t.judge.kept.id, nil
}

// keep gives the session to the judge. A client of which nothing can be kept begins anew.
func (t *turn) keep(id string) {
	if !sessionID().MatchString(id) {
		return
	}
	var files, o record.Object
	size := 0
	err := filepath.WalkDir(t.home.path(sessions[t.judge.client]), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		name, outside := filepath.Rel(t.home.dir, path)
		if size += len(b); size > maxKept {
			return errKept
		}
		files.Str(name, base64.StdEncoding.EncodeToString(b))
		return errors.Join(err, outside)
	})
	if err != nil || size == 0 {
		return
	}
	var session record.Object
	session.Str("client", string(t.judge.client))
	session.Str("id", id)
	session.Raw("files", files.Bytes())
	o.Raw("keep", session.Bytes())
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_, _ = wire.Ask(ctx, t.judge.socket, o.Bytes())
}
