package audit

import "pulse/lib/shared/record"

// Proposed is one line of a task's outbox.
type Proposed struct {
	ID     string // of the effect that it becomes
	Digest string // of the line without its newline
}

func (l *Line) appendProposals(o *record.Object) {
	if len(l.Proposed) > 0 {
		list := []byte{'['}
		for i, p := range l.Proposed {
			if i > 0 {
				list = append(list, ',')
			}
			list = append(list, p.bytes()...)
		}
		o.Raw("proposed", append(list, ']'))
	}
	o.StrIf("parent", l.Parent)
	o.IntIf("count", int64(l.Count))
	o.StrsIf("target", l.Target)
	o.StrIf("answers", l.Link.Answers)
	o.StrIf("thread", l.Link.Thread)
}

func (p *Proposed) bytes() []byte {
	var o record.Object
	o.Str("id", p.ID)
	o.Str("digest", p.Digest)
	return o.Bytes()
}

func decodeProposed(v record.Value) (list []Proposed, err error) {
	err = v.Elements(func(_ int, v record.Value) error {
		var p Proposed
		err := v.Each(record.To("id", &p.ID, "digest", &p.Digest))
		list = append(list, p)
		return err
	})
	return list, err
}

// Settles reports whether the line is the receipt of a proposal, which then need not be
// added again.
func (l *Line) Settles() bool { return l.Parent != "" && l.Event != Noted }
