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
)

// maxAllowed bounds the file of allowed signers, in bytes.
const maxAllowed = 1 << 20

// Usable returns why the file of allowed signers can't judge any signature: it can't be
// read, has no entry, or has a line that is not an entry. A person has to mend it, because
// ssh-keygen stops at such a line and calls every signature bad whose key comes later.
func (s *Signers) Usable() error {
	f, err := os.Open(s.File)
	if err != nil {
		return fmt.Errorf("sshsig: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxAllowed+1))
	if err == nil && len(b) > maxAllowed {
		err = fmt.Errorf("%s: larger than %d bytes", s.File, maxAllowed)
	}
	if err != nil {
		return fmt.Errorf("sshsig: %w", err)
	}
	if n, err := allowed(string(b)); err != nil {
		return fmt.Errorf("sshsig: %s:%d: %w", s.File, n, err)
	}
	return nil
}

// allowed checks the lines as in ssh-keygen(1), ALLOWED SIGNERS: principals, options, a
// key. It returns the number of the line that is wrong.
func allowed(text string) (line int, err error) {
	keys := 0
	for l := range strings.Lines(text) {
		line++
		l = strings.Trim(l, " \t\r\n")
		if l == "" || l[0] == '#' {
			continue
		}
		if err := entry(l); err != nil {
			return line, err
		}
		keys++
	}
	if keys == 0 {
		return max(line, 1), errors.New("it lists no key")
	}
	return 0, nil
}

// entry checks one line.
func entry(line string) error {
	fields, ok := words(line)
	if !ok {
		return errors.New("a quote is not closed")
	}
	if len(fields) < 3 {
		return errors.New("want principals, options if any, the type of a key and the key")
	}
	fields = fields[1:]
	if !isKey(fields) {
		if err := options(fields[0]); err != nil {
			return err
		}
		fields = fields[1:]
	}
	if !isKey(fields) {
		return errors.New("there is no key where one should be")
	}
	return nil
}

// isKey reports whether two words are a public key: its type, and base64 of bytes that
// begin with the same type.
func isKey(fields []string) bool {
	if len(fields) < 2 {
		return false
	}
	blob, err := base64.StdEncoding.DecodeString(fields[1])
	if err != nil || len(blob) < 4 {
		return false
	}
	n := binary.BigEndian.Uint32(blob)
	return int64(n) < int64(len(blob)-4) && string(blob[4:4+n]) == fields[0]
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
