package queue

import "testing"

// TestWithheldOutcome: without the text, nothing is told of what was printed.
func TestWithheldOutcome(t *testing.T) {
	o := Outcome{Ending: isNotDone, Reason: "said", Result: "printed"}
	o.withhold()
	refused := Outcome{Ending: isRefused, Reason: "shorter"}
	refused.withhold()
	if o.Reason != "" || o.Result != "" || refused.Reason != "shorter" {
		t.Errorf("%+v, %+v", o, refused)
	}
}
