package policy

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"pulse/lib/shared/label"
	"pulse/lib/shared/peer"
	"pulse/lib/shared/terms"
)

// errInvalid is the sentinel of every error of Parse.
var errInvalid = errors.New("invalid policy")

// file is the policy file as TOML sees it. A nil pointer or slice means that the key is
// absent, which is not the same as empty.
type file struct {
	AuthservID      names             `toml:"authserv_id"`
	Verdict         *string           `toml:"verdict"`
	Owners          []string          `toml:"owners"`
	AllowedExternal []string          `toml:"allowed_external"`
	AcceptAutomatic []string          `toml:"accept_automatic"`
	Recipients      []string          `toml:"recipients"`
	MaxAge          *string           `toml:"max_age" want:"duration"`
	DKIMAlignment   *string           `toml:"dkim_alignment"`
	Evidence        *string           `toml:"evidence"`
	AcceptUnsigned  []string          `toml:"accept_unsigned"`
	DefaultAction   *string           `toml:"default_action"`
	Receiver        []receiverTable   `toml:"receiver"`
	Action          []actionTable     `toml:"action"`
	Matrix          map[string]matrix `toml:"matrix"`
	Limits          limitsTable       `toml:"limits"`
	Outbound        struct {
		Allow            []target `toml:"allow"`
		Scheme           *string  `toml:"scheme"`
		MinReplyInterval *string  `toml:"min_reply_interval" want:"duration"`
	} `toml:"outbound"`
	Drafts struct {
		For []string `toml:"for"`
	} `toml:"drafts"`
	Extract struct {
		Schema  *string  `toml:"schema"`
		Require []string `toml:"require"`
	} `toml:"extract"`
	Tools struct {
		Profile *string             `toml:"profile"`
		Allow   []string            `toml:"allow"`
		Deny    []string            `toml:"deny"`
		Level   map[string]string   `toml:"level"`
		Action  map[string]string   `toml:"action"`
		Paths   map[string][]string `toml:"paths"`
	} `toml:"tools"`
	Exec struct {
		Mode      *string        `toml:"mode"`
		Workspace *string        `toml:"workspace"`
		Write     []string       `toml:"write"`
		Allow     []programTable `toml:"allow"`
	} `toml:"exec"`
	Approval struct {
		Require        *string `toml:"require"`
		AllowedSigners *string `toml:"allowed_signers"`
		Ledger         *string `toml:"ledger"`
		ApproverGroup  *string `toml:"approver_group"`

		Row []approvalRow `toml:"row"`
	} `toml:"approval"`
	Flow struct {
		Private   flowTable `toml:"private"`
		Untrusted flowTable `toml:"untrusted"`
	} `toml:"flow"`
	Platform []platformTable `toml:"platform"`
}

type flowTable struct {
	Confirm []string `toml:"confirm"`
	Deny    []string `toml:"deny"`
}

type receiverTable struct {
	Source     string  `toml:"source"`
	AuthservID names   `toml:"authserv_id"`
	Verdict    *string `toml:"verdict"`
}

type actionTable struct {
	To     *string `toml:"to"`
	Source *string `toml:"source"`
	Action string  `toml:"action"`
}

type matrix struct {
	Allow   []string `toml:"allow"`
	Confirm []string `toml:"require_owner_confirmation"`
	Review  []string `toml:"queue_for_review"`
	Tools   narrowed `toml:"tools"`
}

// narrowed is what a row of one sender and a chat say about tools.
type narrowed struct {
	Allow []string `toml:"allow"`
}

type limitsTable struct {
	MaxPerRun        *int    `toml:"max_per_run"`
	MaxPerDay        *int    `toml:"max_per_day"`
	PerSenderPerHour *int    `toml:"per_sender_per_hour"`
	PendingPerSender *int    `toml:"pending_per_sender"`
	MaxAttempts      *int    `toml:"max_attempts"`
	MaxRestarts      *int    `toml:"max_restarts"`
	MaxClosesPerRun  *int    `toml:"max_closes_per_run"`
	MaxContinues     *int    `toml:"max_continues"`
	MaxRevisions     *int    `toml:"max_revisions"`
	ReviewExpires    *string `toml:"review_expires" want:"duration"`
	Resurface        *string `toml:"resurface" want:"duration"`
	HoldAfterYes     *string `toml:"hold_after_yes" want:"duration"`
	DiskReserve      *string `toml:"disk_reserve" want:"size"`
	KeepRefused      *string `toml:"keep_refused" want:"duration"`
}

type programTable struct {
	Program string   `toml:"program"`
	SHA256  string   `toml:"sha256"`
	Args    []string `toml:"args"`
	Dir     *string  `toml:"dir"`
}

type platformTable struct {
	Source     string      `toml:"source"`
	OwnerIDs   []peer.ID   `toml:"owner_ids"`
	AllowedIDs []peer.ID   `toml:"allowed_ids"`
	Trust      *string     `toml:"trust"`
	Actions    []string    `toml:"actions"`
	Chat       []chatTable `toml:"chat"`
}

type chatTable struct {
	ID             peer.ID   `toml:"id"`
	Enabled        *bool     `toml:"enabled"`
	OpenGroup      bool      `toml:"open_group"`
	RequireMention *bool     `toml:"require_mention"`
	AllowedSenders []peer.ID `toml:"allowed_senders"`
	Tools          narrowed  `toml:"tools"`
}

// Parse decodes and validates the bytes of a policy file. name stands for the file in
// errors; Hint says what to do about one.
func Parse(name string, b []byte) (*Policy, error) {
	text := strings.TrimPrefix(string(b), "\ufeff") // which editors put before it, and TOML does not know
	v := &validator{name: name, lines: index(text)}
	var f file
	if err := v.check(text); err != nil {
		return nil, err
	}
	if err := toml.NewDecoder(strings.NewReader(text)).EnableUnmarshalerInterface().Decode(&f); err != nil {
		return nil, v.undecoded(err)
	}
	p := Default()
	p.Name, p.Digest = name, digest(b)
	if v.fill(p, &f); v.err != nil {
		return nil, v.err
	}
	read.Store(p.Digest, v.lines)
	return p, nil
}

// validator turns the file into a policy and keeps the first error.
type validator struct {
	name  string
	lines *lines
	err   error
}

// fail reports an error in the value of a key, which has [n] after each of its names that
// is one of several.
func (v *validator) fail(key, format string, args ...any) error {
	return v.failAt(v.lines.of(key), key, format, args...)
}

func (v *validator) failAt(line int, key, format string, args ...any) error {
	where := fmt.Sprintf("%s:%d: ", v.name, line)
	if key = unnumbered(key); key != "" {
		where += key + ": "
	}
	if v.err == nil {
		v.err = &invalid{errors.New(where + fmt.Sprintf(format, args...)), "man 5 pulse-policy"}
	}
	return v.err
}

type invalid struct {
	error
	hint string
}

func (e *invalid) Is(target error) bool { return target == errInvalid }

// Hint returns what to type or to write about an error of Parse.
func Hint(err error) string {
	var e *invalid
	if errors.As(err, &e) {
		return e.hint
	}
	return ""
}

func (v *validator) fill(p *Policy, f *file) {
	v.receivers(p, f)
	p.Owners = v.addresses("owners", f.Owners, false)
	p.AllowedExternal = v.addresses("allowed_external", f.AllowedExternal, true)
	p.AcceptAutomatic = v.addresses("accept_automatic", f.AcceptAutomatic, true)
	p.Recipients = v.addresses("recipients", f.Recipients, false)
	if f.Recipients != nil && len(f.Recipients) == 0 {
		v.fail("recipients", "an empty list would refuse all mail: leave the key out, or name an address")
	}
	v.duration(&p.MaxAge, "max_age", f.MaxAge, 0)
	oneOf(v, &p.DKIMAlignment, "dkim_alignment", f.DKIMAlignment, Strict, Relaxed, Any)
	oneOf(v, &p.Evidence, "evidence", f.Evidence, ByAuthRes, ByDKIM, ByBoth, ByEither)
	for i := range f.AcceptUnsigned {
		var word string
		oneOf(v, &word, at("accept_unsigned", i), &f.AcceptUnsigned[i], unsignedFields...)
	}
	p.AcceptUnsigned = f.AcceptUnsigned
	oneOf(v, &p.DefaultAction, "default_action", f.DefaultAction, terms.Actions...)
	v.actionRules(p, f.Action)
	v.matrix(p, f.Matrix)
	v.limits(&p.Limits, &f.Limits)
	v.outbound(p, f)
	v.drafts(p, f.Drafts.For)
	v.extract(&p.Extract, f)
	v.tools(p, f)
	oneOf(v, &p.Exec.Mode, "exec.mode", f.Exec.Mode, "deny", "allowlist", "full")
	v.absolute(&p.Exec.Workspace, "exec.workspace", f.Exec.Workspace)
	p.Exec.Write = v.pathGlobs("exec.write", f.Exec.Write)
	v.programs(p, f.Exec.Allow)
	v.flow(p, label.Private, f.Flow.Private)
	v.flow(p, label.Untrusted, f.Flow.Untrusted)
	oneOf(v, &p.Approval.Require, "approval.require", f.Approval.Require, "terminal", "user", "signature")
	v.absolute(&p.Approval.AllowedSigners, "approval.allowed_signers", f.Approval.AllowedSigners)
	v.absolute(&p.Approval.Ledger, "approval.ledger", f.Approval.Ledger)
	if name := f.Approval.ApproverGroup; name != nil {
		if p.Approval.ApproverGroup = *name; *name == "" {
			v.fail("approval.approver_group", "want the name of a group, or no such line")
		}
	}
	if p.Approval.Require == "signature" && p.Approval.AllowedSigners == "" {
		v.fail("approval.require", "signature needs approval.allowed_signers, or nobody could sign")
	}
	for i := range f.Approval.Row {
		p.Approval.Rows = append(p.Approval.Rows, v.approvalRow(p, at("approval.row", i), &f.Approval.Row[i]))
	}
	v.platforms(p, f.Platform)
}

func (v *validator) actionRules(p *Policy, list []actionTable) {
	for i, t := range list {
		r := ActionRule{Action: terms.Action(t.Action)}
		if t.Action == "" {
			v.fail(at("action", i), "action is missing: want one of %s", join(terms.Actions))
		} else if !r.Action.Valid() {
			v.fail(at("action", i), "action %s is none of %s", t.Action, join(terms.Actions))
		}
		if t.To != nil {
			r.To = *t.To
			if err := Address(r.To); err != nil {
				v.fail(at("action", i), "to: %v", err)
			}
		}
		if t.Source != nil {
			r.Source = *t.Source
		}
		if r.To == "" && r.Source == "" {
			v.fail(at("action", i), "want to or source: a rule for everything is default_action")
		}
		p.ActionRules = append(p.ActionRules, r)
	}
}

// maxKeepRefused bounds limits.keep_refused.
const maxKeepRefused = 366 * 24 * time.Hour

func (v *validator) limits(l *Limits, f *limitsTable) {
	for _, e := range []struct {
		key   string
		dst   *int
		value *int
		least int
	}{
		{"max_per_run", &l.MaxPerRun, f.MaxPerRun, 1},
		{"max_per_day", &l.MaxPerDay, f.MaxPerDay, 1},
		{"per_sender_per_hour", &l.PerSenderPerHour, f.PerSenderPerHour, 1},
		{"pending_per_sender", &l.PendingPerSender, f.PendingPerSender, 1},
		{"max_attempts", &l.MaxAttempts, f.MaxAttempts, 1},
		{"max_restarts", &l.MaxRestarts, f.MaxRestarts, 0},
		{"max_closes_per_run", &l.MaxClosesPerRun, f.MaxClosesPerRun, 0},
		{"max_continues", &l.MaxContinues, f.MaxContinues, 0},
		{"max_revisions", &l.MaxRevisions, f.MaxRevisions, 0},
	} {
		if e.value == nil {
			continue
		}
		if *e.value < e.least || *e.value > 1_000_000 {
			v.fail("limits."+e.key, "%d: want %d to 1000000", *e.value, e.least)
		}
		*e.dst = *e.value
	}
	v.waits(l, f)
	v.size(&l.DiskReserve, "limits.disk_reserve", f.DiskReserve)
	v.duration(&l.KeepRefused, "limits.keep_refused", f.KeepRefused, 0)
	if l.KeepRefused > maxKeepRefused {
		v.fail("limits.keep_refused", "%s: want at most 366d", *f.KeepRefused)
	}
}

func (v *validator) platforms(p *Policy, list []platformTable) {
	for i, t := range list {
		if t.Source == "" {
			v.fail(at("platform", i), "source is missing")
		}
		if p.Platform(t.Source) != nil {
			v.fail(at("platform", i), "%s is declared twice", t.Source)
		}
		out := Platform{Source: t.Source, OwnerIDs: t.OwnerIDs, AllowedIDs: t.AllowedIDs}
		v.platform(&out, &t, i)
		for _, c := range t.Chat {
			enabled, mention := c.Enabled == nil || *c.Enabled, c.RequireMention == nil || *c.RequireMention
			out.Chats = append(out.Chats, Chat{c.ID, enabled, c.OpenGroup, mention, c.AllowedSenders, c.Tools.Allow})
		}
		p.Platforms = append(p.Platforms, out)
	}
}
