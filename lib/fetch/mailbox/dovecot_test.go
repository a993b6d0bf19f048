package mailbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/fetch/mailbox/dovecottest"
	"pulse/lib/fetch/source"
	"pulse/lib/shared/audit"
)

// TestDovecot: a real server has mail in new and cur, and nothing about that changes, not
// even that new mail is new (\Recent), however it is read.
func TestDovecot(t *testing.T) {
	srv := dovecottest.Start(t)
	const n = 250 // more than one FETCH asks for
	for i := 1; i <= n; i++ {
		text := fmt.Sprintf("From: a@example.com\nSubject: number %d\n\nbody %d\n%s", i, i, strings.Repeat("x", i))
		srv.Deliver(t, fmt.Sprintf("%d.M%06d.test", 1_700_000_000+i, i), []byte(text))
	}
	seen := filepath.Join(srv.Maildir, "cur", "1700000001.M000001.test:2,F")
	if err := os.Rename(filepath.Join(srv.Maildir, "new", "1700000001.M000001.test"), seen); err != nil {
		t.Fatal(err)
	}
	before := srv.Names(t)
	s := mailbox(t, srv.Addr, srv.CA)
	var uids []uint32
	var validity uint32
	for _, auth := range []Auth{authPlain, authLogin} {
		for _, window := range []int64{0, 10, 1 << 20} {
			s.Auth, s.Window, s.From = auth, window, source.Start{Limit: 2 * n}
			uids = nil
			if err := each(t, context.Background(), s, func(m *source.Message) error {
				uids = append(uids, m.UID)
				validity = m.UIDValidity
				if want := min(m.Size-int64(len(m.Header)), window); int64(len(m.Body)) != want {
					return fmt.Errorf("UID %d: %d bytes of body, want %d", m.UID, len(m.Body), want)
				}
				if m.Partial != (int64(len(m.Header)+len(m.Body)) < m.Size) {
					return fmt.Errorf("UID %d: partial is %v", m.UID, m.Partial)
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if len(uids) != n || !slices.IsSorted(uids) {
				t.Fatalf("%d UIDs: %v", len(uids), uids)
			}
		}
	}
	for name, tt := range map[string]struct {
		from   source.Start
		search string
		want   int
	}{
		"newest":            {source.Start{}, "", 10},
		"resumed":           {source.Start{Resume: true, Known: true, Position: audit.Position{UIDValidity: validity, UID: uids[n-8]}}, "", 7},
		"nothing new":       {source.Start{Resume: true, Known: true, Position: audit.Position{UIDValidity: validity, UID: uids[n-1]}}, "", 0},
		"first run":         {source.Start{Resume: true}, "", n},
		"another validity":  {source.Start{Resume: true, Known: true, Position: audit.Position{UIDValidity: validity + 1, UID: 9, Received: time.Now().Add(-time.Hour)}}, "", n},
		"a flag":            {source.Start{Limit: n}, "FLAGGED", 1},
		"words":             {source.Start{Limit: n}, `SUBJECT "number 24"`, 11},
		"not ASCII":         {source.Start{Limit: n}, `SUBJECT "nümber"`, 0},
		"quotes and braces": {source.Start{Limit: n}, `OR SUBJECT "a\"b\\{5}" (NOT LARGER 1 SMALLER 5)`, 0},
		"dates":             {source.Start{Limit: n}, "SINCE 2020-01-31 NOT ON 1-Feb-2001 UNSEEN UNANSWERED", n},
	} {
		s.From, s.From.Now = tt.from, time.Now()
		var err error
		if s.Search, err = ParseSearch(tt.search); err != nil {
			t.Fatal(err)
		}
		if got := must(t, s); len(got) != tt.want {
			t.Errorf("%s: %d messages, want %d", name, len(got), tt.want)
		}
	}
	if after := srv.Names(t); !slices.Equal(before, after) {
		t.Errorf("files were renamed:\n%q\n%q", before, after)
	}
}

// TestSameByAllWays: a message has the same header through IMAP, from the Maildir that the
// server reads and from an mbox, so that it gets the same digest.
func TestSameByAllWays(t *testing.T) {
	srv := dovecottest.Start(t)
	text := "From: Me <me@example.com>\nSubject: a\n b\n\tc\nX-Long: " + strings.Repeat("y ", 2000) + "\n\n>From here\nbody\n"
	srv.Deliver(t, "1700000001.M1.test", []byte(text))
	path := filepath.Join(t.TempDir(), "mbox")
	if err := os.WriteFile(path, []byte("From me@example.com Sat Nov 21 10:00:00 2026\n"+strings.Replace(text, ">From", ">>From", 1)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	imap := mailbox(t, srv.Addr, srv.CA)
	md, err := source.OpenMaildir(srv.Maildir, 1000, 0)
	if err != nil {
		t.Fatal(err)
	}
	box, err := source.OpenMbox(path, 1000, true)
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]source.Source{"IMAP": imap, "Maildir": md, "mbox": box} {
		n := 0
		if err := each(t, context.Background(), s, func(m *source.Message) error {
			n++
			if got := strings.ReplaceAll(string(m.Header)+string(m.Body), "\r\n", "\n"); got != text {
				t.Errorf("%s: %q", name, got)
			}
			return nil
		}); err != nil || n != 1 {
			t.Errorf("%s: %d messages, %v", name, n, err)
		}
	}
}

// TestDovecotUnavailable: a real server can't read one of its files. Whether it refuses the
// message or ends the connection, the others come, and this one is named.
func TestDovecotUnavailable(t *testing.T) {
	srv := dovecottest.Start(t)
	for i := 1; i <= 5; i++ {
		srv.Deliver(t, fmt.Sprintf("%d.M%06d.test", 1_700_000_000+i, i), fmt.Appendf(nil, "Subject: number %d\n\nbody %d\n", i, i))
	}
	s := mailbox(t, srv.Addr, srv.CA)
	if got := must(t, s); len(got) != 5 { // and now it has an index
		t.Fatalf("%q", got)
	}
	path := filepath.Join(srv.Maildir, "new", "1700000003.M000003.test")
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	s.Window = 100 // not one that the server may have in its cache
	got, err := outcome(t, s)
	if err != nil || got != "1 2 3! 4 5" {
		t.Errorf("%s: %v", got, err)
	}
}
