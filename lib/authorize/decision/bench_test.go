package decision

import (
	"testing"

	"pulse/lib/classify/identity"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
)

func BenchmarkDecide(b *testing.B) {
	p := policy.Default()
	ask := Input{Identity: &identity.Identity{Sender: "me@example.com", Trust: terms.OwnerVerifiedEmail}, Policy: p}
	effect := ask
	effect.Identity = &identity.Identity{Sender: "me@example.com", Trust: terms.OwnerVerifiedEmail, Via: identity.ViaAgent}
	effect.Request = &request.Request{Action: terms.WriteLocal, Tool: "task.note"}
	for name, in := range map[string]Input{"ask": ask, "effect": effect} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if d := Decide(in); d.Outcome != terms.Allow {
					b.Fatal(d)
				}
			}
		})
	}
}
