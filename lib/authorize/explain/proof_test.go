package explain

import (
	"strings"
	"testing"

	"pulse/lib/classify/identity"
	"pulse/lib/shared/envelope"
)

// TestPinRisk: the risk of one more authserv-id is that of the receiver to which it is added.
func TestPinRisk(t *testing.T) {
	s := &Subject{Policy: parse(t, `owners = ["me@example.com"]
[[receiver]]
source = "imap:*"
authserv_id = "mx.example.net"
verdict = "set"
`)}
	s.Message = &envelope.Message{Source: "imap:INBOX"}
	a := &answer{id: identity.Identity{Auth: identity.Auth{AuthservID: "mx2.example.net"}}}
	if list := pin(s, a); len(list) != 1 || !strings.Contains(list[0].Risk, "forged ones stand alone") {
		t.Errorf("%+v", list)
	}
}
