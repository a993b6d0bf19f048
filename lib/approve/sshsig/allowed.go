package sshsig

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
)

// maxAllowed bounds the file of allowed signers, in bytes.
const maxAllowed = 1 << 20

// Usable returns why the file of allowed signers can't judge any signature: it can't be
// read, has no entry, or has a line that is not an entry. A person has to mend it, because
// ssh-keygen stops at such a line and calls every signature bad whose key comes later.
func (s *Signers) Usable() error {
	_, err := s.keys()
	return err
}

// keys returns the keys that the file lists.
func (s *Signers) keys() (*listed, error) {
	f, err := os.Open(s.File)
	if err != nil {
		return nil, fmt.Errorf("sshsig: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxAllowed+1))
	if err == nil && len(b) > maxAllowed {
		err = fmt.Errorf("%s: larger than %d bytes", s.File, maxAllowed)
	}
	if err != nil {
		return nil, fmt.Errorf("sshsig: %w", err)
	}
	keys := &listed{blobs: map[string][]string{}}
	if n, err := allowed(string(b), keys); err != nil {
		return nil, fmt.Errorf("sshsig: %s:%d: %w", s.File, n, err)
	}
	return keys, nil
}

// listed are the keys of a file of allowed signers.
type listed struct {
	blobs       map[string][]string // as in RFC 4253, section 6.6: the names of each
	authorities bool                // some of them sign certificates, which are listed nowhere
}

// lists reports whether a key may be one of them, or a certificate of one.
func (l *listed) lists(blob []byte) bool {
	var key struct {
		Kind string
		Rest []byte `ssh:"rest"`
	}
	err := ssh.Unmarshal(blob, &key)
	return l.blobs[string(blob)] != nil || l.authorities && err == nil && strings.Contains(key.Kind, "-cert-v")
}

// allowed checks the lines as in ssh-keygen(1), ALLOWED SIGNERS: principals, options, a
// key, and adds their keys. It returns the number of the line that is wrong.
func allowed(text string, keys *listed) (line int, err error) {
	for l := range strings.Lines(text) {
		line++
		l = strings.Trim(l, " \t\r\n")
		if l == "" || l[0] == '#' {
			continue
		}
		if err := entry(l, keys); err != nil {
			return line, err
		}
	}
	if len(keys.blobs) == 0 {
		return max(line, 1), errors.New("it lists no key")
	}
	return 0, nil
}

// entry checks one line, and adds its key.
func entry(line string, keys *listed) error {
	fields, ok := words(line)
	if !ok {
		return errors.New("a quote is not closed")
	}
	if len(fields) < 3 {
		return errors.New("want principals, options if any, the type of a key and the key")
	}
	names := strings.Split(strings.Trim(fields[0], `"`), ",")
	fields = fields[1:]
	blob, ok := keyOf(fields)
	if !ok {
		if err := options(fields[0]); err != nil {
			return err
		}
		keys.authorities = keys.authorities || strings.Contains(strings.ToLower(fields[0]), "cert-authority")
		blob, ok = keyOf(fields[1:])
	}
	if !ok {
		return errors.New("there is no key where one should be")
	}
	keys.blobs[string(blob)] = append(keys.blobs[string(blob)], names...)
	return nil
}

// keyOf returns the key that two words are: its type, and base64 of bytes that begin with
// the same type.
func keyOf(fields []string) (blob []byte, ok bool) {
	if len(fields) < 2 {
		return nil, false
	}
	blob, err := base64.StdEncoding.DecodeString(fields[1])
	if err != nil || len(blob) < 4 {
		return nil, false
	}
	n := binary.BigEndian.Uint32(blob)
	return blob, int64(n) < int64(len(blob)-4) && string(blob[4:4+n]) == fields[0]
}

// optionNames are the options of OpenSSH 9. Those that take a value end in =.
var optionNames = []string{"cert-authority", "namespaces=", "valid-after=", "valid-before="}

func options(list string) error {
	for _, o := range split(list, ',') {
		name, value, has := strings.Cut(o, "=")
		name = strings.ToLower(name)
		if has {
			name += "="
		}
		quoted := len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"'
		if !slices.Contains(optionNames, name) || has && !quoted {
			return errors.New("want a key, or options of ssh-keygen, their values in quotes")
		}
	}
	return nil
}

// words cuts a line at blanks outside quotes, and reports whether every quote is closed.
func words(line string) (list []string, closed bool) {
	for _, w := range split(strings.ReplaceAll(line, "\t", " "), ' ') {
		if w != "" {
			list = append(list, w)
		}
	}
	return list, strings.Count(strings.ReplaceAll(line, `\"`, ""), `"`)%2 == 0
}

// split cuts s at a byte, wherever it stands outside quotes.
func split(s string, at byte) (list []string) {
	quoted, from := false, 0
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && s[i+1] == '"':
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == at && !quoted:
			list = append(list, s[from:i])
			from = i + 1
		}
	}
	return append(list, s[from:])
}
