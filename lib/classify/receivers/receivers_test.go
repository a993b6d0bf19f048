package receivers

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pulse/lib/shared/address"
	"pulse/lib/shared/policy"
)

// texts returns the texts of a preset for people.
func texts(r *Receiver) []string {
	return []string{r.Title, r.Writes, r.Measured, r.Documented, r.OwnCheck, r.Never, r.Risk, r.Do}
}

func TestTable(t *testing.T) {
	name := regexp.MustCompile(`^[a-z][a-z0-9-]+$`)
	known := map[string]string{"list": "the word for all of them"}
	var order []string
	for _, r := range All() {
		order = append(order, r.Name)
		if !name.MatchString(r.Name) {
			t.Errorf("%q can't be typed as a flag's value", r.Name)
		}
		for _, n := range r.names() {
			key := plain(n)
			if other, twice := known[key]; twice {
				t.Errorf("%s is a name of %s and of %s", n, other, r.Name)
			}
			known[key] = r.Name
		}
		for _, text := range texts(&r) {
			if strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' }) || len(text) > 160 || strings.HasSuffix(text, ".") {
				t.Errorf("%s: %q is not one line of ASCII that a sentence can take in", r.Name, text)
			}
		}
		if r.Title == "" || r.Writes == "" || r.Risk == "" || r.Do == "" || r.Measured+r.Documented == "" {
			t.Errorf("%s: something is left out", r.Name)
		}
	}
	if !slices.IsSorted(order) {
		t.Errorf("not sorted: %v", order)
	}
}

// A preset has ids, or says that the operator chooses them, or goes by none; and what it
// believes depends on evidence that fits.
func TestKinds(t *testing.T) {
	for _, r := range All() {
		named := r.Verdict == policy.ByFirst || r.Verdict == policy.BySet
		if named != (len(r.IDs) > 0 || r.Yours && r.Verdict != policy.ByNone) || r.Yours && len(r.IDs) > 0 {
			t.Errorf("%s: verdict %s, ids %v, yours %t", r.Name, r.Verdict, r.IDs, r.Yours)
		}
		if (r.Verdict == policy.ByNone) != (r.Evidence == policy.ByDKIM) {
			t.Errorf("%s: verdict %s, evidence %s", r.Name, r.Verdict, r.Evidence)
		}
		if (r.Verdict == policy.ByMicrosoft) != r.Probed {
			t.Errorf("%s: rule M is chosen after a probe, and nothing else is", r.Name)
		}
		if id, exact := r.Exact(); len(r.IDs) > 0 && (!covered(r.IDs, id) || exact == strings.Contains(r.IDs[0], "*")) {
			t.Errorf("%s: the example %s", r.Name, id)
		}
		for _, id := range append(r.IDs, r.Unsafe...) {
			if !address.Domain(strings.ReplaceAll(id, "*", "x")) {
				t.Errorf("%s: id %q", r.Name, id)
			}
		}
	}
}

func TestByName(t *testing.T) {
	for name, want := range map[string]string{
		"gmail": "gmail", "Gmail": "gmail", "GoogleMail": "gmail", "Google Workspace": "gmail", "google_workspace": "gmail",
		"outlook": "microsoft", "HOTMAIL": "microsoft", "live": "microsoft", "Office 365": "microsoft", "office365": "microsoft",
		"Microsoft-365": "microsoft", "Exchange Online": "microsoft", "Outlook.com": "microsoft", "m365": "microsoft",
		"exchange": "exchange", "AOL": "aol", "me.com": "icloud", "mac": "icloud", "iCloud": "icloud", "protonmail": "proton",
		"web.de": "gmx", "mail.ru": "mailru", "ik.me": "ikme", "Ya.ru": "yandex", "amavisd-new": "amavis", "OpenDKIM": "opendkim-opendmarc",
		"two-mx": "two-mx", "zoho.eu": "zoho", "posteo.de": "posteo", "disroot": "disroot", "riseup": "riseup", "mailo": "mailo",
		"exim": "exim", "rspamd": "rspamd", "yahoo": "yahoo", "fastmail": "fastmail", "amazon-ses": "amazon-ses",
		"": "", "-": "", "list": "", "gma\u0131l": "", "gmai": "", "gmail\n": "",
	} {
		if r, ok := ByName(name); r.Name != want || ok != (want != "") {
			t.Errorf("ByName(%q) = %q, %v, want %q", name, r.Name, ok, want)
		}
	}
}

func TestNearest(t *testing.T) {
	for name, want := range map[string]string{
		"gmial": "gmail", "outlok": "microsoft", "fastmial": "fastmail", "hotmial.com": "microsoft", "protn": "proton", "iclod": "icloud",
		"zohoo": "zoho", "opendmrc": "opendkim-opendmarc",
	} {
		if got := Nearest(name); got[0] != want || len(got) != len(table) {
			t.Errorf("Nearest(%q) = %v, want %s first", name, got, want)
		}
	}
	if got := Nearest(strings.Repeat("\u202e", 1<<20)); len(got) != len(table) {
		t.Error(got)
	}
}

func TestBySource(t *testing.T) {
	for source, want := range map[string]string{
		"imaps://me@imap.gmail.com/INBOX":             "gmail",
		"imaps://me%40gmail.com@imap.gmail.com/INBOX": "gmail",
		"imaps://me@imap.gmail.com:9993/a/b":          "gmail",
		"imap://me@outlook.office365.com/INBOX":       "microsoft",
		"imaps://me@imap.aol.com/INBOX":               "aol",
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

func TestByID(t *testing.T) {
	for id, want := range map[string]struct {
		name   string
		unsafe bool
	}{
		"mx.google.com":             {"gmail", false},
		"mx4.messagingengine.com":   {"fastmail", false},
		"*.messagingengine.com":     {"fastmail", false},
		"mail.protonmail.ch":        {"proton", false},
		"mailin034.protonmail.ch":   {"proton", true},
		"gmx.net":                   {"gmx", true},
		"iva4-1.qloud-c.yandex.net": {"yandex", true},
		"mx.example.com":            {"", false},
		"messagingengine.com":       {"", false},
		"amessagingengine.com":      {"", false},
	} {
		if r, unsafe, _ := ByID(id); r.Name != want.name || unsafe != want.unsafe {
			t.Errorf("ByID(%q) = %q, %v", id, r.Name, unsafe)
		}
	}
}
