package approval

import (
	"strings"
	"testing"
	"time"

	"pulse/lib/shared/record"
	"pulse/lib/shared/terms"
)

func signed() Approval {
	return Approval{
		Task: "0123456789abcdef0123456789abcdef", Digest: "sha256:ab", Action: terms.ExternalSend,
		Target: []string{"bob@x.example", "a\"\\\u2028@x.example"}, By: "me", Level: Signature, Nonce: "0011223344556677",
		Given: now, Expires: now.Add(Lifetime), Signer: "me@example.com", Signature: "armor",
	}
}

// TestStatement holds the bytes: a signature of yesterday must verify tomorrow.
func TestStatement(t *testing.T) {
	base := signed()
	const golden = `{"pulse-approve":1,"task":"0123456789abcdef0123456789abcdef","digest":"sha256:ab","action":"external_send",` +
		`"target":["bob@x.example","a\"\\\u2028@x.example"],"nonce":"0011223344556677",` +
		`"not_before":"2026-11-21T07:00:00Z","expires":"2026-11-22T07:00:00Z"}` + "\n"
	if got := string(base.Statement()); got != golden {
		t.Errorf("\n%s, want\n%s", got, golden)
	}
	if got := string(base.Refusal()); got != strings.Replace(golden, "pulse-approve", "pulse-refuse", 1) {
		t.Errorf("a no:\n%s", got)
	}
	none := Approval{Given: now.In(time.FixedZone("", 3600)), Expires: now}
	const empty = `{"pulse-approve":1,"task":"","digest":"","action":"","target":[],"nonce":"","not_before":"2026-11-21T07:00:00Z","expires":"2026-11-21T07:00:00Z"}` + "\n"
	if got := string(none.Statement()); got != empty {
		t.Errorf("\n%s, want\n%s", got, empty)
	}
}

// TestStatementsDiffer: nothing that a start depends on can be changed under a signature.
func TestStatementsDiffer(t *testing.T) {
	seen := map[string]string{}
	for name, change := range map[string]func(*Approval){
		"nothing":          func(*Approval) {},
		"task":             func(a *Approval) { a.Task = "1" + a.Task[1:] },
		"digest":           func(a *Approval) { a.Digest = "sha256:ac" },
		"action":           func(a *Approval) { a.Action = terms.Destructive },
		"a target":         func(a *Approval) { a.Target = []string{"eve@x.example", a.Target[1]} },
		"order of targets": func(a *Approval) { a.Target = []string{a.Target[1], a.Target[0]} },
		"one target less":  func(a *Approval) { a.Target = a.Target[:1] },
		"one target more":  func(a *Approval) { a.Target = append(a.Target[:2:2], "") },
		"targets joined":   func(a *Approval) { a.Target = []string{a.Target[0] + `","` + a.Target[1]} },
		"no target":        func(a *Approval) { a.Target = nil },
		"the text":         func(a *Approval) { a.Text = true },
		"nonce":            func(a *Approval) { a.Nonce = "0011223344556678" },
		"not before":       func(a *Approval) { a.Given = a.Given.Add(-time.Second) },
		"expires":          func(a *Approval) { a.Expires = a.Expires.Add(time.Second) },
	} {
		a := signed()
		change(&a)
		text := string(a.Statement())
		if other, ok := seen[text]; ok {
			t.Errorf("%s and %s: both %s", name, other, text)
		}
		seen[text] = name
		if _, err := record.Parse([]byte(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSound(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Approval)
		at     time.Time
		want   bool
	}{
		"as it was given":   {func(*Approval) {}, now, true},
		"at the last":       {func(*Approval) {}, now.Add(Lifetime - time.Second), true},
		"expired":           {func(*Approval) {}, now.Add(Lifetime), false},
		"not yet":           {func(*Approval) {}, now.Add(-time.Nanosecond), false},
		"level terminal":    {func(a *Approval) { a.Level = Terminal }, now, false},
		"no signature":      {func(a *Approval) { a.Signature = "" }, now, false},
		"no signer":         {func(a *Approval) { a.Signer = "" }, now, false},
		"no nonce":          {func(a *Approval) { a.Nonce = "" }, now, false},
		"short nonce":       {func(a *Approval) { a.Nonce = a.Nonce[1:] }, now, false},
		"long nonce":        {func(a *Approval) { a.Nonce = string(make([]byte, 65)) }, now, false},
		"capital nonce":     {func(a *Approval) { a.Nonce = "001122334455667A" }, now, false},
		"blank in nonce":    {func(a *Approval) { a.Nonce = "0011223 44556677" }, now, false},
		"newline in nonce":  {func(a *Approval) { a.Nonce = "001122334455667\n" }, now, false},
		"fraction of given": {func(a *Approval) { a.Given = a.Given.Add(-1) }, now, false},
		"as long as can be": {func(a *Approval) { a.Expires = a.Given.Add(LongestWait) }, now, true},
		"for longer":        {func(a *Approval) { a.Expires = a.Given.Add(LongestWait + time.Second) }, now, false},
		"fraction of end":   {func(a *Approval) { a.Expires = a.Expires.Add(1) }, now, false},
	} {
		a := signed()
		c.change(&a)
		if err := a.Sound(c.at); (err == nil) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSignedRoundTrip(t *testing.T) {
	a := signed()
	got, err := Decode(record.Value(a.Append(nil)))
	if err != nil || string(got.Statement()) != string(a.Statement()) || got.Signer != a.Signer || got.Signature != a.Signature {
		t.Errorf("%+v, %v", got, err)
	}
}
