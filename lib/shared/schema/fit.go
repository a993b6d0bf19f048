package schema

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"pulse/lib/shared/address"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/record"
)

// errUnfit is the class of every value that does not fit.
var errUnfit = errors.New("it does not fit the schema")

// Fit returns the JSON value that a reader printed, in its only spelling, if it fits.
// addresses are those of From, To and Cc of the record. An error names the place, in the words
// of the schema, and never the content.
func (s *Schema) Fit(out []byte, addresses []string) (extract []byte, err error) {
	if len(out) > MaxSize {
		return nil, fmt.Errorf("%w: it has more than %d bytes", errUnfit, MaxSize)
	}
	v, err := record.ParseValue(out)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnfit, err)
	}
	f := &fitting{addresses: addresses}
	f.value(s.root, v, "#")
	if f.err != nil {
		return nil, f.err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(f.out))
	if err == nil {
		err = s.draft.Validate(value)
	}
	if err != nil {
		return nil, unfit(err)
	}
	return f.out, nil
}

// unfit says where a value does not fit, and which keyword says so.
func unfit(err error) error {
	var v *jsonschema.ValidationError
	if !errors.As(err, &v) {
		return errUnfit
	}
	for len(v.Causes) > 0 {
		v = v.Causes[0]
	}
	at := "#"
	for _, name := range v.InstanceLocation {
		at = within(at, name)
	}
	word := "schema"
	if path := v.ErrorKind.KeywordPath(); len(path) > 0 {
		word = path[0]
	}
	return fmt.Errorf("%w: %s: %s", errUnfit, at, word)
}

// fitting writes a value anew. What the library checks as well, it leaves to the library.
type fitting struct {
	addresses []string
	spent     int // bytes of addresses
	out       []byte
	err       error
}

func (f *fitting) fail(at, want string) {
	if f.err == nil {
		f.err = fmt.Errorf("%w: %s: want %s", errUnfit, at, want)
	}
}

// kinds are the types by the first byte of a value.
func kindOf(v record.Value) string {
	switch v[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

func (f *fitting) value(n *node, v record.Value, at string) {
	kind := kindOf(v)
	if f.err != nil {
		return
	}
	want := n.kind
	if want == "integer" {
		want = "number"
	}
	switch {
	case kind == "null" && (n.null || n.kind == ""), n.kind == "" && kind == "boolean", kind == "boolean" && want == kind:
		f.out = append(f.out, v...)
	case n.kind == "" && kind == "string":
		s, _ := v.String()
		f.out = record.AppendString(f.out, s)
	case kind == "number" && (n.kind == "" || want == kind):
		s, err := number(v)
		if err != nil {
			f.fail(at, "a number of at most 15 digits, without an exponent")
		}
		f.out = append(f.out, s...)
	case want != kind:
		f.fail(at, "another type")
	case kind == "object":
		f.object(n, v, at)
	case kind == "array":
		f.array(n, v, at)
	default:
		s, _ := v.String()
		f.string(n, s, at)
	}
}

func (f *fitting) object(n *node, v record.Value, at string) {
	has := map[string]record.Value{}
	_ = v.Each(func(name string, v record.Value) error { has[name] = v; return nil })
	f.out = append(f.out, '{')
	open := len(f.out)
	for _, m := range n.members {
		v, ok := has[m.name]
		if !ok {
			continue
		}
		delete(has, m.name)
		if len(f.out) > open {
			f.out = append(f.out, ',')
		}
		f.out = append(record.AppendString(f.out, m.name), ':')
		f.value(m.of, v, within(at, m.name))
	}
	if len(has) > 0 {
		f.fail(at, "no member that the schema does not name")
	}
	f.out = append(f.out, '}')
}

func (f *fitting) array(n *node, v record.Value, at string) {
	f.out = append(f.out, '[')
	_ = v.Elements(func(i int, v record.Value) error {
		if i > 0 {
			f.out = append(f.out, ',')
		}
		f.value(n.items, v, within(at, strconv.Itoa(i)))
		return f.err
	})
	f.out = append(f.out, ']')
}

func (f *fitting) string(n *node, s, at string) {
	var ok bool
	switch n.format {
	case formatDate:
		_, err := time.Parse(time.DateOnly, s)
		ok = err == nil
	case formatDateTime:
		s, ok = dateTime(s)
	case formatAddress:
		s, ok = f.address(s)
	case formatID:
		ok = len(s) <= maxID && envelope.PlainID(s)
	default:
		ok = visible(s)
	}
	if !ok {
		f.fail(at, "another string")
	}
	f.out = record.AppendString(f.out, s)
}

// visible reports whether s is printable ASCII.
func visible(s string) bool {
	return !slices.ContainsFunc([]byte(s), func(c byte) bool { return c < ' ' || c > '~' })
}

var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$`)

// dateTime returns a time in UTC and whole seconds.
func dateTime(s string) (string, bool) {
	t, err := time.Parse(time.RFC3339, s)
	if t = t.UTC(); err != nil || !rfc3339.MatchString(s) || t.Year() < 1 || t.Year() > 9999 {
		return "", false
	}
	return t.Format(time.RFC3339), true
}

// address returns the address of the record that s is.
func (f *fitting) address(s string) (string, bool) {
	_, _, err := address.Split(s)
	i := slices.IndexFunc(f.addresses, func(a string) bool { return address.Equal(a, s) })
	if err != nil || i < 0 {
		return "", false
	}
	f.spent += len(s)
	return f.addresses[i], f.spent <= maxAddresses
}
