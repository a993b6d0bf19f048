package identity_test

import (
	"cmp"
	"testing"

	"pulse/lib/classify/receivers"
	"pulse/lib/shared/policy"
)

// presetNames holds the presets of receivers that the corpus calls by another name.
var presetNames = map[string]string{"amavis": "opendkim-opendmarc", "microsoft-365": "microsoft", "zoho-com": "zoho", "zoho-eu": "zoho"}

// TestPresetBelowTheSender: Exim adds its verdict at the end of the header unless it is told
// otherwise. Mail whose sender wrote a field of its own above that is not lost: under what init
// writes it is verified by its signature, and by nothing else.
func TestPresetBelowTheSender(t *testing.T) {
	for _, c := range corpora(t) {
		if c.name != "exim" {
			continue
		}
		preset, _ := receivers.ByName(c.name)
		p := *c.policy
		p.Receivers, p.Verdict, p.Evidence, p.AuthservIDs = nil, preset.Verdict, preset.Evidence, c.receiver.AuthservIDs
		for _, sh := range c.unproven {
			if sh.name != "unproven/55-foreign-verdict-first" {
				continue
			}
			for result, want := range map[string]bool{"pass": true, "fail": false} {
				dkim := parseDKIM(t, `{"from":"example.com","signatures":[{"result":"`+result+`","domain":"example.com","user":"","selector":"s1",`+
					`"headers":["from","to","subject","date","message-id"]}],"dmarc":{"result":"found","domain":"example.com","strict":false}}`)
				if id := classifyUnder(&p, sh.fields, dkim); id.Verified != want {
					t.Errorf("%s: %s (%s)", result, id.Reason, id.Why)
				}
			}
			return
		}
	}
	t.Error("there is no such mail of Exim")
}

// TestCorpusAsInitWrites: the lines of a preset verify what its receiver delivers, and
// nothing else. Where init leaves a verdict to a probe, it counts as chosen.
func TestCorpusAsInitWrites(t *testing.T) {
	for _, c := range corpora(t) {
		preset, ok := receivers.ByName(cmp.Or(presetNames[c.name], c.name))
		if !ok {
			t.Errorf("%s is not known to init", c.name)
			continue
		}
		p := *c.policy
		p.Receivers, p.Verdict, p.Evidence = nil, preset.Verdict, preset.Evidence
		if p.AuthservIDs = preset.IDs; preset.Yours {
			p.AuthservIDs = c.receiver.AuthservIDs
		}
		if preset.Probed {
			p.Evidence = policy.ByEither
		}
		verified := 0
		for _, sh := range c.genuine {
			id := classifyUnder(&p, sh.fields, sh.dkim)
			if verified += count(id.Verified); !id.Verified {
				t.Logf("%s: %s is not verified: %s", c.name, sh.name, id.Why)
			}
		}
		if 100*verified < 97*len(c.genuine) {
			t.Errorf("%s: %d of %d genuine messages are verified", c.name, verified, len(c.genuine))
		}
		for _, sh := range c.unproven {
			if id := classifyUnder(&p, sh.fields, sh.dkim); proven(&id) {
				t.Errorf("%s: %s is not proven, and verified", c.name, sh.name)
			}
		}
	}
}
