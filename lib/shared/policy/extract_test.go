package policy

import (
	"slices"
	"strings"
	"testing"

	"pulse/lib/shared/terms"
)

func TestExtract(t *testing.T) {
	p, err := Parse("p", []byte("[extract]\nschema = \"/etc/pulse/ask.schema.json\"\nrequire = [\"external_verified\", \"unknown\"]\n"))
	want := Extract{"/etc/pulse/ask.schema.json", []terms.Trust{terms.ExternalVerified, terms.Unknown}}
	if err != nil || p.Extract.Schema != want.Schema || !slices.Equal(p.Extract.Require, want.Require) {
		t.Errorf("%+v, %v", p, err)
	}
	for _, trust := range terms.TrustLevels {
		if got := p.Extract.Requires(trust); got != slices.Contains(want.Require, trust) {
			t.Errorf("%s: %v", trust, got)
		}
	}
	if p, err := Parse("p", []byte("[extract]\n")); err != nil || p.Extract.Schema != "" || p.Extract.Requires(terms.Unknown) {
		t.Errorf("an empty table: %+v, %v", p, err)
	}
}

func TestExtractRefused(t *testing.T) {
	const require = "require = [\"unknown\"]\n"
	for text, want := range map[string]string{
		"schema = \"request\"\n":                                       "p:2: extract.schema: it is for no sender: want require",
		"schema = \"request\"\nrequire = []\n":                         "p:2: extract.schema: it is for no sender: want require",
		require:                                                        "p:2: extract.require: want schema",
		"require = []\n":                                               "p:2: extract.require: want schema",
		require + "schema = \"\"\n":                                    "p:3: extract.schema: : want an absolute path",
		require + "schema = \"ask.schema.json\"\n":                     "p:3: extract.schema: ask.schema.json: want an absolute path",
		require + "schema = \"/etc/../ask\"\n":                         "p:3: extract.schema: /etc/../ask: want an absolute path",
		require + "schema = \"https://example.com/ask\"\n":             "p:3: extract.schema: https://example.com/ask: want an absolute path",
		"schema = \"request\"\nrequire = [\n\"unknown\",\n\"bob\"]\n":  "p:5: extract.require: bob is no trust level of mail",
		"schema = \"request\"\nrequire = [\"system\"]\n":               "p:3: extract.require: system is no trust level of mail",
		"schema = \"request\"\nrequire = [\"unknown\", \"unknown\"]\n": "p:3: extract.require: unknown is listed twice",
		"schema = \"request\"\nrequire = \"unknown\"\n":                "p:3: extract.require: want a list of strings",
		"scheme = \"request\"\n":                                       "p:2: extract.scheme: unknown key",
	} {
		if _, err := Parse("p", []byte("[extract]\n"+text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
