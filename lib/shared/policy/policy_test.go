package policy

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"pulse/lib/shared/terms"
)

func TestParseEveryKey(t *testing.T) {
	b, err := os.ReadFile("testdata/full.toml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Parse("full.toml", b)
	if err != nil {
		t.Fatal(err)
	}
	if p.AuthservIDs[0] != "mx.google.com" || p.Verdict != ByFirst || p.MaxAge != 48*time.Hour || p.Limits.DiskReserve != 64<<20 ||
		p.Limits.ReviewExpires != 336*time.Hour || p.Limits.Resurface != 48*time.Hour || !p.Outbound.Restricted || p.Platforms[0].Chats[0].ID != "-100123" ||
		p.ActionRules[0].Action != terms.WriteLocal || len(p.Receivers[0].AuthservIDs) != 2 || p.Receivers[0].Verdict != BySet ||
		p.Senders[0].Tools[0] != "web.*" || p.Platforms[0].Chats[0].Tools[0] != "web.search" || p.Limits.KeepRefused != 14*24*time.Hour {
		t.Errorf("%+v", p)
	}
	if got := p.Matrix[terms.OwnerVerifiedEmail].Outcome(terms.ReadPrivate); got != terms.Reject {
		t.Errorf("an action no list names is %s", got)
	}
	if !strings.HasPrefix(p.Digest, "sha256:") || len(p.Digest) != 71 {
		t.Error(p.Digest)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"owner = []", "p:1: owner: unknown key"},
		{"\n\nOwners = []", "p:3: Owners: unknown key"},
		{"o\u017fners = []", "p:"},
		{"[limits]\nmax_per_run = 1\nmax_per_rum = 1", "p:3: limits.max_per_rum: unknown key"},
		{"[[receiver]]\nsource = \"*\"\nauthserv_id = \"a\"\npin = 1", "p:4: receiver.pin: unknown key"},
		{"[matrix.owner]\nallow = []", "p:1: matrix.owner: unknown trust level"},
		{"[[platform.chat]]\nid = 1", "p:1: platform.chat: want [[platform]] above it"},
		{"tools.deny = [\"x\"]\ntools = {profile = \"full\"}", "p:2: tools: key tools is already defined"},
		{"[matrix.\"a@b.example\"]\n[matrix.\"A@B.example\"]\n", "p:2: matrix.A@B.example: the sender has a row already, [matrix.\"a@b.example\"]"},
		{"[matrix.\"a b@c.example\"]\n", "p:1: matrix.a b@c.example: a b@c.example: not a plain address"},
		{"[matrix.\"@\"]\n", "p:1: matrix.@: @: not a plain address"},
		{"[matrix.unknown]\ntools.allow = []", "p:2: matrix.unknown.tools.allow: is for the row of one sender"},
		{"[matrix.\"@c.example\"]\ntools.allow = [\"Web\"]", "p:2: matrix.@c.example.tools.allow: Web: want a tool"},
		{"[matrix.\"@c.example\"]\ntools.deny = []", "p:2: matrix.@c.example.tools.deny: unknown key"},
		{"[[platform]]\nsource = \"t\"\n[[platform.chat]]\nid = 5\ntools.allow = [\"!\"]", "p:5: platform.chat.tools.allow: !: want a tool"},
		{"[limits]\nkeep_refused = \"367d\"", "p:2: limits.keep_refused: 367d: want at most 366d"},
		{"[limits]\nkeep_refused = \"-1h\"", "p:2: limits.keep_refused: -1h: want a duration"},
		{"[matrix.unknown]\nallow = [\"reed_public\"]", "p:2: matrix.unknown.allow: reed_public is none of"},
		{"[matrix.unknown]\nallow = [\"read_public\"]\nqueue_for_review = [\"read_public\"]", "p:3: matrix.unknown.queue_for_review: read_public is listed twice"},
		{"owners = \"me@example.com\"", "p:1: "},
		{"owners = [1]", "p:1: "},
		{"owners = [\"me\"]", "p:1: owners: me: not a plain address"},
		{"owners = [\"@example.com\"]", "p:1: owners: @example.com: want an address, not a domain"},
		{"allowed_external = [\"@-x\"]", "p:1: allowed_external: @-x: not a plain address"},
		{"owners = [\"*@example.com\"]", "p:1: owners: *@example.com matches nobody: want each address by itself"},
		{"recipients = [\"agent+*@example.com\"]", "p:1: recipients: agent+*@example.com matches nobody: want each address by itself"},
		{"allowed_external = [\n\"*@x.example\"]", "p:2: allowed_external: *@x.example matches nobody: want @x.example"},
		{"allowed_external = [\"x.example\"]", "p:1: allowed_external: x.example matches nobody: want @x.example"},
		{"[outbound]\nallow = [\".x.example\"]", "p:2: outbound.allow: .x.example matches nobody: want @x.example"},
		{"owners = [\"x.example\"]", "p:1: owners: x.example: not a plain address local@domain"},
		{"accept_automatic = [\"*@x.example\"]", "p:1: accept_automatic: *@x.example matches nobody: want @x.example"},
		{"[outbound]\nallow = [\"*@x.example\"]", "p:2: outbound.allow: *@x.example matches nobody: want @x.example"},
		{"[matrix.\"*@x.example\"]\n", "p:1: matrix.*@x.example: *@x.example matches nobody: want @x.example"},
		{"allowed_external = [\"@*.x.example\"]", "p:1: allowed_external: @*.x.example matches nobody: want each @domain by itself"},
		{"allowed_external = [\"me@*.x.example\"]", "p:1: allowed_external: me@*.x.example matches nobody: want each address by itself"},
		{"[[action]]\nto = \"*@x.example\"\naction = \"read_public\"", "p:1: action: to: *@x.example matches nobody"},
		{"recipients = []", "p:1: recipients: an empty list"},
		{"max_age = \"2 days\"", "p:1: max_age: 2 days: want a duration"},
		{"max_age = \"-1h\"", "p:1: max_age: -1h: want a duration"},
		{"max_age = 48", "p:1: "},
		{"dkim_alignment = \"STRICT\"", "p:1: dkim_alignment: STRICT is none of strict, relaxed, any"},
		{"default_action = \"read\"", "p:1: default_action: read is none of"},
		{"[limits]\nmax_per_run = 0", "p:2: limits.max_per_run: 0: want 1 to 1000000"},
		{"[limits]\ndisk_reserve = \"64MB\"", "p:2: limits.disk_reserve: 64MB: want bytes"},
		{"authserv_id = \"mx google\"", "p:1: authserv_id: want one word"},
		{"authserv_id = \"\"", "p:1: authserv_id: want one word"},
		{"authserv_id = 1", "p:1: authserv_id: want a string or an array of strings"},
		{"owners = []\nauthserv_id = [\"a\", 1]", "p:2: authserv_id: want a string or an array of strings"},
		{"authserv_id = {a = 1}", "p:1: "},
		{"[[receiver]]\nsource = \"a\"\nauthserv_id = [[]]", "p:3: receiver.authserv_id: want a string or an array of strings"},
		{"[[authserv_id]]\na = 1", "p:"},
		{"authserv_id = []", "p:1: authserv_id: must not be an empty list"},
		{"authserv_id = [\"a\", \"\"]", "p:1: authserv_id: want one word"},
		{"authserv_id = \"*.com\"", "p:1: authserv_id: *.com: want * for names below a domain of two labels or more"},
		{"authserv_id = \"*\"", "p:1: authserv_id: *: want * for"},
		{"authserv_id = \"*example.com\"", "p:1: authserv_id: *example.com: want * for"},
		{"authserv_id = \"mx*.example.com\"", "p:1: authserv_id: mx*.example.com: want * for"},
		{"authserv_id = \"*.*.example.com\"", "p:1: authserv_id: *.*.example.com: want * for"},
		{"authserv_id = \"*..com\"", "p:1: authserv_id: *..com: want * for"},
		{"verdict = \"last\"", "p:1: verdict: last is none of first, set, microsoft, none"},
		{"verdict = \"\"", "p:1: verdict:  is none of first"},
		{"authserv_id = \"a\"\nverdict = \"microsoft\"", "p:1: authserv_id: must not be there: verdict = \"microsoft\" goes by no name"},
		{"verdict = \"none\"\nauthserv_id = []", "p:2: authserv_id: must not be there"},
		{"verdict = \"microsoft\"\nauthserv_id = \"\"", "p:2: authserv_id: must not be there"},
		{"[[receiver]]\nsource = \"a\"\nverdict = \"none\"\n[[receiver]]\nsource = \"b\"\nverdict = \"first\"", "p:4: receiver: authserv_id is missing"},
		{"[[receiver]]\nsource = \"a\"\nverdict = \"none\"\n[[receiver]]\nsource = \"b\"\nverdict = \"any\"", "p:4: receiver: verdict any is none of"},
		{"[[receiver]]\nsource = \"a\"\nauthserv_id = \"x\"\nverdict = \"microsoft\"", "p:1: receiver: authserv_id must not be there"},
		{"[[receiver]]\nsource = \"a\"\nverdict = \"set\"\nauthserv_id = []", "p:1: receiver: authserv_id must not be an empty list"},
		{"evidence = \"any\"", "p:1: evidence: any is none of authres, dkim, both, either"},
		{"[[receiver]]\nsource = \"a\"\nauthserv_id = \"x\"\n[[receiver]]\nsource = \"b\"", "p:4: receiver: authserv_id is missing"},
		{"[[action]]\naction = \"read_public\"", "p:1: action: want to or source"},
		{"[exec]\nworkspace = \"srv\"", "p:2: exec.workspace: srv: want an absolute path"},
		{"owners = [\"a@b.example\"", "p:1: "},
		{"owners = []\nowners = []", "p:2: "},
		{"[[matrix]]\n[matrix.owner_verified_email]\nallow = []", "p:"},
		{"[[matrix.unknown]]\nallow = []", "p:1: "},
		{"matrix = 3", "p:1: matrix: want one table"},
		{"matrix = []", "p:1: matrix: want one table"},
		{"[tools]\nlevel = \"x\"", "p:2: tools.level: want one table"},
		{"[tools]\nlevel = [[]]", "p:2: tools.level: want one table"},
		{"[approval]\nrequire = \"none\"", "p:2: approval.require: none is none of terminal, user, signature"},
		{"[[platform]]\nsource = \"t\"\nowner_ids = [0]", "p:3: platform.owner_ids: 0 is no id"},
		{"[[platform]]\nsource = \"t\"\nallowed_ids = [1, 0]", "p:3: platform.allowed_ids: 0 is no id"},
		{"[[platform]]\nsource = \"t\"\n[[platform.chat]]\nenabled = true", "p:3: platform.chat: id is missing or 0"},
		{"[[platform]]\nsource = \"t\"\n[[platform.chat]]\nid = 5\nallowed_senders = [0]", "p:5: platform.chat.allowed_senders: 0 is no id"},
		{"[[platform]]\nsource = \"t\"\n[[platform.chat]]\nid = 5\n[[platform.chat]]\nid = 5", "p:5: platform.chat: 5 is declared twice"},
		{"[[platform]]\nsource = \"t\"\ntrust = \"external_verified\"", "p:3: platform.trust: is for a source webhook:DIR"},
		{"[[platform]]\nsource = \"t\"\nactions = []", "p:3: platform.actions: an empty list"},
		{"[[platform]]\nsource = \"t\"\nactions = [\"read\"]", "p:3: platform.actions: read is none of"},
		{"[[platform]]\nsource = \"webhook:/a\"\ntrust = \"system\"", "p:3: platform.trust: system is none of external_verified, owner_verified_email"},
		{"[[platform]]\nsource = \"webhook:/a\"\ntrust = \"external_verified\"\nowner_ids = []", "p:3: platform.trust: it is of all who have the secret"},
		{"[[platform]]\nsource = \"t\"\nowner_ids = [7,\n\"U1:U2\"]", "p:4: platform.owner_ids: want a whole number, or a string of letters and digits in quotes, not the string \"U1:U2\""},
		{"[[platform]]\nsource = \"t\"\nowner_ids = [\"\u0405lack\"]", "p:3: platform.owner_ids: want a whole number, or a string"},
		{"[[platform]]\nsource = \"t\"\nowner_ids = ['\"7\"']", "p:3: platform.owner_ids: want a whole number, or a string"},
		{"[[platform]]\nsource = \"t\"\nowner_ids = [\"\"]", "p:3: platform.owner_ids: want a whole number, or a string"},
		{"[[platform]]\nsource = \"t\"\nowner_ids = [7.5]", "p:3: platform.owner_ids: want a whole number, or a string"},
		{"[[platform]]\nsource = \"t\"\nowner_ids = [true]", "p:3: platform.owner_ids: want a whole number, or a string"},
		{"[[platform]]\nsource = \"t\"\nowner_ids = [U024BE7LH]", "p:3: owner_ids = [U024BE7LH]: this is not TOML: unexpected character"},
		{"[[platform]]\nsource = \"t\"\nowner_ids = \"U024BE7LH\"", "p:3: platform.owner_ids: want a list of ids"},
		{"[[platform]]\nsource = \"t\"\n[[platform.chat]]\nid = \"C1\"\n[[platform.chat]]\nid = \"C1\"", "p:5: platform.chat: C1 is declared twice"},
		{"[[platform]]\nsource = \"webhook:\"", "p:1: platform: source webhook:: want webhook:DIR"},
		{"[[platform]]\nsource = \"webhook\"", "p:1: platform: source webhook: want webhook:DIR"},
		{"[tools.level]\n\"fs.*\" = \"shut\"", "p:2: tools.level.\"fs.*\": shut is none of"},
		{"[tools.level]\n\"Fs.*\" = \"open\"", "p:2: tools.level.\"Fs.*\": Fs.*: want a tool in lower case"},
		{"[tools]\nprofile = \"all\"", "p:2: tools.profile: all is none of minimal, standard, coding, full"},
		{"[tools]\nallow = [\"fs.[ab]\"]", "p:2: tools.allow: fs.[ab]: want a tool"},
		{"[tools]\ndeny = [\"\"]", "p:2: tools.deny: : want a tool"},
		{"[tools]\ndeny = [\"fs.read \"]", "p:2: tools.deny: fs.read : want a tool"},
		{"[tools.paths]\n\"fs.*\" = []", "p:2: tools.paths.\"fs.*\": want the names"},
		{"[tools.paths]\n\"fs.*\" = \"path\"", "p:2: "},
		{"[tools.paths]\n\"f s\" = [\"path\"]", "p:2: tools.paths.\"f s\": f s: want a tool"},
		{"[exec]\nmode = \"allow\"", "p:2: exec.mode: allow is none of deny, allowlist, full"},
	} {
		_, err := Parse("p", []byte(c.text))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || !errors.Is(err, errInvalid) {
			t.Errorf("%q:\n got %v\nwant %s…", c.text, err, c.want)
		}
	}
}

// TestPlatformIDs: numbers and strings may stand side by side, and are never the same id.
func TestPlatformIDs(t *testing.T) {
	p, err := Parse("p", []byte(`[[platform]]
source    = "slack"
owner_ids = ["U024BE7LH", 7, "7", "a.b-c_d", 0x10]
[[platform.chat]]
id = 5
[[platform.chat]]
id = "5"
allowed_senders = ["80351110224678912"]
[[platform]]
source = "webhook:/a"
[[platform.chat]]
id = "C1"
`))
	if err != nil {
		t.Fatal(err)
	}
	pl := &p.Platforms[0]
	if got := fmt.Sprintln(pl.OwnerIDs, pl.Chats[0].ID, pl.Chats[1].ID, pl.Chats[1].AllowedSenders); got != `[U024BE7LH 7 "7" a.b-c_d 16] 5 "5" ["80351110224678912"]`+"\n" {
		t.Error(got)
	}
	if pl.Chat("5") != &pl.Chats[0] || pl.Chat(`"5"`) != &pl.Chats[1] || p.Chat(`slack:"7"`, `"5"`) != &pl.Chats[1] || p.Chat("slack:7", "") != nil {
		t.Error("a chat is taken for another one")
	}
	if p.Platforms[1].Trust != "" {
		t.Errorf("whoever has the secret is trusted as %s, although each sender has an id", p.Platforms[1].Trust)
	}
}

func TestReceiver(t *testing.T) {
	p := Default()
	if _, ok := p.Receiver("mbox:x"); ok {
		t.Error("a receiver without a policy")
	}
	p.Verdict = BySet
	if _, ok := p.Receiver("mbox:x"); ok {
		t.Error("a set of no names is a receiver")
	}
	p.AuthservIDs = []string{"mx.a.example"}
	if r, ok := p.Receiver("mbox:x"); !ok || !r.Believes("mx.a.example") || r.Verdict != BySet {
		t.Error(r, ok)
	}
	p.Receivers = []Receiver{{"imaps://me@imap.example.com/*", []string{"mx.b.example"}, ByFirst}}
	if r, ok := p.Receiver("imaps://me@imap.example.com/INBOX/Sub"); !ok || !r.Believes("mx.b.example") || r.Verdict != ByFirst {
		t.Error(r, ok)
	}
	if _, ok := p.Receiver("mbox:x"); ok {
		t.Error("with [[receiver]] present a source that matches none has a receiver")
	}
	for _, v := range []Verdict{ByMicrosoft, ByNone} {
		p := Default()
		p.Verdict = v
		if r, ok := p.Receiver("mbox:x"); !ok || r.Verdict != v || r.Believes("") {
			t.Error(r, ok)
		}
	}
}

// TestReceiverInFile: one name or a list, at the top and in a table.
func TestReceiverInFile(t *testing.T) {
	p, err := Parse("p", []byte("authserv_id = \"*.example.com\"\nverdict = \"set\"\nevidence = \"either\"\n"+
		"[[receiver]]\nsource = \"a\"\nauthserv_id = \"x\"\n[[receiver]]\nsource = \"b\"\nverdict = \"microsoft\"\n"+
		"[[receiver]]\nsource = \"c\"\nverdict = \"none\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if p.Verdict != BySet || p.AuthservIDs[0] != "*.example.com" || p.Evidence != ByEither || len(p.Receivers) != 3 {
		t.Errorf("%+v", p)
	}
	for source, want := range map[string]Verdict{"a": ByFirst, "b": ByMicrosoft, "c": ByNone} {
		if r, ok := p.Receiver(source); !ok || r.Verdict != want {
			t.Errorf("%s: %+v", source, r)
		}
	}
}

func TestBelieves(t *testing.T) {
	r := Receiver{AuthservIDs: []string{"mx.example.net", "*.example.com"}}
	for id, want := range map[string]bool{
		"mx.example.net": true, "MX.example.net": false, "": false, "*.example.com": false, ".example.com": false,
		"a.example.com": true, "a.b.example.com": true, "example.com": false, "aexample.com": false, "a.Example.com": false,
		"a..example.com": false, "a b.example.com": false, "\"a\".example.com": false, "-a.example.com": false,
		"a.example.com.": false, "x@a.example.com": false,
	} {
		if got := r.Believes(id); got != want {
			t.Errorf("%q: %v", id, got)
		}
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"", "", true}, {"*", "", true}, {"*", "a/b", true}, {"a*c", "abbc", true}, {"a*c", "abbd", false},
		{"a*b*c", "axbxxc", true}, {"a", "ab", false}, {"ab", "a", false}, {"*a", "ba", true}, {"a**", "a", true},
	} {
		if got := Match(c.pattern, c.s); got != c.want {
			t.Errorf("Match(%q, %q) = %v", c.pattern, c.s, got)
		}
	}
}
