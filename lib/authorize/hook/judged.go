package hook

import "pulse/lib/shared/terms"

// Judgement is what was decided about uses of a tool that are alike.
type Judgement struct {
	Tool    string // empty: the call could not be read
	Action  terms.Action
	Outcome terms.Outcome
	Rule    string
	Reason  string
}

// Judged counts equal judgements.
type Judged struct {
	Judgement
	Count int
}
