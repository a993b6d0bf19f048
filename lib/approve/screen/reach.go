package screen

import (
	"fmt"
	"slices"
	"strings"

	"pulse/lib/authorize/tools"
	"pulse/lib/queue"
	"pulse/lib/shared/audience"
	"pulse/lib/shared/label"
	"pulse/lib/shared/policy"
)

// Reach says what an effect would tell to targets that are not known to have seen it: what the ask
// says with which it began, and what was read in private for it, which is for the owners. An ask
// from a platform has no audience, and says nothing here. p is nil if no policy was named.
func Reach(s *queue.Stored, p *policy.Policy) (lines []string) {
	if s.Request == nil || !s.Outward() && s.Request.Tool != tools.Draft {
		return nil
	}
	if ask := s.Began; ask != nil && (!ask.Identity.Verified || !ask.Audience.None()) {
		out := ask.Audience.Beyond(s.Target())
		if len(out) > 0 {
			lines = append(lines, reach(said(ask), "seen by "+ask.Audience.String(), out))
		}
		narrower := func(t string) bool { return slices.Contains(out, t) }
		if more := slices.DeleteFunc(s.Audience.Beyond(s.Target()), narrower); len(more) > 0 {
			lines = append(lines, reach("what its worker was told besides", "seen by "+s.Audience.String(), more))
		}
	}
	if u := s.Who().Labels.Use(label.Private); u != nil && p != nil {
		if out := audience.Of(p.Owners...).Beyond(s.Target()); len(out) > 0 {
			lines = append(lines, reach("what you read in "+u.String(), "for the owners", out))
		}
	}
	return lines
}

func reach(what, whose string, out []string) string {
	return Fact("reach", "%s, %s, would reach %s", what, whose, audience.Few(out))
}

// said names what an ask says.
func said(ask *queue.Stored) string {
	if m := ask.Shown; m != nil && strings.TrimSpace(m.Subject) != "" {
		return fmt.Sprintf("what you read in %q", strings.ToValidUTF8(shortened(m.Subject), ""))
	}
	return "what its ask says"
}
