package record

import (
	"bufio"
	"errors"
	"io"
)

// ErrSkip is what Stage is told about a record that is to be left out.
var ErrSkip = errors.New("this record is left out")

// Stage copies records from r to w. In each it replaces the member named owned by the
// result of member, which need be valid only until the next call. It leaves out a record
// for which member returns ErrSkip, and stops at the first bad record and at the first
// other error of member. Every record before that one is written out whole, and nothing
// after it.
func Stage(r *Reader, w *bufio.Writer, owned string, member func(*Record) ([]byte, error)) error {
	var line []byte
	for {
		value, rec, err := next(r, member)
		if errors.Is(err, ErrSkip) {
			continue
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return errors.Join(err, w.Flush())
		}
		if len(rec.raw)+len(owned)+len(value)+len(`,"":}`)+1 <= w.Available() { // it needs no copy
			err = WriteLine(w, append(rec.AppendReplaced(w.AvailableBuffer(), owned, value), '\n'))
		} else {
			line = append(rec.AppendReplaced(line[:0], owned, value), '\n')
			err = WriteLine(w, line)
		}
		if err != nil {
			return err
		}
	}
}

// WriteLine writes a line, newline included, so that w passes on only whole lines. A
// process that is killed between two writes leaves no half of a line.
func WriteLine(w *bufio.Writer, line []byte) error {
	if len(line) > w.Available() {
		if err := w.Flush(); err != nil {
			return err
		}
	}
	_, err := w.Write(line)
	return err
}

func next(r *Reader, member func(*Record) ([]byte, error)) ([]byte, *Record, error) {
	rec, err := r.Next()
	if err != nil {
		return nil, nil, err
	}
	value, err := member(rec)
	return value, rec, err
}
