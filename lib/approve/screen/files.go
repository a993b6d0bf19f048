package screen

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"unicode/utf8"

	"pulse/lib/shared/request"
)

// files shows the files of a request: text as text, and anything else by its digest and
// its first bytes, because a person could not read it.
func files(list []request.File) (lines []string) {
	for i := range list {
		f := &list[i]
		lines = append(lines, exact("file", f.Name), Fact("", "%d bytes, %s", len(f.Data), f.Digest()))
		if utf8.Valid(f.Data) && !bytes.ContainsRune(f.Data, 0) {
			lines = append(lines, Quote("content", string(f.Data))...)
			continue
		}
		head := f.Data[:min(len(f.Data), shownBytes)]
		lines = append(lines,
			Fact("warning", "this file is not text, and can't be shown here: pulse-queue show ID --json has it"))
		lines = append(lines, Quote("content", fmt.Sprintf("base64 of the first %d bytes: %s",
			len(head), base64.StdEncoding.EncodeToString(head)))...)
	}
	return lines
}

// shownBytes is how much of a file is shown that is not text.
const shownBytes = 96
