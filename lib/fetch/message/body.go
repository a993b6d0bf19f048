package message

import (
	"context"
	"encoding/hex"

	"pulse/lib/fetch/bodyhash"
)

// bodyDigest returns the digest of a body after relaxed canonicalization. So a change that a
// signature permits on the way makes no other mail of it.
func bodyDigest(body []byte) string {
	sum, _ := bodyhash.Of(context.Background(), body, true) // a context that has no end
	return "sha256:" + hex.EncodeToString(sum)
}
