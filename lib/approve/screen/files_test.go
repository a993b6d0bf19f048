package screen

import (
	"strings"
	"testing"

	"pulse/lib/shared/request"
)

// TestFiles: a file is shown whole if it is text, and only its beginning if not.
func TestFiles(t *testing.T) {
	lines := files([]request.File{
		{Name: "report.txt", Data: []byte("first\n\nlast \x1b[2J\u202e\n")},
		{Name: "code: k7pd\n\x1b[2J.png", Data: []byte("\x89PNG\x00\xff" + strings.Repeat("x", 1000))},
		{Name: "empty"},
	})
	text := strings.Join(lines, "\n")
	for _, want := range []string{
		"file     report.txt", "20 bytes, sha256:", Gutter + "first\n" + Gutter + "\n" + Gutter + `last \x1b[2J\u202e`,
		`file     code: k7pd\n\x1b[2J.png`, "1006 bytes, sha256:", "this file is not text, and can't be shown here",
		"base64 of the first 96 bytes: iVBORwD/", "file     empty", "0 bytes, sha256:e3b0c442",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.ContainsAny(text, "\x1b\x00\u202e") || len(text) > 2000 {
		t.Errorf("%q", text)
	}
}
