package cmd_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pulse/lib/fetch/message/messagetest"
)

// TestBrokenMail: whatever pulse-fetch emits, every stage accepts.
func TestBrokenMail(t *testing.T) {
	var mails [][]byte
	for _, pattern := range []string{"../lib/fetch/message/testdata/broken/*.eml", "../lib/classify/identity/testdata/*.eml", "../scripts/demokit/mail/*.eml"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(names), err)
		}
		for _, name := range names {
			if info, err := os.Stat(name); err != nil || info.IsDir() {
				continue
			}
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			mails = append(mails, b)
		}
	}
	whole := len(mails)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 400 {
		mails = append(mails, damage(rng, mails[i%whole]))
	}
	mails = append(mails, nil, []byte("\n"), []byte("\x00"), []byte(strings.Repeat("(", 100_000)),
		[]byte("From: "+strings.Repeat("a", 300_000)+"\n\n"), []byte("Subject: \xff\xfe\n\n\xff"))

	for _, m := range messagetest.Large() {
		mails = append(mails, m.Raw)
	}

	dir := t.TempDir()
	for i, m := range mails {
		if err := os.WriteFile(filepath.Join(dir, "m"+strconv.Itoa(1000+i)), m, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h := &host{dir: t.TempDir()}
	h.queue = filepath.Join(h.dir, "queue")
	h.write(t, "policy.toml", "authserv_id = \"mx.example.com\"\nowners = [\"me@example.com\"]\n[limits]\npending_per_sender = 100000\n")
	h.must(t, "pulse-queue init")
	for _, scope := range []string{"headers", "snippet", "full", "attachments"} {
		out := h.must(t, "pulse-fetch --scope "+scope+" "+dir+"/m* | pulse-classify | pulse-authorize | pulse-queue add | wc -l")
		if got := strings.TrimSpace(out); got != strconv.Itoa(len(mails)) {
			t.Errorf("scope %s: %s receipts for %d mails", scope, got, len(mails))
		}
	}
	h.must(t, "pulse-queue list --all > list; pulse-queue verify")
	if b, err := os.ReadFile(filepath.Join(h.dir, "list")); err != nil || strings.ContainsAny(string(b), "\x1b\r\x00\u202e") {
		t.Errorf("list prints hostile bytes, or %v", err)
	}
}

// damage changes a few bytes of a mail, in the ways that break parsers.
func damage(rng *rand.Rand, mail []byte) []byte {
	b := append([]byte(nil), mail...)
	pieces := []string{"\x00", "\r", "\n", "\r\n", "\xff", ":", "(", "\"", "=?x?b?", "--", "\u2028", "\x1b[2J", "From ", ",", "<", "\\"}
	for range 1 + rng.IntN(8) {
		if len(b) == 0 {
			return b
		}
		i := rng.IntN(len(b))
		switch rng.IntN(3) {
		case 0:
			b[i] = byte(rng.IntN(256))
		case 1:
			b = append(b[:i:i], append([]byte(pieces[rng.IntN(len(pieces))]), b[i:]...)...)
		default:
			b = append(b[:i:i], b[min(len(b), i+1+rng.IntN(40)):]...)
		}
	}
	return b
}
