package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"pulse/lib/shared/cmdline"
)

// many yields n lines, and calls at before each.
type many struct {
	line string
	n    int
	at   func(left int)
	rest string
}

func (m *many) Read(b []byte) (int, error) {
	if m.rest == "" {
		if m.n == 0 {
			return 0, io.EOF
		}
		m.n--
		m.at(m.n)
		m.rest = m.line
	}
	n := copy(b, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// narrowed is a record that the policies of differing decide otherwise, of the size that a
// mail has.
var narrowed = `{"message":{"source":"imaps://a/b","uid":1,"uidvalidity":1,"headers":[["Authentication-Results","mx.example.net; dkim=pass header.d=example.com header.s=s; dmarc=pass header.from=example.com"],` +
	`["DKIM-Signature","v=1; a=rsa-sha256; d=example.com; s=s; h=from:to:subject:date:message-id; bh=AbCd; b=AbCdEf"],["From","me@example.com"],["Date","Sat, 21 Nov 2026 06:55:00 +0000"]` +
	strings.Repeat(`,["X-Foo-Bar","`+strings.Repeat("bar ", 12)+`"]`, 14) + `],"defects":[],"subject":"News","text":"` + strings.Repeat("Please read the news. ", 50) + `"}}` + "\n"

func differing(t testing.TB) (old, new string) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"old": "authserv_id = \"mx.example.net\"\nowners = [\"me@example.com\"]\nmax_age = \"0\"\n", "new": "authserv_id = \"mx.example.net\"\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return "old", "new"
}

// TestConstantMemory: how many records there are makes no difference to the memory that
// diff needs.
func TestConstantMemory(t *testing.T) {
	old, new := differing(t)
	heap := map[int]uint64{}
	const n, early, late = 20000, 19000, 10
	in := &many{line: narrowed, n: n, at: func(left int) {
		if left == early || left == late {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			heap[left] = m.HeapAlloc
		}
	}}
	out := &lineCount{}
	status := cmdline.Run(context.Background(), app(), []string{"pulse-authorize", "diff", old, new, "--records", "-"}, in, out, io.Discard)
	if status != 0 || out.n != n {
		t.Fatalf("exit status %d, %d lines", status, out.n)
	}
	if grown := int64(heap[late]) - int64(heap[early]); grown > 256<<10 {
		t.Errorf("%d bytes more after %d records", grown, early-late)
	}
}

// lineCount counts lines.
type lineCount struct{ n int }

func (l *lineCount) Write(b []byte) (int, error) {
	l.n += strings.Count(string(b), "\n")
	return len(b), nil
}

func BenchmarkDiffRecords(b *testing.B) {
	old, new := differing(b)
	b.SetBytes(int64(len(narrowed)))
	b.ReportAllocs()
	in := &many{line: narrowed, n: b.N, at: func(int) {}}
	out := &lineCount{}
	status := cmdline.Run(context.Background(), app(), []string{"pulse-authorize", "diff", old, new, "--records", "-"}, in, out, io.Discard)
	if status != 0 || out.n != b.N {
		b.Fatal(fmt.Sprint(status, out.n))
	}
}
