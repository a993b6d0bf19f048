package decision

import "pulse/lib/authorize/tools"

// advice says for each reason in one clause what to do about it; pulse-authorize(1) says
// more. A test holds that no reason lacks one.
var advice = map[Reason]string{
	allowed:          "nothing: the policy allows it",
	NeedsConfirm:     "answer with pulse-approve, or move the action to allow in the row of that trust",
	NeedsReview:      "answer with pulse-approve, or move the action to allow in the row of that trust",
	NotPermitted:     "if it should be permitted, name the action in the row of that trust",
	unknownAction:    "whatever writes the request has to name one of the actions of pulse-authorize(1)",
	isAutomatic:      "if that mail is wanted, list the sender in accept_automatic",
	IsStale:          "answer with pulse-approve; if your mail is slow to arrive, raise max_age",
	FieldUnsigned:    "answer with pulse-approve; better have the sender's provider sign the field",
	TextUnproven:     "answer with pulse-approve, after a look at what was left out; better have the sender's provider sign Content-Type and Content-Transfer-Encoding",
	Unchecked:        "answer with pulse-approve, and see in message.dkim why it was not checked",
	EffectPerson:     "answer with pulse-approve, or give a grant ahead",
	noTarget:         "the worker has to name a target in what it proposes",
	targetNotAllowed: "if it may be sent there, list the target in outbound.allow",
	sourceNotAllowed: "if that source may ask for it, list the action in platform.actions",
	Unsafe:           "nothing: --unsafe-allow-all decides nothing",
	ActionChanged:    "answer with pulse-approve, or mend the [[action]] rules",
	tooManyCloses:    "answer with pulse-approve, or raise limits.max_closes_per_run",
	FlowPrivate:      "send it to those alone who have seen it, or answer with pulse-approve; where flow.private.deny says so, take the entry out of it",
	FlowUntrusted:    "answer with pulse-approve; where flow.untrusted.deny says so, take the entry out of it",

	Reason(tools.NeedsPerson): "answer with pulse-approve, or change tools.level of the tool",
	"tool_not_allowed":        "if the worker may use that tool, name it in tools.allow, and what it does in tools.action",
	"tool_owner_only":         "if others may use that tool, change tools.level of the tool",
	"tool_bad_arguments":      "the worker has to give the arguments that the tool's rule needs",
	"no_workspace":            "set exec.workspace to the directory that workers may use",
	"path_refused":            "nothing, if the path should be out of reach; else move the file into exec.workspace",
	"path_configures":         "nothing, if the next run should not obey it; else name the path in exec.write",
	"exec_denied":             "if workers may run programs, set exec.mode",
	"exec_not_listed":         "if that program may run with these arguments, list it in [[exec.allow]]",
	"program_refused":         "see what changed in the file: pulse-authorize check",
}

// Advice returns in one clause what to do about it; empty for a word that is not a reason.
func (r Reason) Advice() string { return advice[r] }
