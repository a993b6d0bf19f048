// Package pinfile keeps what package pins knows in files beside a policy: mcp/SERVER.json.
//
// Invariant: what others may write or remove is refused, and a file is replaced whole. Caveat:
// a server without a file is not pinned, so root and the policy's owner can unpin it.
package pinfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"pulse/lib/authorize/pins"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/safefile"
)

// maxFile bounds the file of a server, in bytes.
const maxFile = 32 << 20

// folder is the directory of the files, beside the policy.
const folder = "mcp"

// Path returns the file of a server beside a policy.
func Path(policy, server string) string {
	return filepath.Join(filepath.Dir(policy), folder, server+".json")
}

// Load returns what was accepted beside a policy. It is a usage error if others may change
// that; a file that can't be understood is the Err of its server.
func Load(policy string) (pins.Pins, error) {
	dir := filepath.Dir(Path(policy, ""))
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = safefile.Own(dir) // else others could remove a file
	}
	if err != nil {
		return nil, refused(dir, err)
	}
	p := pins.Pins{}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || strings.HasPrefix(name, ".") {
			continue
		}
		if p[name], err = LoadOne(policy, name); err != nil {
			return nil, err
		}
	}
	return p, nil
}

var errName = errors.New("no server has this name")

func refused(path string, err error) error {
	hint := "ls -ld " + escape.Shell(filepath.Dir(path)) + " " + escape.Shell(path)
	if errors.Is(err, safefile.ErrWritable) {
		hint = "chmod go-w " + escape.Shell(filepath.Dir(path)) + " " + escape.Shell(path)
	}
	return fault.Usagef(hint, "pinfile: %w", err)
}

// LoadOne is Load for one server; nil if nothing of it was accepted.
func LoadOne(policy, server string) (*pins.Server, error) {
	path := Path(policy, server)
	b, err := safefile.Read(path, maxFile)
	for _, others := range []error{safefile.ErrWritable, safefile.ErrOwner, safefile.ErrKind} {
		if errors.Is(err, others) {
			return nil, refused(path, err)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	s := &pins.Server{Name: server}
	if lower, ok := pins.ServerName(server); !ok || lower != server {
		return nil, refused(path, fmt.Errorf("%s: %w", path, errName))
	}
	if err == nil {
		err = s.Decode(b)
	}
	if err != nil {
		s.Tools, s.Err = nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// Save writes the file of a server beside a policy: all of it or nothing.
func Save(s *pins.Server, policy string) error {
	path := Path(policy, s.Name)
	var b bytes.Buffer
	if err := json.Indent(&b, s.Append(nil), "", "  "); err != nil {
		return fmt.Errorf("pinfile: %w", err)
	}
	b.WriteByte('\n')
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return fmt.Errorf("pinfile: %w", err)
	}
	if err := safefile.Replace(path, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("pinfile: %w", err)
	}
	return nil
}

func makeFolder(dir string) error {
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return safefile.Own(dir)
	}
	if err != nil {
		return err
	}
	return errors.Join(os.Chmod(dir, 0o755), safefile.SyncDir(filepath.Dir(dir)))
}
