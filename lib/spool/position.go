package spool

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"pulse/lib/audit"
	"pulse/lib/disk"
	"pulse/lib/queue"
	"pulse/lib/record"
)

// Position is how far a source was read.
type Position = queue.Position

func positionFile(source string) string {
	sum := sha256.Sum256([]byte(source))
	return positionDir + "/" + hex.EncodeToString(sum[:16]) + ".json"
}

// ReadPosition returns how far a source was read into the queue in dir. It takes
// no lock and writes nothing: the file is replaced whole.
func ReadPosition(dir, source string) (Position, bool, error) {
	if err := Trust(dir); err != nil {
		return Position{}, false, err
	}
	name := filepath.Join(dir, positionFile(source))
	b, err := readPosition(dir, source)
	if errors.Is(err, fs.ErrNotExist) {
		return Position{}, false, nil
	}
	if err != nil {
		return Position{}, false, err
	}
	p, err := decodePosition(b)
	if err == nil && p.Source != source {
		err = fmt.Errorf("it is for another source")
	}
	if err != nil {
		return Position{}, false, fmt.Errorf("%s: %w", name, err)
	}
	return p, true, nil
}

func readPosition(dir, source string) ([]byte, error) {
	d, err := openDisk(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Read(positionFile(source))
}

func decodePosition(b []byte) (p Position, err error) {
	rec, err := record.Parse(b)
	if err != nil {
		return p, err
	}
	return audit.DecodePosition(rec.Value())
}

// backwards reports whether p lies before old: a replayed record must not set a source
// back. UIDs of another UIDVALIDITY can't be compared, but times can.
func backwards(old, p Position) bool {
	if old.UIDValidity == p.UIDValidity {
		return old.UID >= p.UID
	}
	return p.Received.Before(old.Received)
}

// further puts the sources that were read further into the last line that is staged, or
// into one of its own: so the log says what their files hold.
func (t *tx) further() error {
	var moved []queue.Position
	for _, p := range t.positions {
		b, err := t.disk.Read(positionFile(p.Source))
		if err == nil {
			if old, err := decodePosition(b); err == nil && backwards(old, p) {
				continue
			}
		} else if !errors.Is(err, fs.ErrNotExist) && !notFile(err) {
			return err
		}
		moved = append(moved, p)
	}
	if len(moved) == 0 {
		return nil
	}
	if len(t.lines) == 0 {
		t.lines = []audit.Line{{Time: t.now, Event: audit.Read}}
	}
	t.lines[len(t.lines)-1].Positions = moved
	return nil
}

// read carries out what a line says of sources. Whoever reads a position takes no lock,
// so it is whole whenever the power fails.
func (a *applier) read(l *audit.Line) error {
	for i := range l.Positions {
		p := &l.Positions[i]
		if err := writeSynced(a.disk, positionFile(p.Source), append(p.Append(nil), '\n')); err != nil {
			return err
		}
	}
	return nil
}

// read follows the sources.
func (r *Report) read(l *audit.Line) {
	for _, p := range l.Positions {
		r.positions[positionFile(p.Source)] = p
	}
}

// verifyPositions checks that sources were read as far as the log says. Of one that was
// not read further since older versions, which did not log it, it checks the form.
func (s *Spool) verifyPositions(r *Report) error {
	want, maybe := map[string][]byte{}, map[string][]byte{}
	for name, p := range r.positions {
		want[name] = p.Append(nil)
	}
	names, err := disk.List(s.disk, positionDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, name := range names {
		name = positionDir + "/" + name
		b, err := s.disk.Read(name)
		if err != nil {
			continue // verifyFew says so
		}
		if p, err := decodePosition(b); err == nil && positionFile(p.Source) == name {
			maybe[name] = p.Append(nil)
		}
	}
	return s.verifyFew(r, []string{positionDir}, want, maybe)
}
