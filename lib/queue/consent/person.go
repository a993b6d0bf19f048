package consent

import (
	"slices"
	"strings"

	"pulse/lib/shared/address"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/policy"
)

// Person is one who said yes, as far as that is proven.
type Person struct {
	Name   string          // of the account or the login, or the one under which allowed_signers has the key
	keys   []string        // all names that allowed_signers has for the key; nil: it was not signed
	holder approval.Holder // of what was not signed: the only one that can have written it
}

// Whose returns whose yes it is. A signature that nothing checks is the yes of the account that
// brought it, and at level terminal the account is what the yes says.
func (p *Proving) Whose(a *approval.Approval) (*Person, error) {
	if a.Level != approval.Signature || len(p.Spends(a.Proofs())) == 0 {
		name, _, _ := strings.Cut(a.By, " (uid ")
		return &Person{Name: name, holder: a.Holder}, nil
	}
	one := &Person{Name: a.Signer, keys: []string{a.Signer}}
	if p.Signed == nil {
		return one, nil
	}
	var err error
	one.keys, err = p.Signed.Names(a.Signature)
	return one, err
}

// is reports whether a name is that of a person: of the account that wrote the yes, or the one for
// which the key was checked.
func (g *Agreement) is(one *Person, name string) bool {
	if one.holder == "" {
		return one.Name == name
	}
	return one.holder == g.holder(name)
}

// holder returns the account or login of a name; empty: there is none.
func (g *Agreement) holder(name string) approval.Holder {
	if g.holds == nil {
		return ""
	}
	return g.holds(name)
}

// same reports whether two yeses may be of one person. Nothing tells whose account goes with which
// key, except a name that both have, and a list in which each name is one person's.
func (g *Agreement) same(a, b *Person, listed bool) bool {
	if b.keys != nil {
		a, b = b, a
	}
	named := func(name string) bool {
		return b.holder != "" && g.holder(name) == b.holder || b.holder == "" && b.Name == name
	}
	switch {
	case a.keys == nil && a.holder != "" && b.holder != "":
		return a.holder == b.holder
	case a.keys == nil:
		return a.Name == b.Name
	case b.keys != nil:
		return slices.ContainsFunc(a.keys, func(name string) bool { return slices.Contains(b.keys, name) })
	}
	return !listed || slices.ContainsFunc(a.keys, func(name string) bool { return named(name) || name == b.Name })
}

// may reports whether a person's yes is one that a row wants.
func (g *Agreement) may(row *policy.ApprovalRow, one *Person) bool {
	listed := row.Approvers == nil || slices.ContainsFunc(row.Approvers, func(name string) bool { return g.is(one, name) })
	return listed && !(row.NotAuthor && g.wrote(one))
}

// wrote reports whether a person may be the one who asked: they have its address as a name, or what
// stands before the @ of it, both without what follows a +, or submitted it under their account.
func (g *Agreement) wrote(one *Person) bool {
	local, _, _ := strings.Cut(g.author, "@")
	plain, _, _ := strings.Cut(local, "+")
	uid, submitted := strings.CutPrefix(g.author, "uid:")
	account := approval.Holder("uid " + uid)
	if one.holder != "" && (submitted && one.holder == account || g.holder(local) == one.holder || g.holder(plain) == one.holder) {
		return true
	}
	return slices.ContainsFunc(append(slices.Clip(one.keys), one.Name), func(name string) bool {
		return address.Names(name, g.author) || submitted && g.holder(name) == account
	})
}
