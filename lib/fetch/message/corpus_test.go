package message

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pulse/lib/fetch/message/messagetest"
	"pulse/lib/shared/envelope"
)

// TestCorpus parses testdata/broken/NN-name.eml with --scope full. NN-name.want says why
// the mail is there and, after a blank line, what the result must be. In all of them HIDDEN
// must never be part of the text, and SEEN must be.
func TestCorpus(t *testing.T) {
	paths, err := filepath.Glob("testdata/broken/*.eml")
	if err != nil || len(paths) < 110 {
		t.Fatalf("%d mails, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			raw := read(t, path)
			m := check(t, raw, Options{Scope: envelope.Full})
			note, want, ok := strings.Cut(string(read(t, strings.TrimSuffix(path, ".eml")+".want")), "\n\n")
			if !ok || len(note) < 10 {
				t.Error("the note says nothing")
			}
			if got := answer(m); got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
			shown := m.From + m.Subject + m.Text
			if strings.Contains(shown, "HIDDEN") {
				t.Error("hidden text is shown")
			}
			if strings.Contains(string(raw), "SEEN") && !strings.Contains(shown+attached(m), "SEEN") {
				t.Error("text that a person sees is not shown")
			}
		})
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func attached(m envelope.Message) (all string) {
	for _, a := range m.Attachments {
		all += a.Name
	}
	return all
}

// answer returns what a .want file says about a mail, a line for each fact.
func answer(m envelope.Message) string {
	var b strings.Builder
	fmt.Fprintf(&b, "fields %d\ndefects", len(m.Headers))
	for _, d := range m.Defects {
		b.WriteString(" " + string(d))
	}
	b.WriteByte('\n')
	if m.From != "Me <me@example.com>" {
		fmt.Fprintf(&b, "from %s\n", strconv.QuoteToASCII(m.From))
	}
	if m.Subject != "x" {
		fmt.Fprintf(&b, "subject %s\n", strconv.QuoteToASCII(m.Subject))
	}
	for _, a := range m.Attachments {
		fmt.Fprintf(&b, "attachment %s %s %d\n", strconv.QuoteToASCII(a.Name), strconv.QuoteToASCII(a.Type), a.Size)
	}
	lines := slices.Collect(strings.Lines(m.Text))
	for len(lines) > 0 {
		n := 1
		for n < len(lines) && lines[n] == lines[0] {
			n++
		}
		fmt.Fprintf(&b, "text %s", strconv.QuoteToASCII(lines[0]))
		if n > 1 {
			fmt.Fprintf(&b, " %d times", n)
		}
		b.WriteByte('\n')
		lines = lines[n:]
	}
	if m.Truncated {
		b.WriteString("truncated\n")
	}
	return b.String()
}

// TestLarge parses the mails that are too large for files.
func TestLarge(t *testing.T) {
	for _, mail := range messagetest.Large() {
		t.Run(mail.Name, func(t *testing.T) {
			m := check(t, mail.Raw, Options{Scope: envelope.Full, MaxText: 50})
			var defects []string
			for _, d := range m.Defects {
				defects = append(defects, string(d))
			}
			if got := strings.Join(defects, " "); got != mail.Defects {
				t.Errorf("defects %q, want %q", got, mail.Defects)
			}
			if m.Text != mail.Text || m.Truncated != mail.Truncated {
				t.Errorf("text %q, truncated %v; want %q, %v", m.Text, m.Truncated, mail.Text, mail.Truncated)
			}
		})
	}
}
