package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pulse/lib/escape"
)

// attacks are what a stranger or a worker would like a person to see.
var attacks = []string{
	"\x1b[2J\x1b[Hfine",
	"\r\x1b[2Ktarget    good@example.com",
	"\ncode: aaaa\ntype the code to approve this, anything else not to: ",
	"\r\ntarget    good@example.com\r\n",
	"\u202egro.elpmaxe\u202c \u2066x\u2069 \u200b\u200d\ufeff",
	"\u009b2J\u0085\u2028code: aaaa\u2029",
	"\x07\x08\x08\x08\x0e\x7f\u00ad\U000e0041",
	"x" + strings.Repeat(" ", 59) + "target    good@example.com" + strings.Repeat(" ", 54) + "code: aaaa",
	strings.Repeat("\u4e16", 60) + "code: aaaa",
	"a" + strings.Repeat("\u0301", 200),
	"  | \ntarget    good@example.com",
}

// hostile is an effect with an attack in every field.
func hostile(attack string) string {
	quoted := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			panic(err)
		}
		return string(b)
	}
	a := quoted(attack)
	oneLine := quoted(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, attack))
	return fmt.Sprintf(`{"message":{"source":%[1]s,"id":%[1]s,"from":%[1]s,"subject":%[1]s,"text":%[1]s,"digest":%[1]s},`+
		`"request":{"action":"external_send","target":[%[2]s,"bob@partner.example"],"tool":%[1]s,"args":{"text":%[1]s,"more":[%[1]s]},%[1]s:%[1]s},`+
		`"identity":{"sender":%[1]s,"trust":"owner_verified_email","verified":true,"stale":false,"automatic":false,`+
		`"reason":%[1]s,"why":%[1]s,"via":"agent","parent":%[1]s,"root":%[1]s},`+
		`"decision":{"action":"external_send","outcome":"require_owner_confirmation","rule":%[1]s,"reason":%[1]s,"why":%[1]s},%[1]s:{"x":%[1]s}}`+"\n",
		a, oneLine)
}

// frame are our words that may begin a line.
var frame = []string{"task", "kind", "state", "sender", "proven", "action", "target", "rule", "because", "age", "expires", "attempts", "digest",
	"behalf", "warning", "since", "again", "caution", "waiting", "page", "message", "from", "subject", "text", "tool", "args", "also", "code:", "type"}

// TestHostileText: whatever stands in a record, the terminal is given lines that
// move nothing, and only ours begin in the first column.
func TestHostileText(t *testing.T) {
	for _, attack := range attacks {
		d := newDesk(t)
		d.must("", "pulse-queue", "init")
		id := d.task(d.must(hostile(attack), "pulse-queue", "add")).ID
		status, screen := d.answer(func(string) string { return "no\n" }, "yes", id)
		if status != 77 {
			t.Errorf("exit %d", status)
		}
		question, _, _ := strings.Cut(screen, "pulse-approve: ")
		count := map[string]int{}
		for _, line := range strings.Split(question, "\n") {
			line = strings.TrimSuffix(line, "\r")
			if escape.Message(line) != line {
				t.Errorf("%q puts %q on the terminal", attack, line)
			}
			if columns(line) > 80 && !strings.HasPrefix(line, "type the code") {
				t.Errorf("%q makes a line of %d columns: %q", attack, columns(line), line)
			}
			if word, _, _ := strings.Cut(line, " "); word != "" {
				count[word]++
			}
		}
		for word := range count {
			if !slices.Contains(frame, word) {
				t.Errorf("%q puts %q in the first column", attack, word)
			}
		}
		if count["target"] != 2 || count["code:"] != 1 || count["task"] != 1 || count["also"] != 2 {
			t.Errorf("%q: %v\n%s", attack, count, question)
		}
		for _, args := range [][]string{{"list"}, {"list", "--all"}, {"show", id}} {
			for _, line := range strings.Split(d.must("", "pulse-queue", args...), "\n") {
				if escape.Message(line) != line {
					t.Errorf("%q: pulse-queue %v prints %q", attack, args, line)
				}
			}
		}
	}
}

// columns is how wide a line may be on a terminal, at most.
func columns(line string) int { return utf8.RuneCountInString(line) + strings.Count(line, "\u4e16") }
