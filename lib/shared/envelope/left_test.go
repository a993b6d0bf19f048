package envelope

import (
	"strings"
	"testing"
)

// What was left out survives a record; a record that says nothing of it, or knows a kind
// that is not in the list, is not all text.
func TestLeft(t *testing.T) {
	m := Message{Left: NothingLeft()}
	m.Left.Add(LeftPreamble, []byte(" \r\n"))
	if got := decoded(t, &m); !got.Left.Nothing() || got.Left.String() != "" {
		t.Errorf("%+v", got.Left)
	}
	m.Left.Add(LeftHidden, []byte(" a\xff\x1b\n"))
	m.Left.Add(LeftEpilogue, []byte(strings.Repeat("e", 2*maxLeft)))
	m.Left.Add(LeftHidden, []byte("b"))
	line := string(m.Append(nil))
	if !strings.Contains(line, `"left_out":{"hidden":4,"epilogue":2000},"left_text":{"hidden":"a`+"\ufffd"+`\u001b\nb","epilogue":"`+strings.Repeat("e", maxLeft)+`"}`) {
		t.Error(line)
	}
	if got := decoded(t, &m); got.Left.Nothing() || got.Left.String() != "4 bytes hidden, 2000 bytes epilogue" {
		t.Errorf("%+v", got.Left)
	}
	for _, members := range []string{``, `,"left_out":{"later":0}`, `,"left_out":{},"left_text":{"hidden":"x"}`, `,"left_text":{}`} {
		got, err := decodeMessage([]byte(`{"message":{"id":"1"` + members + `}}`))
		if err != nil || got.Left.Nothing() {
			t.Errorf("%s: %+v, %v", members, got.Left, err)
		}
	}
	var s Shown
	if s.Left = m.Left; strings.Contains(string(s.Append(nil)), "left_") {
		t.Error("a worker is given what was left out")
	}
}

func decoded(t *testing.T, m *Message) Message {
	t.Helper()
	got, err := decodeMessage([]byte(`{"message":` + string(m.Append(nil)) + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return got
}
