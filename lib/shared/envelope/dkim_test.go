package envelope

import (
	"reflect"
	"testing"

	"pulse/lib/shared/record"
)

// decodeMessage reads the message member of a line.
func decodeMessage(line []byte) (m Message, err error) {
	rec, err := record.Parse(line, Member)
	if err == nil {
		err = m.Read(rec)
	}
	return m, err
}

func TestDKIMRoundTrip(t *testing.T) {
	for _, want := range []*DKIM{
		nil,
		{Why: "the message was not fetched whole"},
		{From: "example.com"},
		{From: "example.com", Omitted: 40, Signatures: []Signature{
			{Result: DKIMNeutral, Why: "a tag is not name=value", Headers: []string{}},
			{Result: DKIMPass, Domain: "example.com", User: "me", Selector: "s1", Algorithm: "rsa-sha256", Headers: []string{"from", "to"}},
		}, DMARC: DMARC{Result: DMARCFound, Domain: "example.com", Policy: "reject", Strict: true}},
		{From: "example.com", DMARC: DMARC{Result: DMARCNone}},
		{From: "a.example.com", Signatures: []Signature{
			{Result: DKIMPass, Domain: "b.example.com", Headers: []string{"from"}, Organizational: "example.com"},
		}, DMARC: DMARC{Result: DMARCFound, Domain: "example.com", Policy: "none", Organizational: "example.com"}},
	} {
		m := Message{DKIM: want}
		got, err := decodeMessage(append(m.Append([]byte(`{"message":`)), '}'))
		if err != nil || !reflect.DeepEqual(got.DKIM, want) {
			t.Errorf("%+v, %v, want %+v", got.DKIM, err, want)
		}
	}
}

// FuzzDKIM: a member that was read can be written and read again without a change.
func FuzzDKIM(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"signatures":[]}`, `{"signatures":null}`, `[]`, `{"omitted":-1,"dmarc":{}}`, `{"dmarc":{"strict":"yes"}}`,
		`{"from":"example.com","signatures":[{"result":"pass","domain":"example.com","headers":["from"]}],"dmarc":{"result":"found","strict":false}}`,
		`{"signatures":[{"result":"Pass","result":"pass"}]}`, `{"why":"\u0000","other":[1]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		line := append(append([]byte(`{"message":{"dkim":`), b...), "}}"...)
		m, err := decodeMessage(line)
		if err != nil || m.DKIM == nil {
			return
		}
		first := m.DKIM.bytes()
		again, err := decodeMessage(append(append([]byte(`{"message":{"dkim":`), first...), "}}"...))
		if err != nil {
			t.Fatalf("%s: %v", first, err)
		}
		if second := again.DKIM.bytes(); string(first) != string(second) {
			t.Fatalf("%s\n%s", first, second)
		}
	})
}
