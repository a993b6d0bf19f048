package proposal

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
)

// errCorrection means that a text is not what Form writes with other values.
var errCorrection = errors.New("it can't be read as a correction")

// The names of lines in a form.
const (
	formTarget = "target: "
	formArg    = "args."
	bodyArg    = "text" // the member of args that stands below the blank line
)

// MaxCorrection is how long a form may be, in bytes, when it comes back.
const MaxCorrection = maxLine

// Form returns what of a request a person may change, as a text: a line for each target and for
// each member of args, and below a blank line the text. Files, tool and action are not in it.
func Form(r *request.Request) []byte {
	var b strings.Builder
	for _, t := range r.Target {
		b.WriteString(formTarget + t + "\n")
	}
	body, has := "", false
	for _, m := range args(r) {
		if m.body() {
			body, has = m.text, true
			continue
		}
		b.WriteString(formArg + m.name + ": " + m.line() + "\n")
	}
	if has {
		b.WriteString("\n" + body + "\n")
	}
	return []byte(b.String())
}

// member is one member of args that can be in a form.
type member struct {
	name  string
	value record.Value
	text  string // of a string
}

func (m *member) str() bool { return m.value[0] == '"' }

func (m *member) body() bool { return m.name == bodyArg && m.str() }

// line returns the value in one line: a string as it is, unless it could be taken for JSON.
func (m *member) line() string {
	if m.str() && m.text != "" && strings.TrimSpace(m.text) == m.text && printable(m.text) && !json.Valid([]byte(m.text)) {
		return m.text
	}
	return oneLine(m.value)
}

func printable(s string) bool {
	return strings.IndexFunc(s, func(c rune) bool { return c < ' ' || c == 0x7f || c == '\u2028' || c == '\u2029' }) < 0
}

// oneLine returns JSON without line breaks between its tokens; a string has none in it.
func oneLine(v record.Value) string {
	return strings.NewReplacer("\n", " ", "\r", " ", "\t", " ").Replace(string(v))
}

// args returns the members of args that a form has: those with a plain name.
func args(r *request.Request) (list []member) {
	if r.Args == "" || r.Args[0] != '{' {
		return nil
	}
	_ = r.Args.Each(func(name string, v record.Value) error {
		m := member{name: name, value: v}
		if m.str() {
			m.text, _ = v.String()
		}
		if name != "" && strings.Trim(name, toolChars) == "" && !strings.Contains(name, ":") {
			list = append(list, m)
		}
		return nil
	})
	return list
}

// Correct returns the proposal that a form says which a person has changed. It has the action, the
// tool, the evidence and the files of the request that the form is of. Args keep their members, and
// each of these its type. All is read with the bounds of a worker's proposal.
func Correct(r *request.Request, form []byte) (p Proposal, err error) {
	if len(form) > MaxCorrection || !utf8.Valid(form) || slices.Contains(form, 0) {
		return p, fmt.Errorf("%w: it is longer than %d bytes, or no text in UTF-8", errCorrection, MaxCorrection)
	}
	c := correction{had: args(r), values: map[string]string{}}
	if err := c.read(string(form)); err != nil {
		return p, fmt.Errorf("%w: %w", errCorrection, err)
	}
	line, err := c.line(r)
	if err != nil {
		return p, fmt.Errorf("%w: %w", errCorrection, err)
	}
	p, err = (&reader{left: maxAll, discarded: Discarded{}}).parse(line)
	if err == nil {
		p.Files = r.Files
		err = p.readable()
	}
	if err != nil {
		return p, fmt.Errorf("%w: %w", errCorrection, err)
	}
	return p, nil
}

// correction is a form as it came back.
type correction struct {
	had     []member
	targets []string
	values  map[string]string // of args, as JSON
}

func (c *correction) read(form string) error {
	for form != "" {
		line, rest, _ := strings.Cut(form, "\n")
		line = strings.TrimSuffix(line, "\r")
		switch {
		case strings.TrimSpace(line) == "":
			return c.body(rest)
		case strings.HasPrefix(line, formTarget):
			c.targets = append(c.targets, strings.TrimSpace(strings.TrimPrefix(line, formTarget)))
		case strings.HasPrefix(line, formArg):
			if err := c.arg(strings.TrimPrefix(line, formArg)); err != nil {
				return err
			}
		default:
			return fmt.Errorf("a line begins neither with %q nor with %q, and the text follows a blank line", formTarget, formArg)
		}
		form = rest
	}
	return nil
}

// arg reads a line of args.
func (c *correction) arg(line string) error {
	name, value, _ := strings.Cut(line, ":")
	value = strings.TrimSpace(value)
	i := slices.IndexFunc(c.had, func(m member) bool { return m.name == name && !m.body() })
	if _, twice := c.values[name]; i < 0 || twice {
		return fmt.Errorf("args.%s is there twice, or was not there before", name)
	}
	m := &c.had[i]
	switch {
	case value == m.line():
		value = string(m.value)
	case json.Valid([]byte(value)) && kind(value) == kind(string(m.value)):
	case m.str() && value != "" && !json.Valid([]byte(value)):
		value = string(record.AppendString(nil, value))
	default:
		return fmt.Errorf("args.%s is of another type than before", name)
	}
	c.values[name] = value
	return nil
}

// kind returns what type of JSON a value is of.
func kind(v string) string {
	switch v[0] {
	case '"', '{', '[', 'n':
		return v[:1]
	case 't', 'f':
		return "t"
	}
	return "0"
}

// body reads the text, which an editor may have given a last newline.
func (c *correction) body(text string) error {
	i := slices.IndexFunc(c.had, func(m member) bool { return m.body() })
	switch {
	case i < 0 && strings.TrimSpace(text) == "":
		return nil
	case i < 0:
		return errors.New("there is no args.text, and a text below the blank line")
	}
	if text = strings.TrimSuffix(text, "\n"); text == c.had[i].text {
		c.values[bodyArg] = string(c.had[i].value)
		return nil
	}
	c.values[bodyArg] = string(record.AppendString(nil, text))
	return nil
}

// line returns the corrected request as a worker's proposal.
func (c *correction) line(r *request.Request) ([]byte, error) {
	for _, m := range c.had {
		if _, there := c.values[m.name]; !there {
			return nil, fmt.Errorf("args.%s is gone: leave it empty if it is to have no text", m.name)
		}
	}
	if len(c.targets) == 0 && len(r.Target) > 0 {
		return nil, errors.New("it has no target any more")
	}
	var o record.Object
	o.Str("action", string(r.Action))
	o.StrsIf("target", c.targets)
	o.StrIf("tool", r.Tool)
	if r.Args != "" && r.Args[0] == '{' {
		var all record.Object
		_ = r.Args.Each(func(name string, v record.Value) error {
			if now, there := c.values[name]; there {
				v = record.Value(now)
			}
			all.Raw(name, []byte(v))
			return nil
		})
		o.Raw("args", all.Bytes())
	} else if r.Args != "" {
		return nil, errors.New("its args are no object")
	}
	if r.Evidence != "" {
		o.Raw("evidence", []byte(r.Evidence))
	}
	return slices.Clone(o.Bytes()), nil
}

// The bounds of a difference that is told.
const (
	maxDifference = 200 // lines
	maxChanged    = 400 // lines of a form that are compared one by one
)

// Difference returns what differs between two requests in what a person may change: lines of the
// first begin with a minus, lines of the second with a plus.
func Difference(a, b *request.Request) (list []string) {
	before, now := strings.Split(string(Form(a)), "\n"), strings.Split(string(Form(b)), "\n")
	for len(before) > 0 && len(now) > 0 && before[0] == now[0] {
		before, now = before[1:], now[1:]
	}
	for len(before) > 0 && len(now) > 0 && before[len(before)-1] == now[len(now)-1] {
		before, now = before[:len(before)-1], now[:len(now)-1]
	}
	for _, l := range merge(before, now) {
		if l[0] != ' ' {
			list = append(list, l)
		}
	}
	if len(list) > maxDifference {
		list = append(list[:maxDifference], fmt.Sprintf("... %d more", len(list)-maxDifference))
	}
	return list
}

// merge returns the lines of both, each with its sign; a blank stands before those of both.
func merge(a, b []string) (list []string) {
	if len(a) > maxChanged || len(b) > maxChanged { // too many to compare: all went, and all came
		return append(signed("-", a), signed("+", b)...)
	}
	longest := make([][]int, len(a)+1) // of the common lines from a place on
	for i := range longest {
		longest[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			if a[i] == b[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			}
		}
	}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			list = append(list, " "+a[i])
			i, j = i+1, j+1
		case longest[i+1][j] >= longest[i][j+1]:
			list, i = append(list, "-"+a[i]), i+1
		default:
			list, j = append(list, "+"+b[j]), j+1
		}
	}
	return append(append(list, signed("-", a[i:])...), signed("+", b[j:])...)
}

func signed(sign string, lines []string) (list []string) {
	for _, l := range lines {
		list = append(list, sign+l)
	}
	return list
}
