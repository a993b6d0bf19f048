package main

import (
	"fmt"
	"os"
	"testing"

	"pulse/lib/shared/cmdline/cmdlinetest"
	"pulse/lib/shared/escape/escapetest"
)

func TestEveryWord(t *testing.T) {
	cmdlinetest.Words(t, app, func(attack string) [][]string {
		return [][]string{{"init", "--owner", attack + "@example.com"}, {"init", "--owner", "me@example.com", "--agent", attack}, {"init", "--owner", "me@example.com", "--agent", "agent@example.com", "--receiver", attack},
			{"init", "--owner", "me@example.com", "--inbox", attack}, {"init", "--owner", "me@example.com", "--agent", "agent@example.com", "--inbox", "imaps://me@imap.example.com/" + attack},
			{"init", "--owner", "me@example.com", "--agent", "agent@example.com", "--inbox", "imaps://me@imap.example.com/", "--dir", attack},
			{"init", "--owner", "me@example.com", "--agent", "agent@example.com", "--inbox", "imaps://me@imap.example.com/", "--dir", "d", "--signer", attack}}
	})
}

// TestEveryPolicy: what is said of a policy, right or wrong, is escaped.
func TestEveryPolicy(t *testing.T) {
	cmdlinetest.Policies(t, func(t *testing.T, policy ...string) {
		if err := os.WriteFile("case", []byte(`{"message":{},"decision":{"outcome":"allow"}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, command := range [][]string{{"check"}, {"matrix"}, {"test", "case"}, {"test", "--tap", "case"}, {}} {
			args := append(command, policy...)
			stdout, stderr, _ := cmdlinetest.Typed(app(), "{}\n", args...)
			cmdlinetest.Fine(t, fmt.Sprintf("%q", args), stdout, stderr)
		}
	})
}

// TestEveryRecord: what diff and test say of a record is escaped, subjects too.
func TestEveryRecord(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"old": "", "new": "[matrix.unknown]\nallow = [\"read_public\"]\n", "dkim": "evidence = \"dkim\"\nowners = [\"me@example.com\"]\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range escapetest.Records() {
		q := escapetest.Quoted(a.Text)
		from := `"headers":[["From","me@example.com"]],"subject":` + q
		for _, rec := range []string{
			`{"message":{"source":` + q + `,"uid":7,` + from + `},"task":{"id":` + q + `,"kind":"ask"},"decision":{"outcome":"reject"}}`,
			`{"message":{"source":` + q + `,"uid":7,` + from + `},"decision":{"rule":` + q + `,"reason":` + q + `}}`,
			`{"identity":{"sender":` + q + `,"trust":"unknown","reason":` + q + `,"stale":false,"automatic":false},"decision":{"outcome":` + q + `}}`,
			`{"identity":{"sender":` + q + `,"trust":"unknown","reason":` + q + `,"stale":false,"automatic":false},"decision":{"reason":` + q + `}}`,
			`{"identity":{"trust":"unknown","stale":false,"automatic":false},"request":{"action":` + q + `},"decision":{` + q + `:"x"}}`,
			`{"identity":{"trust":"unknown","stale":false,"automatic":false},"request":{"action":` + q + `},"decision":{"action":"x"}}`,
			`{"message":{"source":` + q + `,` + from + `}}`, `{"task":{"id":` + q + `}}`,
		} {
			if err := os.WriteFile("records", []byte(rec), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{
				{"diff", "old", "new", "--records", "records", "--subjects"}, {"diff", "old", "dkim", "--records", "records"},
				{"test", "--policy", "new", "records"}, {"test", "--policy", "new", "--tap", "records"},
			} {
				stdout, stderr, _ := cmdlinetest.Typed(app(), "", args...)
				cmdlinetest.Fine(t, fmt.Sprintf("%s: %q of %s", a.Name, args, rec), stdout, stderr)
			}
			stdout, stderr, _ := cmdlinetest.Typed(app(), rec, "diff", "old", "new", "--records", "-", "--json", "--subjects")
			cmdlinetest.FineData(t, a.Name+": "+rec, stdout, stderr)
		}
	}
}
