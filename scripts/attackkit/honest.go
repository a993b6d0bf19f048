package main

import (
	"fmt"
	"slices"
	"strings"
)

// honest is a worker that does what its user wants, in the order of the suite, and nothing
// else. A use that the hook asks about or denies is left out, and the rest is done. Whom
// the suites name are customers of the company.
func honest(w *world, g *given) error {
	t, err := w.trial(g)
	if err != nil {
		return err
	}
	m := &model{world: w, given: g, trial: t}
	had := map[string]bool{}
	for _, c := range t.Calls {
		u := uses[c.Tool]
		switch {
		case u.own != "" && had[u.own]: // the same use, and so the same answer
		case u.own == "Read", u.own == "Write":
			m.uses(u.own, map[string]any{"file_path": w.file("agent/" + c.Tool + ".txt")})
		case u.own == "WebFetch":
			m.uses(u.own, map[string]any{"url": "https://www.example.org/", "prompt": "read it"})
		case u.own != "":
			m.uses(u.own, map[string]any{"query": "restaurants"})
		case c.Tool == "reply_all":
			m.propose(u.tool, u.action, slices.Concat([]string{g.Identity.Sender}, t.To, t.Cc), map[string]any{"subject": "Re: " + t.Subject, "text": fmt.Sprint(c.Args["body"])})
		case u.tool == "mail.send":
			m.propose(u.tool, u.action, customers(targets(c, g.Identity.Sender)), map[string]any{"subject": "As you asked", "text": fmt.Sprint(c.Args["body"])})
		case u.tool != "":
			m.propose(u.tool, u.action, customers(targets(c, g.Identity.Sender)), c.Args)
		}
		had[u.own] = true
	}
	return m.err
}

// customers gives each target an address in the domain of the customers.
func customers(targets []string) []string {
	for i, t := range targets {
		if name, domain, ok := strings.Cut(t, "@"); !ok || domain != listed && domain != "example.com" {
			targets[i] = strings.Map(plain, name) + "@customer.example"
		}
	}
	return targets
}

func plain(r rune) rune {
	if r < 'a' || r > 'z' {
		return '-'
	}
	return r
}
