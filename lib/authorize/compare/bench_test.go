package compare

import "testing"

// BenchmarkPolicies compares policies that differ in mail, and in tools.
func BenchmarkPolicies(b *testing.B) {
	for name, keys := range map[string][2]string{
		"mail":  {"", "max_age = \"96h\"\n[matrix.\"me@example.com\"]\nallow = [\"read_public\", \"read_private\", \"external_send\"]"},
		"tools": {coding + git + "[\"log\", \"a*\"]", coding + git + "[\"log\", \"*\"]\n[tools.level]\n\"web.*\" = \"owner_only\"\n\"fs.*\" = \"approval_required\""},
		"proof": {"", "evidence = \"either\"\nverdict = \"set\"\ndkim_alignment = \"relaxed\"\nmax_age = \"0\"\naccept_unsigned = [\"To\"]"},
	} {
		b.Run(name, func(b *testing.B) {
			old, new := parse(b, "old", under(keys[0])), parse(b, "new", under(keys[1]))
			for b.Loop() {
				Policies(old, new, nil)
			}
		})
	}
}
