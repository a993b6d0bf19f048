// Package decode undoes how a part of a mail was encoded for its way: the transfer encoding (RFC 2045
// §6), and the charset. It is lenient where mail programs are, and says where something did not decode.
package decode

import (
	"bytes"
	"encoding/base64"
	"io"

	"pulse/lib/shared/encodedword"
)

// Reader reads what a part holds.
type Reader interface {
	io.Reader
	Chunk() ([]byte, error) // some of it without a copy, good until the next one
	Broken() bool           // something that was read did not decode
}

// Transfer undoes a transfer encoding. It returns nil if that is unknown.
func Transfer(encoding string, b []byte) Reader {
	switch encoding {
	case "base64":
		return &base64Reader{pieces: pieces{b: b}}
	case "quoted-printable":
		return &quotedReader{pieces: pieces{b: b}}
	case "", "7bit", "8bit", "binary":
		return &plainReader{pieces{b: b}}
	}
	return nil
}

// pieces is what the decoders have in common: they decode b one piece at a time.
type pieces struct {
	b      []byte // still encoded
	out    []byte // decoded and not yet read
	broken bool   // something did not decode
}

// Broken reports whether something did not decode.
func (s *pieces) Broken() bool { return s.broken }

// next returns what fill decodes.
func (s *pieces) next(fill func()) ([]byte, error) {
	for len(s.out) == 0 {
		if len(s.b) == 0 {
			return nil, io.EOF
		}
		fill()
	}
	out := s.out
	s.out = nil
	return out, nil
}

// read copies what fill decodes.
func (s *pieces) read(p []byte, fill func()) (int, error) {
	out, err := s.next(fill)
	n := copy(p, out)
	s.out = out[n:]
	return n, err
}

// plainReader reads what is not encoded.
type plainReader struct{ pieces }

func (r *plainReader) Read(p []byte) (int, error) { return r.read(p, r.fill) }
func (r *plainReader) Chunk() ([]byte, error)     { return r.next(r.fill) }
func (r *plainReader) fill()                      { r.out, r.b = r.b, nil }

// base64Reader decodes base64 as it occurs in mail (RFC 2045 §6.8): it skips line ends and
// other foreign characters, and padding may stand in the middle. It is broken if it has
// characters that are neither base64 nor blanks, or if its end is cut.
type base64Reader struct {
	pieces
	buf [3 << 10]byte
}

func (r *base64Reader) Read(p []byte) (int, error) { return r.read(p, r.fill) }
func (r *base64Reader) Chunk() ([]byte, error)     { return r.next(r.fill) }

// fill decodes the next run of quanta, up to padding or as many as fit.
func (r *base64Reader) fill() {
	var in [4 << 10]byte
	n, i, padded := 0, 0, false
	for i = 0; i < len(r.b) && n < len(in) && !padded; i++ {
		switch c := r.b[i]; {
		case IsBase64(c):
			in[n] = c
			n++
		case c == '=':
			padded = true
		case c != '\r' && c != '\n' && c != ' ' && c != '\t':
			r.broken = true
		}
	}
	r.b = bytes.TrimLeft(r.b[i:], "=")
	if n%4 == 1 || n%4 != 0 && !padded {
		r.broken = true
	}
	if n%4 == 1 {
		n--
	}
	n, _ = base64.RawStdEncoding.Decode(r.buf[:], in[:n])
	r.out = r.buf[:n]
}

// IsBase64 reports whether c is a digit of base64.
func IsBase64(c byte) bool {
	return 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '+' || c == '/'
}

// quotedReader decodes quoted-printable (RFC 2045 §6.7). An equals sign without two hex
// digits makes it broken, and passes as it is, because most readers show it so.
type quotedReader struct {
	pieces
	buf []byte
}

func (r *quotedReader) Read(p []byte) (int, error) { return r.read(p, r.fill) }
func (r *quotedReader) Chunk() ([]byte, error)     { return r.next(r.fill) }

// longLine is the length beyond which a line is decoded in pieces.
const longLine = 4 << 10

// fill decodes the next line.
func (r *quotedReader) fill() {
	var end []byte
	line, n := r.b, bytes.IndexByte(r.b[:min(len(r.b), longLine)], '\n')+1
	switch {
	case n > 0:
		line, end = r.b[:n], r.b[n-1:n]
	case len(r.b) > longLine:
		n = bytes.LastIndexByte(r.b[:longLine], '=')
		if n < longLine-2 {
			n = longLine // this does not cut an escape in two
		}
		line = r.b[:n]
	default:
		n = len(r.b)
	}
	r.b = r.b[n:]
	if end != nil || len(r.b) == 0 {
		line = bytes.TrimRight(line, " \t\r\n") // blanks at the end were added on the way
		if bytes.HasSuffix(line, []byte("=")) { // a soft line break
			line, end = line[:len(line)-1], nil
		}
	}
	r.buf = append(r.unescape(r.buf[:0], line), end...)
	r.out = r.buf
}

func (r *quotedReader) unescape(dst, line []byte) []byte {
	for i := 0; i < len(line); i++ {
		if line[i] == '=' {
			if i+2 < len(line) && encodedword.Unhex(line[i+1]) < 16 && encodedword.Unhex(line[i+2]) < 16 {
				dst = append(dst, encodedword.Unhex(line[i+1])<<4|encodedword.Unhex(line[i+2]))
				i += 2
				continue
			}
			r.broken = true
		}
		dst = append(dst, line[i])
	}
	return dst
}
