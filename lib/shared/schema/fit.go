package schema

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"pulse/lib/shared/address"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/lazy"
	"pulse/lib/shared/record"
)

// errUnfit is the class of the errors of Fit.
var errUnfit = errors.New("it does not fit the schema")

// Fit returns the JSON value that a reader printed, in its one spelling, if it fits. addresses
// are those of From, To and Cc of the record; an address in the extract is spelled as one of
// them. An error names the place, in the words of the schema, and never what stands there.
func (s *Schema) Fit(out []byte, addresses []string) (extract []byte, err error) {
	if len(out) > MaxSize {
		return nil, errSize
	}
	v, err := record.ParseValue(out)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnfit, err)
	}
	w := &writer{addresses: addresses}
	w.value(s.root, v, "#")
	switch {
	case w.err != nil:
		return nil, w.err
	case len(w.out) > MaxSize:
		return nil, errSize
	case w.broken != nil:
		return nil, w.broken
	}
	return w.out, nil
}

var errSize = fmt.Errorf("%w: it has more than %d bytes", errUnfit, MaxSize)

// writer writes a value anew, and checks what it writes.
type writer struct {
	addresses []string
	spent     int // bytes of addresses written
	out       []byte
	err       error // a value is of another kind than its node, or can't be written
	broken    error // what was written breaks a keyword
}

func (w *writer) fail(at, format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("%w: %s: want %s", errUnfit, at, fmt.Sprintf(format, args...))
	}
}

// kindOf returns the type of a value. It tells no integer from other numbers.
func kindOf(v record.Value) string {
	switch v[0] {
	case '{':
		return isObject
	case '[':
		return isArray
	case '"':
		return isString
	case 't', 'f':
		return isBoolean
	case 'n':
		return isNull
	}
	return isNumber
}

func (w *writer) value(n *node, v record.Value, at string) {
	kind := kindOf(v)
	switch {
	case w.err != nil:
	case kind == isNull && n.null, kind == n.kind, kind == isNumber && n.kind == isInteger,
		n.kind == isWord && kind != isObject && kind != isArray:
		w.of(kind, n, v, at)
	default:
		w.fail(at, "a value of another type")
	}
}

// of writes a value of a kind that the node knows, and holds it against its rules.
func (w *writer) of(kind string, n *node, v record.Value, at string) {
	from, is := len(w.out), written{kind: kind}
	switch kind {
	case isObject:
		is.parts = w.object(n, v, at)
	case isArray:
		is.parts = w.array(n, v, at)
	case isString:
		s, _ := v.String()
		is.text = w.string(n, s, at)
	case isNumber:
		s, err := number(v)
		if err != nil {
			w.fail(at, "a number of at most %d digits, without an exponent", maxDigits)
		}
		w.out = append(w.out, s...)
	default:
		w.out = append(w.out, v...)
	}
	if is.json = string(w.out[from:]); kind != isString {
		is.text = is.json
	}
	w.hold(n, is, at)
}

// object writes an object, and returns the names of its members.
func (w *writer) object(n *node, v record.Value, at string) (names []string) {
	has := map[string]record.Value{}
	_ = v.Each(func(name string, v record.Value) error { has[name] = v; return nil })
	w.out = append(w.out, '{')
	first := len(w.out)
	for _, m := range n.members {
		v, ok := has[m.name]
		if !ok {
			continue
		}
		delete(has, m.name)
		names = append(names, m.name)
		if len(w.out) > first {
			w.out = append(w.out, ',')
		}
		w.out = append(record.AppendString(w.out, m.name), ':')
		w.value(m.of, v, within(at, m.name))
	}
	if len(has) > 0 {
		w.fail(at, "no member besides those of the schema")
	}
	w.out = append(w.out, '}')
	return names
}

// array writes an array, and returns the spellings of its elements.
func (w *writer) array(n *node, v record.Value, at string) (parts []string) {
	w.out = append(w.out, '[')
	_ = v.Elements(func(i int, v record.Value) error {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		from := len(w.out)
		w.value(n.items, v, within(at, strconv.Itoa(i)))
		parts = append(parts, string(w.out[from:]))
		return w.err
	})
	w.out = append(w.out, ']')
	return parts
}

// string writes a string, and returns what it says.
func (w *writer) string(n *node, s, at string) string {
	var ok bool
	want := n.format
	switch n.format {
	case asDate:
		t, err := time.Parse(time.DateOnly, s)
		s, ok = t.Format(time.DateOnly), err == nil
	case asDateTime:
		s, ok = dateTime(s)
	case asAddress:
		s, ok = w.address(s)
		want = fmt.Sprintf("an address of From, To or Cc, and at most %d bytes of them in all", maxAddresses)
	case asID:
		ok = len(s) <= maxID && envelope.PlainID(s)
	default:
		ok = n.kind == isWord || visible(s)
		want = "ASCII characters"
	}
	if !ok {
		w.fail(at, "%s", want)
	}
	w.out = record.AppendString(w.out, s)
	return s
}

func visible(s string) bool {
	return !slices.ContainsFunc([]byte(s), func(c byte) bool { return c < ' ' || c > '~' })
}

// rfc3339 is stricter than time.Parse, which takes one digit for the hour, and a comma.
var rfc3339 = lazy.Regexp(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$`)

// dateTime returns a time in UTC and whole seconds.
func dateTime(s string) (string, bool) {
	t, err := time.Parse(time.RFC3339, s)
	if t = t.UTC(); err != nil || !rfc3339().MatchString(s) || t.Year() < 0 || t.Year() > 9999 {
		return "", false
	}
	return t.Format(time.RFC3339), true
}

// address returns the address of the record that s is.
func (w *writer) address(s string) (string, bool) {
	_, _, err := address.Split(s)
	i := slices.IndexFunc(w.addresses, func(a string) bool { return address.Equal(a, s) })
	if err != nil || i < 0 {
		return "", false
	}
	w.spent += len(s)
	return w.addresses[i], w.spent <= maxAddresses
}
