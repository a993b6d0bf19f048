package main

import (
	"strings"
	"testing"

	"pulse/lib/classify/receivers"
	"pulse/lib/shared/policy"
)

// A user of the server who can write all that the server writes, and leave no trace of the
// login, is believed: this is what the probe from inside is there to find out.
func TestInsideIsFound(t *testing.T) {
	for _, r := range receivers.All() {
		_, inside := r.Probe()
		args, _, _ := strings.Cut(strings.NewReplacer("YOU", "you@example.com", "OWNER", "me@example.com").Replace(inside), " --server")
		mail, nonce := printed(t, append(strings.Fields(args)[2:], "--inside")...)
		above := "Received: from a by b.example; Sat, 21 Nov 2026 06:55:00 +0000\n"
		if r.Verdict == policy.ByMicrosoft {
			above = ""
		}
		status, out := ask(t, fetched(above+mail), "--nonce", nonce)
		want := r.Verdict != policy.ByNone || r.Yours // what proves nothing is not believed either way,
		want = want || r.Name == "amazon-ses"         // but for this one, which writes as much as others and was never probed
		if believed := status == 1 && strings.Contains(out, "it is BELIEVED"); believed != want {
			t.Errorf("%s: exit status %d:\n%s", r.Name, status, out)
		}
		status, out = ask(t, fetched("Received: from a by b.example with ESMTPSA; Sat, 21 Nov 2026 06:55:00 +0000\n"+mail), "--nonce", nonce)
		if status != 0 || strings.Contains(out, "it is BELIEVED") {
			t.Errorf("%s, with a login: exit status %d:\n%s", r.Name, status, out)
		}
	}
}
