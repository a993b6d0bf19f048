package compare

import (
	"strings"
	"testing"

	"pulse/lib/shared/policy"
)

const base = `owners = ["me@example.com"]
authserv_id = "mx.example.net"
recipients = ["agent@example.net"]
`

func parse(t testing.TB, name, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse(name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func lines(t testing.TB, old, new string) string {
	t.Helper()
	list, err := Policies(parse(t, "old.toml", old), parse(t, "new.toml", new))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i := range list {
		b.WriteString(list[i].String() + "\n")
	}
	return b.String()
}

const sum = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestTry(t *testing.T) {
	const exec = "[exec]\nmode = \"allowlist\"\nworkspace = \"/srv/agent\"\n[[exec.allow]]\nprogram = \"/usr/bin/git\"\nsha256 = \"" + sum + "\"\n"
	for _, c := range [][2]string{
		{base, base + "[tools]\nprofile = \"coding\"\n"},
		{base, base + "[tools]\nallow = [\"web.*\"]\n"},
		{base, base + "[tools]\nallow = [\"web.fetch\"]\n"},
		{base, base + "[tools]\ndeny = [\"web.fetch\"]\n"},
		{base, base + "[tools]\ndeny = [\"foo.*\"]\n"},
		{base, base + "[tools.level]\n\"fs.*\" = \"owner_only\"\n\"web.*\" = \"approval_required\"\n"},
		{base, base + "[exec]\nworkspace = \"/srv/agent\"\n"},
		{base + "[exec]\nworkspace = \"/srv\"\n", base + "[exec]\nworkspace = \"/srv/agent\"\n"},
		{base + "[exec]\nworkspace = \"/home\"\n", base + "[exec]\nworkspace = \"/srv/agent\"\n"},
		{base + "[exec]\nworkspace = \"/srv\"\n", base + "[exec]\nworkspace = \"/srv\"\n[tools.paths]\n\"fs.write\" = [\"file\"]\n"},
		{base + exec + "args = [\"log\"]\n[tools]\nprofile = \"coding\"\n", base + exec + "args = [\"log\", \"*\"]\n[tools]\nprofile = \"coding\"\n"},
		{base + exec + "args = [\"log\", \"a*\"]\n[tools]\nprofile = \"coding\"\n", base + exec + "args = [\"log\", \"*\"]\n[tools]\nprofile = \"coding\"\n"},
		{base, base + "[outbound]\nallow = [\"a@b.example\"]\n"},
		{base, base + "[tools.action]\n\"pay\" = \"read_public\"\n[tools]\nallow = [\"pay\"]\n"},
		{base, base + "[matrix.\"me@example.com\"]\nallow = [\"read_public\"]\ntools.allow = [\"web.*\"]\n"},
	} {
		t.Logf("%s\n%s", strings.TrimPrefix(c[1], base), lines(t, c[0], c[1]))
	}
}

func BenchmarkPolicies(b *testing.B) {
	old, new := parse(b, "old", base), parse(b, "new", base+"max_age = \"96h\"\n[matrix.\"me@example.com\"]\nallow = [\"read_public\", \"read_private\", \"external_send\"]\n")
	for b.Loop() {
		Policies(old, new)
	}
}
