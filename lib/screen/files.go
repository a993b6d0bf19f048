package screen

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"unicode/utf8"

	"pulse/lib/request"
)

// files shows what goes along with a request: text as text, all else by its digest
// and its first bytes, for nobody could read it.
func files(list []request.File) (lines []string) {
	for i := range list {
		f := &list[i]
		lines = append(lines, exact("file", f.Name), Fact("", "%d bytes, %s", len(f.Data), f.Digest()))
		if utf8.Valid(f.Data) && !bytes.ContainsRune(f.Data, 0) {
			lines = append(lines, Quote("content", string(f.Data))...)
			continue
		}
		head := f.Data[:min(len(f.Data), shownBytes)]
		lines = append(lines, Fact("warning", "this file is no text, and can't be shown here: pulse-queue show ID --json has it"))
		lines = append(lines, Quote("content", fmt.Sprintf("base64 of the first %d bytes: %s", len(head), base64.StdEncoding.EncodeToString(head)))...)
	}
	return lines
}

// shownBytes is how much of a file that is no text is shown.
const shownBytes = 96
