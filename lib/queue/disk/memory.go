package disk

import (
	"bytes"
	"io/fs"
	"time"
)

// Memory is a disk of files in memory, with the methods that Lines needs.
type Memory struct {
	Disk
	files map[string][]byte
}

// NewMemory returns an empty one.
func NewMemory() *Memory { return &Memory{files: map[string][]byte{}} }

// Read implements Disk.
func (m *Memory) Read(name string) ([]byte, error) {
	b, ok := m.files[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return bytes.Clone(b), nil
}

// ReadAt implements Disk.
func (m *Memory) ReadAt(name string, off int64, b []byte) (int, error) {
	have, ok := m.files[name]
	if !ok {
		return 0, fs.ErrNotExist
	}
	return copy(b, have[min(int(off), len(have)):]), nil
}

// Stat implements Disk.
func (m *Memory) Stat(name string) (Stat, error) {
	return Stat{Size: int64(len(m.files[name]))}, nil
}

// Write implements Disk.
func (m *Memory) Write(name string, b []byte, _ time.Time) error {
	m.files[name] = bytes.Clone(b)
	return nil
}

// WriteAt implements Disk.
func (m *Memory) WriteAt(name string, off int64, b []byte) error {
	m.files[name] = append(m.files[name][:off], b...)
	return nil
}

// Rename implements Disk.
func (m *Memory) Rename(from, to string) error {
	m.files[to] = m.files[from]
	return m.Remove(from)
}

// Remove implements Disk.
func (m *Memory) Remove(name string) error {
	delete(m.files, name)
	return nil
}

// SyncFile implements Disk.
func (*Memory) SyncFile(...string) error { return nil }

// SyncDir implements Disk.
func (*Memory) SyncDir(...string) error { return nil }
