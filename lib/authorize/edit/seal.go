package edit

import (
	"fmt"

	"pulse/lib/shared/record"
)

// Sealed returns args with the digests of the changes in the place of those that stood there; ok
// is false if nobody knows the changes, and then there are none.
func Sealed(args record.Value, list []Change, ok bool) record.Value {
	var o record.Object
	_ = args.Each(func(name string, v record.Value) error {
		if name != Was && name != Becomes {
			o.Raw(name, []byte(v))
		}
		return nil
	})
	if ok {
		var was, becomes []string
		for i := range list {
			was, becomes = append(was, list[i].Was.Digest()), append(becomes, list[i].Becomes.Digest())
		}
		digests(&o, Was, was)
		digests(&o, Becomes, becomes)
	}
	return record.Value(o.Bytes())
}

// digests writes one as a string, as a path stands there.
func digests(o *record.Object, name string, list []string) {
	if len(list) == 1 {
		o.Str(name, list[0])
	} else {
		o.Strs(name, list)
	}
}

// Seal is the digests that stand in args.
type Seal struct{ Was, Becomes []string }

// SealOf returns the digests that Sealed wrote.
func SealOf(args record.Value) (s Seal, err error) {
	one := func(v record.Value, to *[]string) error {
		if v[0] == '[' {
			return v.Into(to)
		}
		*to = make([]string, 1)
		return v.Into(&(*to)[0])
	}
	err = args.Each(func(name string, v record.Value) error {
		switch name {
		case Was:
			return one(v, &s.Was)
		case Becomes:
			return one(v, &s.Becomes)
		}
		return nil
	})
	if err == nil && (len(s.Was) == 0 || len(s.Was) != len(s.Becomes)) {
		err = fmt.Errorf("%w: it does not say which file was judged", ErrUnknown)
	}
	return s, err
}

// Left returns the changes that are still to be made of those that a seal stands for, given files
// as they are now: a change whose file is already what it was to become was made before. read is
// as in Of.
func (s Seal) Left(args record.Value, read func(path string) (File, error)) (left []Change, err error) {
	w, err := readWish(args)
	if err != nil {
		return nil, err
	}
	if len(w.paths) != len(s.Was) {
		return nil, fmt.Errorf("%w: it does not say of each file which one was judged", ErrUnknown)
	}
	met := places{}
	for i, p := range w.paths {
		now, err := read(p)
		if err == nil {
			err = met.add(p, &now)
		}
		if err != nil {
			return nil, err
		}
		switch now.Digest() {
		case s.Becomes[i]: // also of a change that changes nothing
			continue
		case s.Was[i]:
		default:
			return nil, fmt.Errorf("%q: %w", p, ErrChanged)
		}
		c := Change{Path: p, Was: now}
		if c.Becomes, err = w.apply(i, now); err != nil {
			return nil, fmt.Errorf("%q: %w", p, err)
		}
		if c.Becomes.Digest() != s.Becomes[i] {
			return nil, fmt.Errorf("%q: %w: it would become another file than was shown", p, ErrUnknown)
		}
		left = append(left, c)
	}
	return left, nil
}
