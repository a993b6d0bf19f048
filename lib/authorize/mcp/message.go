package mcp

import (
	"bytes"
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode"

	"pulse/lib/shared/record"
)

// The codes of JSON-RPC.
const (
	codeParse    = -32700
	codeRequest  = -32600
	codeMethod   = -32601
	codeParams   = -32602
	codeInternal = -32603
)

// refusal says why a line is not passed on.
type refusal struct {
	code int
	why  string
}

func (r *refusal) Error() string { return "mcp: " + r.why }

func refuse(code int, why string) error { return &refusal{code, why} }

// refusalOf returns what is refused, without the path to the member that it is about.
func refusalOf(err error) *refusal {
	var r *refusal
	if !errors.As(err, &r) {
		return errMessage.(*refusal)
	}
	return r
}

// ident is the id of a request.
type ident struct {
	raw record.Value // as it was written; empty: there is none
	key string       // equal for equal ids, however they were written
}

// message is a JSON-RPC message of one line.
type message struct {
	line   []byte // as it came, without the newline
	id     ident
	method string
	params record.Value // an object, or empty
	result record.Value // empty: none
	fault  record.Value // the member error, an object; empty: none
	kinds  int          // how many of method, result and error there are
}

// parse reads a line. It refuses what two readers could take for two things: JSON that is
// not strict, an object with a member twice, anything besides the members of JSON-RPC, and a
// carriage return within the line, at which some readers end it.
func parse(line []byte) (m message, err error) {
	m.line = line
	v, err := record.ParseValue(line)
	if err != nil || bytes.IndexByte(bytes.TrimSuffix(line, []byte("\r")), '\r') >= 0 {
		return m, refuse(codeParse, "it is not strict JSON in one line")
	}
	if v[0] != '{' {
		return m, errMessage
	}
	version := ""
	err = v.Each(func(name string, v record.Value) error {
		if name == "jsonrpc" {
			return v.Into(&version)
		}
		return m.member(name, v)
	})
	if err == nil && (version != "2.0" || !m.formed()) {
		err = errMessage
	}
	return m, err
}

func (m *message) member(name string, v record.Value) (err error) {
	switch name {
	case "id":
		m.id, err = identOf(v)
	case "method":
		err = v.Into(&m.method)
		m.kinds++
	case "params":
		m.params = v
	case "result":
		m.result = v
		m.kinds++
	case "error":
		m.fault = v
		m.kinds++
	default:
		err = errMember
	}
	return err
}

// formed reports whether the members make one request, notification or answer.
func (m *message) formed() bool {
	if m.kinds != 1 || m.params != "" && m.params[0] != '{' || m.fault != "" && m.fault[0] != '{' {
		return false
	}
	return m.asks() || m.params == "" && m.id.raw != ""
}

var errMessage = refuse(codeRequest, "it is not one JSON-RPC 2.0 message: a request, a notification or an answer")

var errMember = refuse(codeRequest, "it has a member that is not known")

// asks reports whether the message is a request or a notification.
func (m *message) asks() bool { return m.result == "" && m.fault == "" }

// given returns the params, which may be left out.
func (m *message) given() record.Value {
	if m.params == "" {
		return "{}"
	}
	return m.params
}

// request reports whether the message, which asks, is a request.
func (m *message) request() bool { return m.id.raw != "" }

// maxText bounds an id, and a progress token, that is a string.
const maxText = 100

// identOf reads an id: a short string, or an integer that every reader takes for the same
// number.
func identOf(v record.Value) (ident, error) {
	if v[0] == '"' {
		s, err := v.String()
		if err == nil && len(s) <= maxText {
			return ident{v, `"` + s}, nil
		}
	}
	if exact(v) && v != "-0" && strings.Trim(string(v), "-0123456789") == "" {
		return ident{v, string(v)}, nil
	}
	return ident{}, refuse(codeRequest, "its id is not an integer or a short string")
}

// exact reports whether every reader takes a number for the same: an integer has at most 53
// bits, and anything else is finite.
func exact(v record.Value) bool {
	if strings.Trim(string(v), "-0123456789") == "" {
		n, err := strconv.ParseInt(string(v), 10, 64)
		return err == nil && -1<<53 < n && n < 1<<53
	}
	f, err := strconv.ParseFloat(string(v), 64)
	return err == nil && !math.IsInf(f, 0)
}

// plain refuses what readers of a valid value could take for two things all the same: numbers
// that they round, and members whose names are alike except for their case.
func plain(v record.Value) error {
	switch c := v[0]; {
	case c == '{':
		names := map[string]bool{}
		return v.Each(func(name string, v record.Value) error {
			if name = fold(name); names[name] {
				return refuse(codeParse, "an object of it has two members whose names differ only in case")
			}
			names[name] = true
			return plain(v)
		})
	case c == '[':
		return v.Elements(func(_ int, v record.Value) error { return plain(v) })
	case c == '-' || '0' <= c && c <= '9':
		if !exact(v) {
			return refuse(codeParse, "it has a number that is not exact")
		}
	}
	return nil
}

// fold returns what names have in common that differ only in case, as encoding/json has it.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, name)
}

// kinds has the members that something may have, with the first character of their values.
type kinds map[string]string

// keep returns the members of params that are in the table, and no others may be there. _meta belongs to the client
// alone, except for the token by which it hears of progress. whole reports whether
// that is all.
func (k kinds) keep(v record.Value) (kept record.Object, whole bool, err error) {
	whole = true
	if err := plain(v); err != nil {
		return kept, false, err
	}
	err = v.Each(func(name string, v record.Value) error {
		if name == "_meta" && v[0] == '{' {
			token, all := progress(v)
			whole = whole && all
			if token != "" {
				var meta record.Object
				meta.Raw("progressToken", []byte(token))
				kept.Raw(name, meta.Bytes())
			}
			return nil
		}
		if want := k[name]; want == "" || strings.IndexByte(want, v[0]) < 0 {
			return errParams
		}
		kept.Raw(name, []byte(v))
		return nil
	})
	return kept, whole, err
}

// some returns the members of an object that are in the table, and whether these are all.
func (k kinds) some(v record.Value) (kept record.Object, all bool, err error) {
	all = true
	err = v.Each(func(name string, v record.Value) error {
		if want := k[name]; want != "" && strings.IndexByte(want, v[0]) >= 0 {
			kept.Raw(name, []byte(v))
		} else {
			all = false
		}
		return nil
	})
	return kept, all, err
}

var errParams = refuse(codeParams, "its params have a member that is not known, or of another type")

// progress returns the token among the members of _meta, and whether there is nothing else.
func progress(meta record.Value) (token record.Value, all bool) {
	all = true
	_ = meta.Each(func(name string, v record.Value) error {
		if id, err := identOf(v); name == "progressToken" && err == nil {
			token = id.raw
		} else {
			all = false
		}
		return nil
	})
	return token, all
}

// written writes a message anew.
func written(fill func(o *record.Object)) []byte {
	var o record.Object
	o.Str("jsonrpc", "2.0")
	fill(&o)
	return o.Bytes()
}

// request writes a request anew.
func request(m *message, params []byte) []byte {
	return written(func(o *record.Object) {
		o.Raw("id", []byte(m.id.raw))
		o.Str("method", m.method)
		o.Raw("params", params)
	})
}

func answered(id ident, result []byte) []byte {
	return written(func(o *record.Object) {
		o.Raw("id", []byte(id.raw))
		o.Raw("result", result)
	})
}

// failed is an answer that is an error.
func failed(id ident, code int, why string) []byte {
	return written(func(o *record.Object) {
		if id.raw == "" {
			id.raw = "null"
		}
		o.Raw("id", []byte(id.raw))
		o.Nested("error", func(dst []byte) []byte {
			e := record.ObjectAfter(dst)
			e.Int("code", int64(code))
			e.Str("message", why)
			return e.Bytes()
		})
	})
}

// denied is what the model is told about a use that was not allowed.
func denied(id ident, why string) []byte { return answered(id, said(why, true)) }

// said is the result of a use that has come to a text.
func said(words string, wrong bool) []byte {
	var text record.Object
	text.Str("type", "text")
	text.Str("text", words)
	var result record.Object
	result.Raw("content", append(append([]byte("["), text.Bytes()...), ']'))
	if wrong {
		result.Bool("isError", true)
	}
	return result.Bytes()
}

// refused is the answer to what was not passed on.
func refused(id ident, err error) []byte {
	r := refusalOf(err)
	return failed(id, r.code, "pulse: refused: "+r.why)
}
