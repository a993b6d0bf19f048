package decision

import "strings"

// Connector is the part of the gate that a decision comes from, where it is not allow.
// pulse-record(5) has the closed list.
type Connector string

// The connectors.
const (
	byMatrix   Connector = "matrix"   // the row of the sender's trust
	byTarget   Connector = "target"   // where it goes to
	byTool     Connector = "tool"     // which tool, and at what level
	byPath     Connector = "path"     // which files
	byExec     Connector = "exec"     // which program, and how it is called
	byFlow     Connector = "flow"     // what was read before
	byLimit    Connector = "limit"    // how much
	byPlatform Connector = "platform" // what a source may ask for
	byMessage  Connector = "message"  // what is known of the message itself: age, signatures, a program as its sender
	byAction   Connector = "action"   // which action was asked for
	byPerson   Connector = "person"   // what reaches the outside always needs a person
)

// Connectors are all connectors.
var Connectors = []Connector{
	byMatrix, byTarget, byTool, byPath, byExec, byFlow, byLimit, byPlatform, byMessage, byAction, byPerson,
}

// connectors has the connector of each reason; a test holds that none is missing. Bad arguments
// are those of whatever rule asked for them.
var connectors = map[Reason]Connector{
	allowed: "", Unsafe: "",
	NeedsConfirm: byMatrix, NeedsReview: byMatrix, NotPermitted: byMatrix,
	unknownAction: byAction, ActionChanged: byAction,
	isAutomatic: byMessage, IsStale: byMessage, FieldUnsigned: byMessage, TextUnproven: byMessage, Unchecked: byMessage,
	EffectPerson: byPerson,
	noTarget:     byTarget, targetNotAllowed: byTarget,
	sourceNotAllowed: byPlatform,
	tooManyCloses:    byLimit, "sender_quota": byLimit,
	FlowPrivate: byFlow, FlowUntrusted: byFlow,

	"tool_needs_person": byTool, "tool_not_allowed": byTool, "tool_owner_only": byTool, "tool_bad_arguments": byTool,
	"no_workspace": byPath, "path_refused": byPath, "path_configures": byPath,
	"exec_denied": byExec, "exec_not_listed": byExec, "program_refused": byExec,
}

// Connector returns which part of the gate decided; empty for what is allowed, and for a word
// that is not a reason.
func (r Reason) Connector(rule string) Connector {
	switch {
	case r == "tool_bad_arguments" && rule == "exec":
		return byExec
	case r == "tool_bad_arguments" && strings.HasPrefix(rule, "tools.paths"):
		return byPath
	}
	return connectors[r]
}
