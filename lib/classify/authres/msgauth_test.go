package authres

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/emersion/go-msgauth/authres"
)

// TestReadsMsgauth reads back what go-msgauth writes, which has its own rule for
// quoting. go-msgauth leaves backslashes bare, which RFC 8601 does not allow, so they
// are not among the values.
func TestReadsMsgauth(t *testing.T) {
	rng := rand.New(rand.NewPCG(8601, 2))
	for range 20000 {
		in, want := generate(rng)
		text := authres.Format("mx.example", in)
		got, err := parseValue(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		for _, r := range got.Results {
			slices.SortFunc(r.Props, func(a, b Prop) int { return strings.Compare(a.Type+a.Name, b.Type+b.Name) })
		}
		if wanted := (Field{"mx.example", want}); dump(got) != dump(wanted) {
			t.Fatalf("%q:\ngot  %s\nwant %s", text, dump(got), dump(wanted))
		}
	}
}

func generate(rng *rand.Rand) (in []authres.Result, want []Result) {
	values := []authres.ResultValue{authres.ResultNone, authres.ResultPass, authres.ResultFail, authres.ResultPermError}
	for range rng.IntN(4) {
		v, a, b, reason := values[rng.IntN(len(values))], text(rng), text(rng), text(rng)
		add := func(r authres.Result, method, reason string, props ...Prop) {
			props = slices.DeleteFunc(props, func(p Prop) bool { return p.Value == "" }) // Format leaves these out
			in = append(in, r)
			want = append(want, Result{method, string(v), reason, props})
		}
		switch rng.IntN(6) {
		case 0:
			add(&authres.AuthResult{Value: v, Auth: a}, "auth", "", Prop{Type: "smtp", Name: "auth", Value: a})
		case 1:
			add(&authres.DKIMResult{Value: v, Reason: reason, Domain: a, Identifier: b}, "dkim", reason, Prop{Type: "header", Name: "d", Value: a}, Prop{Type: "header", Name: "i", Value: b})
		case 2:
			add(&authres.SPFResult{Value: v, Reason: reason, From: a, Helo: b}, "spf", reason, Prop{Type: "smtp", Name: "helo", Value: b}, Prop{Type: "smtp", Name: "mailfrom", Value: a})
		case 3:
			add(&authres.DMARCResult{Value: v, Reason: reason, From: a}, "dmarc", reason, Prop{Type: "header", Name: "from", Value: a})
		case 4:
			add(&authres.IPRevResult{Value: v, Reason: reason, IP: a}, "iprev", reason, Prop{Type: "policy", Name: "iprev", Value: a})
		case 5:
			add(&authres.GenericResult{Method: "x-test", Value: v, Params: map[string]string{"policy.a": a, "b": b}}, "x-test", "", Prop{Type: "", Name: "b", Value: b}, Prop{Type: "policy", Name: "a", Value: a})
		}
	}
	return in, want
}

// text returns a random mix of a mailbox and an attack.
func text(rng *rand.Rand) string {
	parts := []string{"", "a", "mx.example", "@", "\"", ";", " ", "(", ")", "=", "\t", "é", "日本", "pass", "dmarc=pass", "header.from=", ",", "[", "]", "<", ">", "!", "?", ":", "/", "+"}
	var b strings.Builder
	for range rng.IntN(6) {
		b.WriteString(parts[rng.IntN(len(parts))])
	}
	return b.String()
}
