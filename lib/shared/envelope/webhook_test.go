package envelope

import (
	"reflect"
	"testing"
	"time"
)

func TestWebhookRoundTrip(t *testing.T) {
	for _, want := range []*Webhook{
		nil,
		{Result: WebhookPass, Scheme: WebhookStandard, Timestamp: time.Unix(1614265330, 0).UTC(), Type: "application/json"},
		{Result: WebhookMalformed, Why: "a line of the header is no field"},
		{Result: WebhookFail, Why: "no secret makes it", Scheme: WebhookPlain},
	} {
		m := Message{Source: "webhook:/spool", Webhook: want}
		got, err := decodeMessage(append(m.Append([]byte(`{"message":`)), '}'))
		if err != nil || !reflect.DeepEqual(got.Webhook, want) {
			t.Errorf("%+v, %v, want %+v", got.Webhook, err, want)
		}
	}
}

// A later version's result is kept as it is; a result of the wrong type is an error.
func TestWebhookDecode(t *testing.T) {
	m, err := decodeMessage([]byte(`{"message":{"webhook":{"result":"PASS","new":[1]}}}`))
	if err != nil || m.Webhook.Result == WebhookPass || m.Webhook.Result != "PASS" {
		t.Errorf("%+v, %v", m.Webhook, err)
	}
	for _, bad := range []string{`true`, `{"result":true}`, `{"result":"pass","result":"pass"}`, `{"timestamp":1}`} {
		if _, err := decodeMessage([]byte(`{"message":{"webhook":` + bad + `}}`)); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}
