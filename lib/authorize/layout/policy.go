package layout

import (
	"strconv"
	"strings"

	"pulse/lib/classify/receivers"
	"pulse/lib/classify/suggest"
)

// Policy returns a policy to start from, everything shut except the owner's row. r is who receives
// the mail; nil: that is not known.
func Policy(owner string, agents []string, r *receivers.Receiver) string {
	quoted := make([]string, len(agents))
	for i, a := range agents {
		quoted[i] = strconv.Quote(a)
	}
	return strings.NewReplacer("@OWNER@", owner, "@PIN@", suggest.Preset(owner, r), "@AGENTS@", "["+strings.Join(quoted, ", ")+"]").Replace(template)
}

const template = `# The policy of pulse, pulse-policy(5). Look at it with: pulse-authorize matrix --policy FILE
# and ask what is risky with: pulse-authorize check --policy FILE

# Whose wishes count: your own address, as it stands in From. A second person stands here and, to
# be answered, in outbound.allow.
owners = ["@OWNER@"]

# What your mail server calls itself in the Authentication-Results field it puts
# on top of a message. Without it nobody is verified by the server's word. To find
# it, or to learn that this server's word can't be used:
#   pulse-fetch --limit 100 SOURCE | pulse-classify suggest
@PIN@

# Others who may ask for a little: an address, or @domain for everybody there.
allowed_external = []

# The addresses of the agent. Mail that also goes to others is a conversation, not a
# command. Without this line, whatever you or your vacation responder wrote to
# anybody is a command once it is sent on to the agent.
recipients = @AGENTS@

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

# Once what a task proposed has ended, its agent goes on and is told how, at most so often; and as
# often as max_revisions after your no with words. 0: never.
max_continues = 3
max_revisions = 2

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

# Where effects may go at all, after a person's yes. Absent: anywhere. [] : nowhere, so that not
# even you are answered: list your address, or @domain.
[outbound]
allow = []
# min_reply_interval = "10m"    # after a message to somebody, the next one waits so long
`
