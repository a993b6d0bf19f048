package envelope

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"

	"pulse/lib/shared/record"
)

// errAttachment reports an attachment that is not in the record as it says.
var errAttachment = errors.New("size, digest and data of an attachment must agree")

// decodeAttachment reads an attachment. It checks size, digest and data against each other,
// so that a worker reads the very file that a person is shown.
func decodeAttachment(v record.Value) (a Attachment, err error) {
	var data string
	has := false
	err = v.Each(record.To(
		"name", &a.Name, "type", &a.Type, "size", &a.Size, "digest", &a.Digest, "omitted", &a.Omitted,
		"data", func(v record.Value) error { has = true; return v.Into(&data) },
	))
	if err != nil || !has {
		return a, err
	}
	a.Data, err = base64.StdEncoding.DecodeString(data)
	sum := sha256.Sum256(a.Data)
	if err != nil || base64.StdEncoding.EncodeToString(a.Data) != data || a.Omitted ||
		int64(len(a.Data)) != a.Size || a.Digest != "sha256:"+hex.EncodeToString(sum[:]) {
		return a, errAttachment
	}
	return a, nil
}
