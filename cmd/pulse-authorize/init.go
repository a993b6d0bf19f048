package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"pulse/lib/classify/receivers"
	"pulse/lib/shared/address"
	"pulse/lib/shared/fault"
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
	pin := noPin
	if name != "" {
		r, ok := receivers.ByName(name)
		if !ok {
			return fault.Usagef("pulse-authorize init --receiver list", "--receiver: nothing is known of %s", name)
		}
		pin = pinLines(&r)
	}
	_, err := strings.NewReplacer("@OWNER@", owner, "@PIN@", pin).WriteString(c.App.Writer, template)
	return err
}

// listReceivers prints the presets. STRIPS is what is known of forged fields that
// the receiver removes, CHECKED when scripts/probe-receiver last tried.
func listReceivers(c *cli.Context) error {
	tab := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "RECEIVER\tAUTHSERV_ID\tCHECKED\tSTRIPS\tSTAMPS")
	for _, r := range receivers.All() {
		id := r.AuthservID
		switch {
		case r.Yours():
			id = "(yours)"
		case id == "":
			id = "(can't be pinned)"
		}
		fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t%s\n", r.Name, id, r.Checked, r.Strips, r.Stamps)
	}
	return tab.Flush()
}

const noPin = `# authserv_id = "mx.example.com"`

// pinLines returns the lines of the policy that a preset stands for.
func pinLines(r *receivers.Receiver) string {
	known := fmt.Sprintf("# %s: %s.\n# Known from %s; %s by scripts/probe-receiver.\n",
		r.Name, r.Stamps, r.Basis, r.Checked)
	if r.Inside != "" {
		known += "# Mail from inside: it " + r.Inside + ".\n# Whether yours does: scripts/probe-receiver submit.\n"
	}
	switch {
	case r.Yours():
		return known + "# Put in the name that your server writes:\n" + noPin
	case r.Unpinnable != "":
		return known + "# Its word can't be used: " + r.Unpinnable + ".\n" + wayOut
	}
	return known + fmt.Sprintf("authserv_id = %q", r.AuthservID)
}

// wayOut is what to do where a receiver's word can't be used.
const wayOut = "# So pulse verifies DKIM itself: fetch with pulse-fetch --dkim.\nevidence = \"dkim\""

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
# conversation, not a command.
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

# Where effects may go at all, after a person's yes. Absent: anywhere. [] : nowhere.
[outbound]
allow = []
`
