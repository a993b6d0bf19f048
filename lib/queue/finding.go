package queue

import (
	"cmp"
	"errors"
	"slices"

	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/record"
)

// FindingsOf returns what a person was told that is wrong and did not end, in the order in which
// it began.
func FindingsOf(v store.View) (list []audit.Finding, err error) {
	keys, err := keysOn(v, store.Findings)
	if len(keys) == 0 || err != nil {
		return nil, err
	}
	if err := v.Look(keys, false); err != nil {
		return nil, err
	}
	err = all(v, store.Findings, audit.DecodeFinding, func(key string, _ approval.Holder, f audit.Finding) {
		if key == store.FindingKey(f.Code, f.About) {
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
func FindingOf(v store.View, code, about string) (f audit.Finding, known bool, err error) {
	_, known, err = get(v, store.Findings, store.FindingKey(code, about), func(val record.Value) (err error) {
		f, err = audit.DecodeFinding(val)
		return err
	})
	if errors.Is(err, store.ErrCorrupt) {
		known, err = false, nil
	}
	return f, known, err
}
