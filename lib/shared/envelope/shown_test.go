package envelope

import (
	"reflect"
	"strings"
	"testing"

	"pulse/lib/shared/record"
)

// FuzzShown: no panic; the member that a worker is given reads back equal, and is
// written as the same bytes again.
func FuzzShown(f *testing.F) {
	f.Add([]byte(`{"source":"s","id":"<a@b>","received":"2026-11-21T07:00:00.5+02:00","from":"f","subject":"\ud83d\ude00\u202e","text":"a\u0000\r\n","scope":"full",` +
		`"truncated":true,"attachments":[{"name":"n","type":"t","size":7,"x":{}}],"sender":{"id":1,"chat":-2,"bot":true,"x":[]},"headers":[["a","b"]],"x":null}`))
	f.Add([]byte(`{"attachments":[]}`))
	f.Add([]byte(`{"attachments":[{"size":3,"digest":"sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad","data":"YWJj"},{"omitted":true}]}`))
	f.Add([]byte(`{"thread":{"references":["<a@b>","\u001b"],"x":[]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		shown, ok := show(b)
		if !ok {
			return
		}
		given := shown.Append(nil)
		if t := shown.Thread; t != nil && t.InReplyTo == nil { // a list that is not there is written as an empty one
			t.InReplyTo = []string{}
		}
		if t := shown.Thread; t != nil && t.References == nil {
			t.References = []string{}
		}
		again, ok := show(given)
		if !ok || !reflect.DeepEqual(again, shown) {
			t.Fatalf("%s\n%+v\n%+v", given, shown, again)
		}
		if twice := again.Append(nil); string(twice) != string(given) {
			t.Errorf("%s\n%s", given, twice)
		}
	})
}

// TestShownAttachments: content that is not what the record says of it is not shown.
func TestShownAttachments(t *testing.T) {
	const abc = `"digest":"sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"`
	for one, want := range map[string]bool{
		`{"size":3,` + abc + `,"data":"YWJj"}`:                            true,
		`{"size":3,` + abc + `}`:                                          true,
		`{"size":3,` + abc + `,"omitted":true}`:                           true,
		`{"size":3,` + abc + `,"data":"YWJj","omitted":true}`:             false,
		`{"size":4,` + abc + `,"data":"YWJj"}`:                            false,
		`{"size":3,` + abc + `,"data":"YWJk"}`:                            false,
		`{"size":3,` + abc + `,"data":"YWJj\n"}`:                          false,
		`{"size":3,` + abc + `,"data":"YWJ"}`:                             false,
		`{"size":3,` + abc + `,"data":["YWJj"]}`:                          false,
		`{"size":3,"data":"YWJj"}`:                                        false,
		`{"size":3,"digest":7}`:                                           false,
		`{"size":0,"digest":"sha256:` + hollow + `","data":""}`:           true,
		`{"size":0,"digest":"sha256:` + hollow + `","omitted":"true"}`:    false,
		`{"size":1,"digest":"sha256:` + hollow + `","data":"YQ==","x":1}`: false,
	} {
		if _, ok := show([]byte(`{"attachments":[` + one + `]}`)); ok != want {
			t.Errorf("%s: %v", one, ok)
		}
	}
}

// hollow is the digest of nothing.
const hollow = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func show(b []byte) (Shown, bool) {
	rec, err := record.Parse(append(append([]byte(`{"message":`), b...), '}'), Member)
	if err != nil {
		return Shown{}, false
	}
	v, err := rec.Get(Member)
	if err != nil {
		return Shown{}, false
	}
	s, err := Show(v)
	return s, err == nil
}

// TestAppendBare: it holds all that decisions may look at.
func TestAppendBare(t *testing.T) {
	for _, s := range []string{
		`{"source":"s","uid":7,"uidvalidity":8,"id":"<a@b>","digest":"sha256:1","received":"2026-11-21T07:00:00Z","fetched":"2026-11-21T07:00:01Z","size":9,"headers":[["From"," a\u202e"],["X",""]],"thread":{"in_reply_to":["<x@y>"],"references":[]},"defects":["mbox","later"]}`,
		`{"source":"telegram","id":"7","sender":{"id":1,"chat":-2,"bot":true,"mentioned":true}}`,
		`{"source":"hook","id":"7","webhook":{"result":"late","why":"w","scheme":"standard","timestamp":"2026-11-21T07:00:00Z","type":"text/plain"}}`,
		`{"source":"s","id":"<a@b>","dkim":{"from":"b","signatures":[{"domain":"b","selector":"s","algorithm":"rsa-sha256","result":"pass","headers":["from","date"]}],"dmarc":{"result":"found","domain":"b"}}}`,
	} {
		was, err := decodeMessage([]byte(`{"message":` + s + `}`))
		if err != nil {
			t.Fatal(err)
		}
		is, err := decodeMessage(append(was.AppendBare([]byte(`{"message":`)), '}'))
		if err != nil || !reflect.DeepEqual(normal(is), normal(was)) {
			t.Errorf("%v\n%+v\n%+v", err, is, was)
		}
		for _, name := range []string{`"text"`, `"truncated"`, `"attachments"`} {
			if strings.Contains(string(was.AppendBare(nil)), name) {
				t.Errorf("%s stands in %s", name, was.AppendBare(nil))
			}
		}
	}
}

// normal is a message whose empty lists are nil.
func normal(m Message) Message {
	if len(m.Headers) == 0 {
		m.Headers = nil
	}
	return m
}
