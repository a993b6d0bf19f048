// Package bodyhash hashes the body of a mail as DKIM signatures do.
package bodyhash

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"
)

// Step is how many bytes of a body are read, or hashed, between two looks at the context.
const Step = 64 << 10

// room is how many bytes are gathered for the hash, where they do not stand in the body as they count.
const room = 256

// Of returns the SHA-256 of a body after simple or relaxed canonicalization (RFC 6376
// §3.4.3, §3.4.4). It reads the body once, in time linear in its length and in little
// memory. An LF without a CR before it ends a line too, because a file may have such lines;
// a CR without an LF after it is a byte like any other. The error is that of ctx.
func Of(ctx context.Context, body []byte, relaxed bool) ([]byte, error) {
	h := bodyHash{ctx: ctx, sum: sha256.New(), buf: make([]byte, 0, min(len(body)+2, room)), relaxed: relaxed}
	for part := range slices.Chunk(body, Step) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		h.read(part)
	}
	if h.cr {
		h.text('\r')
	}
	if h.lines = 0; h.any || !relaxed {
		h.lines = 1
	}
	h.endLines()
	h.sum.Write(h.buf)
	return h.sum.Sum(nil), ctx.Err()
}

// bodyHash is a body as far as it was read.
type bodyHash struct {
	ctx     context.Context
	sum     hash.Hash
	buf     []byte // what goes to the hash next
	relaxed bool

	lines int  // line ends since the last byte of text: they count once another follows
	blank bool // relaxed: there were blanks since then, on this line
	cr    bool // the last byte was a CR, and an LF may follow
	any   bool // there was text
}

func (h *bodyHash) read(part []byte) {
	for len(part) > 0 {
		if n := h.run(part); n > 0 {
			part = part[n:]
			continue
		}
		c := part[0]
		part = part[1:]
		if h.cr && c != '\n' {
			h.text('\r')
		}
		h.cr = c == '\r'
		switch {
		case h.cr:
		case c == '\n':
			h.lines, h.blank = h.lines+1, false
		case h.relaxed && (c == ' ' || c == '\t'):
			h.blank = true
		default:
			h.text(c)
		}
	}
}

// run hashes the bytes that follow text and count as they are, and returns how many. One space between
// others does, and a line end between two lines of text.
func (h *bodyHash) run(part []byte) int {
	if !h.any || h.lines > 0 || h.blank || h.cr {
		return 0
	}
	n := 0
	for n < len(part) {
		for len(part)-n > 8 && asIs(binary.LittleEndian.Uint64(part[n:])) {
			n += 8
		}
		next := n
		switch {
		case part[n] == ' ':
			next = n + 1
		case part[n] == '\r' && n+1 < len(part) && part[n+1] == '\n':
			next = n + 2
		}
		if next == len(part) || h.special(part[next]) {
			break
		}
		n = next + 1
	}
	if len(h.buf)+n < room {
		h.buf = append(h.buf, part[:n]...)
	} else {
		h.sum.Write(h.buf)
		h.sum.Write(part[:n])
		h.buf = h.buf[:0]
	}
	return n
}

// asIs reports whether eight bytes count as they are wherever they stand: none of them is a
// control, and no blank follows another or is the last.
func asIs(w uint64) bool {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	x := w ^ ' '*ones
	blanks := ^((x&^high + ^uint64(high)) | x) & high
	return (w-' '*ones)&^w&high|blanks&(blanks<<8)|blanks>>63 == 0
}

// special reports whether c may be part of a line end, or of blanks that become one.
func (h *bodyHash) special(c byte) bool {
	return c <= ' ' && (c == '\r' || c == '\n' || h.relaxed && (c == ' ' || c == '\t'))
}

// text takes a byte that counts, and what was owed before it.
func (h *bodyHash) text(c byte) {
	if h.any = true; h.lines > 0 {
		h.endLines()
	}
	if h.blank {
		h.blank = false
		h.put(' ')
	}
	h.put(c)
}

// endLines takes the line ends that are owed, which may be millions.
func (h *bodyHash) endLines() {
	for ; h.lines > 0 && (h.lines%Step != 0 || h.ctx.Err() == nil); h.lines-- {
		h.put('\r')
		h.put('\n')
	}
}

func (h *bodyHash) put(c byte) {
	if h.buf = append(h.buf, c); len(h.buf) == room {
		h.sum.Write(h.buf)
		h.buf = h.buf[:0]
	}
}
