package compare

import (
	"fmt"
	"slices"
	"strings"

	"pulse/lib/shared/address"
	"pulse/lib/shared/policy"
)

// sender stands for all senders that both policies treat alike.
type sender struct {
	address  string
	others   int  // how many more addresses and domains of the policies are alike
	owner    bool // in one policy at least
	external bool // likewise
	program  bool // the policies differ in whether it may be a program
	row      bool // it has a row of its own in one of them
}

// name is the sender for people.
func (s *sender) name() string {
	if s.others > 0 {
		return fmt.Sprintf("%s (and %d more)", s.address, s.others)
	}
	return s.address
}

// addresses is a list of a policy, made to be asked often.
type addresses map[string]bool

func addressesOf(list []string) addresses {
	set := addresses{}
	for _, a := range list {
		set[address.Fold(a)] = true
	}
	return set
}

func (set addresses) has(a string) bool {
	_, domain, _ := strings.Cut(a, "@")
	return set[address.Fold(a)] || set["@"+address.Fold(domain)]
}

// stranger is an address that no list of a policy has.
const stranger = "stranger@unlisted.invalid"

// sendersOf returns a sender for each way in which the policies can judge one.
func sendersOf(old, new *policy.Policy) (list []sender) {
	both := []judge{judgeOf(old), judgeOf(new)}
	index := map[string]int{}
	for _, a := range append(someAddresses(old, new), stranger) {
		was, is := both[0].of(a), both[1].of(a)
		key := was.key() + "|" + is.key()
		if was.row != is.row {
			key += address.Fold(was.name + is.name)
		}
		if i, ok := index[key]; ok {
			list[i].others++
			continue
		}
		index[key] = len(list)
		list = append(list, sender{
			address: a, owner: was.owner || is.owner, external: was.external && !was.owner || is.external && !is.owner, program: was.program != is.program, row: was.row+is.row != "",
		})
	}
	return list
}

// someAddresses returns the addresses that the policies name as senders, and for each
// domain that they name an address there which they do not.
func someAddresses(policies ...*policy.Policy) (list []string) {
	seen := addresses{}
	var domains []string
	add := func(a string) {
		switch {
		case seen[address.Fold(a)]:
			return
		case a[0] == '@':
			domains = append(domains, a)
		default:
			list = append(list, a)
		}
		seen[address.Fold(a)] = true
	}
	for _, p := range policies {
		for _, a := range slices.Concat(p.Owners, p.AllowedExternal, p.AcceptAutomatic) {
			add(a)
		}
		for i := range p.Senders {
			add(p.Senders[i].Sender)
		}
	}
	for _, domain := range domains {
		list = append(list, fresh("someone", domain, seen))
	}
	return list
}

// fresh returns an address of a domain that is not in the set.
func fresh(local, domain string, known addresses) string {
	for known[address.Fold(local+domain)] {
		local += "e"
	}
	return local + domain
}

// judge is what a policy says of senders.
type judge struct {
	p                         *policy.Policy
	owners, external, program addresses
}

func judgeOf(p *policy.Policy) judge {
	return judge{p, addressesOf(p.Owners), addressesOf(p.AllowedExternal), addressesOf(p.AcceptAutomatic)}
}

// judged is what a policy says of one sender.
type judged struct {
	owner, external, program bool
	row, name                string // what the row says that is the sender's own, and whose it is
}

func (j judge) of(a string) judged {
	out := judged{owner: j.owners.has(a), external: j.external.has(a), program: j.program.has(a)}
	if row := j.p.Sender(a); row != nil {
		out.name = row.Sender
		out.row = fmt.Sprint(row.Row, row.Tools == nil, row.Tools)
	}
	return out
}

func (j judged) key() string { return fmt.Sprint(j.owner, j.external, j.program, j.row) }
