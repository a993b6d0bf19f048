package compare

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pulse/lib/shared/policy"
	"pulse/lib/shared/schema"
)

const base = `owners = ["me@example.com"]
authserv_id = "mx.example.net"
recipients = ["agent@example.net"]
`

const sum = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

const (
	coding = "[tools]\nprofile = \"coding\"\n[exec]\nworkspace = \"/srv/agent\"\nmode = \"allowlist\"\n"
	space  = "[exec]\nworkspace = \"/srv/agent\"\n"
	git    = "[[exec.allow]]\nprogram = \"/usr/bin/git\"\nsha256 = \"" + sum + "\"\nargs = "
	narrow = "[matrix.\"me@example.com\"]\nallow = [\"read_public\"]\ntools.allow = "
	chat   = "[[platform]]\nsource = \"telegram\"\nowner_ids = [5]\n[[platform.chat]]\nid = -100\n"
)

// widenings holds for each key two policies, of which the second is wider, and how the
// first line about it begins.
var widenings = []struct{ old, new, line string }{
	{"", `owners = ["new@example.com"]`, "wider owners: mail of new@example.com to agent@example.net: read_public: reject -> allow (new.toml:1)"},
	{"", "owners = [\n  \"me@example.com\",\n  \"new@example.com\",\n]", "wider owners: mail of new@example.com to agent@example.net: read_public: reject -> allow (new.toml:3)"},
	{"", `allowed_external = ["new@example.com"]`, "wider allowed_external: mail of new@example.com to agent@example.net: read_public: reject -> allow"},
	{"", `allowed_external = ["@example.com"]`, "wider allowed_external: mail of someone@example.com to agent@example.net: read_public: reject -> allow"},
	{"", `accept_automatic = ["me@example.com"]`, "wider accept_automatic: mail of me@example.com to agent@example.net, sent by a program: read_public: reject -> allow"},
	{"", `recipients = ["agent@example.net", "two@example.net"]`, "wider recipients: mail of me@example.com to two@example.net: read_public: reject -> allow (new.toml:1)"},
	{"", `max_age = "96h"`, "wider max_age: mail of me@example.com to agent@example.net, 48h old, in a session: read_private: reject -> allow"},
	{"", `max_age = "0"`, "wider max_age: mail of me@example.com to agent@example.net, 48h old, in a session: read_private: reject -> allow"},
	{"", `dkim_alignment = "relaxed"`, "wider dkim_alignment: mail of me@example.com to agent@example.net, signed by a subdomain: read_public: reject -> allow"},
	{`dkim_alignment = "relaxed"`, `dkim_alignment = "any"`, "wider dkim_alignment: mail of me@example.com to agent@example.net, with a verdict of mx.example.net that names no signing domain: read_public: reject -> allow"},
	{"", `evidence = "either"`, "wider evidence: mail of me@example.com to agent@example.net, without a server's verdict, own check good: read_public: reject -> allow"},
	{"", `accept_unsigned = ["To"]`, "wider accept_unsigned: mail of me@example.com to agent@example.net, To not signed: read_public: queue_for_review -> allow"},
	{`default_action = "read_private"`, `default_action = "read_public"`, "wider default_action: mail of me@example.com to agent@example.net: read_public instead of read_private: reject -> allow"},
	{`default_action = "read_private"`, "default_action = \"read_private\"\n[[action]]\nto = \"agent@example.net\"\naction = \"read_public\"", "wider action: mail of me@example.com to agent@example.net: read_public instead of read_private: reject -> allow (new.toml:5)"},
	{`default_action = "read_private"`, "default_action = \"read_private\"\n[[action]]\nsource = \"maildir:*\"\naction = \"read_public\"", "wider action: mail of me@example.com to agent@example.net in maildir:: read_public instead of read_private: reject -> allow"},
	{`authserv_id = "mx.example.net"`, `authserv_id = ["mx.example.net", "mx.example.org"]`, "wider authserv_id: mail of me@example.com to agent@example.net, with a verdict of mx.example.org: read_public: reject -> allow"},
	{`authserv_id = "mx.example.net"`, `authserv_id = "*.example.net"`, "wider authserv_id: mail of me@example.com to agent@example.net, with a verdict of mx.a.example.net: read_public: reject -> allow"},
	{"", `verdict = "set"`, "wider verdict: mail of me@example.com to agent@example.net, with a verdict of mx.example.net in two fields: read_public: reject -> allow"},
	{`verdict = "none"`, `verdict = "microsoft"`, "wider verdict: mail of me@example.com to agent@example.net, with the verdict of Microsoft 365: read_public: reject -> allow"},
	{"[[receiver]]\nsource = \"imaps:*\"\nverdict = \"none\"", "[[receiver]]\nsource = \"imaps:*\"\nauthserv_id = \"mx.example.net\"", "wider receiver: mail of me@example.com to agent@example.net, with a verdict of mx.example.net: read_public: reject -> allow"},
	{"", "[matrix.unknown]\nallow = [\"read_public\"]", "wider matrix.unknown.allow: mail of stranger@unlisted.invalid: read_public: reject -> allow (new.toml:5)"},
	{"", "[matrix.owner_claim_unverified]\nallow = [\"read_public\"]", "wider matrix.owner_claim_unverified.allow: mail of me@example.com: read_public: reject -> allow"},
	{"", "[matrix.approved_session]\nallow = [\"read_public\", \"read_private\", \"write_local\", \"external_send\", \"destructive\"]\nrequire_owner_confirmation = [\"code_or_computer\"]",
		"wider matrix.approved_session.allow: mail of me@example.com to agent@example.net, in a session: destructive: require_owner_confirmation -> allow"},
	{"[matrix.system]\nallow = []", "[matrix.system]\nallow = [\"destructive\"]", "wider matrix.system.allow: ask of system: destructive: reject -> allow"},
	{"", "[matrix.\"me@example.com\"]\nallow = [\"read_public\", \"write_local\", \"read_private\"]\nrequire_owner_confirmation = [\"external_send\", \"destructive\", \"code_or_computer\"]",
		"wider matrix.\"me@example.com\".allow: mail of me@example.com to agent@example.net: read_private: reject -> allow (new.toml:5)"},
	{"[matrix.\"me@example.com\"]\nallow = []", "[matrix.\"ME@example.com\"]\nallow = [\"read_public\"]", "wider matrix.\"ME@example.com\".allow: mail of me@example.com to agent@example.net: read_public: reject -> allow (new.toml:5)"},
	{narrow + "[\"web.fetch\"]", narrow + "[\"web.*\"]", "wider matrix.\"me@example.com\".tools.allow: effect of system me@example.com: web.search as read_public: reject -> allow (new.toml:6)"},
	{chat + "tools.allow = []", chat, "wider platform.chat.tools.allow: effect of system in chat -100 on telegram: web.fetch as read_public: reject -> allow (old.toml:9)"},
	{"[outbound]\nallow = []", "[outbound]\nallow = [\"@b.example\"]", "wider outbound.allow: effect of system: mail.draft to someone@b.example as write_local: reject -> allow"},
	{"[outbound]\nallow = []", "", "wider outbound.allow: effect of system: mail.draft to someone@unlisted.invalid as write_local: reject -> allow (old.toml:5)"},
	{"[tools]\nprofile = \"minimal\"", "[tools]\nprofile = \"standard\"", "wider tools.profile: effect of system: web.fetch as read_public: reject -> allow"},
	{"[tools]\nprofile = \"minimal\"", "[tools]\nprofile = \"minimal\"\nallow = [\"web.*\"]", "wider tools.allow: effect of system: web.fetch as read_public: reject -> allow"},
	{"[tools]\ndeny = [\"web.*\"]", "[tools]\ndeny = [\"web.fetch\"]", "wider tools.deny: effect of system: web.search as read_public: reject -> allow"},
	{"[tools.level]\n\"web.*\" = \"owner_only\"", "[tools.level]\n\"web.f*\" = \"owner_only\"", "wider tools.level.\"web.*\": effect of external_verified: web.search as read_public: reject -> allow (old.toml:5)"},
	{"[tools]\nallow = [\"pay\"]", "[tools]\nallow = [\"pay\"]\naction.pay = \"read_public\"", "wider tools.action.pay: effect of system: pay as read_public: reject -> allow (new.toml:6)"},
	{"[exec]\nworkspace = \"/srv/agent\"\n[tools.paths]\n\"web.fetch\" = [\"f\"]", "[exec]\nworkspace = \"/srv/agent\"", "wider tools.paths.\"web.fetch\": effect of system: web.fetch as read_public: reject -> allow"},
	{"", "[exec]\nworkspace = \"/srv/agent\"", "wider exec.workspace: effect of system: fs.edit path=. as write_local: reject -> allow"},
	{"[exec]\nworkspace = \"/srv/agent\"", "[exec]\nworkspace = \"/srv\"", "wider exec.workspace: effect of system: fs.edit path=/srv as write_local: reject -> allow"},
	{space, space + "write = [\"CLAUDE.md\"]", "wider exec.write: effect of system: fs.edit path=CLAUDE.md as write_local: reject -> allow (new.toml:6)"},
	{space + "write = [\"docs/.a/*\"]", space + "write = [\"docs/*\"]", "wider exec.write: effect of system: fs.edit path=docs/.a as write_local: reject -> allow (new.toml:6)"},
	{space, space + "write = [\"docs/a\"]", "wider exec.write: effect of system: fs.edit where the workspace has a HEAD: path=docs/a as write_local: reject -> allow (new.toml:6)"},
	{space + "write = [\".*\", \"*/.*\"]", space + "write = [\"*\"]", "wider exec.write: effect of system: fs.edit where the workspace has a HEAD: path=a as write_local: reject -> allow (new.toml:6)"},
	{coding + git + "[\"log\", \"a*\"]", coding + git + "[\"log\", \"*\"]", "wider exec.allow.args: effect of system: exec [\"/usr/bin/git\" \"log\" \"\"] in . with sha256 01234567 as code_or_computer: reject -> require_owner_confirmation"},
	{coding + git + "[\"log\"]\ndir = \"/tmp\"", coding + git + "[\"log\"]\ndir = \"/tmp\"\n" + git + "[\"log\"]\ndir = \"/var\"", "wider exec.allow: effect of system: exec [\"/usr/bin/git\" \"log\"] in /var with sha256 01234567 as code_or_computer: reject -> require_owner_confirmation"},
	{coding + git + "[\"log\"]", coding + git + "[\"log\"]\n" + strings.Replace(git, "0123", "ffff", 1) + "[\"log\"]", "wider exec.allow: effect of system: exec [\"/usr/bin/git\" \"log\"] in . with sha256 ffff4567 as code_or_computer: reject -> require_owner_confirmation (new.toml:13)"},
	{coding, strings.Replace(coding, "allowlist", "full", 1), "wider exec.mode: effect of system: exec [\"/unlisted\"] in . as code_or_computer: reject -> require_owner_confirmation"},
	{"", "[[platform]]\nsource = \"telegram\"\nowner_ids = [5]", "wider platform: message of 5 on telegram: read_public: reject -> allow (new.toml:4)"},
	{"[[platform]]\nsource = \"telegram\"", "[[platform]]\nsource = \"telegram\"\nowner_ids = [5]", "wider platform.owner_ids: message of 5 on telegram: read_public: reject -> allow"},
	{"[[platform]]\nsource = \"telegram\"", "[[platform]]\nsource = \"telegram\"\nallowed_ids = [5]", "wider platform.allowed_ids: message of 5 on telegram: read_public: reject -> allow"},
	{"[[platform]]\nsource = \"telegram\"\nowner_ids = [5]\nactions = [\"write_local\"]", "[[platform]]\nsource = \"telegram\"\nowner_ids = [5]", "wider platform.actions: message of 5 on telegram: read_public: reject -> allow"},
	{"", "[[platform]]\nsource = \"webhook:/x\"", "wider platform: a signed request in webhook:/x: read_public: reject -> allow"},
	{"[[platform]]\nsource = \"webhook:/x\"", "[[platform]]\nsource = \"webhook:/x\"\ntrust = \"owner_verified_email\"", "wider platform.trust: a signed request in webhook:/x: write_local: queue_for_review -> allow"},
	{"[matrix.unknown]\nallow = [\"destructive\"]\n[[platform]]\nsource = \"webhook:/x\"\nactions = [\"read_public\"]", "[matrix.unknown]\nallow = [\"destructive\"]\n[[platform]]\nsource = \"webhook:/x\"",
		"wider platform.actions: a request without a signature in webhook:/x: destructive: reject -> allow"},
	{chat + "allowed_senders = [6]", chat + "allowed_senders = [6]\nrequire_mention = false", "wider platform.chat.require_mention: message of 6 on telegram in chat -100 without a mention: read_public: reject -> allow (new.toml:10)"},
	{chat + "enabled = false\nallowed_senders = [6]", chat + "allowed_senders = [6]", "wider platform.chat.enabled: message of 6 on telegram in chat -100: read_public: reject -> allow"},
	{chat, chat + "open_group = true", "wider platform.chat.open_group: message of 1 on telegram in chat -100: read_public: reject -> allow"},
	{chat, chat + "allowed_senders = [6]", "wider platform.chat.allowed_senders: message of 6 on telegram in chat -100: read_public: reject -> allow"},
	{"", "[limits]\nmax_per_run = 11", "wider limits.max_per_run: 10 -> 11 (new.toml:5)"},
	{"", "[limits]\nmax_per_day = 101", "wider limits.max_per_day: 100 -> 101"},
	{"", "[limits]\nper_sender_per_hour = 21", "wider limits.per_sender_per_hour: 20 -> 21"},
	{"", "[limits]\npending_per_sender = 101", "wider limits.pending_per_sender: 100 -> 101"},
	{"", "[limits]\nmax_attempts = 4", "wider limits.max_attempts: 3 -> 4"},
	{"", "[limits]\nmax_restarts = 4", "wider limits.max_restarts: 3 -> 4"},
	{"", "[limits]\nmax_closes_per_run = 9", "wider limits.max_closes_per_run: 8 -> 9"},
	{"", "[limits]\nmax_continues = 4", "wider limits.max_continues: 3 -> 4"},
	{"", "[limits]\nmax_revisions = 0", "narrower limits.max_revisions: 2 -> 0"},
	{"", "[limits]\nreview_expires = \"400h\"", "wider limits.review_expires: 336h -> 400h"},
	{"", "[limits]\nresurface = \"4d\"", "wider limits.resurface: 72h -> 96h"},
	{"[limits]\nreview_expires = \"6h\"", "[limits]\nreview_expires = \"6h\"\nresurface = \"5h\"", "wider limits.resurface: 3h -> 5h (new.toml:6)"},
	{"[limits]\nhold_after_yes = \"10m\"", "[limits]\nhold_after_yes = \"1m\"", "wider limits.hold_after_yes: 10m -> 1m (new.toml:5)"},
	{"", "[limits]\ndisk_reserve = \"1MiB\"", "wider limits.disk_reserve: 67108864 -> 1048576"},
	{"", "[outbound]\nmin_reply_interval = \"90s\"", "wider outbound.min_reply_interval: 10m -> 1m30s"},
	{"[approval]\nrequire = \"signature\"\nallowed_signers = \"/a\"", "[approval]\nrequire = \"user\"\nallowed_signers = \"/a\"", "wider approval.require: signature -> user"},
	{"[flow]\nprivate = { deny = [\"read_public\"] }", "", "wider flow.private.deny: effect of system labelled private: read_public: reject -> allow (old.toml:5)"},
	{"[flow]\nprivate = { deny = [\"read_public\"] }", "[flow]\nprivate = { confirm = [\"read_public\"] }", "wider flow.private.deny: effect of system labelled private: read_public: reject -> require_owner_confirmation (old.toml:5)"},
	{"[flow]\nuntrusted = { confirm = [\"web.*\"] }", "[flow]\nuntrusted = { confirm = [\"web.s*\"] }", "wider flow.untrusted.confirm: effect of external_verified: web.fetch as read_public: require_owner_confirmation -> allow (new.toml:5)"},
	{"[flow]\nuntrusted = { deny = [\"exec\"] }\n[exec]\nmode = \"full\"\n[tools]\nprofile = \"coding\"", "[exec]\nmode = \"full\"\n[tools]\nprofile = \"coding\"",
		"wider flow.untrusted.deny: effect of external_verified: exec [\"/unlisted\"] in . as code_or_computer: reject -> queue_for_review (old.toml:5)"},
	{"[flow]\nuntrusted = { deny = [\"write_local\"] }\n[matrix.external_verified]\nallow = []", "[flow]\nuntrusted = { deny = [\"write_local\"] }\n[matrix.external_verified]\nallow = [\"write_local\"]",
		"wider matrix.external_verified.allow: "},
	{"[flow]\nprivate = { deny = [\"web.fetch\"] }", "[flow]\nprivate = { deny = [\"web.search\"] }", "wider flow.private.deny: effect of system labelled private: web.fetch as read_public: reject -> allow (new.toml:5)"},
	{"[approval]\napprover_group = \"a\"", "", "wider approval.approver_group: a -> absent: any group will do (old.toml:5)"},
	{pair, "", "wider approval.row: action external_send; tool mail.*: 2 of ann, bob, not the author -> absent (old.toml:4)"},
	{pair, strings.Replace(pair, "= 2", "= 1", 1), "wider approval.row: action external_send; tool mail.*: count 2 -> 1 (new.toml:4)"},
	{pair, strings.Replace(pair, "true", "false", 1), "wider approval.row: action external_send; tool mail.*: not_author true -> false (new.toml:4)"},
	{pair, strings.Replace(pair, `"ann", `, `"ann", "carol", `, 1), "wider approval.row: action external_send; tool mail.*: approvers ann, bob -> ann, carol, bob (new.toml:4)"},
	{pair, strings.Replace(pair, `approvers = ["ann", "bob"]`, "", 1), "wider approval.row: action external_send; tool mail.*: approvers ann, bob -> anyone (new.toml:4)"},
	{full, "",
		"wider approval.row: action external_send; tool mail.*; target @partner.example; sender @supplier.example: 2 of ann, bob, not the author -> absent (old.toml:4)"},
	{extract + "[\"unknown\", \"external_verified\"]", extract + "[\"unknown\"]", "wider extract.require: ask of external_verified: text extract -> whole (new.toml:6)"},
	{extract + "[\"external_verified\"]", "", "wider extract.require: ask of external_verified: text extract -> whole (old.toml:6)"},
	{extract + "[\"unknown\"]", strings.Replace(extract, "request", "/900", 1) + "[\"unknown\"]", "wider extract.schema: request -> /900: 800 -> 900 bytes of free text (new.toml:5)"},
}

const pair = "[[approval.row]]\naction = [\"external_send\"]\ntool = [\"mail.*\"]\ncount = 2\nnot_author = true\napprovers = [\"ann\", \"bob\"]"

const full = pair + "\ntarget = [\"@partner.example\"]\nsender = [\"@supplier.example\"]"

const extract = "[extract]\nschema = \"request\"\nrequire = "

// schemas knows request, and files by the bytes of free text that they let through.
func schemas(p *policy.Policy) (*schema.Schema, error) {
	name := p.Extract.Schema
	if name == "request" || name == "/copy" {
		return &schema.Schema{Free: 800, Digest: "request"}, nil
	}
	free, err := strconv.Atoi(name[1:])
	return &schema.Schema{Free: free, Digest: name}, err
}

// TestSchemas: a schema that lets more text through is wider; of others nothing is known, which counts as wider.
func TestSchemas(t *testing.T) {
	named := func(name string) *policy.Policy {
		return parse(t, name, under(strings.Replace(extract, "request", name, 1)+"[\"unknown\"]"))
	}
	for _, c := range []struct {
		old, new, line string
		wider          bool
	}{
		{"request", "/copy", "", false},
		{"request", "/801", "wider extract.schema: request -> /801: 800 -> 801 bytes of free text (/801:5)\n", true},
		{"/900", "request", "other extract.schema: /900 -> request: 900 -> 800 bytes of free text; what else fits, more or less, is not compared (request:5)\n", true},
		{"/800", "request", "other extract.schema: /800 -> request: 800 -> 800 bytes of free text; what else fits, more or less, is not compared (request:5)\n", true},
		{"/x", "request", "other extract.schema: /x -> request was not compared: strconv.Atoi: parsing \"x\": invalid syntax (request:5)\n", true},
		{"request", "/x", "other extract.schema: request -> /x was not compared: strconv.Atoi: parsing \"x\": invalid syntax (/x:5)\n", true},
	} {
		list := diff(named(c.old), named(c.new))
		if show(list) != c.line || len(list) > 0 && list[0].Wider() != c.wider {
			t.Errorf("%s -> %s:\n%swant\n%s", c.old, c.new, show(list), c.line)
		}
	}
}

func parse(t testing.TB, name, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse(name, []byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return p
}

// under puts keys before the rest of the base, and in place of those that it has.
func under(keys string) string {
	head := ""
	for line := range strings.Lines(base) {
		name, _, _ := strings.Cut(line, " =")
		nameless := name == "authserv_id" && strings.HasPrefix(keys, "verdict = ") && !strings.HasPrefix(keys, `verdict = "set"`)
		if !nameless && !strings.Contains("\n"+keys, "\n"+name+" =") {
			head += line
		}
	}
	top, tables, found := strings.Cut("\n"+keys, "\n[")
	if found {
		tables = "[" + tables
	}
	return strings.TrimPrefix(top+"\n", "\n") + head + tables + "\n"
}

func diff(old, new *policy.Policy) []Difference { return Policies(old, new, schemas) }

func show(list []Difference) string {
	var b strings.Builder
	for i := range list {
		b.WriteString(list[i].String() + "\n")
	}
	return b.String()
}

// TestEveryKey: a key that is widened is named, with its line, first; the other way round
// it is narrower.
func TestEveryKey(t *testing.T) {
	for _, c := range widenings {
		old, new := parse(t, "old.toml", under(c.old)), parse(t, "new.toml", under(c.new))
		list := diff(old, new)
		first, _, _ := strings.Cut(show(list), "\n")
		if c.line == "" && len(list) > 0 || !strings.HasPrefix(first, c.line) {
			t.Errorf("%s\n=>\n%s\n%swant %s", c.old, c.new, show(list), c.line)
		}
		back := diff(new, old)
		if mirrored(list) != mirrored(turned(back)) {
			t.Errorf("%s\n=>\n%s\n%sand back\n%s", c.old, c.new, show(list), show(back))
		}
	}
}

// mirrored says which ways records go.
func mirrored(list []Difference) string {
	ways := map[Direction]bool{}
	for _, d := range list {
		ways[d.Direction] = ways[d.Direction] || d.Witness != nil
	}
	return strings.Join([]string{yes(ways[Wider]), yes(ways[Narrower]), yes(ways[Other])}, " ")
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func turned(list []Difference) []Difference {
	list = slices.Clone(list)
	for i := range list {
		list[i].Direction = map[Direction]Direction{Wider: Narrower, Narrower: Wider, Other: Other}[list[i].Direction]
	}
	return list
}

// TestNoKeyIsForgotten: each field of a policy is one that some policies above differ in,
// so whoever adds a key has to say what is wider.
func TestNoKeyIsForgotten(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range append(widenings, others...) {
		touched(seen, "", reflect.ValueOf(*parse(t, "old.toml", under(c.old))), reflect.ValueOf(*parse(t, "new.toml", under(c.new))))
	}
	for _, field := range leaves("", reflect.TypeFor[policy.Policy]()) {
		if !seen[field] && !slices.Contains([]string{".Name", ".Digest", ".Exec.Allow.Path"}, field) {
			t.Errorf("nothing compares Policy%s", field)
		}
	}
}

// touched notes the fields in which two values differ. Lists of tables are compared by
// their first elements.
func touched(seen map[string]bool, at string, a, b reflect.Value) {
	seen[at] = seen[at] || !reflect.DeepEqual(a.Interface(), b.Interface())
	switch a.Kind() {
	case reflect.Struct:
		for i, f := range reflect.VisibleFields(a.Type()) {
			if f.IsExported() {
				touched(seen, at+"."+f.Name, a.Field(i), b.Field(i))
			}
		}
	case reflect.Slice:
		if a.Type().Elem().Kind() == reflect.Struct && a.Len() > 0 && b.Len() > 0 {
			touched(seen, at, a.Index(0), b.Index(0))
		}
	}
}

func leaves(at string, t reflect.Type) (list []string) {
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return []string{at}
	}
	for _, f := range reflect.VisibleFields(t) {
		if f.IsExported() {
			list = append(list, leaves(at+"."+f.Name, f.Type)...)
		}
	}
	return list
}

// others hold differences that are neither wider nor narrower, or both, and policies that
// are equal.
var others = []struct{ old, new, line string }{
	{"", `max_age = "2d"`, ""},
	{`owners = ["a@example.com", "b@example.com"]`, `owners = ["B@example.com", "a@example.com"]`, ""},
	{`authserv_id = "mx.example.net"`, "authserv_id = [\"mx.example.net\"]\n[[receiver]]\nsource = \"*\"\nauthserv_id = \"mx.example.net\"", ""},
	{"[tools]\nprofile = \"standard\"", "[tools]\nallow = [\"web.fetch\", \"fs.read\"]", ""},
	{"[tools]\nprofile = \"minimal\"", "[tools]\nprofile = \"minimal\"\ndeny = [\"web.*\", \"pay\"]", ""},
	{"[tools]\nprofile = \"minimal\"\ndeny = [\"web.*\"]", "[tools]\nprofile = \"minimal\"\ndeny = [\"web.*\"]\nallow = [\"web.fetch\"]", ""},
	{"[exec]\nworkspace = \"/srv/agent\"", "[exec]\nworkspace = \"/srv/agent/\"", ""},
	{coding + git + "[\"log\"]", coding + git + "[\"log\"]\n" + git + "[\"log\"]", ""},
	{coding + git + "[\"log\", \"*\"]", coding + git + "[\"log\", \"a*\"]\n" + git + "[\"log\", \"*\"]", ""},
	{"[[platform]]\nsource = \"telegram\"", "", ""},
	{"[exec]\nworkspace = \"/srv\"", "[exec]\nworkspace = \"/home\"", "wider narrower"},
	{"", `evidence = "dkim"`, "wider narrower other"},
	{"", "[outbound]\nscheme = \"telegram\"", "narrower other"},
	{"", "[drafts]\nfor = []", "other"},
	{"", `default_action = "write_local"`, "other"},
	{"[matrix.external_verified]\nqueue_for_review = [\"destructive\"]", "[matrix.external_verified]\nrequire_owner_confirmation = [\"destructive\"]", "other"},
	{"", "[approval]\nallowed_signers = \"/a\"", "wider"},
	{"[approval]\nallowed_signers = \"/a\"", "[approval]\nallowed_signers = \"/b\"", "other"},
	{"[outbound]\nallow = [\"Someone@example.org\"]", "[outbound]\nallow = [\"@example.org\"]", "wider"},
	{"[matrix.\"@example.org\"]\ntools.allow = []", "[matrix.\"a@example.org\"]\n[matrix.\"@example.org\"]\ntools.allow = []", "wider"},
	{"", "[approval]\nledger = \"/a\"", "other"},
	{"[approval]\napprover_group = \"a\"", "[approval]\napprover_group = \"b\"", "other"},
	{full, strings.Replace(full, "external_send", "destructive", 1), "wider narrower"},
	{full, strings.Replace(full, "mail.*", "web.*", 1), "wider narrower"},
	{full, strings.Replace(full, "@partner", "@other", 1), "wider narrower"},
	{full, strings.Replace(full, "@supplier", "@other", 1), "wider narrower"},
	{"", "[limits]\nkeep_refused = \"14d\"", "other"},
	{"[flow]\nprivate = { deny = [\"web.*\"] }", "[flow]\nprivate = { deny = [\"web.*\", \"web.fetch\"], confirm = [\"web.*\"] }", ""},
	{"", "[flow]\nprivate = { confirm = [\"external_send\", \"destructive\"] }", "narrower"},
	{"[[receiver]]\nsource = \"imaps:*\"\nauthserv_id = \"a\"", "[[receiver]]\nsource = \"*\"\nauthserv_id = \"a\"", "wider other"},
	{"[[action]]\nto = \"a@example.net\"\nsource=\"x*\"\naction = \"destructive\"", "[[action]]\nto = \"b@example.net\"\nsource=\"y*\"\naction = \"write_local\"", ""},
	{"[[platform]]\nsource = \"a\"", "[[platform]]\nsource = \"b\"", ""},
	{chat, strings.Replace(chat, "-100", "-200", 1), ""},
	{coding + git + "[\"log\"]", strings.Replace(coding, "standard", "full", 1) + strings.Replace(git, "0123", "ffff", 1) + "[\"log\"]\ndir = \"/a\"", "wider narrower"},
	{"[matrix.\"a@b.example\"]", "[matrix.\"c@d.example\"]", "wider narrower"},
}

func TestOthers(t *testing.T) {
	for _, c := range others {
		var ways []string
		list := diff(parse(t, "old.toml", under(c.old)), parse(t, "new.toml", under(c.new)))
		for _, d := range list {
			ways = append(ways, string(d.Direction))
		}
		if got := strings.Join(slices.Compact(ways), " "); got != c.line {
			t.Errorf("%s\n=>\n%s\n%swant %s", c.old, c.new, show(list), c.line)
		}
	}
}

// TestAudience: what lets more people know what was read in private is wider, and narrower the other
// way round, with a message that shows it as the witness.
func TestAudience(t *testing.T) {
	const (
		two  = "owners = [\"me@example.com\", \"new@example.com\"]\n"
		open = "[outbound]\nallow = []\n"
		mine = "[outbound]\nallow = [\"me@example.com\"]\n"
		to   = "to new@example.com as external_send: reject -> require_owner_confirmation"
	)
	const none = "[matrix.\"new@example.com\"]\nallow = []\n[matrix.approved_session]\nallow = []\n" // the mail of whom is rejected in any case
	deny := func(entry string) string { return "[flow]\nprivate = { deny = [\"" + entry + "\"] }\n" + none }
	for _, c := range []struct{ old, new, line, witness string }{
		{deny("external_send"), two + deny("external_send"), "wider owners: effect of system labelled private, seen by new@example.com to new@example.com: external_send: reject -> require_owner_confirmation (new.toml:1)",
			`"labels":["private"],"labelled":[{"label":"private"}],"audience":["new@example.com"]},"request":{"action":"external_send","target":["new@example.com"]}}`},
		{deny("mail.send"), two + deny("mail.send"), "wider owners: effect of system labelled private, seen by new@example.com: mail.send " + to, ""},
		{deny("mail.draft"), two + deny("mail.draft"), "wider owners: effect of system labelled private, seen by new@example.com: mail.draft to new@example.com as write_local: reject -> allow", ""},
		{strings.Replace(deny("external_send"), "deny", "confirm", 1), two + strings.Replace(deny("external_send"), "deny", "confirm", 1),
			"wider owners: effect of system labelled private, seen by new@example.com to new@example.com: grants excluded -> suffice", ""},
		{deny("mail.send") + "[tools]\naction.\"mail.*\" = \"read_private\"\n", deny("mail.send"),
			"wider tools.action: effect of system labelled private, seen by me@example.com: mail.send to me@example.com as external_send: reject -> require_owner_confirmation", ""},
		{open + deny("external_send"), mine + deny("external_send"), "wider outbound.allow: effect of system to me@example.com: destructive: reject -> require_owner_confirmation", ""},
	} {
		old, new := parse(t, "old.toml", under(c.old)), parse(t, "new.toml", under(c.new))
		list := diff(old, new)
		at := slices.IndexFunc(list, func(d Difference) bool { return strings.HasPrefix(d.String(), c.line) })
		if at < 0 {
			t.Errorf("%s\n=>\n%s\n%swant %s", c.old, c.new, show(list), c.line)
			continue
		}
		if !strings.HasSuffix(string(list[at].Witness), c.witness) {
			t.Errorf("%s: witness %s", c.line, list[at].Witness)
		}
		if back := diff(new, old); mirrored(list) != mirrored(turned(back)) {
			t.Errorf("%s\n=>\n%s\n%sand back\n%s", c.old, c.new, show(list), show(back))
		}
	}
}

// TestWitness: what is printed as JSON is a record, and the outcome is one that its bytes
// have.
func TestWitness(t *testing.T) {
	for _, c := range widenings {
		for _, d := range diff(parse(t, "old.toml", under(c.old)), parse(t, "new.toml", under(c.new))) {
			var it struct {
				Direction, Key, What, Old, New string
				Witness                        map[string]any
			}
			if err := json.Unmarshal(d.Append(nil), &it); err != nil {
				t.Errorf("%s: %v", d.Append(nil), err)
			}
			if (it.Old == "") != (it.Witness == nil) || it.Direction == "" || it.Key == "" || it.What == "" {
				t.Errorf("%s", d.Append(nil))
			}
		}
	}
}
