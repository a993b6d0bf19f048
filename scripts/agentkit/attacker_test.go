package agentkit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pulse/lib/authorize/stub"
)

// call is a use of a tool that the attacker's model wants.
type call = stub.Call

// attacker is a model server whose model always obeys the attacker: it answers each request
// that offers tools with the next call, and in the end with words. It speaks the Messages API
// of Anthropic, the Responses API of OpenAI, and generateContent of Gemini. It is also the
// server to which nothing may get: it keeps the paths under /canary/ that were asked for.
type attacker struct {
	*httptest.Server
	plan   func(offered map[string]json.RawMessage) []call // makes the calls of what the first request offers; nil: calls is set
	calls  []call
	words  string // what the model says in the end; empty: done
	status int    // of every answer of the model; 0: 200, or hangsUp or cutsOff

	asked   atomic.Int64 // requests of any kind
	mu      sync.Mutex
	turn    int
	turned  func(turn int)             // if it is set, it is called with each turn
	offered map[string]json.RawMessage // by name, as the agent offers them
	canary  []string
	seen    bytes.Buffer // what the model was told, and with it what came of the calls
}

func newAttacker(t *testing.T, calls ...call) *attacker {
	t.Helper()
	a := &attacker{calls: calls, offered: map[string]json.RawMessage{}}
	a.Server = httptest.NewServer(a)
	t.Cleanup(a.Close)
	return a
}

func (a *attacker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.asked.Add(1)
	a.mu.Lock()
	defer a.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	switch path := r.URL.Path; {
	case a.status != 0:
		a.fail(w)
	case strings.HasPrefix(path, "/canary/"):
		a.canary = append(a.canary, path)
	default:
		stub.Answer(w, path, func() (*call, string) { return a.next(body), cmp.Or(a.words, "done") })
	}
}

// What the server does in place of an answer.
const (
	hangsUp = -1 // before the answer
	cutsOff = -2 // in the middle of it
)

// fail fails as status says.
func (a *attacker) fail(w http.ResponseWriter) {
	if a.status > 0 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(a.status)
		fmt.Fprintf(w, `{"type":"error","error":{"type":"api_error","code":%d,"message":"it is so","status":"SO"}}`, a.status)
		return
	}
	if a.status == cutsOff {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: x\ndata: {\"type\":\"x\"}\n\n")
		_ = http.NewResponseController(w).Flush()
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if a.status == hangsUp {
		_ = conn.(*net.TCPConn).SetLinger(0)
	}
	conn.Close()
}

// next returns the next call, or nil if there is none or no tools are offered.
func (a *attacker) next(body []byte) *call {
	offered := stub.Offered(body)
	if offered == nil {
		return nil
	}
	a.seen.Write(body)
	if len(offered) == 0 {
		return nil
	}
	maps.Copy(a.offered, offered)
	if a.turn++; a.turn == 1 && a.plan != nil {
		a.calls = a.plan(a.offered)
	}
	if a.turned != nil {
		a.turned(a.turn)
	}
	if a.turn > len(a.calls) {
		return nil
	}
	return &a.calls[a.turn-1]
}

var encode = stub.Encode
