package dkimcheck

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"strings"
	"testing"

	"github.com/emersion/go-msgauth/dkim"

	"pulse/lib/fetch/bodyhash"
)

// slowBody is RFC 6376 §3.4.3 and §3.4.4 by regular expressions, word for word.
func slowBody(body string, relaxed bool) string {
	body = regexp.MustCompile(`\r?\n`).ReplaceAllString(body, "\r\n")
	if relaxed {
		body = regexp.MustCompile(`[ \t]+`).ReplaceAllString(body, " ")
		body = regexp.MustCompile(` (\r\n|$)`).ReplaceAllString(body, "$1")
	}
	body = regexp.MustCompile(`(\r\n)*$`).ReplaceAllString(body, "")
	if body == "" && relaxed {
		return ""
	}
	return body + "\r\n"
}

// hostileBodies have line ends, blanks and ends of every kind.
var hostileBodies = []string{
	"", "\r\n", "\n", "\r", " ", "\t\r\n", "\r\n\r\n", "x", "x\r", "x\n", "x\r\n", "x\r\n\r\n", "x\r\r\n", "x\n\r\n\n", "\r\n\r\nx",
	" x \t y \r\n \t\r\n", "x \r y", "x\r\n ", "x\r\n\r", "\n\rx", "a\r\n\r\n\r\nb \r\n\r\n", "\x00 \xff\r\n", "x \n y\n\n",
}

// TestBodyEverySize: what a step ends at makes no difference.
func TestBodyEverySize(t *testing.T) {
	for i, tail := range hostileBodies {
		fill := []string{"x", " ", "\n"}[i%3]
		for n := bodyhash.Step - len(tail) - 1; n <= bodyhash.Step+1; n++ {
			if !testing.Short() || n%3 == i%3 {
				compareBody(t, strings.Repeat(fill, n)+tail)
			}
		}
	}
	for _, n := range []int{bodyhash.Step / 2, bodyhash.Step/2 + 1, 3*bodyhash.Step + 1} {
		compareBody(t, "x"+strings.Repeat("\r\n", n)+"x")
	}
}

func compareBody(t *testing.T, body string) {
	t.Helper()
	for _, relaxed := range []bool{false, true} {
		got, err := bodyhash.Of(context.Background(), []byte(body), relaxed)
		want := sha256.Sum256([]byte(slowBody(body, relaxed)))
		if err != nil || !bytes.Equal(got, want[:]) {
			t.Fatalf("relaxed %v, %d bytes ending %q: %v", relaxed, len(body), body[max(0, len(body)-40):], err)
		}
	}
}

// FuzzBody: the hash is that of the standard read word for word, and, where no CR stands
// alone, that of go-msgauth, which takes some of those for the end of a line.
func FuzzBody(f *testing.F) {
	for _, b := range hostileBodies {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, body string) {
		compareBody(t, body)
		if strings.Contains(strings.ReplaceAll(body, "\r\n", ""), "\r") {
			return
		}
		for _, how := range []dkim.Canonicalization{dkim.CanonicalizationSimple, dkim.CanonicalizationRelaxed} {
			got, _ := bodyhash.Of(context.Background(), []byte(body), how == dkim.CanonicalizationRelaxed)
			if want := theirHash(t, body, how); base64.StdEncoding.EncodeToString(got) != want {
				t.Fatalf("%s %q: not %s", how, body, want)
			}
		}
	})
}

// theirHash returns bh= as go-msgauth signs it.
func theirHash(t *testing.T, body string, how dkim.Canonicalization) string {
	t.Helper()
	var out bytes.Buffer
	err := dkim.Sign(&out, strings.NewReader("From: me@example.com\r\n\r\n"+body), &dkim.SignOptions{
		Domain: "example.com", Selector: "s1", Signer: edKey(), BodyCanonicalization: how,
	})
	if err != nil {
		t.Fatal(err)
	}
	_, value, _ := strings.Cut(out.String(), "bh=")
	value, _, _ = strings.Cut(value, ";")
	return solid(value)
}

// FuzzSame: whatever stands on top of a signed message, and however it was signed, go-msgauth
// agrees with a pass.
func FuzzSame(f *testing.F) {
	for i, top := range []string{"", "X: y\r\n", "DKIM-Signature: v=1; d=example.com; s=s1\r\n", "Subject: x\r\n", "To : you\r\n", "b=: x\r\n"} {
		f.Add(top, uint8(i), "zz=\r\n b; ", "News\r\n")
	}
	f.Fuzz(func(t *testing.T, top string, how uint8, more, body string) {
		s := signer()
		s.canon = []string{"relaxed/relaxed", "simple/simple", "simple/relaxed", "relaxed/simple"}[how%4]
		if how&4 != 0 {
			s.key, s.sel = edKey(), "e1"
		}
		s.more = more
		head, _, _ := strings.Cut(mail, "\r\n\r\n")
		z := world()
		text := top + s.sign(head+"\r\n\r\n"+body)
		d := verify(t, z, text)
		theirs, err := dkim.VerifyWithOptions(strings.NewReader(text), &dkim.VerifyOptions{
			LookupTXT: func(name string) ([]string, error) { return z.txt[name], nil }, MaxVerifications: maxSignatures,
		})
		for i, ours := range d.Signatures {
			if ours.Result == "pass" && (err != nil && err != dkim.ErrTooManySignatures || theirs[i].Err != nil) &&
				!strings.Contains(strings.ReplaceAll(text, "\r\n", ""), "\r") && !strings.Contains(more, "i=") {
				t.Fatalf("%q: %v, %v", text, err, theirs[i].Err)
			}
		}
	})
}
