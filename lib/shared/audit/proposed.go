package audit

import "pulse/lib/shared/record"

// Proposed is one line of a task's outbox.
type Proposed struct {
	ID     string // of the effect that it becomes
	Digest string // of the line without its newline
}

func (l *Line) appendProposals(o *record.Object) {
	if len(l.Proposed) > 0 {
		o.Raw("proposed", record.List(nil, l.Proposed, func(p *Proposed, dst []byte) []byte {
			o := record.ObjectAfter(dst)
			o.Str("id", p.ID)
			o.Str("digest", p.Digest)
			return o.Bytes()
		}))
	}
	o.StrIf("parent", l.Parent)
	o.IntIf("count", int64(l.Count))
	o.StrsIf("target", l.Target)
	o.StrIf("answers", l.Link.Answers)
	o.StrIf("thread", l.Link.Thread)
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
