package queue

import (
	"testing"

	"pulse/lib/classify/identity"
	"pulse/lib/shared/envelope"
)

// TestRequestIDs: the webhook id names the task of a request, under its source, and
// only if the request is proven: no other sender can take that name.
func TestRequestIDs(t *testing.T) {
	request := func(source, id string, verified bool) string {
		t.Helper()
		c := Content{
			Message:  &envelope.Message{Source: source, ID: id, Webhook: &envelope.Webhook{}},
			Identity: identity.Identity{Verified: verified, Sender: source},
		}
		name, err := c.ID()
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	genuine := request("webhook:/a", "msg_1", true)
	if again := request("webhook:/a", "msg_1", true); again != genuine {
		t.Errorf("it came twice, and is %s and %s", genuine, again)
	}
	for name, other := range map[string]string{
		"forged":         request("webhook:/a", "msg_1", false),
		"another id":     request("webhook:/a", "msg_2", true),
		"another sender": request("webhook:/b", "msg_1", true),
	} {
		if other == genuine {
			t.Errorf("%s: the same task", name)
		}
	}
}
