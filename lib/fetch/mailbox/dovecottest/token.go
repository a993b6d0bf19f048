package dovecottest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// issuerKey signs the tokens that every server accepts (HS256, RFC 7518 §3.2).
const issuerKey = "the key of an issuer of tokens, for tests"

// issuer writes the files by which the server checks a token itself, without asking an
// issuer.
func (s *Server) issuer(t testing.TB) {
	keys := filepath.Join(s.dir, "keys", "default", "HS256")
	check(t, os.MkdirAll(keys, 0o755))
	key := base64.StdEncoding.EncodeToString([]byte(issuerKey))
	check(t, os.WriteFile(filepath.Join(keys, "default"), []byte(key), 0o644))
	config := "introspection_mode = local\n" +
		"local_validation_key_dict = fs:posix:prefix=" + s.dir + "/keys/\n" +
		"username_attribute = sub\n"
	check(t, os.WriteFile(filepath.Join(s.dir, "oauth2.conf"), []byte(config), 0o644))
}

// Token returns an access token for User that expires at the given time (RFC 7519).
func Token(t testing.TB, expires time.Time) string {
	t.Helper()
	claims, err := json.Marshal(map[string]any{
		"sub": User, "iat": time.Now().Add(-time.Hour).Unix(), "exp": expires.Unix(), "scope": "mail",
	})
	check(t, err)
	text := encode([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + encode(claims)
	mac := hmac.New(sha256.New, []byte(issuerKey))
	mac.Write([]byte(text))
	return text + "." + encode(mac.Sum(nil))
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
