package webhook

import (
	"errors"
	"slices"
	"strings"
	"time"

	"pulse/lib/shared/envelope"
	"pulse/lib/shared/peer"
	"pulse/lib/shared/record"
)

// Ask is what the body of a platform's request says.
type Ask struct {
	ID                  string // of the message
	Sender              envelope.Sender
	At                  time.Time // when it was written; zero: the header says when it was signed
	From, Subject, Text string    // for people
}

var errUnproven = errors.New("the signature is not good")

var errForm = errors.New("the body is not as the platform documents it, or one person shows what another wrote")

// Ask reads the body of a request of the platform whose keys these are. It returns nil and
// no error for one that is not an ask: a challenge, a ping, an edit, an event of another
// kind. It is an error if the request did not pass, or if who sent it, where or when can't
// be read.
func (r *Request) Ask(k Keys, w *envelope.Webhook) (*Ask, error) {
	if w.Result != envelope.WebhookPass {
		return nil, errUnproven
	}
	body, err := record.ParseValue(r.Body)
	if err != nil || body[0] != '{' {
		return nil, errForm
	}
	for i := range k.platform.events {
		if e := &k.platform.events[i]; all(body, e.when) {
			return e.read(body)
		}
	}
	return nil, nil
}

func (e *event) read(body record.Value) (*Ask, error) {
	a := &Ask{From: words(body, e.from), Subject: words(body, e.subject), Text: words(body, e.text)}
	var err error
	id := func(path string) peer.ID {
		v := find(body, path)
		if len(v) != 1 {
			err = errForm
			return ""
		}
		id, bad := peer.Decode(v[0])
		if bad != nil || id == "" {
			err = errForm
		}
		return id
	}
	parts := []string{e.kind}
	for _, path := range e.id {
		parts = append(parts, strings.Trim(string(id(path)), `"`))
	}
	a.ID = strings.TrimPrefix(strings.Join(parts, "/"), "/")
	a.Sender = envelope.Sender{
		ID: id(e.sender), Chat: id(e.chat), Bot: !all(body, e.person), Mentioned: e.mentioned != nil && all(body, e.mentioned),
	}
	if e.author != "" && id(e.author) != a.Sender.ID {
		err = errForm
	}
	if e.private != nil && all(body, e.private) {
		a.Sender.Chat = ""
	}
	if e.at != "" {
		at, ok := moment(find(body, e.at))
		if a.At = at; !ok {
			err = errForm
		}
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

// moment reads seconds since 1970, or a time in RFC 3339.
func moment(v []record.Value) (at time.Time, ok bool) {
	if len(v) != 1 {
		return at, false
	}
	if v[0][0] == '"' {
		err := v[0].Into(&at)
		return at, err == nil && at.Unix() > 0
	}
	return timestamp(string(v[0]))
}

func all(body record.Value, facts []fact) bool {
	return !slices.ContainsFunc(facts, func(f fact) bool { return !f.holds(body) })
}

func (f fact) holds(body record.Value) bool {
	some := false
	for _, v := range find(body, f.path) {
		if v == "null" || v == "false" && f.want != "false" {
			continue
		}
		some = true
		if slices.Contains(strings.Split(f.want, "|"), plainText(v)) {
			return true
		}
	}
	return f.want == absent && !some || f.want == there && some
}

// plainText returns a value as a fact has it: a string without escapes.
func plainText(v record.Value) string {
	if s, err := v.String(); err == nil {
		return `"` + s + `"`
	}
	return string(v)
}

// find returns the values at a path: one, or with * in the path several, or none.
func find(v record.Value, path string) (list []record.Value) {
	if path == "" {
		return []record.Value{v}
	}
	name, rest, _ := strings.Cut(path, ".")
	into := func(v record.Value) error {
		list = append(list, find(v, rest)...)
		return nil
	}
	if name == "*" && v[0] == '[' {
		_ = v.Elements(func(_ int, v record.Value) error { return into(v) })
	}
	if name != "*" && v[0] == '{' {
		_ = v.Each(record.To(name, into))
	}
	return list
}

// words returns the text at a path: of a string what it says, of any other value its JSON,
// and nothing for null.
func words(body record.Value, path string) string {
	if path == "" {
		return ""
	}
	for _, v := range find(body, path) {
		if s, err := v.String(); err == nil {
			return s
		}
		if v != "null" {
			return string(v)
		}
	}
	return ""
}
