// Package fusetest mounts a FUSE file system whose files have any owner that a test
// chooses, as every user can with fusermount(1) over a directory of theirs.
//
// Invariant: it is unmounted when the test ends. Caveat: it needs root. It speaks only as
// much of the protocol (fuse(4), Linux include/uapi/linux/fuse.h) as reading needs, and
// refuses every change.
package fusetest

import (
	"encoding/binary"
	"fmt"
	"os"
	"syscall"
	"testing"
)

// File is a file in the file system's one directory, or this directory itself.
type File struct {
	Data     string
	Mode     uint32 // including the type
	UID, GID uint32
}

// Mount mounts files over dir, as the user with the id by would do it. files[""] is the
// directory itself. Mount skips the test where it can't mount.
func Mount(t testing.TB, dir string, by uint32, files map[string]File) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may mount: a FUSE file system, which says of its files what it likes, was not tried")
	}
	fd, err := syscall.Open("/dev/fuse", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		t.Skip("there is no /dev/fuse here, as in a container: a FUSE file system, which says of its files what it likes, was not tried: ", err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=%o,user_id=%d,group_id=%d,allow_other",
		fd, files[""].Mode&syscall.S_IFMT, by, by)
	if err := syscall.Mount("pulse", dir, "fuse", syscall.MS_NOSUID|syscall.MS_NODEV, options); err != nil {
		t.Fatal(err)
	}
	s := &server{fd: fd, names: []string{""}, files: files}
	for name := range files {
		if name != "" {
			s.names = append(s.names, name)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.serve()
	}()
	for name := range files {
		unpolled(t, dir+"/"+name)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
		<-done
		syscall.Close(fd)
	})
}

// unpolled makes the kernel ask whether files can be polled, and learn that they can't,
// before the Go runtime polls one. The runtime would ask while all its threads wait for
// the answer, which has to come from this process.
func unpolled(t testing.TB, path string) {
	t.Helper()
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	var set syscall.FdSet
	set.Bits[fd/64] |= 1 << (fd % 64)
	syscall.Select(fd+1, &set, nil, nil, &syscall.Timeval{})
}

// server answers the kernel. The id of a node is its index in names plus 1.
type server struct {
	fd    int
	names []string
	files map[string]File
}

// The operations that the server knows.
const (
	lookup, forget, getattr, open, read, statfs, release = 1, 2, 3, 14, 15, 17, 18
	initialize, opendir, readdir, releasedir, batch      = 26, 27, 28, 29, 42
)

var le = binary.LittleEndian

func (s *server) serve() {
	b := make([]byte, 1<<20)
	for {
		n, err := syscall.Read(s.fd, b)
		if err == syscall.EINTR || err == syscall.ENOENT {
			continue
		}
		if err != nil { // ENODEV: it was unmounted
			return
		}
		op, node, in := le.Uint32(b[4:]), le.Uint64(b[16:]), b[40:n]
		if op == forget || op == batch {
			continue
		}
		body, errno := s.answer(op, node, in)
		out := le.AppendUint32(nil, uint32(16+len(body)))
		out = le.AppendUint32(out, uint32(-int32(errno)))
		out = append(out, b[8:16]...)
		syscall.Write(s.fd, append(out, body...))
	}
}

func (s *server) answer(op uint32, node uint64, in []byte) ([]byte, syscall.Errno) {
	switch op {
	case initialize:
		out := make([]byte, 64)
		le.PutUint32(out, 7)
		le.PutUint32(out[4:], 31)
		le.PutUint32(out[20:], 4096) // max_write
		return out, 0
	case getattr:
		return append(make([]byte, 16), s.attributes(node)...), 0
	case lookup:
		for i, name := range s.names {
			if i > 0 && name+"\x00" == string(in) {
				out := le.AppendUint64(nil, uint64(i+1))
				return append(append(out, make([]byte, 32)...), s.attributes(uint64(i+1))...), 0
			}
		}
		return nil, syscall.ENOENT
	case open, opendir:
		return []byte{8: 1, 15: 0}, 0 // FOPEN_DIRECT_IO
	case read:
		data := s.files[s.names[node-1]].Data
		from := min(le.Uint64(in[8:]), uint64(len(data)))
		return []byte(data[from:min(from+uint64(le.Uint32(in[16:])), uint64(len(data)))]), 0
	case statfs:
		return make([]byte, 80), 0
	case readdir, release, releasedir:
		return nil, 0
	}
	return nil, syscall.ENOSYS
}

func (s *server) attributes(node uint64) []byte {
	f := s.files[s.names[node-1]]
	out := make([]byte, 88)
	le.PutUint64(out, node)
	le.PutUint64(out[8:], uint64(len(f.Data)))
	for i, v := range []uint32{f.Mode, 1, f.UID, f.GID} {
		le.PutUint32(out[60+4*i:], v)
	}
	return out
}
