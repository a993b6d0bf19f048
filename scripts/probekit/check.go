package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"pulse/lib/classify/authres"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/address"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
)

// question holds the arguments of check.
type question struct {
	nonce, pin string
	direct     bool
}

// check reads records and reports on those that are probes with the nonce. The receiver
// is trusted if every one of them says that it may be.
func check(args []string, in io.Reader, out io.Writer) (ok bool, err error) {
	var q question
	err = flags(args, func(set *flag.FlagSet) {
		set.StringVar(&q.nonce, "nonce", "", "")
		set.StringVar(&q.pin, "pin", "", "")
		set.BoolVar(&q.direct, "direct", false, "")
	})
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintln(out, errUsage)
		return true, nil
	case err != nil:
		return false, err
	case !nonceForm.MatchString(q.nonce):
		return false, fmt.Errorf("--nonce: want the 32 digits that mail printed; %w", errUsage)
	}
	var m envelope.Message
	found, ok := 0, true
	rd := record.NewReader(in, "stdin", record.DefaultMax, envelope.Member)
	for {
		rec, err := rd.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = m.Read(rec)
		}
		if a, is := q.arrived(&m); err == nil && is {
			found++
			ok = a.report(out) && ok
		}
		if err != nil {
			return false, err
		}
	}
	if found == 0 {
		return false, fmt.Errorf("no record is a probe with this nonce: not arrived yet, in another mailbox, or not among the newest (--limit)")
	}
	return ok, nil
}

// arrived is a probe as it lies in the mailbox.
type arrived struct {
	question
	probe  probe
	first  string // id of the first field, empty if there is none
	fault  error  // why the first field can't be used, pin aside
	forged bool   // the first field is one of the probe's
	defect envelope.Defect
	fields []survivor

	own      int      // fields of the receiver's names that the probe did not write
	doubled  []string // fields of Microsoft's servers that stand there twice, or are the probe's
	identity identity.Identity
}

// survivor is a forgery that has arrived.
type survivor struct {
	n, place int // number of the forgery; number of its field in the header, from 1
	what     string
	verdict  string // what pulse would make of it if it stood first
	named    bool   // it still has the name that makes pulse read it
	believed bool
}

// arrived reads a message, and reports whether it is a probe with the nonce.
func (q question) arrived(m *envelope.Message) (arrived, bool) {
	a := arrived{question: q}
	a.probe.pin = q.pin
	is := false
	for _, f := range m.Headers {
		if address.Equal(f.Name, manifest) && strings.HasPrefix(strings.TrimLeft(f.Value, " \t\r\n"), q.nonce+" ") {
			is = a.manifest(f.Value)
		}
	}
	if !is {
		return a, false
	}
	a.defect = m.Unverifiable()
	a.survivors(m)
	a.top(m)
	a.count(m)
	a.identity = classify(m, a.probe.believed())
	return a, true
}

// classify returns what pulse-classify says about the mail if the receiver is believed.
func classify(m *envelope.Message, r policy.Receiver) identity.Identity {
	p := policy.Default()
	p.AuthservIDs, p.Verdict = r.AuthservIDs, r.Verdict
	return identity.Classify(m, p)
}

// count counts the fields that the receiver itself wrote, and names those of Microsoft's
// servers that it let the probe write.
func (a *arrived) count(m *envelope.Message) {
	r := a.probe.believed()
	seen := map[string]int{}
	for place, f := range m.Headers {
		name := address.Fold(strings.Trim(f.Name, " \t"))
		forged := slices.ContainsFunc(a.fields, func(s survivor) bool { return s.place == place+1 })
		if name == "authentication-results" && !forged && (r.Verdict == policy.ByMicrosoft || r.Believes(authres.ID(f.Value))) {
			a.own++
		}
		seen[name]++
		theirs := name == "authentication-results" || strings.HasPrefix(name, "x-ms-exchange-organization-") ||
			strings.HasPrefix(name, "x-ms-exchange-crosstenant-")
		if theirs && (forged || seen[name] == 2) {
			a.doubled = append(a.doubled, name)
		}
	}
}

// manifest reads what the probe says about itself. The nonce vouches for it.
func (a *arrived) manifest(value string) bool {
	var id string
	pinned := false
	a.probe.nonce = a.nonce
	for _, word := range strings.Fields(value)[1:] {
		key, v, _ := strings.Cut(word, "=")
		switch key {
		case "id":
			id = v
		case "pinned":
			pinned = v == "true"
		case "broken":
			a.probe.broken = v == "true"
		case "inside":
			a.probe.inside = v == "true"
		case "receiver":
			a.probe.receiver = v
		case "from":
			a.probe.from = v
		}
	}
	if pinned && a.probe.pin == "" {
		a.probe.pin = id
	}
	return id != "" && a.probe.name() == nil
}

// survivors finds the forgeries by their tags, even if the receiver renamed the fields.
func (a *arrived) survivors(m *envelope.Message) {
	list := a.probe.forgeries()
	for place, f := range m.Headers {
		for n := range list {
			if !strings.Contains(f.Value, tag(a.nonce, n)) && !strings.Contains(f.Name, tag(a.nonce, n)) {
				continue
			}
			s := survivor{n: n, place: place + 1, what: list[n].what}
			s.verdict, s.named, s.believed = believe(f, a.probe.believed())
			a.fields = append(a.fields, s)
		}
	}
}

// believe returns what pulse-classify would make of a field that stood first: whether it
// would read it at all, and whether it would believe it.
func believe(f envelope.Field, r policy.Receiver) (verdict string, named, believed bool) {
	is, odd := authres.Named(f.Name)
	_, err := authres.Read(f.Value, r.Believes)
	if odd {
		err = authres.ErrName
	}
	switch {
	case !is:
		return "not read: it has another name", false, false
	case err == nil:
		return "BELIEVED", true, true
	case errors.Is(err, authres.ErrPin):
		return "refused: another id", true, false
	}
	return "refused: " + strings.TrimPrefix(err.Error(), "authres: "), true, false
}

var errNone = errors.New("no Authentication-Results field")

// top reads the field that decides.
func (a *arrived) top(m *envelope.Message) {
	a.fault = errNone
	for place, f := range m.Headers {
		is, odd := authres.Named(f.Name)
		if !is {
			continue
		}
		_, a.fault = authres.Read(f.Value, func(id string) bool { a.first = id; return id == a.probe.pin })
		if odd {
			a.fault = authres.ErrName
		}
		a.forged = slices.ContainsFunc(a.fields, func(s survivor) bool { return s.place == place+1 })
		return
	}
}

// report prints what arrived, and returns whether the receiver may be trusted.
func (a *arrived) report(w io.Writer) bool {
	fmt.Fprintf(w, "probe %s\n", a.nonce)
	pin := a.probe.pin
	switch {
	case a.probe.kind() == policy.ByMicrosoft:
		pin = "(none: it is read by its place)"
	case pin == "":
		pin = "(none: say --pin)"
	}
	fmt.Fprintf(w, "  first field by: %s%s\n  pin:            %s\n", show(a.first), map[bool]string{true: ", FORGED"}[a.forged], pin)
	fmt.Fprintf(w, "  forged fields:  %d of %d arrived\n", a.forgeries(), len(a.probe.forgeries()))
	for _, s := range a.fields {
		fmt.Fprintf(w, "    field %3d  %-31s  if it stood first: %s\n", s.place, s.what, s.verdict)
	}
	if a.defect != "" {
		fmt.Fprintf(w, "  defect:         %s, so pulse verifies no such mail\n", escape.ASCII(string(a.defect)))
	}
	ok, why := a.verdict()
	fmt.Fprintf(w, "%s: %s\n", map[bool]string{true: "trusted", false: "not trusted"}[ok], why)
	return ok
}

func show(id string) string {
	if id == "" {
		return "(nobody)"
	}
	return escape.ASCII(id)
}

// verdict returns the answer and a sentence. The answer is yes only if the pinned
// server's own field stands first, and no forgery would be believed if it did not.
func (a *arrived) verdict() (bool, string) {
	believed := 0
	for _, s := range a.fields {
		if s.believed {
			believed++
		}
	}
	switch {
	case a.probe.inside && a.identity.Verified:
		return false, "a user of the server wrote a verdict, and it is BELIEVED: don't pin this server, or have it remove such fields from what its users hand in"
	case a.probe.inside:
		return true, "a user of the server wrote a verdict, and it is not believed: " + string(a.identity.Reason)
	case a.probe.receiver != "" && a.probe.preset.Verdict == policy.ByNone && !a.probe.preset.Yours:
		return false, "whatever this mail shows: " + a.probe.preset.Risk
	case a.probe.kind() == policy.ByMicrosoft:
		return a.microsoft()
	case a.probe.kind() == policy.BySet && a.probe.pin != "":
		return a.set(believed)
	case a.forged && a.fault == nil:
		return false, "the forged field stands first and would be believed: first-wins and the pin did NOT hold; don't believe this server"
	case a.forged:
		return false, "a forged field stands first: the receiver wrote none, or wrote it below; its word can't be used"
	case errors.Is(a.fault, errNone):
		return false, "there is no Authentication-Results field: was the mail sent from another provider? If so, the receiver writes none"
	case a.probe.pin == "":
		return false, "not tried with its own id: print the mail again with --pin " + show(a.first) + ", if that is your receiver"
	case errors.Is(a.fault, authres.ErrPin):
		return false, "the pin does not hold: the receiver calls itself " + show(a.first)
	case a.fault != nil:
		return false, "the receiver's own field can't be read: " + a.fault.Error()
	case believed > 0:
		return false, fmt.Sprintf("first-wins and the pin held, but of the forged fields that arrived %d would be believed, should the receiver ever leave a mail without its own", believed)
	case !a.control() && !a.direct:
		return false, notShown
	}
	return true, "first-wins and the pin held, and no forged field arrived that would be believed"
}

// forgeries counts the different forgeries that arrived.
func (a *arrived) forgeries() int {
	seen := map[int]bool{}
	for _, s := range a.fields {
		seen[s.n] = true
	}
	return len(seen)
}

// control reports whether one of the probe's fields that pulse would read came through.
// Then no server before the receiver removes or renames all of them.
func (a *arrived) control() bool {
	return slices.ContainsFunc(a.fields, func(s survivor) bool { return s.named })
}
