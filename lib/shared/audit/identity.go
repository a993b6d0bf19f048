package audit

import "pulse/lib/shared/record"

// appendIdentity returns the part of a record's `identity` that a line holds, under the
// name that it has in the record.
func appendIdentity(reason string) []byte {
	var o record.Object
	o.Str("reason", reason)
	return o.Bytes()
}

func decodeIdentity(v record.Value) (reason string, err error) {
	err = v.Each(record.To("reason", &reason))
	return reason, err
}
