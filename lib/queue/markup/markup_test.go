package markup

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"pulse/lib/shared/escape"
	"pulse/lib/shared/escape/escapetest"
)

const style = "p { color: red }"

// tags are what a stranger may hope to end, or to begin.
var tags = []string{
	`<script>alert(1)</script>`, `</p><img src=//evil.example onerror=x>`, `"><style>*{}</style>`, `' onload='x`, `" onload="x`, `<!--`, `-->`, `]]>`, `<![CDATA[`,
	`&lt;b&gt;`, `&#60;b&#62;`, `&`, `</title></style></html>`, "<\x00script>", `<a href="javascript:x">`, "`", `=`, `</bdi>`, `<p`, `<?x?>`, `<plaintext>`,
}

func write(text string) []byte {
	p := New("a title", style)
	p.Open("p", Set("title", text))
	p.Put("bdi", text)
	return p.Bytes()
}

// holds compares a page with what it should hold: one paragraph, with one attribute and one
// element, and in both of them the text as package escape shows it.
func holds(t *testing.T, text string) {
	t.Helper()
	b := write(text)
	if wrong := escapetest.Wrong(string(b)); wrong != "" {
		t.Errorf("%q: %s", text, wrong)
	}
	doc, err := html.Parse(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for n := range doc.Descendants() {
		if n.Type == html.TextNode {
			continue
		}
		names = append(names, n.Data)
		want := escape.Message(text)
		switch {
		case n.Data == "p" && (len(n.Attr) != 1 || n.Attr[0].Key != "title" || n.Attr[0].Val != want):
			t.Errorf("%q: %v", text, n.Attr)
		case n.Data == "bdi" && (len(n.Attr) != 0 || n.FirstChild != nil && n.FirstChild.Data != want || n.FirstChild == nil && want != ""):
			t.Errorf("%q: %v", text, n.FirstChild)
		}
	}
	if got := strings.Join(names, " "); got != "html html head meta meta meta meta title style body p bdi" {
		t.Errorf("%q: %s", text, got)
	}
}

func TestText(t *testing.T) {
	for _, text := range tags {
		holds(t, text)
	}
	for _, a := range escapetest.Attacks {
		holds(t, a.Text)
	}
}

// FuzzText: whatever a text is, it is a text.
func FuzzText(f *testing.F) {
	for _, text := range tags {
		f.Add(text)
	}
	for _, a := range escapetest.Attacks {
		f.Add(a.Text)
	}
	f.Fuzz(holds)
}

// TestPolicy: the hash is that of what stands between the tags of the style.
func TestPolicy(t *testing.T) {
	b := string(write(""))
	_, rest, _ := strings.Cut(b, "<style>")
	sheet, _, _ := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(sheet))
	want := `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-` + base64.StdEncoding.EncodeToString(sum[:]) + `'; base-uri 'none'; form-action 'none'"`
	if sheet != style || !strings.Contains(b, want) {
		t.Errorf("want %s in\n%s", want, b)
	}
}
