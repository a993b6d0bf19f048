package suggest

import (
	"strings"
	"testing"

	"pulse/lib/shared/envelope"
)

// An HTTP request is not mail, and says nothing about a server that receives mail.
func TestRequestsAreNotCounted(t *testing.T) {
	s := New("")
	s.Add(&envelope.Message{Source: "webhook:/spool", Webhook: &envelope.Webhook{Result: envelope.WebhookPass}})
	if report := s.Report(); strings.Contains(report, "webhook:/spool") {
		t.Error(report)
	}
}
