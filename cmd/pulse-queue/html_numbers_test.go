package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
)

// sectionsOf returns the sections of a page by their titles.
func sectionsOf(t *testing.T, page string) map[string]*html.Node {
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]*html.Node{}
	for n := range doc.Descendants() {
		if n.Data == "section" {
			list[words(n.FirstChild)] = n
		}
	}
	return list
}

// words returns the text of an element.
func words(n *html.Node) (text string) {
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			text += d.Data
		}
	}
	return strings.TrimSpace(text)
}

// cellsOf returns the rows of the table of a section by their first cells.
func cellsOf(t *testing.T, n *html.Node) map[string][]string {
	t.Helper()
	if n == nil {
		t.Fatal("there is no such section")
	}
	rows := map[string][]string{}
	for row := range n.Descendants() {
		if row.Data != "tr" || row.Parent.Data != "tbody" {
			continue
		}
		var cells []string
		for c := range row.ChildNodes() {
			if c.Type == html.ElementNode {
				cells = append(cells, words(c))
			}
		}
		rows[cells[0]] = cells[1:]
	}
	return rows
}

// TestPageAgrees: the page has the numbers of stats, digest and list.
func TestPageAgrees(t *testing.T) {
	dir := t.TempDir()
	policy := filepath.Join(dir, "policy.toml")
	text := "authserv_id = \"mx.example.com\"\nowners = [\"me@example.com\"]\nallowed_external = [\"@partner.example\"]\n[limits]\nmax_per_day = 40\n"
	if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PULSE_QUEUE", filepath.Join(dir, "q"))
	t.Setenv("PULSE_POLICY", policy)
	do := func(in string, args ...string) string {
		t.Helper()
		out, stderr, status := command(strings.NewReader(in), args...)
		if status != 0 {
			t.Fatalf("%q: exit %d: %s", args, status, stderr)
		}
		return out
	}
	begun := time.Now()
	do("", "init")
	var in strings.Builder
	for i := range 7 {
		fmt.Fprintf(&in, stranger, i, i%3)
	}
	for i := range 5 {
		fmt.Fprintf(&in, friend, i, i%2)
	}
	for i := range 16 {
		fmt.Fprintf(&in, strings.Replace(friend, `"allow"`, `"queue_for_review"`, 1), 100+i, i%2)
	}
	for i := range 4 {
		fmt.Fprintf(&in, ours, i)
	}
	do(in.String(), "add")
	do("", "run", "--max", "6", "--", "true")
	page, digest := do("", "stats", "--html"), do("", "digest")
	list := sectionsOf(t, page)

	var stats map[string]any
	if err := json.Unmarshal([]byte(do("", "stats", "--json")), &stats); err != nil {
		t.Fatal(err)
	}
	for state, cells := range cellsOf(t, list["Tasks by state"]) {
		if fmt.Sprint(stats[state]) != cells[0] {
			t.Errorf("%s: %v, want %v", state, cells, stats[state])
		}
	}
	starts, costs := stats["starts_24h"].(map[string]any), cellsOf(t, list["Cost of the day"])
	for name, want := range map[string][]string{
		"asks": {fmt.Sprint(starts["ask"]), "40"}, "for external senders": {fmt.Sprint(starts["ask_external"]), "20"}, "effects": {fmt.Sprint(starts["effect"]), "40"},
	} {
		if got := costs[name]; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}

	senders, all := map[string]int{}, 0
	count := func(sender string) {
		senders[sender]++
		all++
	}
	for line := range strings.Lines(do("", "list", "--all", "--json")) {
		var r struct {
			Identity struct{ Sender string }
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		count(r.Identity.Sender)
	}
	for line := range strings.Lines(do("", "log", "--event", "refused", "--json")) {
		var l struct{ Sender string }
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		count(l.Sender)
	}
	who := cellsOf(t, list["Who asked"])
	for sender, n := range senders {
		if got := who[sender]; len(got) != 3 || got[1] != strconv.Itoa(n) {
			t.Errorf("%s: %q, want %d", sender, got, n)
		}
	}
	if all != 32 || len(who) != len(senders) {
		t.Errorf("%d records, %q", all, who)
	}
	days, came := cellsOf(t, list["What came in 30 days"]), [5]int{}
	for date, got := range days { // all of it on one day, or on two if one ended meanwhile
		for i := range got {
			n, err := strconv.Atoi(got[i])
			if came[i] += n; err != nil || n > 0 && date < begun.UTC().Format(time.DateOnly) {
				t.Errorf("%s: %q", date, got)
			}
		}
	}
	if len(days) != 30 || came[2] != 7 || came[3] != 32 {
		t.Errorf("%d days, %d", len(days), came)
	}

	want := regexp.MustCompile(`pulse-approve yes [0-9a-f]+`).FindAllString(digest, -1)
	if got := regexp.MustCompile(`pulse-approve yes [0-9a-f]+`).FindAllString(page, -1); len(want) != 10 || !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, one := range []string{"And 6 more:", strings.TrimSpace(do("", "verify")), "not_separated"} {
		if !strings.Contains(strings.ReplaceAll(page, "<wbr>", ""), one) {
			t.Errorf("the page has no %s", one)
		}
	}
	headline, _, _ := strings.Cut(digest, "oldest")
	if !strings.Contains(page, headline) || !strings.Contains(digest, "refused  7:") || cellsOf(t, list["Refused, and why"])["not_permitted"][2] != "7" {
		t.Errorf("%q, %q", headline, cellsOf(t, list["Refused, and why"]))
	}
	if got := cellsOf(t, list["How long it took"])["for a start, once it is due"]; len(got) != 4 || got[0] != "6" {
		t.Errorf("%q", got)
	}
}
