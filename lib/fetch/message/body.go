package message

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
)

// bodyDigest returns the digest of a body after the relaxed canonicalization of RFC 6376 §3.4.4:
// runs of blanks count as one space, those at the end of a line and empty lines at the end as
// nothing. So a change that a signature permits on the way makes no other mail of it. A line
// may end with LF alone, because a Maildir has the lines of the same mail so.
func bodyDigest(body []byte) string {
	sum := sha256.New()
	w := bufio.NewWriter(sum)
	empty := 0 // lines without anything, which count only if another one follows
	for len(body) > 0 {
		var line []byte
		line, body, _ = bytes.Cut(body, []byte("\n"))
		if line = bytes.TrimRight(bytes.TrimSuffix(line, []byte("\r")), " \t"); len(line) == 0 {
			empty++
			continue
		}
		for ; empty > 0; empty-- {
			io.WriteString(w, "\r\n")
		}
		for i, c := range line {
			switch blank := c == ' ' || c == '\t'; {
			case !blank:
				w.WriteByte(c)
			case line[i+1] != ' ' && line[i+1] != '\t': // the last of a run, and not of the line
				w.WriteByte(' ')
			}
		}
		io.WriteString(w, "\r\n")
	}
	w.Flush()
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}
