package mailbox

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/fetch/mailbox/dovecottest"
	"pulse/lib/shared/fault"
)

// TestDovecotLogin: every way to log in works with a real server, over TLS and with
// STARTTLS. A refusal is final, and the error holds no piece of the secret.
func TestDovecotLogin(t *testing.T) {
	srv := dovecottest.Start(t)
	srv.Deliver(t, "1700000001.M1.test", []byte("From: a@example.com\n\nbody\n"))
	good, old := dovecottest.Token(t, time.Now().Add(time.Hour)), dovecottest.Token(t, time.Now().Add(-time.Minute))
	forged := good[:strings.LastIndexByte(good, '.')+1] + strings.Repeat("A", 43)
	for _, tt := range []struct {
		auth   Auth
		secret string
		ok     bool
	}{
		{authAny, dovecottest.Password, true},
		{authPlain, dovecottest.Password, true},
		{authLogin, dovecottest.Password, true},
		{authXOAuth2, good, true},
		{authOAuthBearer, good, true},
		{authPlain, "not-" + dovecottest.Password, false},
		{authLogin, "not-" + dovecottest.Password, false},
		{authXOAuth2, old, false},
		{authOAuthBearer, old, false},
		{authXOAuth2, forged, false},
		{authOAuthBearer, forged, false},
		{authOAuthBearer, "x", false},
		{authPlain, good, false},
		{authXOAuth2, dovecottest.Password, false},
	} {
		for _, tls := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s %v, TLS at once %v", tt.auth, tt.ok, tls), func(t *testing.T) {
				t.Parallel()
				s := mailbox(t, srv.Addr, srv.CA)
				if !tls {
					s = mailbox(t, srv.Clear, srv.CA)
					s.Address.TLS = false
				}
				s.Auth, s.Password = tt.auth, tt.secret
				got, err := all(t, s)
				if tt.ok {
					if err != nil || !slices.Equal(got, []string{"body"}) {
						t.Errorf("%q, %v", got, err)
					}
					return
				}
				if err == nil || len(got) > 0 || fault.KindOf(err) != fault.Failed || !strings.Contains(err.Error(), "refuses the login") {
					t.Fatalf("%q, %v", got, err)
				}
				for i := 0; i+8 <= len(tt.secret); i++ {
					if strings.Contains(err.Error()+fault.HintOf(err), tt.secret[i:i+8]) {
						t.Errorf("the error shows %q: %v", tt.secret[i:i+8], err)
					}
				}
			})
		}
	}
}
