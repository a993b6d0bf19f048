package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"pulse/lib/classify/receivers"
	"pulse/lib/shared/address"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
)

// initPolicy prints a policy to start from: everything shut but the owner's row.
func initPolicy(c *cli.Context) error {
	name := c.String("receiver")
	if name == "list" {
		return listReceivers(c)
	}
	owner := c.String("owner")
	if _, _, err := address.Split(owner); err != nil {
		return fault.Usagef("pulse-authorize init --owner you@example.com", "--owner: %q: %w", owner, err)
	}
	_, domain, _ := strings.Cut(owner, "@")
	pin := noPin
	var r receivers.Receiver
	if name != "" {
		var ok bool
		if r, ok = receivers.ByName(name); !ok {
			return unknownReceiver(name)
		}
		pin = presetLines(&r)
	}
	if receivers.SignsNoTo(domain) && !r.Probed {
		var b preset
		b.line("\n#")
		b.unsigned("Your own mail goes out through Outlook.com:")
		pin += strings.TrimSuffix(b.String(), "\n")
	}
	_, err := strings.NewReplacer("@OWNER@", owner, "@PIN@", pin).WriteString(c.App.Writer, template)
	return err
}

// unknownReceiver names the presets, those first that may have been meant.
func unknownReceiver(name string) error {
	names := receivers.Nearest(name)
	return fault.Usagef("pulse-authorize init --owner you@example.com --receiver "+names[0],
		"--receiver: nothing is known of %s; known are %s", name, strings.Join(names, ", "))
}

// listReceivers prints the presets: how each is read, and what that was measured on.
func listReceivers(c *cli.Context) error {
	tab := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "RECEIVER\tVERDICT\tEVIDENCE\tAUTHSERV_ID\tMEASURED\tALSO CALLED")
	for _, r := range receivers.All() {
		id, verdict, evidence := strings.Join(r.IDs, " "), string(r.Verdict), string(r.Evidence)
		switch {
		case r.Probed:
			id, verdict, evidence = "-", "(off)", string(policy.ByDKIM)
		case r.Yours && r.Verdict != policy.ByNone:
			id = "(yours)"
		case id == "":
			id = "-"
		}
		fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, verdict, evidence, id, orNothing(r.Measured), strings.Join(r.Aliases, " "))
	}
	return tab.Flush()
}

const template = `# The policy of pulse, pulse-policy(5). Look at it with: pulse-authorize matrix --policy FILE
# and ask what is risky with: pulse-authorize check --policy FILE

# Whose wishes count: your own address, as it stands in From.
owners = ["@OWNER@"]

# What your mail server calls itself in the Authentication-Results field it puts
# on top of a message. Without it nobody is verified by the server's word. To find
# it, or to learn that this server's word can't be used:
#   pulse-fetch --limit 100 SOURCE | pulse-classify suggest
@PIN@

# Others who may ask for a little: an address, or @domain for everybody there.
allowed_external = []

# The addresses of the agent. With this set, mail that also goes to others is a
# conversation, not a command. Without it, a mail of yours to somebody else, sent
# on, is a command.
# recipients = ["agent@example.com"]

# A mail older than this waits for a person. "0" switches that off.
max_age = "48h"

# What a mail asks for when no rule says otherwise. The text never decides.
default_action = "read_public"

# Mail to a second address of the agent may ask for more:
# [[action]]
# to     = "agent+write@example.com"
# action = "write_local"

[matrix.owner_verified_email]
allow                      = ["read_public", "write_local"]
require_owner_confirmation = ["external_send", "destructive", "code_or_computer"]
queue_for_review           = []

[limits]
max_per_run = 10     # starts of one pulse-queue run
max_per_day = 100    # starts in any 24 hours

# What waits for a person is told once more after the first time, and then expires.
resurface      = "72h"
review_expires = "336h"

# Of what others write, workers get only what a reader made of it: pulse-queue run --extract.
[extract]
schema  = "request"
require = ["external_verified"]

# After private data was read, the web and drafts need a yes; after what others wrote, private
# data does.
[flow]
private   = { confirm = ["read_public", "mail.draft"] }
untrusted = { confirm = ["read_private"] }

# Where effects may go at all, after a person's yes. Absent: anywhere. [] : nowhere.
[outbound]
allow = []
`
