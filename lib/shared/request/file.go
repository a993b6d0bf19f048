package request

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"

	"pulse/lib/shared/record"
)

// errFile reports a file that a request names and does not carry whole.
var errFile = errors.New("a file is an object of name, size, digest and data, which agree")

// File is a file that goes along with a request. It is a copy, so that nothing can
// change it later.
type File struct {
	Name string // as the requester calls it
	Data []byte
}

// Digest returns "sha256:" and the digest of the content.
func (f *File) Digest() string {
	sum := sha256.Sum256(f.Data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// AppendFiles appends the value of the member files.
func AppendFiles(dst []byte, files []File) []byte {
	return record.List(dst, files, func(f *File, dst []byte) []byte {
		o := record.ObjectAfter(dst)
		o.Str("name", f.Name)
		o.Int("size", int64(len(f.Data)))
		o.Str("digest", f.Digest())
		o.Str("data", base64.StdEncoding.EncodeToString(f.Data))
		return o.Bytes()
	})
}

// decodeFiles reads what AppendFiles wrote. It checks name, size, digest and data against
// each other, so that a person is shown exactly the file that is sent.
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
	err = v.Each(record.Only(errFile, "name", &f.Name, "size", &size, "digest", &digest, "data", &data))
	if err != nil {
		return f, fmt.Errorf("%w: %w", errFile, err)
	}
	f.Data, err = base64.StdEncoding.DecodeString(data)
	if err != nil || base64.StdEncoding.EncodeToString(f.Data) != data ||
		f.Name == "" || len(f.Data) != size || f.Digest() != digest {
		return f, errFile
	}
	return f, nil
}
