// Package held finds out whether a client of agents, as it is set up here, asks its hook: it is
// started with its own settings and a model of package stub, which wants one use that does
// nothing, and that every hook of pulse refuses with words that nothing else can tell.
//
// Invariant: held is what the model was told so; whatever else happened is not. Nothing that the
// account has said is overridden, except who the model is. Caveat: it is true of this directory,
// these settings and this version; a client that is started otherwise can have other settings.
package held

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"pulse/lib/authorize/hook"
	"pulse/lib/authorize/stub"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/lazy"
	_ "pulse/lib/shared/linux"
)

// Result is what came of a trial.
type Result struct {
	Version string // of the client, as it tells it
	Held    bool
	Tried   bool   // the client was told to use a tool
	Refused string // what a hook of pulse that refuses everything says; empty: it said nothing
	Said    string // the last line that the client said
}

// model is a model that wants to use a tool, once.
type model struct {
	token string

	mu     sync.Mutex
	result Result
}

// maxBody bounds a request of a client, in bytes.
const maxBody = 32 << 20

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hear(body)
	stub.Answer(w, r.URL.Path, func() (*stub.Call, string) { return m.next(body), "done" })
}

// refusal is what the hook of pulse says of any use, as the client tells it in JSON.
var refusal = lazy.Regexp(`pulse: [^"\\]{1,300}`)

func (m *model) hear(body []byte) {
	switch {
	case !m.result.Tried:
	case bytes.Contains(body, []byte(hook.HeldBy(m.token))):
		m.result.Held = true
	case m.result.Refused == "":
		m.result.Refused = string(refusal().Find(body))
	}
}

func (m *model) next(body []byte) *stub.Call {
	offered := stub.Offered(body)
	if m.result.Tried {
		return nil
	}
	for _, c := range wants(hook.Probe(m.token)) {
		if _, ok := offered[c.Name]; ok {
			m.result.Tried = true
			return &c
		}
	}
	return nil
}

// wants are uses of tools that clients offer, which do nothing.
func wants(command string) []stub.Call {
	return []stub.Call{
		{Name: "Bash", Args: map[string]any{"command": command, "description": "check"}},
		{Name: "glob", Args: map[string]any{"pattern": command}}, // without a person Gemini CLI has no shell
		{Name: "exec_command", Args: map[string]any{"cmd": command}},
		{Name: "shell_command", Args: map[string]any{"command": command}},
	}
}

// patience is how long a client may take for all of it. One of them computes for seven seconds
// before it asks its model, and for minutes where others compute as well.
const patience = 10 * time.Minute

// ErrMissing means that the client can't be started.
var ErrMissing = errors.New("held: the client can not be started")

// Try tries a client in a directory, with the settings that count there.
func Try(ctx context.Context, client hook.Client, dir string) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return Result{}, fmt.Errorf("held: %w", err)
	}
	m := &model{token: rand.Text()}
	server := &http.Server{Handler: m, ReadHeaderTimeout: patience}
	go func() { _ = server.Serve(l) }()
	defer func() { _ = server.Close() }()
	how := ways[client]
	version, err := exec.CommandContext(ctx, how.program, "--version").Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = errors.Join(err, errors.New(audit.LastSaid(exit.Stderr)))
	}
	if err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrMissing, err)
	}
	said := run(ctx, how, dir, "http://"+l.Addr().String())
	m.mu.Lock()
	defer m.mu.Unlock()
	m.result.Version, m.result.Said = versionIn(string(version)), said
	return m.result, nil
}

func versionIn(text string) string { return regexp.MustCompile(`\d[\w.+-]*`).FindString(text) }

// run runs the client to its end, and returns the last line of what it said.
func run(ctx context.Context, how way, dir, url string) string {
	args, env := how.start(url)
	cmd := exec.CommandContext(ctx, how.program, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.Stdin, cmd.WaitDelay = strings.NewReader("pulse-authorize hook check\n"), 5*time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	said := audit.LastSaid(out.Bytes())
	switch {
	case err == nil:
		return ""
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Sprintf("no end within %s: %s", patience, cmp.Or(said, "it said nothing"))
	}
	return cmp.Or(said, err.Error())
}
