package queue

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/record"
)

// FindingKey returns the key of what is wrong: its code, and what tells it from others of that code.
func FindingKey(code, about string) string {
	sum := sha256.Sum256([]byte(code + " " + about))
	return hex.EncodeToString(sum[:16])
}

// findingChange returns what a line changes in a finding. One that ended is gone.
func findingChange(f *audit.Finding) Change {
	c := Change{Shelf: Findings, Key: FindingKey(f.Code, f.About)}
	if f.What != audit.FindingClosed {
		c.Bytes = f.Append(nil)
	}
	return c
}

// FindingsOf returns what a person was told that is wrong and did not end, in the order in which
// it began.
func FindingsOf(v View) (list []audit.Finding, err error) {
	var keys []string
	err = v.Each(Findings, func(key string, _ time.Time) (bool, error) {
		keys = append(keys, key)
		return true, nil
	})
	if len(keys) == 0 || err != nil {
		return nil, err
	}
	if err := v.Look(keys, false); err != nil {
		return nil, err
	}
	err = all(v, Findings, audit.DecodeFinding, func(key string, _ approval.Holder, f audit.Finding) {
		if key == FindingKey(f.Code, f.About) {
			list = append(list, f)
		}
	})
	slices.SortFunc(list, func(a, b audit.Finding) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Code, b.Code), cmp.Compare(a.About, b.About))
	})
	return list, err
}

// FindingOf returns what a person was told of one finding; known is false if that is nothing, or
// can't be read.
func FindingOf(v View, code, about string) (f audit.Finding, known bool, err error) {
	_, known, err = get(v, Findings, FindingKey(code, about), func(val record.Value) (err error) {
		f, err = audit.DecodeFinding(val)
		return err
	})
	if errors.Is(err, ErrCorrupt) {
		known, err = false, nil
	}
	return f, known, err
}
