// Package jmaptest is a server of JMAP made from RFC 8620 and RFC 8621, for tests: one account,
// whose INBOX holds as many messages as wanted. Each of its answers can be replaced.
//
// Invariant: it notes whatever is asked. Caveat: it knows only what reading needs; for a real
// server see lib/fetch/jmap/cyrustest.
package jmaptest

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The account of every server.
const (
	User  = "me@example.com"
	Token = "fmu1-secret-of-the-test-0123456789"
)

const (
	mail      = "urn:ietf:params:jmap:mail"
	core      = "urn:ietf:params:jmap:core"
	WellKnown = "/.well-known/jmap"
)

// Server is an honest server, and what it does otherwise: by path, or by method.
type Server struct {
	*httptest.Server
	Now time.Time // the messages came an hour apart, the last an hour before
	CA  string    // file with the certificate to trust

	n     int
	mu    sync.Mutex // of what follows
	paths map[string]http.HandlerFunc
	calls map[string]func(args map[string]any) any
	sent  []string
}

// Failure is the answer to a method that fails so.
type Failure string

// Start starts a server with n messages and stops it when the test ends.
func Start(t testing.TB, n int) *Server {
	t.Helper()
	s := &Server{
		n: n, paths: map[string]http.HandlerFunc{}, calls: map[string]func(map[string]any) any{},
		Now: time.Now().Truncate(time.Second), CA: filepath.Join(t.TempDir(), "ca.pem"),
	}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(s.handle))
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(s.CA, cert, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

// OnPath replaces the answers to requests for a path.
func (s *Server) OnPath(path string, f http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paths[path] = f
}

// OnCall replaces the results of a method.
func (s *Server) OnCall(method string, f func(args map[string]any) any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[method] = f
}

func (s *Server) path(path string) http.HandlerFunc {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.paths[path]
}

func (s *Server) call(method string) func(args map[string]any) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[method]
}

func (s *Server) handle(w http.ResponseWriter, r *http.Request) {
	s.note(r.Method + " " + r.URL.Path)
	if f := s.path(r.URL.Path); f != nil {
		f(w, r)
		return
	}
	if r.Header.Get("Authorization") != "Bearer "+Token {
		http.Error(w, "who is "+r.Header.Get("Authorization"), http.StatusUnauthorized)
		return
	}
	switch {
	case r.URL.Path == WellKnown:
		http.Redirect(w, r, "/jmap/session", http.StatusMovedPermanently)
	case r.URL.Path == "/jmap/session":
		Answer(w, s.Session())
	case r.URL.Path == "/api":
		s.api(w, r)
	case strings.HasPrefix(r.URL.Path, "/blob/acc/"):
		io.WriteString(w, Text(strings.TrimPrefix(r.URL.Path, "/blob/acc/b")))
	default:
		http.NotFound(w, r)
	}
}

// Session returns the session resource.
func (s *Server) Session() map[string]any {
	return map[string]any{
		"username": "me@example.com", "apiUrl": "/api", "downloadUrl": "/blob/{accountId}/{blobId}?n={name}&t={type}",
		"primaryAccounts": map[string]string{mail: "acc"},
		"capabilities":    map[string]any{core: map[string]any{"maxObjectsInGet": 7}, mail: map[string]any{}},
	}
}

func Answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	json.NewEncoder(w).Encode(v)
}

// Text returns a message.
func Text(id string) string { return "Subject: " + id + "\r\n\r\nbody\r\n" }

// received is when message i came.
func (s *Server) received(i int) time.Time { return s.Now.Add(-time.Duration(s.n-i) * time.Hour) }

func (s *Server) api(w http.ResponseWriter, r *http.Request) {
	var req struct{ MethodCalls [][]any }
	json.NewDecoder(r.Body).Decode(&req)
	var ids []string
	responses := [][]any{}
	for _, call := range req.MethodCalls {
		name, args := call[0].(string), call[1].(map[string]any)
		s.note(name)
		if f := s.call(name); f != nil {
			responses = append(responses, []any{name, f(args), call[2]})
			if err, ok := responses[len(responses)-1][1].(Failure); ok {
				responses[len(responses)-1] = []any{"error", map[string]string{"type": string(err)}, call[2]}
			}
			continue
		}
		var result any
		switch name {
		case "Mailbox/get":
			result = map[string]any{"list": []any{
				map[string]any{"id": "m1", "name": "Eingang", "role": "inbox"},
				map[string]any{"id": "m2", "name": "Lists"}, map[string]any{"id": "m3", "name": "Go", "parentId": "m2"},
			}}
		case "Email/query":
			ids = s.query(args)
			result = map[string]any{"queryState": "1", "position": args["position"], "ids": ids}
		case "Email/get":
			list := []any{}
			for _, id := range ids {
				var i int
				fmt.Sscanf(id, "e%d", &i)
				list = append(list, map[string]any{"id": id, "blobId": "b" + id, "size": len(Text(id)), "receivedAt": s.received(i).Format(time.RFC3339)})
			}
			result = map[string]any{"list": list, "notFound": []string{}}
		}
		responses = append(responses, []any{name, result, call[2]})
	}
	Answer(w, map[string]any{"methodResponses": responses, "sessionState": "0"})
}

func (s *Server) query(args map[string]any) (ids []string) {
	filter := args["filter"].(map[string]any)
	after, _ := time.Parse(time.RFC3339, fmt.Sprint(filter["after"]))
	for i := range s.n {
		if !s.received(i).Before(after) && filter["inMailbox"] == "m1" {
			ids = append(ids, fmt.Sprintf("e%d", i))
		}
	}
	if args["sort"].([]any)[0].(map[string]any)["isAscending"] == false {
		slices.Reverse(ids)
	}
	ids = ids[min(len(ids), int(args["position"].(float64))):]
	return ids[:min(len(ids), int(args["limit"].(float64)))]
}

func (s *Server) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, what)
}

// Sent returns the methods and paths that were asked for since the last call.
func (s *Server) Sent() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.sent
	s.sent = nil
	return list
}
