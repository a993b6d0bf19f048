package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"pulse/lib/authorize/hook"
	"pulse/lib/authorize/judge"
	"pulse/lib/authorize/workspace"
	"pulse/lib/classify/identity"
	"pulse/lib/queue/seen"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/safefile"
	"pulse/lib/shared/terms"
)

// atTerminal judges for the person at the client's terminal. Of the environment it takes nothing
// but where this account keeps its state: a project can set variables of its client.
func atTerminal(ctx context.Context, c *cli.Context, client hook.Client, event []byte) ([]byte, error) {
	e, err := hook.Read(client, event)
	if err != nil {
		return nil, err
	}
	o, err := openTerminal(ctx, c, e.Session)
	if err != nil {
		return nil, err
	}
	defer o.close()
	if e.Use.Probes() {
		return client.Say(hook.Deny, e.Use.Held()), nil
	}
	return o.judge.Event(client, event), o.keep()
}

var errSession = errors.New("the client does not tell its session")

// openTerminal opens the judge of one session, whose labels are kept from one use to the next.
func openTerminal(ctx context.Context, c *cli.Context, session string) (*own, error) {
	if session == "" {
		return nil, errSession
	}
	p, err := cmdline.Policy(c)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(session))
	id := hex.EncodeToString(sum[:16])
	o := &own{judge: &judge.Judge{Policy: p, World: workspace.World{}, Task: id, Person: true, Alone: true}}
	o.judge.Identity = identity.Identity{
		Sender: fmt.Sprintf("uid:%d", os.Getuid()), Trust: terms.System, Verified: true, Via: identity.ViaSubmit,
		Reason: identity.LocalSubmit, Why: "a user of this machine submitted it",
	}
	dir, err := stateOf("terminal")
	if err != nil {
		return nil, err
	}
	if err := o.open(ctx, filepath.Join(dir, id)); err != nil {
		return nil, err
	}
	return o, nil
}

// stateOf returns a directory where this account keeps its state.
func stateOf(name string) (string, error) {
	dir := seen.Dir()
	if dir == "" {
		return "", errors.New("neither XDG_STATE_HOME nor HOME names a directory")
	}
	dir = filepath.Join(dir, name)
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = safefile.Own(dir)
	}
	return dir, err
}
