package request

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"

	"pulse/lib/record"
)

// ErrFile is the error of a file that a request names and does not carry whole.
var ErrFile = errors.New("a file is an object of name, size, digest and data, which agree")

// File goes along with a request: a copy, so that nobody changes it later.
type File struct {
	Name string // as whoever asks calls it
	Data []byte
}

// Digest returns "sha256:" and the digest of the content.
func (f *File) Digest() string {
	sum := sha256.Sum256(f.Data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// AppendFiles appends the value of the member files.
func AppendFiles(dst []byte, files []File) []byte {
	dst = append(dst, '[')
	for i := range files {
		if i > 0 {
			dst = append(dst, ',')
		}
		f := &files[i]
		var o record.Object
		o.Str("name", f.Name)
		o.Int("size", int64(len(f.Data)))
		o.Str("digest", f.Digest())
		o.Str("data", base64.StdEncoding.EncodeToString(f.Data))
		dst = append(dst, o.Bytes()...)
	}
	return append(dst, ']')
}

// decodeFiles reads what AppendFiles wrote. What a person is shown of a file, and
// what a sender may look at, is then the same as what it sends.
func decodeFiles(v record.Value) (files []File, err error) {
	err = v.Elements(func(i int, v record.Value) error {
		f, err := decodeFile(v)
		files = append(files, f)
		if err != nil {
			err = fmt.Errorf("file %d: %w", i+1, err)
		}
		return err
	})
	return files, err
}

func decodeFile(v record.Value) (f File, err error) {
	var size int
	var digest, data string
	err = v.Each(func(name string, v record.Value) error {
		switch name {
		case "name":
			return v.Into(&f.Name)
		case "size":
			return v.Into(&size)
		case "digest":
			return v.Into(&digest)
		case "data":
			return v.Into(&data)
		}
		return ErrFile
	})
	if err != nil {
		return f, fmt.Errorf("%w: %w", ErrFile, err)
	}
	f.Data, err = base64.StdEncoding.DecodeString(data)
	if err != nil || base64.StdEncoding.EncodeToString(f.Data) != data || f.Name == "" || len(f.Data) != size || f.Digest() != digest {
		return f, ErrFile
	}
	return f, nil
}
