package policy

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"pulse/lib/shared/address"
)

// target is an entry of outbound.allow: a string, or a whole number.
type target string

// UnmarshalTOML implements unstable.Unmarshaler.
func (t *target) UnmarshalTOML(value []byte) error {
	var doc struct{ Entry any }
	if err := toml.Unmarshal(slices.Concat([]byte("entry = "), value), &doc); err != nil {
		return err
	}
	switch v := doc.Entry.(type) {
	case int64:
		*t = target(strconv.FormatInt(v, 10))
	case string:
		*t = target(v)
	default:
		return errors.New("want a string or a whole number")
	}
	return nil
}

// numberSchemes are what outbound.scheme can say.
var numberSchemes = []string{address.Telegram}

func (v *validator) outbound(p *Policy, f *file) {
	o := &f.Outbound
	oneOf(v, &p.Outbound.Scheme, "outbound.scheme", o.Scheme, numberSchemes...)
	p.Outbound.Restricted = o.Allow != nil
	for i, entry := range o.Allow {
		p.Outbound.Allow = append(p.Outbound.Allow, v.target(at("outbound.allow", i), string(entry), p.Outbound.Scheme))
	}
	v.duration(&p.Outbound.MinReplyInterval, "outbound.min_reply_interval", o.MinReplyInterval, 0)
}

// target returns the form of an entry of outbound.allow. An address stays as it is written.
func (v *validator) target(key, entry, numbers string) string {
	spelled, err := address.Entry(entry, numbers)
	switch _, numeric := address.Entry(entry, address.Telegram); {
	case errors.Is(err, address.ErrForm):
		v.fail(key, "%s: %v", entry, err)
	case err == nil && strings.Contains(spelled, ":"):
		return spelled
	case numeric == nil && err != nil:
		v.fail(key, "%s: a number of what? want telegram:%s, or outbound.scheme", entry, entry)
	case address.Relayed(entry):
		v.fail(key, "%s matches no target: a mail server may take it for an address of another host", entry)
	default:
		v.address(key, entry, true)
	}
	return entry
}

// Form returns the form by which a target is compared: what is neither an address nor in a
// known scheme is its bytes, with A-Z in lower case.
func (o *Outbound) Form(target string) string {
	form, err := address.Target(target, o.Scheme)
	if err != nil {
		return address.Fold(target)
	}
	return form
}

// Spell returns a target as it is kept: with its scheme in its form, and anything else as it is
// written.
func (o *Outbound) Spell(target string) string {
	if spelled, err := address.Spell(target, o.Scheme); err == nil {
		return spelled
	}
	return target
}

// Same reports whether two spellings are of one target. A name has one spelling: only its sender
// knows whether case counts.
func (o *Outbound) Same(a, b string) bool {
	x, wrong := address.Target(a, o.Scheme)
	y, err := address.Target(b, o.Scheme)
	return a == b || wrong == nil && err == nil && x == y
}

// Close reports whether two targets may be the same for their sender, as names are that differ in
// case alone.
func (o *Outbound) Close(a, b string) bool {
	return o.Form(a) == o.Form(b)
}

// Lists reports whether allow has a target.
func (o *Outbound) Lists(target string) bool {
	form, err := address.Target(target, o.Scheme)
	return err == nil && slices.ContainsFunc(o.Allow, func(entry string) bool { return address.Lets(entry, form) })
}
