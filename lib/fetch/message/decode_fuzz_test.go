package message

import (
	"maps"
	"mime"
	"strings"
	"testing"
	"unicode/utf8"

	"pulse/lib/shared/address"
)

// FuzzMediaType: what package mime reads without a fault is read in the same way. Nothing
// is longer than what it was read from.
func FuzzMediaType(f *testing.F) {
	for _, s := range []string{
		"text/plain; charset=utf-8", `multipart/mixed; boundary="a;b"; x=y`, `attachment; filename="C:\a\"b"`, "text/html charset=x; charset=y",
		"a/b; n*0=x; n*1*=%41; n*=utf-8'en'z", "TEXT / (a) Plain ;;", `a/b; c="open; d=e`, "/", "a/", "a; b=c; b=d", "a/b; n*1=x; n*02=y",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		var p parser
		kind, params := p.mediaType(value)
		if len(kind) > len(value) {
			t.Fatalf("%q: type %q", value, kind)
		}
		for name, v := range params {
			if len(name) > len(value) || !utf8.ValidString(v) && utf8.ValidString(value) && !strings.ContainsAny(value, "%'") {
				t.Fatalf("%q: %q=%q", value, name, v)
			}
		}
		want, wants, err := mime.ParseMediaType(value)
		other := func(r rune) bool { return strings.ContainsRune("*(\r\n\v\f", r) || r >= utf8.RuneSelf }
		if err != nil || strings.ContainsFunc(value, other) {
			return // it knows no comments, and folds U+0130 to i
		}
		if kind != address.Fold(want) || !maps.Equal(params, wants) || len(p.defects) > 0 {
			t.Fatalf("%q: %q %q %v, want %q %q", value, kind, params, p.defects, want, wants)
		}
	})
}
