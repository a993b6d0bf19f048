package receivers

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/shared/address"
)

func names() []string {
	list := make([]string, len(table))
	for i := range table {
		list[i] = table[i].Name
	}
	return list
}

func TestTable(t *testing.T) {
	name := regexp.MustCompile(`^[a-z][a-z0-9-]+$`)
	if !slices.IsSorted(names()) || len(slices.Compact(names())) != len(table) {
		t.Errorf("not sorted, or a name twice: %v", names())
	}
	for _, r := range All() {
		if !name.MatchString(r.Name) || r.Name == "list" {
			t.Errorf("%q is no name for a flag's value", r.Name)
		}
		if r.AuthservID != "" && (!address.Domain(r.AuthservID) || r.Unpinnable != "") {
			t.Errorf("%s: authserv-id %q, and unpinnable %q", r.Name, r.AuthservID, r.Unpinnable)
		}
		if r.Checked != unchecked {
			if _, err := time.Parse(time.DateOnly, r.Checked); err != nil {
				t.Errorf("%s: checked: %v", r.Name, err)
			}
		}
		for _, text := range []string{r.Stamps, r.Strips, r.Basis} {
			if text == "" {
				t.Errorf("%s: something is left out", r.Name)
			}
		}
		for _, text := range []string{r.Stamps, r.Strips, r.Basis, r.Unpinnable, r.Inside} {
			if strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' }) || len(text) > 110 || strings.HasSuffix(text, ".") {
				t.Errorf("%s: %q is not one line of ASCII that a sentence can take in", r.Name, text)
			}
		}
		if got, ok := ByName(r.Name); !ok || got.Name != r.Name {
			t.Errorf("ByName(%s) = %s, %v", r.Name, got.Name, ok)
		}
	}
}

func TestGmail(t *testing.T) {
	if r, ok := ByName("gmail"); !ok || r.AuthservID != "mx.google.com" || r.Yours() {
		t.Errorf("%+v, %v", r, ok)
	}
}

func TestBySource(t *testing.T) {
	for source, want := range map[string]string{
		"imaps://me@imap.gmail.com/INBOX":             "gmail",
		"imaps://me%40gmail.com@imap.gmail.com/INBOX": "gmail",
		"imaps://me@imap.gmail.com:9993/a/b":          "gmail",
		"imap://me@outlook.office365.com/INBOX":       "microsoft",
		"imaps://imap.gmail.com@evil.example/INBOX":   "",
		"imaps://me@evil.example/imap.gmail.com":      "",
		"imaps://me@evil.example/@imap.gmail.com/":    "",
		"imaps://me@imap.gmail.com.evil.example/":     "",
		"https://me@imap.gmail.com/":                  "",
		"maildir:imap.gmail.com":                      "",
		"imaps://":                                    "",
		"":                                            "",
	} {
		if r, ok := BySource(source); r.Name != want || ok != (want != "") {
			t.Errorf("BySource(%q) = %q, %v, want %q", source, r.Name, ok, want)
		}
	}
}
