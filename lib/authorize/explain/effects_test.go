package explain

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pulse/lib/authorize/decision"
	"pulse/lib/authorize/tools"
	"pulse/lib/classify/identity"
)

// machine is a World with one program, and files below /ws.
type machine struct{}

func (machine) Path(_, name string) (tools.Place, error) {
	if strings.HasPrefix(name, "/etc") {
		return tools.Place{}, errors.New("outside")
	}
	return tools.Place{Given: name, Real: name}, nil
}

func (machine) Dir(_, name string) error {
	_, err := machine{}.Path("", name)
	return err
}

func (machine) Program(path string) (tools.Program, error) {
	if path != "/bin/tool" {
		return tools.Program{}, errors.New("no such file")
	}
	return tools.Program{SHA256: strings.Repeat("0", 64)}, nil
}

// rules are policies for effects.
var rules = []string{
	"",
	"[outbound]\nallow = [\"@partner.example\"]\n",
	"[outbound]\nallow = []\n[tools]\ndeny = [\"web.*\", \"mail.draft\"]\n",
	"[tools]\nprofile = \"minimal\"\n[tools.level]\n\"web.*\" = \"owner_only\"\n\"task.*\" = \"approval_required\"\n",
	"[tools]\nprofile = \"full\"\n[tools.level]\n\"*\" = \"approval_required\"\n[exec]\nmode = \"allowlist\"\nworkspace = \"/ws\"\n",
	"[tools]\nprofile = \"coding\"\n[exec]\nworkspace = \"/ws\"\n[tools.action]\n\"web.fetch\" = \"read_private\"\n",
	"[matrix.\"me@example.com\"]\nallow = [\"write_local\"]\ntools.allow = [\"fs.*\"]\n[matrix.external_verified]\nallow = [\"read_public\"]\n",
	"[[platform]]\nsource = \"telegram\"\nowner_ids = [7]\n[[platform.chat]]\nid = -5\n[[platform.chat]]\nid = -9\ntools.allow = [\"web.fetch\"]\n",
	"[flow]\nprivate = { confirm = [\"read_public\"], deny = [\"mail.*\", \"destructive\"] }\nuntrusted.deny = [\"write_local\", \"web.*\"]\n",
	"[flow.private]\ndeny = [\"web.fetch\"]\nconfirm = [\"*\"]\n[matrix.external_verified]\nallow = [\"read_public\"]\n",
}

var wishes = []string{
	`{"action":"external_send","target":["bob@partner.example","eve@evil.example"],"tool":"mail.send","args":{"text":"hi"}}`,
	`{"action":"external_send"}`,
	`{"action":"write_local","tool":"mail.draft","target":"bob@x.example"}`,
	`{"action":"write_local","tool":"web.fetch"}`,
	`{"action":"read_public","tool":"web.fetch"}`,
	`{"action":"read_private","tool":"fs.read","args":{"path":"a"}}`,
	`{"action":"read_private","tool":"fs.read","args":{"path":"/etc/passwd"}}`,
	`{"action":"write_local","tool":"task.close","args":{"task":"1"}}`,
	`{"action":"write_local","tool":"odd.thing"}`,
	`{"action":"write_local","tool":"fs.write","args":{"path":["a",".github/x"]}}`,
	`{"action":"code_or_computer","tool":"exec","args":{"argv":["/bin/tool","x"],"dir":"/ws"}}`,
	`{"action":"code_or_computer","args":{"argv":["/bin/sh","-c","x"],"dir":"/ws"}}`,
	`{"action":"destructive"}`,
	`{"action":"fly","tool":"B\u001b[2Jig","target":["\u202e"]}`,
}

// TestEffects: the same of effects, under every policy, for senders of every trust level.
func TestEffects(t *testing.T) {
	seen := map[string]int{}
	for i, text := range rules {
		text = "owners = [\"me@example.com\"]\nallowed_external = [\"friend@partner.example\"]\n" + text
		p := parse(t, text)
		for _, who := range []string{
			`"sender":"me@example.com","trust":"owner_verified_email"`, `"sender":"friend@partner.example","trust":"external_verified"`,
			`"sender":"me@example.com","trust":"approved_session"`, `"sender":"","trust":"system"`,
			`"sender":"x@y.example","trust":"unknown"`, `"sender":"telegram:7","trust":"owner_verified_email","chat":-9`,
			`"sender":"me@example.com","trust":"owner_verified_email","automatic":true,"bulk":true`,
			`"sender":"","trust":"system","labels":["private"]`, `"sender":"me@example.com","trust":"approved_session","labels":["private","untrusted"]`,
			`"sender":"friend@partner.example","trust":"external_verified","labels":["private"]`,
		} {
			for _, wish := range wishes {
				for _, settled := range []bool{false, true} {
					rec := parsed(t, fmt.Appendf(nil, `{"request":%s,"identity":{%s,"verified":true,"via":"agent","parent":"p"}}`, wish, who))
					s, err := Read(rec, p, machine{})
					if err != nil {
						t.Fatal(err)
					}
					id := *s.Given
					id.Cap(p)
					if settled {
						s.Settled = s.Request.Action
					}
					name := fmt.Sprintf("%d: %s for %s", i, wish, who)
					x := helps(t, name, s, text, seen)
					want := decision.Decide(decision.Input{Identity: &id, Request: s.Request, Policy: p, World: machine{}})
					if !reflect.DeepEqual(x.Decision.Decision, want) || x.Steps[x.Decided].Result != string(want.Outcome) {
						t.Errorf("%s: %+v, want %+v", name, x.Decision.Decision, want)
					}
					looksRight(t, name, x)
				}
			}
		}
	}
	t.Log(seen)
	for _, key := range []string{"flow.private.deny", "flow.private.confirm", "flow.untrusted.deny", "outbound.allow", "tools.allow", "tools.deny", "tools.level", "exec.mode", "exec.write", "exec.allow.args",
		"matrix.X.tools.allow", "platform.chat.tools.allow", "mail"} {
		if seen[key] == 0 {
			t.Errorf("no advice changes %s", key)
		}
	}
}

// TestChats: the same of messages on chat platforms, and of requests.
func TestChats(t *testing.T) {
	const text = "owners = [\"me@example.com\"]\n[[platform]]\nsource = \"matrix:!x\"\nallowed_ids = [3]\n[[platform.chat]]\nid = -1\n" +
		"[[platform]]\nsource = \"telegram\"\nowner_ids = [7]\nallowed_ids = [8]\nactions = [\"read_public\"]\n" +
		"[[platform.chat]]\nid = -5\n[[platform.chat]]\nid = -6\nenabled = false\n[[platform.chat]]\nid = -7\nopen_group = true\nrequire_mention = false\n" +
		"[[platform]]\nsource = \"webhook:/in\"\n" +
		"[[platform]]\nsource = \"webhook:/chat\"\nowner_ids = [\"U7\"]\nallowed_ids = [\"U8\"]\n[[platform.chat]]\nid = \"C5\"\n"
	slack := func(source, id, chat string) string {
		return fmt.Sprintf(`"source":"webhook:%s","webhook":{"result":"pass","scheme":"slack","timestamp":"2026-11-21T07:00:00Z"},"sender":{"id":"%s","chat":"%s"}`, source, id, chat)
	}
	p, seen := parse(t, text), map[string]int{}
	for _, message := range []string{
		`"source":"telegram"`, `"source":"telegram","sender":{"id":7,"chat":-9}`, `"source":"telegram","sender":{"id":8,"chat":8}`,
		`"source":"telegram","sender":{"id":8,"chat":-5}`, `"source":"telegram","sender":{"id":8,"chat":-6,"mentioned":true}`,
		`"source":"telegram","sender":{"id":9,"chat":-5,"mentioned":true}`, `"source":"telegram","sender":{"id":9,"chat":-7}`,
		`"source":"telegram","sender":{"id":8,"chat":-99}`, `"source":"telegram","sender":{"id":5,"chat":5}`, `"source":"telegram","sender":{"id":6,"chat":-7,"bot":true}`,
		`"source":"webhook:/in","webhook":{"result":"pass"}`, `"source":"webhook:/in","webhook":{"result":"fail","why":"x"}`,
		slack("/chat", "U7", "C5"), slack("/chat", "U8", "C5"), slack("/chat", "U9", "C5"), slack("/chat", "U9", "U9"), slack("/chat", "9", "9"), slack("/chat", "U9", "C6"),
		slack("/in", "U9", "U9"), slack("/other", "U9", "U9"), slack("/other", "U9", "C5"),
		`"source":"webhook:/chat","webhook":{"result":"pass"},"sender":{"id":"U7"}`, `"source":"webhook:/chat","webhook":{"result":"pass","scheme":"slack","timestamp":"2026-11-21T07:00:00Z"}`,
		`"source":"webhook:/other","webhook":{"result":"pass"}`, `"source":"webhook:/other","webhook":{"result":"none"}`,
	} {
		for _, wish := range []string{"", `,"request":{"action":"write_local"}`, `,"request":{"action":"fly"}`} {
			rec := parsed(t, fmt.Appendf(nil, `{"message":{%s,"received":"2026-11-21T07:00:00Z","fetched":"2026-11-21T07:00:00Z","headers":[],"defects":[]}%s}`, message, wish))
			s, err := Read(rec, p, nil)
			if err != nil {
				t.Fatal(err)
			}
			id := identity.Classify(s.Message, p)
			x := helps(t, message, s, text, seen)
			want := decision.Decide(decision.Input{Identity: &id, Request: s.Request, Policy: p, Source: s.Message.Source})
			if !reflect.DeepEqual(x.Decision.Decision, want) {
				t.Errorf("%s: %+v, want %+v", message, x.Decision, want)
			}
			looksRight(t, message, x)
		}
	}
	t.Log(seen)
	for _, key := range []string{"platform.chat.id", "platform.chat.enabled", "platform.chat.require_mention", "platform.chat.allowed_senders",
		"platform.allowed_ids", "platform.actions", "platform.source", "mail"} {
		if seen[key] == 0 {
			t.Errorf("no advice changes %s", key)
		}
	}
}

// A key that the file has without quotes is that key: it was taken for one that is missing, and
// written beside it the file would be no policy.
func TestBareKey(t *testing.T) {
	p := parse(t, "[tools]\nallow = [\"pay\"]\n[tools.level]\npay = \"approval_required\"\n[tools.action]\npay = \"read_public\"\n")
	rec := parsed(t, []byte(`{"request":{"action":"read_public","tool":"pay"},"identity":{"sender":"","trust":"system","verified":true,"via":"agent","parent":"p"}}`))
	s, err := Read(rec, p, machine{})
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Join(Of(s).Lines(), "\n"); !strings.Contains(lines, `:4: pay = "open"`) {
		t.Error(lines)
	}
}
