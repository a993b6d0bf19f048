// Package answers reads signed answers out of text that anybody may have brought: a file, a
// mail, what was typed into a terminal. It does no I/O.
//
// Invariant: what it returns is bounded by the text, and is a claim. The writer of the
// text chose the line, the signature and which of them stand together. Caveat: a line that was
// wrapped, quoted or encoded on its way is not found, or is not what was signed any more.
package answers

import (
	"bytes"
	"errors"
	"iter"
	"strings"

	"pulse/lib/shared/approval"
)

// maxArmor bounds a signature, in bytes.
const maxArmor = 16 << 10

// The reasons why there is a part of an answer only.
var (
	errUnsigned = errors.New("no signature follows it")
	errCut      = errors.New("its signature is cut off or is not base64")
	errAlone    = errors.New("it is a signature without the line that was signed")
)

// Answer is a line and the signature that follows it.
type Answer struct {
	At    int    // the number of its first line in the text, from 1
	Line  []byte // with its newline; nil: there is only a signature
	Armor string // lines end in LF; empty: there is none
	Cut   bool   // a signature began and did not end
}

// Whole returns nil if there are a line and a signature, and why not otherwise.
func (a *Answer) Whole() error {
	switch {
	case a.Cut:
		return errCut
	case a.Line == nil:
		return errAlone
	case a.Armor == "":
		return errUnsigned
	}
	return nil
}

const (
	armorBegin = "-----BEGIN SSH SIGNATURE-----"
	armorEnd   = "-----END SSH SIGNATURE-----"
	alphabet   = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
)

// All returns the answers of a text: each line that begins as a statement does, with the
// signature that follows it, and each signature that follows no such line. Everything else
// is skipped. Lines may end in LF or CRLF.
func All(text []byte) iter.Seq[Answer] {
	return func(yield func(Answer) bool) {
		r := reader{rest: bytes.TrimPrefix(text, []byte("\ufeff"))}
		for a, ok := r.next(); ok && yield(a); {
			a, ok = r.next()
		}
	}
}

// reader is what is left of a text.
type reader struct {
	rest []byte
	at   int     // the number of the line that was read last
	held *Answer // a line whose signature may follow
}

// line returns the next line, without its end and the blanks before that.
func (r *reader) line() (text []byte, ok bool) {
	if len(r.rest) == 0 {
		return nil, false
	}
	text, r.rest, _ = bytes.Cut(r.rest, []byte("\n"))
	r.at++
	return bytes.TrimRight(text, " \t\r"), true
}

// next returns the next answer.
func (r *reader) next() (a Answer, ok bool) {
	for {
		text, ok := r.line()
		switch {
		case !ok && r.held != nil:
			return r.take(), true
		case !ok:
			return Answer{}, false
		case bytes.HasPrefix(text, []byte(approval.LineBegin)):
			was := r.held
			r.held = &Answer{At: r.at, Line: append(bytes.Clone(text), '\n')}
			if was != nil {
				return *was, true
			}
		case string(text) == armorBegin:
			if r.held == nil {
				r.held = &Answer{At: r.at}
			}
			r.held.Armor = r.armor()
			r.held.Cut = r.held.Armor == ""
			return r.take(), true
		}
	}
}

func (r *reader) take() Answer {
	a := *r.held
	r.held = nil
	return a
}

// armor returns the signature whose first line was read, or the empty string if it has no
// end. A line that can't belong to it is left for what comes next.
func (r *reader) armor() string {
	var b strings.Builder
	b.WriteString(armorBegin + "\n")
	for {
		before := *r
		text, ok := r.line()
		switch {
		case !ok, b.Len()+len(text) > maxArmor:
			return ""
		case string(text) == armorEnd:
			b.WriteString(armorEnd + "\n")
			return b.String()
		case len(bytes.Trim(text, alphabet)) > 0:
			*r = before
			return ""
		}
		b.Write(text)
		b.WriteByte('\n')
	}
}
