package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// issuer issues tokens as Google, Microsoft and Fastmail document it (RFC 6749 §5, §6). It is none
// of them.
type issuer struct {
	*httptest.Server
	ca string // file with the certificate to trust

	mu      sync.Mutex
	how     habits
	access  string // the token that it gives
	refresh string // what it takes for it
	asked   []url.Values
	answer  func(w http.ResponseWriter, form url.Values) // in place of all that; may be nil
}

// habits are what providers do differently.
type habits struct {
	rotates bool // a new refresh token with each token
	once    bool // the old one ends everything
	granted string
	kind    string
	gone    string // the answer to a refresh token that is not taken any more
}

const (
	clientSecret = "GOCSPX-secret-of-the-client"
	readonly     = "https://www.googleapis.com/auth/gmail.readonly"
	imapScope    = "https://outlook.office.com/IMAP.AccessAsUser.All"
)

// providers are those whose documents were read.
var providers = map[string]habits{
	"google": {
		granted: readonly, kind: "Bearer",
		gone: `{"error":"invalid_grant","error_description":"Token has been expired or revoked."}`,
	},
	"microsoft": {
		granted: imapScope, kind: "Bearer", rotates: true,
		gone: `{"error":"invalid_grant","error_description":"AADSTS700082: The refresh token has expired due to inactivity. ` +
			`The token was issued on 2026-05-03T12:11:26.5799126Z and was inactive for 90.00:00:00. Trace ID: 7481cb06-28be Correlation ID: 00ee8c68",` +
			`"error_codes":[700082],"trace_id":"7481cb06-28be","error_uri":"https://login.microsoftonline.com/error?code=700082"}`,
	},
	"fastmail": {
		granted: "urn:ietf:params:jmap:core urn:ietf:params:jmap:mail", kind: "bearer", rotates: true, once: true,
		gone: `{"error":"invalid_grant"}`,
	},
}

func startIssuer(t *testing.T, how habits) *issuer {
	s := &issuer{how: how, access: "ya29.token-of-the-issuer", refresh: "1//refresh-token-0"}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(s.handle))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	s.ca = certificate(t, s.Certificate().Raw)
	return s
}

// requests returns what was asked so far.
func (s *issuer) requests() []url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// takes changes which refresh token is taken. Without one, the access was revoked, as its owner
// does in the settings of the account.
func (s *issuer) takes(refresh string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh = refresh
}

// says replaces the answers; nil: they are a provider's again.
func (s *issuer) says(f func(w http.ResponseWriter, form url.Values)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = f
}

func say(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(code)
	fmt.Fprint(w, text)
}

func (s *issuer) handle(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil || r.Method != http.MethodPost || r.URL.RawQuery != "" {
		say(w, http.StatusBadRequest, `{"error":"invalid_request"}`)
		return
	}
	s.mu.Lock()
	s.asked = append(s.asked, r.PostForm)
	answer := s.answer
	s.mu.Unlock()
	if answer != nil {
		answer(w, r.PostForm)
		return
	}
	s.give(w, r.PostForm)
}

// give answers as a provider does.
func (s *issuer) give(w http.ResponseWriter, form url.Values) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case form.Get("client_id") != "client" || form.Get("client_secret") != clientSecret:
		say(w, http.StatusUnauthorized, `{"error":"invalid_client","error_description":"The OAuth client was not found."}`)
		return
	case form.Get("grant_type") == "authorization_code" && form.Get("code") == "the-code-of-the-test":
		s.refresh = fmt.Sprintf("1//refresh-token-%d", len(s.asked))
	case form.Get("grant_type") != "refresh_token" || form.Get("refresh_token") != s.refresh:
		if s.how.once {
			s.refresh = ""
		}
		say(w, http.StatusBadRequest, s.how.gone)
		return
	case s.how.rotates:
		s.refresh = fmt.Sprintf("1//refresh-token-%d", len(s.asked))
	}
	v := map[string]any{"access_token": s.access, "token_type": s.how.kind, "expires_in": 3599, "scope": s.how.granted}
	if s.how.rotates || form.Get("code") != "" {
		v["refresh_token"] = s.refresh
	}
	b, _ := json.Marshal(v)
	say(w, http.StatusOK, string(b))
}

// file writes a file of such a client, whose token has expired, and returns its name.
func (s *issuer) file(t *testing.T, scope string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "it's.token")
	b, _ := json.Marshal(map[string]any{
		"authorize": s.URL + "/authorize?prompt=consent", "endpoint": s.URL + "/token", "scope": scope,
		"client_id": "client", "client_secret": clientSecret, "refresh_token": "1//refresh-token-0",
	})
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// change changes members of such a file.
func change(t *testing.T, path string, members map[string]any) {
	t.Helper()
	v := kept(t, path)
	for name, value := range members {
		v[name] = value
	}
	b, _ := json.Marshal(v)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// kept returns what such a file holds.
func kept(t *testing.T, path string) (v map[string]any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// secretIn returns a secret of the tests that a text holds.
func secretIn(text string) string {
	for _, secret := range []string{clientSecret, "1//refresh", "ya29.token", "the-code-of"} {
		if strings.Contains(text, secret) {
			return secret
		}
	}
	return ""
}
