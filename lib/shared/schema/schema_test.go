package schema

import "testing"

// What comes with pulse is closed, and lets little text through.
func TestBuiltin(t *testing.T) {
	s, err := Parse("request", Builtin("request"))
	if err != nil {
		t.Fatal(err)
	}
	t.Log(s.Free, len(s.Text))
	got, err := s.Fit([]byte(` {"dates":["2026-11-24"], "request" : "\u0071uestion","amounts":[{"currency":"EUR","amount":10.50}],"addresses":["BOB@example.com"] }`), []string{"bob@example.com"})
	const want = `{"request":"question","dates":["2026-11-24"],"amounts":[{"amount":10.5,"currency":"EUR"}],"addresses":["bob@example.com"]}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}
