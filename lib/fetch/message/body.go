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
	var line []byte
	empty := 0 // lines without anything, which count only if another one follows
	for len(body) > 0 {
		var raw []byte
		raw, body, _ = bytes.Cut(body, []byte("\n"))
		if line = appendRelaxed(line[:0], bytes.TrimSuffix(raw, []byte("\r"))); len(line) == 0 {
			empty++
			continue
		}
		for ; empty > 0; empty-- {
			sum.Write([]byte("\r\n"))
		}
		sum.Write(append(line, "\r\n"...))
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// appendRelaxed appends a line with a space for each run of blanks, and none at its end.
func appendRelaxed(dst, line []byte) []byte {
	blank := false
	for _, c := range line {
		if c == ' ' || c == '\t' {
			blank = true
			continue
		}
		if blank {
			dst = append(dst, ' ')
		}
		dst, blank = append(dst, c), false
	}
	return dst
}
