package explain

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"pulse/lib/authorize/tools"
	"pulse/lib/shared/address"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

// widening are the changes of the policy that let more through, the smaller ones first:
// what proves this mail, who may ask, what may be asked for, and last who is an owner. No
// row for senders whom nothing proves is among them.
var widening = [...]maker{
	align, ofMail(addressees), ofMail(evidence), ofMail(set), ofMail(pin),
	ofMail(chat), ofMail(listing), relist,
	ofMail(fresh), unsigned, automatic, platformAction,
	rowConfirm, rowOfSender, rowAllow,
	ofEffect(targets), ofTool(toolAllow), ofTool(toolDeny), ofTool(toolOfSender), ofTool(toolOfChat), ofTool(toolLevel),
	ofEffect(program), ofTool(writable),
	flowDeny, flowConfirm,
	ofMail(owner),
}

// ofMail makes changes for a message that is classified here.
func ofMail(m maker) maker {
	return m.when(func(s *Subject, _ *answer) bool { return !s.given() })
}

// ofEffect makes changes for an effect.
func ofEffect(m maker) maker {
	return m.when(func(s *Subject, a *answer) bool { return a.id.Effect() && s.Request != nil })
}

// ofTool makes changes for an effect that names a tool which a policy can name, too.
func ofTool(m maker) maker { return m.when(usesTool) }

func (m maker) when(fits func(*Subject, *answer) bool) maker {
	return func(s *Subject, a *answer) []Change {
		if !fits(s, a) {
			return nil
		}
		return m(s, a)
	}
}

// has reports whether a list has an address, and not only its domain.
func has(list []string, addr string) bool {
	return slices.ContainsFunc(list, func(entry string) bool { return address.Equal(entry, addr) })
}

// mailbox reports whether a list of the policy can hold a sender.
func mailbox(addr string) bool {
	_, _, err := address.Split(addr)
	return err == nil && plain(addr)
}

// listing lets a proven sender ask as an external one.
func listing(s *Subject, a *answer) []Change {
	if !a.id.Verified || a.id.Trust != terms.Unknown || !mailbox(a.id.Sender) {
		return nil
	}
	return allowedExternal.set("", with(s.Policy.AllowedExternal, a.id.Sender))
}

func asOwner(p *policy.Policy, sender string) []Change {
	return owners.set(sender+" may ask for all that an owner may", with(p.Owners, sender))
}

// relist puts a sender back whom the policy no longer lists.
func relist(s *Subject, a *answer) []Change {
	if !s.given() || a.id.Trust == s.Given.Trust || !mailbox(a.id.Sender) {
		return nil
	}
	if s.Given.Trust == terms.ExternalVerified {
		return allowedExternal.set("", with(s.Policy.AllowedExternal, a.id.Sender))
	}
	return asOwner(s.Policy, a.id.Sender)
}

// owner makes a proven sender an owner.
func owner(s *Subject, a *answer) []Change {
	proven := a.id.Verified && (a.id.Trust == terms.Unknown || a.id.Trust == terms.ExternalVerified)
	if !proven || !mailbox(a.id.Sender) {
		return nil
	}
	return asOwner(s.Policy, a.id.Sender)
}

// fresh lets mail be older.
func fresh(s *Subject, a *answer) (list []Change) {
	if !a.id.Stale {
		return nil
	}
	for _, age := range []time.Duration{72 * time.Hour, 7 * 24 * time.Hour, 31 * 24 * time.Hour, 366 * 24 * time.Hour} {
		if age <= s.Policy.MaxAge {
			continue
		}
		text := strconv.Itoa(int(age/time.Hour)) + "h"
		list = append(list, change("a mail that somebody kept can be replayed for "+text,
			func(p *policy.Policy) { p.MaxAge = age }, Edit{Key: "max_age", Value: strconv.Quote(text)}))
	}
	return list
}

// unsigned believes fields that no signature covers.
func unsigned(s *Subject, a *answer) []Change {
	more := without(a.id.Unsigned.Names(), func(field string) bool {
		return !s.Policy.Relies(field) || slices.Contains(s.Policy.AcceptUnsigned, field)
	})
	if len(more) == 0 {
		return nil
	}
	return acceptUnsigned.set("anyone who gets a mail of the sender can send it on with another "+strings.Join(more, ", "),
		with(s.Policy.AcceptUnsigned, more...))
}

// automatic accepts what a program of the sender sends.
func automatic(s *Subject, a *answer) []Change {
	if !a.id.Automatic || a.id.Effect() || !mailbox(a.id.Sender) || address.Listed(s.Policy.AcceptAutomatic, a.id.Sender) {
		return nil
	}
	return acceptAutomatic.set("two programs that answer each other loop", with(s.Policy.AcceptAutomatic, a.id.Sender))
}

// targets may be confirmed.
func targets(s *Subject, _ *answer) []Change {
	if !s.Policy.Outbound.Restricted {
		return nil
	}
	more := without(s.Request.Target, func(to string) bool { return s.Policy.Outbound.Lists(to) })
	for i, to := range more {
		form, err := address.Target(to, s.Policy.Outbound.Scheme)
		if err != nil || address.Relayed(to) {
			return nil
		}
		if !mailbox(to) {
			more[i] = form
		}
	}
	if len(more) == 0 {
		return nil
	}
	return outboundAllow.set("any effect may be sent there once a person confirms it", with(s.Policy.Outbound.Allow, more...))
}

// The changes of rows. What they change are the action that is asked for and the action of
// the tool that is named, because the row applies to both.

func rowConfirm(s *Subject, a *answer) []Change { return rowWith(s, a, terms.Confirm) }
func rowAllow(s *Subject, a *answer) []Change   { return rowWith(s, a, terms.Allow) }

func rowWith(s *Subject, a *answer, o terms.Outcome) []Change {
	row, name := s.Policy.Row(a.id.Trust, a.id.Sender)
	after, risk, ok := raised(s, a, row, o)
	if !ok || a.id.Trust == terms.Unknown || a.id.Trust == terms.OwnerClaim {
		return nil
	}
	return []Change{change(risk, func(p *policy.Policy) { setRow(p, a.id.Trust, a.id.Sender, after) },
		rowEdits(s.Policy, name, row, after)...)}
}

// rowOfSender gives the sender a row of its own that allows it. The row keeps all that the
// one says which it replaces.
func rowOfSender(s *Subject, a *answer) []Change {
	row, _ := s.Policy.Row(a.id.Trust, a.id.Sender)
	after, risk, ok := raised(s, a, row, terms.Allow)
	of := s.Policy.Sender(a.id.Sender)
	if !ok || !hasOwnRow(a) || of != nil && of.Sender[0] != '@' {
		return nil
	}
	own := policy.SenderRow{Sender: a.id.Sender, Row: after}
	edits := rowEdits(s.Policy, own.Name(), nil, after)
	if of != nil && of.Tools != nil {
		own.Tools = of.Tools
		edits = append(edits, Edit{Table: "matrix." + own.Name(), Key: "tools.allow", Value: array(own.Tools)})
	}
	return []Change{change(risk, func(p *policy.Policy) { p.Senders = with(p.Senders, own) }, edits...)}
}

// hasOwnRow reports whether a row of the sender would count.
func hasOwnRow(a *answer) bool {
	return (a.id.Trust == terms.OwnerVerifiedEmail || a.id.Trust == terms.ExternalVerified) && mailbox(a.id.Sender)
}

// raised returns the row with the actions that matter lifted to an outcome.
func raised(s *Subject, a *answer, row policy.Row, to terms.Outcome) (after policy.Row, risk string, ok bool) {
	after = maps.Clone(row)
	if after == nil {
		after = policy.Row{}
	}
	for _, action := range actions(s, a) {
		if !action.Valid() || rank(row.Outcome(action)) <= rank(to) {
			continue
		}
		after[action], ok = to, true
		if to == terms.Allow && (action.Outward() || action == terms.ReadPrivate) && a.id.Trust != terms.System {
			risk = and(risk, string(action)+" is allowed on the word of a mail alone")
		}
	}
	return after, risk, ok
}

func actions(s *Subject, a *answer) []terms.Action {
	list := []terms.Action{a.d.Action}
	if a.id.Effect() && s.Request != nil && s.Request.Tool != "" {
		list = append(list, tools.Action(s.Policy, s.Request.Tool))
	}
	return list
}

// setRow replaces the row that counts for a sender of a trust level.
func setRow(p *policy.Policy, t terms.Trust, sender string, row policy.Row) {
	_, name := p.Row(t, sender)
	for i := range p.Senders {
		if p.Senders[i].Name() == name && name != string(t) {
			p.Senders = slices.Clone(p.Senders)
			p.Senders[i].Row = row
			return
		}
	}
	p.Matrix = maps.Clone(p.Matrix)
	p.Matrix[t] = row
}
