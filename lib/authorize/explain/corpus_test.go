package explain

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"pulse/lib/fetch/message"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
)

// entry is a record of the fixtures of package identity, with the policy that it was
// written for.
type entry struct {
	name   string
	rec    *record.Record // as pulse-fetch writes it
	policy string         // the text
}

const fixtures = "../../classify/identity/testdata/"

// corpus returns all messages of the fixtures, and of the receivers.
func corpus(t testing.TB) (list []entry) {
	t.Helper()
	general := read(t, fixtures+"policy.toml")
	for _, path := range glob(t, fixtures+"*.eml", 165) {
		base := strings.TrimSuffix(path, ".eml")
		e := entry{filepath.Base(base), fetched(t, read(t, path), readIf(base+".dkim")), general}
		if own := readIf(base + ".policy"); own != "" {
			e.policy = own
		}
		list = append(list, e)
	}
	for _, path := range glob(t, fixtures+"receivers/*.txtar", 20) {
		files := map[string]string{}
		for _, f := range txtar.Parse([]byte(read(t, path))).Files {
			files[f.Name] = string(f.Data)
		}
		for name, text := range files {
			if base, ok := strings.CutSuffix(name, ".eml"); ok {
				rec := fetched(t, strings.ReplaceAll(text, "\n", "\r\n"), files[base+".dkim"])
				list = append(list, entry{filepath.Base(path) + "/" + base, rec, files["policy"]})
			}
		}
	}
	return list
}

func glob(t testing.TB, pattern string, least int) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) < least {
		t.Fatalf("%s: %d files, %v", pattern, len(paths), err)
	}
	return paths
}

// fetched returns the record of a message. dkim is its message.dkim, or empty.
func fetched(t testing.TB, header, dkim string) *record.Record {
	t.Helper()
	m := message.Parse(message.Raw{Header: []byte(header)}, message.Options{Scope: envelope.Headers})
	m.Source = "imaps://me@imap.example.com/INBOX"
	m.Fetched = time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)
	m.Received = m.Fetched.Add(-time.Minute)
	var o record.Object
	value := m.Append(nil)
	if dkim != "" {
		value = append(value[:len(value)-1], (`,"dkim":` + strings.TrimSpace(dkim) + "}")...)
	}
	o.Raw(envelope.Member, value)
	return parsed(t, o.Bytes())
}

func parsed(t testing.TB, line []byte) *record.Record {
	t.Helper()
	rec, err := record.Parse(line, "message", "request", "identity", "decision")
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func readIf(path string) string {
	b, _ := os.ReadFile(path)
	return string(b)
}

func parse(t testing.TB, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse("policy.toml", []byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return p
}
