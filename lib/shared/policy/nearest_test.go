package policy

import "testing"

// The hint about an unknown key names the one that was meant, or where it belongs.
func TestNearestKey(t *testing.T) {
	for text, want := range map[string]string{
		"max_aeg = \"1h\"": "did you mean max_age?", "Max-Age = 1": "did you mean max_age?", "allow_external = []": "did you mean allowed_external?",
		"ownrs = []": "did you mean owners?", "[limit]": "did you mean limits?", "[limits]\nmax_per_rum = 1": "did you mean max_per_run?",
		"[matrix.unknown]\nconfirm = []": "want one of allow, require_owner_confirmation, queue_for_review, tools",
		"max_per_run = 1":                "it belongs below [limits]", "open_group = true": "it belongs below [[platform.chat]]",
		"[exec]\ndeny = []": "it belongs below [tools]", "[limits]\nsource = 1": "it belongs below [[receiver]], or below [[action]], or below [[platform]]",
		"[tools]\n[limits]\nmax_age = \"1h\"": "it belongs to the top of the file, before [tools] in line 1",
		"[[platform]]\nchats = []":            "did you mean chat?", "[platfrm]": "did you mean platform?",
		"[exec]\nmax_per_ru = 1": "did you mean limits.max_per_run?", "[limits]\nzzz = 1": "want one of max_per_run, max_per_day, per_sender_per_hour, pending_per_sender, max_attempts, max_restarts, max_closes_per_run, review_expires, resurface, hold_after_yes, disk_reserve, keep_refused",
	} {
		if _, err := Parse("p", []byte(text)); err == nil || Hint(err) != want {
			t.Errorf("%q: %v, hint %s, want %s", text, err, Hint(err), want)
		}
	}
}

func TestNearest(t *testing.T) {
	list := []string{"allow", "deny", "require_owner_confirmation"}
	for word, want := range map[string]string{
		"alow": "allow", "lalow": "allow", "dney": "deny", "Deny": "deny", "require": "require_owner_confirmation", "x": "", "abcdefgh": "", "": "", "al": "",
	} {
		if got := nearest(word, list); got != want {
			t.Errorf("%s: %s, want %s", word, got, want)
		}
	}
}
