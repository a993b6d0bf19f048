// Package gmailtest is a server of the Gmail API, v1, made from the published reference, as far
// as reading needs it: one account, labels, messages, and the history of what got a label.
//
// Invariant: whatever is not a GET is refused and counted. Caveat: it is not Google. Where the
// reference says nothing (the order of a list, ids without gaps), it does the simplest.
package gmailtest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The account of every server.
const (
	User  = "me@example.com"
	Token = "ya29.secret-of-the-test"
)

// Server is a running server. Its fields may be changed between two runs.
type Server struct {
	*httptest.Server
	Metadata bool                        // the token is of gmail.metadata
	Expired  bool                        // no history goes back to where a client begins
	PageSize int                         // at most so many in a page
	Override map[string]http.HandlerFunc // by path below the account, and "?format" of a message

	mu       sync.Mutex
	messages []*message
	history  []record
	last     uint64 // history id
	sent     []string
}

type message struct {
	id       string
	labels   []string
	received time.Time
	raw      string
}

type record struct {
	id    uint64
	added []*message
	kind  string // messagesAdded or labelsAdded
}

// Start starts a server and stops it when the test ends.
func Start(t testing.TB) *Server {
	s := &Server{PageSize: 500, Override: map[string]http.HandlerFunc{}, last: 1 << 33}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(s.handle))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

// URL returns where the API is.
func (s *Server) API() *url.URL {
	u, _ := url.Parse(s.Server.URL)
	return u
}

// Add delivers messages with one label, in one change of the history. It returns their ids.
func (s *Server) Add(received time.Time, label string, raws ...string) (ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := record{kind: "messagesAdded"}
	for _, raw := range raws {
		m := &message{fmt.Sprintf("18c%013x", len(s.messages)), []string{label, "UNREAD"}, received, raw}
		s.messages, r.added, ids = append(s.messages, m), append(r.added, m), append(ids, m.id)
	}
	s.change(r)
	return ids
}

func (s *Server) change(r record) {
	s.last += 3
	r.id = s.last
	s.history = append(s.history, r)
}

// Move takes all labels from a message and gives it another one.
func (s *Server) Move(id, label string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.find(id)
	m.labels = []string{label}
	s.change(record{kind: "labelsAdded", added: []*message{m}})
}

// Delete removes a message for good.
func (s *Server) Delete(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages = slices.DeleteFunc(s.messages, func(m *message) bool { return m.id == id })
}

// Sent returns the requests so far, as "GET path".
func (s *Server) Sent() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}

func (s *Server) find(id string) *message {
	for _, m := range s.messages {
		if m.id == id {
			return m
		}
	}
	return nil
}

// Refuse answers as Google does when it refuses.
func Refuse(w http.ResponseWriter, code int, reason, text string) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
		"code": code, "message": text, "errors": []any{map[string]string{"domain": "global", "reason": reason, "message": text}},
	}})
}

type object = map[string]any

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	_ = json.NewEncoder(w).Encode(v)
}

func (s *Server) handle(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, r.Method+" "+r.URL.Path)
	path, ok := strings.CutPrefix(r.URL.Path, "/gmail/v1/users/"+User+"/")
	q := r.URL.Query()
	if f := s.Override[path+"?"+q.Get("format")]; f != nil {
		s.mu.Unlock()
		f(w, r)
		s.mu.Lock()
		return
	}
	switch {
	case r.Method != http.MethodGet:
		Refuse(w, http.StatusMethodNotAllowed, "httpMethodNotAllowed", "read only")
	case r.Header.Get("Authorization") != "Bearer "+Token:
		Refuse(w, http.StatusUnauthorized, "authError", "Invalid Credentials: "+r.Header.Get("Authorization"))
	case !ok:
		Refuse(w, http.StatusForbidden, "forbidden", "Delegation denied for "+User)
	case path == "profile":
		answer(w, object{"emailAddress": User, "historyId": strconv.FormatUint(s.last, 10)})
	case path == "labels":
		answer(w, object{"labels": []object{{"id": "INBOX", "name": "INBOX"}, {"id": "Label_7", "name": "Lists/Go"}}})
	case path == "messages" && q.Has("q") && s.Metadata:
		Refuse(w, http.StatusForbidden, "forbidden", "Metadata scope does not support 'q' parameter")
	case path == "messages":
		s.list(w, q)
	case path == "history":
		s.changes(w, q)
	default:
		s.one(w, strings.TrimPrefix(path, "messages/"), q.Get("format"))
	}
}

// page returns which part of a list is asked for, and adds how to ask for the next.
func (s *Server) page(q url.Values, n int, v object) (from, to int) {
	from, _ = strconv.Atoi(q.Get("pageToken"))
	size, _ := strconv.Atoi(q.Get("maxResults"))
	if to = min(n, from+min(size, s.PageSize)); to < n {
		v["nextPageToken"] = strconv.Itoa(to)
	}
	return min(from, n), to
}

func (s *Server) list(w http.ResponseWriter, q url.Values) {
	var found []*message
	for _, m := range s.messages {
		if slices.Contains(m.labels, q.Get("labelIds")) {
			found = append(found, m)
		}
	}
	slices.SortStableFunc(found, func(a, b *message) int { return b.received.Compare(a.received) })
	v := object{"resultSizeEstimate": len(found)}
	from, to := s.page(q, len(found), v)
	list := []object{}
	for _, m := range found[from:to] {
		list = append(list, object{"id": m.id, "threadId": m.id})
	}
	if len(list) > 0 {
		v["messages"] = list
	}
	answer(w, v)
}

func (s *Server) changes(w http.ResponseWriter, q url.Values) {
	start, err := strconv.ParseUint(q.Get("startHistoryId"), 10, 64)
	if err != nil || s.Expired || start > s.last {
		Refuse(w, http.StatusNotFound, "notFound", "Requested entity was not found.")
		return
	}
	var records []object
	for _, r := range s.history {
		var added []object
		for _, m := range r.added {
			if slices.Contains(m.labels, q.Get("labelId")) {
				added = append(added, object{"message": object{"id": m.id, "threadId": m.id, "labelIds": m.labels}})
			}
		}
		if r.id > start && len(added) > 0 {
			records = append(records, object{"id": strconv.FormatUint(r.id, 10), r.kind: added})
		}
	}
	v := object{"historyId": strconv.FormatUint(s.last, 10)}
	from, to := s.page(q, len(records), v)
	if from < to {
		v["history"] = records[from:to]
	}
	answer(w, v)
}

func (s *Server) one(w http.ResponseWriter, id, format string) {
	m := s.find(id)
	switch {
	case m == nil:
		Refuse(w, http.StatusNotFound, "notFound", "Requested entity was not found.")
	case format == "minimal":
		answer(w, object{"id": m.id, "labelIds": m.labels, "internalDate": strconv.FormatInt(m.received.UnixMilli(), 10)})
	case format == "metadata":
		var fields []object
		head, _, _ := strings.Cut(m.raw, "\r\n\r\n")
		for _, line := range strings.Split(strings.ReplaceAll(head, "\r\n ", "\x00"), "\r\n") {
			name, value, _ := strings.Cut(strings.ReplaceAll(line, "\x00", "\r\n "), ":")
			fields = append(fields, object{"name": name, "value": strings.TrimPrefix(value, " ")})
		}
		answer(w, object{"sizeEstimate": len(m.raw), "payload": object{"headers": fields}})
	case format != "raw" || s.Metadata:
		Refuse(w, http.StatusForbidden, "forbidden", "Metadata scope doesn't allow format "+format)
	default:
		answer(w, object{"raw": base64.URLEncoding.EncodeToString([]byte(m.raw))})
	}
}
