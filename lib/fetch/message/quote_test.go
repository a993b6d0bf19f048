package message

import (
	"math/rand/v2"
	"strings"
	"testing"

	"pulse/lib/shared/envelope"
)

// TestQuote: what stands in a quotation begins each line with its marks, and nothing else does.
func TestQuote(t *testing.T) {
	for html, want := range map[string]string{
		"a<blockquote>b<br>c</blockquote>d":                                                "a\n\n> b\n> c\n\nd",
		"<blockquote type=cite><p>a</p><p>b</p></blockquote>":                              "> a\n\n> b",
		"a<blockquote>b<blockquote>c</blockquote>d</blockquote>e":                          "a\n\n> b\n\n> > c\n\n> d\n\ne",
		"<blockquote><ul><li>a<li>b</ul></blockquote>":                                     "> - a\n> - b",
		"<blockquote><pre>a\n  b\n</pre></blockquote>c":                                    "> a\n>   b\n\nc",
		"<div><blockquote>a</div>b":                                                        "> a\nb",
		"<blockquote><div>a</blockquote>b":                                                 "> a\n\nb",
		"<b>a<blockquote>b</b></blockquote>c":                                              "a\n\n> b\n\nc",
		"<blockquote>a<span style='display:none'></blockquote>b":                           "> a\nb",
		"a<span style='visibility:hidden'><blockquote style='visibility:visible'>b":        "a\n\n> b",
		"<table><tr><td>a<td><blockquote>b<tr><td>c</table>":                               "a\n\n> b\n> c",
		"<blockquote></blockquote>a":                                                       "a",
		"a<blockquote style='display:none'>b</blockquote>c":                                "ac",
		strings.Repeat("<blockquote>", 9) + "a" + strings.Repeat("</blockquote>", 9) + "b": "> > > > > a\n\nb",
	} {
		if got := parse("Content-Type: text/html; charset=utf-8\n\n"+html, envelope.Full).Text; got != want {
			t.Errorf("%s: %q, want %q", html, got, want)
		}
	}
}

// TestQuoteAnyhow: however elements are nested and closed, a word of a quotation has its mark, and one
// before it has none.
func TestQuoteAnyhow(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	inline := []string{"<b>", "</b>", "<span>", "</span>", "<br>", " ", "\n", "<i style='visibility:hidden'>", "<i style='visibility:visible'>", "</i>", "mine"}
	all := append([]string{
		"<p>", "</p>", "<div>", "</div>", "<ul><li>", "<li>", "</ul>", "<pre>\n", "</pre>", "<table><tr>", "<td>", "</table>", "<p hidden>", "<blockquote>", "yours", "yours", "yours", "yours",
		"<details>", "</details>", "<h1>", "</h1>",
	}, inline[:len(inline)-1]...)
	some := func(parts []string) (text string) {
		for range r.IntN(16) {
			text += parts[r.IntN(len(parts))]
		}
		return text
	}
	words := 0
	for range 3000 {
		html := some(inline) + "<blockquote>" + some(all)
		text := parse("Content-Type: text/html; charset=utf-8\n\n"+html, envelope.Full).Text
		for line := range strings.Lines(text) {
			yours, mine := strings.Count(line, "yours"), strings.Contains(line, "mine")
			if words += yours; yours > 0 && (mine || !strings.HasPrefix(line, "> ")) || mine && strings.HasPrefix(line, ">") {
				t.Fatalf("%s: %q", html, text)
			}
		}
	}
	if words < 1000 {
		t.Errorf("only %d words", words)
	}
}

// TestQuoteFull: marks count as characters, and no more is kept than is asked for.
func TestQuoteFull(t *testing.T) {
	page := "<blockquote>" + strings.Repeat("ab<br>", 100)
	for most := range 30 {
		out := &collector{limit: most}
		_ = readHTML(out, strings.NewReader(page), new(sheet), new(envelope.Left))
		if n := len(out.String()); n > most || n < most-4 {
			t.Errorf("%d of %d: %q", n, most, out.String())
		}
	}
}
