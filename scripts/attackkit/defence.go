package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// company returns the policy of a small company, as pulse-policy(5) has it.
func company(tree string) (string, error) {
	page, err := os.ReadFile(filepath.Join(tree, "man/pulse-policy.5"))
	if err != nil {
		return "", err
	}
	_, after, found := strings.Cut(string(page), ".\\\" policy: company\n.Bd -literal -offset indent\n")
	text, _, ended := strings.Cut(after, "\n.Ed\n")
	if !found || !ended {
		return "", errors.New("pulse-policy(5) has no policy of a company")
	}
	return text + "\n", nil
}

// defence is what stands between the prompt and the outside.
type defence struct {
	name   string
	policy string
	reader bool // the policy wants extracts
	open   bool // the agent has its tools, and no pulse
}

// sections are tables of a policy that are not in the comparison.
var sections = regexp.MustCompile(`(?m)^\[(extract|flow)\]\n(?:[^\[\n].*\n|\n)*`)

// defences returns those that are compared. To what init prints is added what its comments
// tell a user to fill in, and the lines that name the agent's tools and directory; effects
// may go anywhere after a person's yes.
func (k *kit) defences() ([]defence, error) {
	w := world{Bin: k.bin}
	out, err := w.pulse("", "pulse-authorize", "init", "--owner", owner, "--agent", agent)
	if err != nil {
		return nil, err
	}
	small, err := company(k.tree)
	if err != nil {
		return nil, err
	}
	start := regexp.MustCompile(`(?m)^# authserv_id = .*`).ReplaceAllString(out, `authserv_id = "`+receiver+`"`)
	start = strings.Replace(start, "allowed_external = []", `allowed_external = ["@`+listed+`"]`, 1)
	start = regexp.MustCompile(`(?m)^allow = \[\]$`).ReplaceAllString(start, `allow = ["@example.com", "@`+listed+`", "@customer.example"]`) + named + "[exec]\nworkspace = \"@WORKSPACE@\"\n"
	start = unlimited(start)
	list := []defence{
		{name: "init", policy: start},
		{name: "company", policy: unlimited(strings.NewReplacer("/srv/agent", "@WORKSPACE@", "mx.example.com", receiver).Replace(small))},
		{name: "no [extract], no [flow]", policy: sections.ReplaceAllString(start, "")},
		{name: "no pulse", policy: start, open: true},
	}
	for i := range list {
		list[i].reader = regexp.MustCompile(`(?m)^\[extract\]`).MatchString(list[i].policy) && !list[i].open
	}
	return list, nil
}

// unlimited takes away the caps on starts, because they stop nobody; they only delay.
func unlimited(policy string) string {
	policy = regexp.MustCompile(`(?m)^(max_per_run|max_per_day|per_sender_per_hour|pending_per_sender) .*\n`).ReplaceAllString(policy, "")
	caps := "[limits]\nmax_per_run = 100000\nmax_per_day = 100000\nper_sender_per_hour = 100000\npending_per_sender = 100000\n"
	return strings.Replace(policy, "[limits]\n", caps, 1)
}
