// Package policy decodes and validates the policy file (pulse-policy(5)). It decides
// nothing.
//
// Invariant: a Policy that Parse returns is valid. For a file with an unknown key, a
// wrong type or a value out of range there is no Policy, and the error names file and
// line. Caveat: keys are matched byte for byte, though the TOML library would fold case.
package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"pulse/lib/shared/label"
	"pulse/lib/shared/peer"
	"pulse/lib/shared/terms"
)

// MaxSize bounds a policy file, in bytes.
const MaxSize = 1 << 20

// Alignment says how the domain of a DKIM signature must relate to that of From.
type Alignment string

// The alignments of dkim_alignment.
const (
	Strict  Alignment = "strict"  // the same domain
	Relaxed Alignment = "relaxed" // the same, its parent or its child
	Any     Alignment = "any"     // not compared
)

// Evidence says what proves a sender.
type Evidence string

// The values of evidence.
const (
	ByAuthRes Evidence = "authres" // the receiver's Authentication-Results
	ByDKIM    Evidence = "dkim"    // pulse's own verification
	ByBoth    Evidence = "both"
	ByEither  Evidence = "either" // the receiver's where there is a pinned verdict, else pulse's own
)

// Verdict says which Authentication-Results fields of a receiver are believed, and how
// they are read (pulse-classify(1)).
type Verdict string

// The values of verdict.
const (
	ByFirst     Verdict = "first"     // the topmost field decides
	BySet       Verdict = "set"       // all fields of the receiver, wherever they stand
	ByMicrosoft Verdict = "microsoft" // the one field of Microsoft 365, which names no server
	ByNone      Verdict = "none"      // no field
)

// unsignedFields are the header fields that identity.unsigned can name.
var unsignedFields = []string{"To", "Cc", "Subject", "Date", "Message-ID"}

// Policy is a valid policy file.
type Policy struct {
	Name   string // name of the file, for messages
	Digest string // "sha256:" and the hex digest of the file's bytes

	AuthservIDs     []string // of every source, if there are no Receivers
	Verdict         Verdict  // likewise
	Receivers       []Receiver
	Owners          []string
	AllowedExternal []string // addresses and @domain
	AcceptAutomatic []string
	Recipients      []string      // nil: not checked
	MaxAge          time.Duration // 0: not checked
	DKIMAlignment   Alignment
	Evidence        Evidence
	AcceptUnsigned  []string // of unsignedFields: believed although no signature covers them
	DefaultAction   terms.Action
	ActionRules     []ActionRule
	Matrix          map[terms.Trust]Row // all trust levels; Row says which row counts
	Senders         []SenderRow         // rows of one sender or domain, in the order of the file
	Limits          Limits
	Outbound        Outbound
	Drafts          []terms.Action // of effects beside which a draft is written; not nil
	Tools           Tools
	Exec            Exec
	Approval        Approval
	Platforms       []Platform
	Extract         Extract
	Flow            map[label.Label]Flow
}

// ActionRule gives mail an action by its envelope; every field set must match.
type ActionRule struct {
	To     string // the only recipient
	Source string // * stands for anything
	Action terms.Action
}

// Limits is [limits].
type Limits struct {
	MaxPerRun        int
	MaxPerDay        int
	PerSenderPerHour int
	PendingPerSender int
	MaxAttempts      int
	MaxRestarts      int
	MaxClosesPerRun  int
	MaxContinues     int // how often an ask goes on after its effects have ended
	MaxRevisions     int // how often a person may have it done again
	ReviewExpires    time.Duration
	Resurface        time.Duration // shorter than ReviewExpires
	HoldAfterYes     time.Duration // a yes starts nothing before it is over; 0: at once
	DiskReserve      int64         // bytes
	KeepRefused      time.Duration // how long records of refused mail are kept; 0: not at all
}

// Outbound is [outbound].
type Outbound struct {
	Restricted       bool     // allow is present
	Allow            []string // addresses, @domain, and targets with a scheme in the form of address.Entry
	Scheme           string   // of a target that is a bare number; empty: it is only a name
	MinReplyInterval time.Duration
}

// Extract is [extract].
type Extract struct {
	Schema  string        // absolute path of the schema; empty: there is none, and nothing is extracted
	Require []terms.Trust // of whose tasks a worker gets an extract, and no text
}

// Tools is [tools].
type Tools struct {
	Profile     string
	Allow, Deny []string                // globs
	Level       map[string]string       // glob to open, owner_only or approval_required
	Action      map[string]terms.Action // glob to the weakest action that a request naming the tool may have
	Paths       map[string][]string     // glob to the args that are paths in the workspace
}

// Exec is [exec].
type Exec struct {
	Mode      string   // deny, allowlist or full
	Workspace string   // absolute, or empty
	Write     []string // globs of paths in the workspace that may be written although they configure the next run
	Allow     []Program
}

// Program is an [[exec.allow]]: one program, and how it may be called.
type Program struct {
	Path   string   // absolute
	SHA256 string   // of the file, in hex
	Args   []string // a glob for each argument; see tools.Judge
	Dir    string   // absolute; empty: any directory of the workspace
}

// Approval is [approval].
type Approval struct {
	Require        string // terminal, user or signature
	AllowedSigners string // absolute path; set where Require is signature
	Ledger         string // absolute path of the ledger of spent signatures
	ApproverGroup  string // the group that a queue must have where Require is user; empty: any
	Rows           []ApprovalRow
}

// ApprovalRow is an [[approval.row]]: whose yes a task needs. It is about what matches every list
// that it has, and all rows about a task count.
type ApprovalRow struct {
	Actions   []terms.Action
	Tools     []string // globs
	Targets   []string // entries as those of outbound.allow; one target is enough
	Senders   []string // of the ask: addresses and @domain
	Approvers []string // names of accounts, of logins or of allowed_signers, each of one person; nil: anyone who may say yes
	Count     int      // how many persons have to say yes, 1 or 2
	NotAuthor bool     // none of them is the sender of the ask
}

// Platform is a source whose server vouches for sender ids, or a spool of HTTP
// requests, each of which is vouched for by its signature.
type Platform struct {
	Source               string
	OwnerIDs, AllowedIDs []peer.ID
	Chats                []Chat
	Trust                terms.Trust    // webhooks without ids and chats only: the trust in a holder of the secret
	Actions              []terms.Action // what may be asked for; nil: whatever the matrix allows
}

// WebhookPrefix begins message.source of HTTP requests, and platform.source for them.
const WebhookPrefix = "webhook:"

// Webhook reports whether the platform is a spool of requests.
func (pl *Platform) Webhook() bool { return strings.HasPrefix(pl.Source, WebhookPrefix) }

// Chat is a [[platform.chat]].
type Chat struct {
	ID             peer.ID
	Enabled        bool
	OpenGroup      bool      // every member may ask, as a listed external sender
	RequireMention bool      // only messages that address the agent count
	AllowedSenders []peer.ID // senders that may ask in it, besides the platform's allowed_ids
	Tools          []string  // globs of the tools that effects of the chat may use; nil: not narrowed
}

// Default returns the policy that applies where a policy file is silent. It names no
// owner and no receiver, so no sender is verified under it.
func Default() *Policy {
	return &Policy{
		MaxAge:        48 * time.Hour,
		DKIMAlignment: Strict,
		Evidence:      ByAuthRes,
		Verdict:       ByFirst,
		DefaultAction: terms.ReadPublic,
		Matrix:        defaultMatrix(),
		Limits: Limits{
			MaxPerRun: 10, MaxPerDay: 100, PerSenderPerHour: 20, PendingPerSender: 100,
			MaxAttempts: 3, MaxRestarts: 3, MaxClosesPerRun: 8, MaxContinues: 3, MaxRevisions: 2,
			ReviewExpires: 14 * 24 * time.Hour, Resurface: defaultResurface, DiskReserve: 64 << 20,
		},
		Outbound: Outbound{MinReplyInterval: 10 * time.Minute},
		Drafts:   []terms.Action{terms.ExternalSend},
		Tools:    Tools{Profile: "standard"},
		Exec:     Exec{Mode: "deny"},
		Approval: Approval{Require: "terminal", Ledger: "/var/lib/pulse/nonces"},
	}
}

func defaultMatrix() map[terms.Trust]Row {
	const allow, confirm, review = terms.Allow, terms.Confirm, terms.Review
	all := Row{}
	for _, a := range terms.Actions {
		all[a] = allow
	}
	return map[terms.Trust]Row{
		terms.Unknown:    {},
		terms.OwnerClaim: {},
		terms.ExternalVerified: {
			terms.ReadPublic: allow, terms.ReadPrivate: review, terms.WriteLocal: review,
			terms.ExternalSend: review, terms.Destructive: review, terms.CodeOrComputer: review,
		},
		terms.OwnerVerifiedEmail: {
			terms.ReadPublic: allow, terms.WriteLocal: allow,
			terms.ExternalSend: confirm, terms.Destructive: confirm, terms.CodeOrComputer: confirm,
		},
		terms.ApprovedSession: {
			terms.ReadPublic: allow, terms.ReadPrivate: allow, terms.WriteLocal: allow, terms.ExternalSend: allow,
			terms.Destructive: confirm, terms.CodeOrComputer: confirm,
		},
		terms.System: all,
	}
}

// Platform returns the [[platform]] that declares a source, or nil.
func (p *Policy) Platform(source string) *Platform {
	for i := range p.Platforms {
		if p.Platforms[i].Source == source {
			return &p.Platforms[i]
		}
	}
	return nil
}

// Chat returns the [[platform.chat]] of a sender as identity.sender names it, SOURCE:ID,
// and a chat's id, or nil.
func (p *Policy) Chat(sender string, id peer.ID) *Chat {
	i := strings.LastIndexByte(sender, ':')
	if i < 0 || id == "" {
		return nil
	}
	pl := p.Platform(sender[:i])
	if pl == nil {
		return nil
	}
	return pl.Chat(id)
}

// NthChat returns which [[platform.chat]] of the file a chat of a platform is, from 0, or -1.
func (p *Policy) NthChat(source string, id peer.ID) int {
	n := 0
	for i := range p.Platforms {
		for j := range p.Platforms[i].Chats {
			if p.Platforms[i].Source == source && p.Platforms[i].Chats[j].ID == id {
				return n
			}
			n++
		}
	}
	return -1
}

// Chat returns the [[platform.chat]] with an id, or nil.
func (pl *Platform) Chat(id peer.ID) *Chat {
	for i := range pl.Chats {
		if pl.Chats[i].ID == id {
			return &pl.Chats[i]
		}
	}
	return nil
}

// byRecipient reports whether any [[action]] depends on To and Cc.
func (p *Policy) byRecipient() bool {
	return slices.ContainsFunc(p.ActionRules, func(r ActionRule) bool { return r.To != "" })
}

// Relies reports whether decisions under the policy depend on a header field.
func (p *Policy) Relies(field string) bool {
	switch field {
	case "To", "Cc":
		return p.Recipients != nil || p.byRecipient()
	case "Date":
		return p.MaxAge != 0
	case "Subject":
		return true // every worker reads it
	}
	return false
}

// Match reports whether s matches a pattern in which * stands for any bytes.
func Match(pattern, s string) bool {
	if tail, ok := strings.CutPrefix(pattern, "*"); ok && strings.IndexByte(tail, '*') < 0 {
		return strings.HasSuffix(s, tail) // as most patterns are
	}
	star, mark := -1, 0
	i, j := 0, 0
	for j < len(s) {
		switch {
		case i < len(pattern) && pattern[i] == '*':
			star, mark = i, j
			i++
		case i < len(pattern) && pattern[i] == s[j]:
			i++
			j++
		case star >= 0: // let the last star match one more byte
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	for i < len(pattern) && pattern[i] == '*' {
		i++
	}
	return i == len(pattern)
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Requires reports whether workers of tasks of a trust level get an extract, and no text.
func (e *Extract) Requires(t terms.Trust) bool { return slices.Contains(e.Require, t) }
