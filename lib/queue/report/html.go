package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"strings"
	"sync"

	"pulse/lib/shared/escape"
)

// The page and its style sheet. Colours have a contrast of 4.5 and more for text, and of 3 and
// more for bars (WCAG 2.2, 1.4.3 and 1.4.11), in light and in dark.
var (
	//go:embed page.html.tmpl
	pageText string
	//go:embed page.css
	sheetStyle string

	pageTemplate = sync.OnceValue(func() *template.Template {
		return template.Must(template.New("page").Funcs(template.FuncMap{
			"parts":   func(word string) []string { return strings.SplitAfter(word, "_") },
			"number":  func(column string) bool { return column[0] == '#' },
			"heading": func(column string) string { return strings.TrimPrefix(column, "#") },
			"clip":    func(text string) string { return escape.Clip(escape.Message(text), sheetFinding) },
			"more": func(all, named int) string {
				if all == named {
					return ""
				}
				return fmt.Sprintf("And %d more:", all-named)
			},
		}).Parse(pageText))
	})
)

// pageHead is what stands before the body: a policy (Content Security Policy Level 3) which
// allows nothing but the style sheet of that hash.
func pageHead() string {
	sum := sha256.Sum256([]byte(sheetStyle))
	return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-` +
		base64.StdEncoding.EncodeToString(sum[:]) + `'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>pulse: the queue, on one page</title><style>` + sheetStyle + "</style></head>\n<body>"
}

// HTML lays the page of stats --html out, with what to type before the commands on it.
func (p *Page) HTML(exports []string) ([]byte, error) {
	s := p.sheet()
	s.Exports = exports
	return s.html()
}

// html lays the page out. What needs a person comes first. The template writes what comes from
// outside as text or as the value of an attribute; what could reorder or hide the text around
// it is made visible last, in every line.
func (s *sheet) html() ([]byte, error) {
	var body bytes.Buffer
	if err := pageTemplate().Execute(&body, s); err != nil {
		return nil, err
	}
	page := []byte(pageHead())
	for line := range strings.Lines(body.String()) {
		page = append(page, escape.Message(strings.TrimSuffix(line, "\n"))...)
		page = append(page, '\n')
	}
	return append(page, "</body></html>\n"...), nil
}
