package compare_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"time"

	"pulse/lib/authorize/compare"
	"pulse/lib/authorize/decision"
	"pulse/lib/authorize/tools"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/address"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/label"
	"pulse/lib/shared/peer"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
)

// origin is what an identity is made of: a message, or the identity that stands in a
// record without one, which pulse-authorize believes.
type origin struct {
	message *envelope.Message
	session string // whose session is live; empty: there is none
	given   *identity.Identity
}

// identity returns who asks under a policy.
func (o *origin) identity(p *policy.Policy) identity.Identity {
	if o.message == nil {
		return *o.given
	}
	if o.session == "" {
		return identity.Classify(o.message, p)
	}
	return identity.Classify(o.message, p, approval.Session{
		ID: "s", Sender: o.session, Max: 9, Left: 9, Level: approval.Signature,
		Opened: o.message.Fetched.Add(-400 * 24 * time.Hour), Expires: o.message.Fetched.Add(24 * time.Hour),
	})
}

// facts are all that Decide reads of an origin.
type facts struct {
	sender                             string
	trust                              terms.Trust
	verified, stale, automatic, effect bool
	bulk                               bool
	unsigned                           identity.Fields
	unchecked                          bool
	chat                               peer.ID
	labels                             string
	source, recipients                 string
}

// party is an origin, and what each policy makes of it.
type party struct {
	origin
	ids [2]identity.Identity
}

// input returns what is decided on under the nth policy.
func (p *party) input(n int, policies [2]*policy.Policy) decision.Input {
	in := decision.Input{Identity: &p.ids[n], Policy: policies[n]}
	if p.message != nil {
		in.Source, in.Recipients = p.message.Source, identity.Recipients(p.message)
	}
	return in
}

func (p *party) facts(n int, policies [2]*policy.Policy) facts {
	id := &p.ids[n]
	f := facts{
		sender: id.Sender, trust: id.Trust, verified: id.Verified, stale: id.Stale, automatic: id.Automatic,
		effect: id.Effect(), bulk: id.Bulk, unsigned: id.Unsigned, chat: id.Chat, labels: fmt.Sprint(id.Labels.Words(), id.Audience.Words()),
		unchecked: id.Unchecked(policies[n]) != terms.Unknown,
	}
	if p.message != nil {
		in := p.input(n, policies)
		f.source, f.recipients = in.Source, strings.Join(in.Recipients, ",")
	}
	return f
}

// space is the part of all records that two policies can tell apart.
type space struct {
	policies [2]*policy.Policy
	r        *rand.Rand
	most     int // records of each kind; beyond that, some at random
	asked    []*request.Request
	asks     []party
	effects  []party
	known    map[[2]facts]bool
	found    map[[2]terms.Outcome]string  // one record for each change of the outcome
	beyond   map[compare.Direction]string // one record of which more than the decision goes that way
	workers  map[string]bool
	decided  int
}

func (s *space) add(o origin) {
	p := party{origin: o}
	for n := range s.policies {
		p.ids[n] = o.identity(s.policies[n])
	}
	key := [2]facts{p.facts(0, s.policies), p.facts(1, s.policies)}
	if s.known[key] {
		return
	}
	s.known[key] = true
	if o.given != nil && o.given.Effect() {
		s.effects = append(s.effects, p)
	} else {
		s.asks = append(s.asks, p)
	}
}

// look decides all records of the space, or as many as it may.
func look(old, new *policy.Policy, most int, seed int64) *space {
	s := &space{policies: [2]*policy.Policy{old, new}, r: rand.New(rand.NewSource(seed)), most: most,
		known: map[[2]facts]bool{}, found: map[[2]terms.Outcome]string{}, beyond: map[compare.Direction]string{}, workers: map[string]bool{}}
	s.asked = []*request.Request{nil}
	for _, a := range append([]terms.Action{"fly"}, terms.Actions...) {
		s.asked = append(s.asked, &request.Request{Action: a})
	}
	s.letters()
	s.chats()
	s.given()
	for i := range s.asks {
		for _, r := range s.asked {
			if r != nil || s.asks[i].message != nil { // a record has one of the two
				s.decide(&s.asks[i], r, nil)
			}
		}
	}
	s.wishes()
	return s
}

func (s *space) decide(p *party, r *request.Request, w tools.World) {
	var got [2]terms.Outcome
	var ds [2]decision.Decision
	for n := range s.policies {
		in := p.input(n, s.policies)
		in.Request, in.World = r, w
		ds[n] = decision.Decide(in)
		got[n] = ds[n].Outcome
	}
	s.decided++
	s.follows(p, ds, func() string { return p.show(r, w) })
	if _, ok := s.found[got]; !ok && got[0] != got[1] {
		s.found[got] = p.show(r, w)
	}
}

// show writes a record for people.
func (p *party) show(r *request.Request, w tools.World) string {
	var o record.Object
	if p.message != nil {
		o.Raw(envelope.Member, p.message.Append(nil))
	} else {
		o.Raw(identity.Member, p.given.Append(nil))
	}
	if r != nil {
		o.Raw(request.Member, []byte(fmt.Sprintf(`{"action":%q,"tool":%q,"args":%q,"target":%q}`, r.Action, r.Tool, r.Args, r.Target)))
	}
	return fmt.Sprintf("%s session %q, %s and %s, %v", o.Bytes(), p.session, p.ids[0].Trust, p.ids[1].Trust, w)
}

// letters adds mail.
func (s *space) letters() {
	c := choicesOf(s.policies[:]...)
	sizes := []int{len(c.from), len(c.source), len(c.proof), len(c.dkim), len(c.signed), len(c.age), len(c.date), len(c.automatic), len(c.to), len(c.session)}
	s.walk(sizes, func(i []int) {
		m := mail{c.from[i[0]], c.source[i[1]], c.proof[i[2]], c.dkim[i[3]], c.signed[i[4]], c.age[i[5]], c.date[i[6]], c.automatic[i[7]], c.to[i[8]], c.session[i[9]]}
		o := origin{message: m.message()}
		if m.session {
			o.session = m.from
		}
		s.add(o)
	})
}

// walk calls fn for all combinations, or for some at random in which many a choice is
// the first.
func (s *space) walk(sizes []int, fn func([]int)) {
	all := 1
	for _, n := range sizes {
		all *= n
	}
	at := make([]int, len(sizes))
	if all > s.most {
		for range s.most {
			for i, n := range sizes {
				if at[i] = 0; i < 3 || s.r.Intn(2) == 0 {
					at[i] = s.r.Intn(n)
				}
			}
			fn(at)
		}
		return
	}
	for k := range all {
		for i, n := range sizes {
			at[i] = k % n
			k /= n
		}
		fn(at)
	}
}

// chats adds messages of chat platforms and webhooks.
func (s *space) chats() {
	for _, source := range slices.Concat(platforms, hooks) {
		if s.policies[0].Platform(source) == nil && s.policies[1].Platform(source) == nil {
			continue
		}
		for _, age := range []time.Duration{time.Minute, 2 * time.Hour, 72 * time.Hour} {
			m := envelope.Message{Source: source, ID: "1", Fetched: now, Received: now.Add(-age)}
			if strings.HasPrefix(source, policy.WebhookPrefix) {
				for _, result := range []envelope.WebhookResult{envelope.WebhookPass, envelope.WebhookFail} {
					m := m
					m.Webhook = &envelope.Webhook{Result: result}
					s.add(origin{message: &m})
				}
			}
			for _, sender := range chatters() {
				m := m
				m.Sender = &sender
				if strings.HasPrefix(source, policy.WebhookPrefix) {
					m.Webhook = &envelope.Webhook{Result: envelope.WebhookPass, Scheme: envelope.WebhookGitHub, Timestamp: m.Received}
				}
				s.add(origin{message: &m})
			}
		}
	}
}

// chatters returns everyone who may write on a platform. Number 9 and chat -900 stand
// in no policy.
func chatters() (out []envelope.Sender) {
	for _, id := range append([]peer.ID{"9"}, ids...) {
		for _, chat := range append([]peer.ID{"", "-900"}, groups...) {
			for _, bot := range []bool{false, true} {
				for _, mentioned := range []bool{false, true} {
					out = append(out, envelope.Sender{ID: id, Chat: chat, Bot: bot, Mentioned: mentioned})
				}
			}
		}
	}
	return out
}

// givers returns whom identities can name: by mail, on platforms, and by webhook.
func (s *space) givers() (mail, others []string, chats []peer.ID) {
	mail, chats = choicesOf(s.policies[:]...).from, []peer.ID{""}
	for _, source := range slices.Concat(platforms, hooks) {
		switch {
		case s.policies[0].Platform(source) == nil && s.policies[1].Platform(source) == nil:
		case strings.HasPrefix(source, policy.WebhookPrefix):
			others = append(others, source)
			fallthrough
		default:
			chats = append([]peer.ID{"", "-900"}, groups...)
			for _, n := range append([]peer.ID{"9"}, ids...) {
				others = append(others, source+":"+string(n))
			}
		}
	}
	return mail, others, chats
}

// given adds what has an identity and no message: asks and effects.
func (s *space) given() {
	mail, others, chats := s.givers()
	add := func(id identity.Identity) {
		id.Verified, id.Reason = true, "given"
		effect := id
		effect.Via, effect.Parent, effect.Root = identity.ViaAgent, "p", "p"
		automatic, bulk := effect, effect
		automatic.Automatic, bulk.Bulk = true, true
		for _, given := range []*identity.Identity{&id, &effect, &automatic, &bulk} {
			s.add(origin{given: given})
		}
		if len(s.policies[0].Flow)+len(s.policies[1].Flow) == 0 {
			return
		}
		for _, words := range [][]string{{"private"}, {"untrusted"}, {"private", "untrusted"}} {
			for _, seen := range audiences {
				labelled := effect
				labelled.Labels, _ = labelled.Labels.Named(words)
				labelled.Audience = seen
				s.add(origin{given: &labelled})
			}
		}
	}
	for _, t := range terms.TrustLevels {
		for _, sender := range mail {
			if s.plausible(t, sender) {
				add(identity.Identity{Trust: t, Sender: sender})
			}
		}
		if t == terms.OwnerClaim || t == terms.ApprovedSession || t == terms.System {
			continue
		}
		for _, sender := range others {
			for _, chat := range chats {
				add(identity.Identity{Trust: t, Sender: sender, Chat: chat})
			}
		}
	}
	s.add(origin{given: &identity.Identity{Trust: terms.System, Via: identity.ViaSubmit}})
}

// private reports whether one of the policies says anything about what was read in private.
func (s *space) private() bool {
	return slices.ContainsFunc(s.policies[:], func(p *policy.Policy) bool { _, ok := p.Flow[label.Private]; return ok })
}

// plausible reports whether a record can say that a sender has this trust: if one of the
// policies gives it, or if neither lists the sender, so that a third one did.
func (s *space) plausible(t terms.Trust, sender string) bool {
	unlisted := true
	for _, p := range s.policies {
		owner, external := address.Listed(p.Owners, sender), address.Listed(p.AllowedExternal, sender)
		if owner && (t == terms.OwnerVerifiedEmail || t == terms.OwnerClaim || t == terms.ApprovedSession) ||
			external && !owner && t == terms.ExternalVerified {
			return true
		}
		unlisted = unlisted && !owner && !external
	}
	return unlisted || t == terms.Unknown || t == terms.System
}

// wishes decides what effects may ask for: a tool with its paths and targets, or a
// program.
func (s *space) wishes() {
	calls := []string{"", `{}`, `{"path":"ok"}`, `{"path":".a"}`, `{"path":"a/.b"}`, `{"to":"/srv/a/.a"}`, `{"path":"CLAUDE.md"}`, `{"path":"a/CLAUDE.md"}`, `{"path":"/srv/a/x"}`, `{"path":"/srv/b/x"}`, `{"from":"ok"}`, `{"to":"ok"}`, `{"path":"ok","from":"ok","to":"ok"}`}
	envelopes := [][]string{{"bob@partner.example"}, nil, {"me@example.com"}, {"x@other.example"}, {"bob@partner.example", "x@other.example"},
		{"TEL:+493090182000"}, {"slack:C024BE7LH"}, {"https://hooks.example.com/a/b"}, {"https://hooks.example.com/a/someone/b"}, {"https://hooks.example.com/A/b"}}
	if !s.policies[0].Outbound.Restricted && !s.policies[1].Outbound.Restricted {
		envelopes = envelopes[:2]
	}
	if s.private() {
		for _, a := range persons {
			envelopes = append(envelopes, []string{a}, []string{strings.ToUpper(a), persons[0]})
		}
	}
	if s.policies[0].Outbound.Scheme != s.policies[1].Outbound.Scheme {
		envelopes = append(envelopes, []string{"42"}, []string{"telegram:42"}, []string{"042"})
	}
	worlds := []tools.World{machine(sums[0])}
	if len(s.policies[0].Exec.Write)+len(s.policies[1].Exec.Write) > 0 {
		worlds = append(worlds, repository{machine(sums[0])})
	}
	all := append([]string{"", "pay.list.x", "zzz", "Zzz"}, names...)
	s.walk([]int{len(s.effects), len(all), len(terms.Actions), len(calls), len(envelopes), len(worlds)}, func(i []int) {
		s.decide(&s.effects[i[0]], &request.Request{Tool: all[i[1]], Action: terms.Actions[i[2]], Args: record.Value(calls[i[3]]), Target: envelopes[i[4]]}, worlds[i[5]])
	})
	if s.policies[0].Exec.Mode == "deny" && s.policies[1].Exec.Mode == "deny" {
		return
	}
	args := []string{"", "b", "-x", "ab", "a/b", "a/c", "--out=z", "x/.."}
	where := []string{"ok", "/srv/a", "/srv/b", "/srv/d", "/srv/a/x"}
	more := append([]string{"/opt/c"}, programs...)
	tool := []string{"exec", "", "fs.read"}
	s.walk([]int{len(s.effects), len(more), len(args) + 1, len(args) + 1, len(where), len(sums), len(tool)}, func(i []int) {
		argv := []string{fmt.Sprintf("%q", more[i[1]])}
		for _, n := range i[2:4] {
			if n < len(args) {
				argv = append(argv, fmt.Sprintf("%q", args[n]))
			}
		}
		call := fmt.Sprintf(`{"argv":[%s],"dir":%q}`, strings.Join(argv, ","), where[i[4]])
		s.decide(&s.effects[i[0]], &request.Request{Tool: tool[i[6]], Action: terms.CodeOrComputer, Args: record.Value(call)}, machine(sums[i[5]]))
	})
}

// machine is a machine on which all workspaces exist with all that is named below them,
// and on which all programs have one digest.
type machine string

var errNot = errors.New("not here")

func (machine) Path(space, name string) (tools.Place, error) {
	if strings.HasPrefix(name, "/") && name != space && !strings.HasPrefix(name, space+"/") || strings.Contains(name, "..") {
		return tools.Place{}, errNot
	}
	real := strings.Trim(strings.TrimPrefix(name, space), "/")
	return tools.Place{Given: real, Real: cmp.Or(real, ".")}, nil
}

func (m machine) Dir(space, name string) error {
	_, err := m.Path(space, name)
	return err
}

func (m machine) Program(string) (tools.Program, error) {
	return tools.Program{SHA256: string(m)}, nil
}
