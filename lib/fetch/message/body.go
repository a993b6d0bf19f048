package message

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
)

// bodyDigest returns the digest of a body after the relaxed canonicalization of RFC 6376 §3.4.4:
// runs of blanks count as one space, those at the end of a line and empty lines at the end as
// nothing. So a change that a signature permits on the way makes no other mail of it. A line
// may end with LF alone, because a Maildir has the lines of the same mail so.
func bodyDigest(body []byte) string {
	sum := sha256.New()
	var buf []byte
	empty := 0 // lines without anything, which count only if another one follows
	for len(body) > 0 {
		var line []byte
		line, body, _ = bytes.Cut(body, []byte("\n"))
		if line = bytes.TrimRight(bytes.TrimSuffix(line, []byte("\r")), " \t"); len(line) == 0 {
			empty++
			continue
		}
		for ; empty > 0; empty-- {
			sum.Write([]byte("\r\n"))
		}
		for i, c := range line {
			switch blank := c == ' ' || c == '\t'; {
			case !blank:
				buf = append(buf, c)
			case line[i+1] != ' ' && line[i+1] != '\t': // the last of a run, and not of the line
				buf = append(buf, ' ')
			}
			if len(buf) == 4096 {
				sum.Write(buf)
				buf = buf[:0]
			}
		}
		sum.Write(append(buf, "\r\n"...))
		buf = buf[:0]
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}
