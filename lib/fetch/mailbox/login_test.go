package mailbox

import (
	"encoding/base64"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/emersion/go-imap/v2"

	"pulse/lib/shared/fault"
)

func TestAuthCheck(t *testing.T) {
	for _, tt := range []struct {
		auth   Auth
		secret string
		ok     bool
	}{
		{authAny, "any thing\x01", true}, {authPlain, "p w", true}, {authLogin, "ü", true}, {authXOAuth2, "", true},
		{authXOAuth2, "ya29.a0-_~+/==", true}, {authOAuthBearer, "a.b.c", true},
		{authXOAuth2, "Bearer abc", false}, {authXOAuth2, "abc\x01auth=x", false}, {authOAuthBearer, "a=b", false},
		{authOAuthBearer, `{"access_token":"a"}`, false}, {"PLAIN", "", false}, {"cram-md5", "", false},
	} {
		err := tt.auth.Check(tt.secret)
		if (err == nil) != tt.ok || err != nil && (fault.KindOf(err) != fault.Usage || tt.secret != "" && strings.Contains(err.Error(), tt.secret)) {
			t.Errorf("%s %q: %v", tt.auth, tt.secret, err)
		}
	}
}

func TestChoose(t *testing.T) {
	for _, tt := range []struct {
		auth Auth
		caps string
		want Auth
		hint string // where it fails
	}{
		{authAny, "AUTH=PLAIN LOGINDISABLED", authPlain, ""},
		{authAny, "AUTH=XOAUTH2", authLogin, ""},
		{authAny, "LOGINDISABLED AUTH=XOAUTH2", "", "--auth xoauth2"},
		{authAny, "LOGINDISABLED AUTH=OAUTHBEARER", "", "--auth oauthbearer"},
		{authLogin, "AUTH=PLAIN", authLogin, ""},
		{authLogin, "AUTH=PLAIN LOGINDISABLED AUTH=XOAUTH2", "", "--auth xoauth2"},
		{authPlain, "AUTH=XOAUTH2", "", "leave --auth out"},
		{authXOAuth2, "AUTH=XOAUTH2 AUTH=PLAIN", authXOAuth2, ""},
		{authXOAuth2, "AUTH=OAUTHBEARER AUTH=PLAIN", "", "leave --auth out"},
		{authOAuthBearer, "AUTH=OAUTHBEARER", authOAuthBearer, ""},
	} {
		caps := imap.CapSet{}
		for _, c := range strings.Fields(tt.caps) {
			caps[imap.Cap(c)] = struct{}{}
		}
		got, err := tt.auth.choose(caps)
		if tt.hint == "" && (err != nil || got != tt.want) || tt.hint != "" && (err == nil || !strings.Contains(fault.HintOf(err), tt.hint) || fault.KindOf(err) != fault.Failed) {
			t.Errorf("%q of %s: %s, %v, hint %q", tt.auth, tt.caps, got, err, fault.HintOf(err))
		}
	}
}

// TestBearer: what is sent is as in RFC 7628 §3.1 and Google's description. A name can't
// break out of its field.
func TestBearer(t *testing.T) {
	a := Address{User: "a=b,c@example.com", Host: "h", Port: "993"}
	for how, want := range map[Auth]string{
		authXOAuth2:     "XOAUTH2 user=a=b,c@example.com\x01auth=Bearer tok\x01\x01",
		authOAuthBearer: "OAUTHBEARER n,a=a=3Db=2Cc@example.com,\x01host=h\x01port=993\x01auth=Bearer tok\x01\x01",
	} {
		if name, first, err := newBearer(how, a, "tok").Start(); err != nil || name+" "+string(first) != want {
			t.Errorf("%s %q, %v", name, first, err)
		}
	}
}

// TestBearerRefused: the whole exchange is right byte for byte, with and without an initial
// response. The refusal is answered as each mechanism wants it, and its reason is shown.
func TestBearerRefused(t *testing.T) {
	const token, reason = "ya29.token-of-the-test", `{"status":"401","scope":"https://mail.example/"}`
	challenge := "+ " + base64.StdEncoding.EncodeToString([]byte(reason)) + "\r\n"
	for _, tt := range []struct {
		auth   Auth
		caps   string
		answer string // to the challenge
	}{
		{authXOAuth2, "AUTH=XOAUTH2 SASL-IR", ""}, {authXOAuth2, "AUTH=XOAUTH2", ""},
		{authOAuthBearer, "AUTH=OAUTHBEARER SASL-IR", "AQ=="}, {authOAuthBearer, "AUTH=OAUTHBEARER", "AQ=="},
	} {
		var heard []string
		said := 0
		s := script{"GREETING": say("* OK [CAPABILITY IMAP4rev1 " + tt.caps + "] hi\r\n")}
		tag := ""
		s["LINE"] = func(w io.Writer, line string) {
			heard = append(heard, line)
			if t, rest, ok := strings.Cut(line, " "); ok && strings.HasPrefix(rest, "AUTHENTICATE") {
				if tag = t; strings.Count(line, " ") == 3 { // its first response as well
					said++
				}
			}
			steps := []string{"+ \r\n", challenge, tag + " NO [AUTHENTICATIONFAILED] ya29.token-of-the-test is no good: " + heard[0] + "\r\n"}
			if said < len(steps) {
				io.WriteString(w, steps[said])
			}
			said++
		}
		addr := serve(t, s)
		m := mailbox(t, addr, "")
		m.Auth, m.Password = tt.auth, token
		_, err := all(t, m)
		if err == nil || fault.KindOf(err) != fault.Failed || !strings.Contains(err.Error(), reason) || strings.Contains(err.Error(), "token-of") {
			t.Errorf("%s: %v", tt.caps, err)
		}
		first := base64.StdEncoding.EncodeToString([]byte(newBearer(tt.auth, m.Address, token).first))
		want := []string{tag + " AUTHENTICATE " + strings.ToUpper(string(tt.auth)), first, tt.answer}
		if strings.Contains(tt.caps, "SASL-IR") {
			want = []string{want[0] + " " + first, tt.answer}
		}
		if len(heard) < len(want) || !slices.Equal(heard[:len(want)], want) {
			t.Errorf("%s: %q, want %q", tt.caps, heard, want)
		}
		if strings.Contains(err.Error(), first[len(first)-20:]) {
			t.Errorf("%s: the error shows the token encoded: %v", tt.caps, err)
		}
	}
}

// TestBearerEndless: a server that asks again and again gets one answer.
func TestBearerEndless(t *testing.T) {
	for _, tt := range []misbehaviour{
		{"challenges", script{"AUTHENTICATE": endless("", "+ eA==\r\n")}, 0, fault.Temporary, ""},
		{"empty challenges", script{"AUTHENTICATE": endless("", "+ \r\n")}, 0, fault.Temporary, ""},
		{"rubbish", script{"AUTHENTICATE": say("+ !!!\r\n")}, 0, fault.Temporary, ""},
		{"silence", script{"AUTHENTICATE": silence}, 0, fault.Temporary, "waiting"},
		{"OK to a challenge", script{"AUTHENTICATE": say("+ eA==\r\nTAG OK in\r\n")}, 0, fault.Temporary, "in the middle"},
		{"NO to a challenge", script{"AUTHENTICATE": say("+ eA==\r\nTAG NO out\r\n")}, 0, fault.Temporary, "in the middle"},
		{"not offered", script{"GREETING": say("* OK [CAPABILITY IMAP4rev1 AUTH=PLAIN] hi\r\n")}, 0, fault.Failed, "does not offer AUTH=XOAUTH2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.script["GREETING"] == nil {
				tt.script["GREETING"] = say("* OK [CAPABILITY IMAP4rev1 AUTH=XOAUTH2 SASL-IR] hi\r\n")
			}
			tt.playTo(t, authXOAuth2)
		})
	}
}

func TestRedact(t *testing.T) {
	const long = "correct horse battery staple"
	for _, tt := range []struct{ text, secret, want string }{
		{"no such user", long, "no such user"},
		{"bad password " + long + ".", long, "bad password …."},
		{"BAD PASSWORD " + strings.ToUpper(long), long, "BAD PASSWORD …"},
		{"I saw " + long[:12], long, "I saw …"},
		{"I saw " + long[9:], long, "I saw …"},
		{long + long, long, "……"},
		{"correct", long, "correct"}, // a word that could stand anywhere
		{"abc", "abc", "…"},
		{"xabcx abc", "abc", "x…x …"},
		{"ab", "abc", "ab"},
		{"\xff" + long, long, "\xff…"},
		{"", long, ""},
		{"text", "", "text"},
	} {
		if got := redact(tt.text, []string{"", tt.secret}); got != tt.want {
			t.Errorf("%q without %q: %q, want %q", tt.text, tt.secret, got, tt.want)
		}
	}
	if got := redact(strings.Repeat("ü", 5000), nil); len(got) > maxSaid+3 || !strings.HasSuffix(got, "…") {
		t.Errorf("%d bytes", len(got))
	}
}

// FuzzRedact: no piece of the secret stays that is longer than chance allows.
func FuzzRedact(f *testing.F) {
	f.Add("login me ", "correct horse battery", "x")
	f.Add("\xff", "\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc", "…")
	f.Fuzz(func(t *testing.T, before, secret, after string) {
		if strings.Contains(secret, "…") || len(secret) > 1000 {
			return
		}
		got := upper(redact(before+secret+after, []string{secret}))
		for i := 0; i+maxShown+1 <= len(secret); i++ {
			if piece := upper(secret[i : i+maxShown+1]); strings.Contains(got, piece) {
				t.Fatalf("%q stays in %q", piece, got)
			}
		}
	})
}
