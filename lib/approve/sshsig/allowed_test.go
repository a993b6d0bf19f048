package sshsig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const aKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMx4X1nH6lxZ3qJr0nmN0J0LsuOJmSOrF2NvnXV5fCwP"

func TestUsable(t *testing.T) {
	for text, line := range map[string]string{
		"me@example.com " + aKey + "\n": "",
		"me@example.com " + aKey:        "",
		"me@example.com,it@example.com namespaces=\"pulse-approve\" " + aKey + " a comment\n": "",
		"\t me@example.com\tNamespaces=\"a,b c\",valid-before=\"20990101\"\t" + aKey + "\n":   "",
		"*@example.com cert-authority " + aKey + "\r\n":                                       "",
		"\"me@example.com\" " + aKey + "\n":                                                   "",
		"# me\n\n" + "me@example.com " + aKey + "\n":                                          "",
		"":                                  "1",
		"# nobody\n#\n":                     "2",
		aKey + "\n":                         "1",
		"me@example.com\n":                  "1",
		"me@example.com ssh-ed25519\n":      "1",
		"me@example.com ssh-ed25519 AAAA\n": "1",
		"me@example.com ssh-rsa " + aKey[12:] + "\n":           "1",
		"me@example.com " + aKey + "\nit@example.com x\n":      "2",
		"me@example.com namespaces=git " + aKey + "\n":         "1",
		"me@example.com namespace=\"git\" " + aKey + "\n":      "1",
		"me@example.com namespaces=\"git " + aKey + "\n":       "1",
		"me@example.com namespaces=\"git\" " + aKey[:30]:       "1",
		"me@example.com namespaces=\"git\", " + aKey + "\n":    "1",
		"<<<<<<< HEAD\nme@example.com " + aKey + "\n=======\n": "1",
	} {
		s := Signers{File: filepath.Join(t.TempDir(), "allowed")}
		if err := os.WriteFile(s.File, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := s.Usable()
		if (err == nil) != (line == "") || err != nil && !strings.Contains(err.Error(), "allowed:"+line+": ") {
			t.Errorf("%q: %v, want line %q", text, err, line)
		}
	}
	for _, path := range []string{"/nonexistent", "/", "/dev/zero"} {
		if err := (&Signers{File: path}).Usable(); err == nil {
			t.Errorf("%s is usable", path)
		}
	}
}

// FuzzAllowed: it does not panic, and it ends.
func FuzzAllowed(f *testing.F) {
	f.Add("me@example.com namespaces=\"a\\\"b\" " + aKey + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		n, err := allowed(text, &listed{blobs: map[string][]string{}})
		if (n == 0) != (err == nil) {
			t.Errorf("line %d, %v", n, err)
		}
	})
}
