package spool

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

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
	name := filepath.Join(dir, positionFile(source))
	b, err := os.ReadFile(name)
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

func decodePosition(b []byte) (p Position, err error) {
	rec, err := record.Parse(b)
	if err != nil {
		return p, err
	}
	err = rec.Value().Each(func(name string, v record.Value) error {
		switch name {
		case "source":
			return v.Into(&p.Source)
		case "uidvalidity":
			return v.Into(&p.UIDValidity)
		case "uid":
			return v.Into(&p.UID)
		case "received":
			return v.Into(&p.Received)
		}
		return nil
	})
	return p, err
}

// backwards reports whether p lies before old: a replayed record must not set a source
// back. UIDs of another UIDVALIDITY can't be compared, but times can.
func backwards(old, p Position) bool {
	if old.UIDValidity == p.UIDValidity {
		return old.UID >= p.UID
	}
	return p.Received.Before(old.Received)
}

// writePositions makes the positions durable. The tasks they stand for are.
func (t *tx) writePositions() error {
	for _, p := range t.positions {
		name := positionFile(p.Source)
		if b, err := t.disk.Read(name); err == nil {
			if old, err := decodePosition(b); err == nil && backwards(old, p) {
				continue
			}
		}
		if err := t.writePosition(name, p); err != nil {
			return err
		}
	}
	if len(t.positions) == 0 {
		return nil
	}
	return t.disk.SyncDir(positionDir)
}

func (t *tx) writePosition(name string, p Position) error {
	var o record.Object
	o.Str("source", p.Source)
	o.Int("uidvalidity", int64(p.UIDValidity))
	o.Int("uid", int64(p.UID))
	o.Time("received", p.Received)
	tmp := tmpDir + "/position"
	if err := t.disk.Write(tmp, append(o.Bytes(), '\n'), time.Time{}); err != nil {
		return err
	}
	if err := t.disk.SyncFile(tmp); err != nil {
		return err
	}
	return t.disk.Rename(tmp, name)
}
