package identity_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"pulse/lib/classify/identity"
	"pulse/lib/fetch/message"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

// corpus is testdata/receivers/NAME.txtar: mail as one receiver delivers it.
//
//	policy          what a user of this receiver writes
//	own             for each message, the numbers of the fields that the receiver wrote
//	says/WORLD      the verdict that the receiver writes on the mail of that world
//	genuine/*.eml   must be verified; *.want may say what else holds
//	unproven/*.eml  true mail that must not be verified; the comment says why
//	*.dkim          message.dkim, where the receiver offers nothing to believe
type corpus struct {
	name     string
	policy   *policy.Policy
	either   *policy.Policy // the same with evidence = "either"
	receiver policy.Receiver
	says     map[world]string
	genuine  []*shape
	unproven []*shape
}

// shape is a message of the corpus.
type shape struct {
	name   string
	fields []field
	dkim   *envelope.DKIM
	want   string
}

// score is a line of the table.
type score struct {
	verified, kept int
	spoofs         tally
	naive          tally             // what a naive reader takes of the same spoofs
	residual       map[string]*tally // what RECEIVERS calls a residual risk, by name
}

// tally counts distinct messages, and those of them that were verified.
type tally struct{ accepted, all int }

func (t *tally) add(accepted bool) {
	t.all++
	t.accepted += count(accepted)
}

// TestCorpus prints, for each receiver, how much genuine mail is verified, and how many
// spoofs. At least 97 % of the former, and none of the latter.
func TestCorpus(t *testing.T) {
	list := corpora(t)
	scores := map[string]*score{}
	for _, c := range list {
		t.Run(c.name, func(t *testing.T) { scores[c.name] = c.run(t, list) })
	}
	if len(scores) == len(list) {
		t.Log("\n" + table(t, list, scores))
	}
}

func (c *corpus) run(t *testing.T, all []*corpus) *score {
	s := &score{residual: map[string]*tally{}}
	for _, sh := range c.genuine {
		s.verified += count(c.verifies(t, sh))
	}
	if 100*s.verified < 97*len(c.genuine) {
		t.Errorf("%d of %d genuine messages are verified", s.verified, len(c.genuine))
	}
	for _, sh := range c.unproven {
		s.kept += count(c.keeps(t, sh))
	}
	for i, sh := range c.genuine {
		if i < 2 || !testing.Short() && (os.Getenv("CI") == "" || i%3 == 0) { // CI= has them all
			c.attack(t, sh, all, s, i < 2)
		}
	}
	if 4*s.naive.accepted < s.naive.all {
		t.Errorf("a naive reader accepts only %d of %d spoofs: the matrix is too weak", s.naive.accepted, s.naive.all)
	}
	return s
}

// verifies reports whether a genuine message is verified as the owner's.
func (c *corpus) verifies(t *testing.T, sh *shape) bool {
	id := c.classify(t, sh.fields, sh.dkim)
	if !id.Verified {
		t.Logf("%s is genuine, and not verified: %s (%s)", sh.name, id.Reason, id.Why)
		return false
	}
	compare(t, &id, "trust owner_verified_email\nverified true\nreason authenticated_owner\n"+sh.want)
	return true
}

// keeps reports whether a message that is not proven is not verified.
func (c *corpus) keeps(t *testing.T, sh *shape) bool {
	id := c.classify(t, sh.fields, sh.dkim)
	if proven(&id) {
		t.Errorf("%s is not proven, and verified", sh.name)
		return false
	}
	compare(t, &id, fmt.Sprintf("trust %s\nverified false\nreason %s\n", id.Trust, id.Reason)+sh.want)
	return true
}

func proven(id *identity.Identity) bool {
	return id.Verified || id.Trust != terms.OwnerClaim && id.Trust != terms.Unknown
}

// classify reads a message from this receiver's mailbox.
func (c *corpus) classify(t *testing.T, fields []field, dkim *envelope.DKIM) identity.Identity {
	t.Helper()
	return classifyUnder(c.policy, fields, dkim)
}

func classifyUnder(p *policy.Policy, fields []field, dkim *envelope.DKIM) identity.Identity {
	m := message.Parse(message.Raw{Header: raw(fields)}, message.Options{Scope: envelope.Headers})
	m.Source = "imaps://agent@imap.example.net/INBOX"
	m.Fetched = time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)
	m.Received = m.Fetched.Add(-time.Minute)
	m.DKIM = dkim
	return identity.Classify(&m, p)
}

// corpora reads all of testdata/receivers.
func corpora(t *testing.T) (list []*corpus) {
	t.Helper()
	paths, err := filepath.Glob("testdata/receivers/*.txtar")
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d receivers, %v", len(paths), err)
	}
	shapes := 0
	for _, path := range paths {
		c := readCorpus(t, path)
		list = append(list, c)
		shapes += len(c.genuine)
	}
	if shapes < 150 {
		t.Fatalf("%d genuine shapes, want 150", shapes)
	}
	return list
}

func readCorpus(t *testing.T, path string) *corpus {
	t.Helper()
	c := &corpus{name: strings.TrimSuffix(filepath.Base(path), ".txtar"), says: map[world]string{}}
	files := map[string]string{}
	var names []string
	for _, f := range txtar.Parse(read(t, path)).Files {
		if _, twice := files[f.Name]; twice {
			t.Fatalf("%s: %s is there twice", path, f.Name)
		}
		files[f.Name] = string(f.Data)
		if name, ok := strings.CutSuffix(f.Name, ".eml"); ok {
			names = append(names, name)
		}
		if w, ok := strings.CutPrefix(f.Name, "says/"); ok {
			c.says[world(w)] = string(f.Data)
		}
	}
	var err error
	if c.policy, err = policy.Parse(path, []byte(files["policy"])); err != nil {
		t.Fatal(err)
	}
	if c.either = c.policy; c.policy.Evidence == policy.ByAuthRes {
		if c.either, err = policy.Parse(path, []byte("evidence = \"either\"\n"+files["policy"])); err != nil {
			t.Fatal(err)
		}
	}
	c.receiver, _ = c.policy.Receiver("imaps://agent@imap.example.net/INBOX")
	for _, name := range names {
		sh := readShape(t, files, name)
		if strings.HasPrefix(name, "genuine/") {
			c.genuine = append(c.genuine, sh)
		} else {
			c.unproven = append(c.unproven, sh)
		}
	}
	return c
}

func readShape(t *testing.T, files map[string]string, name string) *shape {
	t.Helper()
	sh := &shape{name: name, fields: parseFields(files[name+".eml"]), want: files[name+".want"]}
	if text, ok := files[name+".dkim"]; ok {
		sh.dkim = parseDKIM(t, text)
	}
	for line := range strings.Lines(files["own"]) {
		if of, ranges, _ := strings.Cut(strings.TrimSpace(line), " "); of == name {
			mark(t, sh, ranges)
		}
	}
	if !slices.ContainsFunc(sh.fields, func(f field) bool { return f.own }) {
		t.Fatalf("%s: nothing says what the receiver wrote", name)
	}
	return sh
}

// mark marks the fields that the receiver wrote: "1-9 27".
func mark(t *testing.T, sh *shape, ranges string) {
	t.Helper()
	for r := range strings.FieldsSeq(ranges) {
		var from, to int
		if n, _ := fmt.Sscanf(r, "%d-%d", &from, &to); n == 1 {
			to = from
		}
		if from < 1 || to > len(sh.fields) {
			t.Fatalf("%s: %s are not fields", sh.name, r)
		}
		for i := from - 1; i < to; i++ {
			sh.fields[i].own = true
		}
	}
}

// table returns the table of the README.
func table(t *testing.T, list []*corpus, scores map[string]*score) string {
	t.Helper()
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "receiver\tproof\tgenuine verified\tunproven kept\tspoofs accepted\tby a naive reader\tresidual risk accepted")
	var genuine, verified, kept, unproven int
	var spoofs, naive tally
	for _, c := range list {
		s := scores[c.name]
		fmt.Fprintf(w, "%s\t%s\t%d of %d\t%d of %d\t%d of %d\t%d\t%s\n", c.name, c.proof(), s.verified, len(c.genuine),
			s.kept, len(c.unproven), s.spoofs.accepted, s.spoofs.all, s.naive.accepted, residuals(s.residual))
		genuine, verified = genuine+len(c.genuine), verified+s.verified
		unproven, kept = unproven+len(c.unproven), kept+s.kept
		spoofs.all, spoofs.accepted = spoofs.all+s.spoofs.all, spoofs.accepted+s.spoofs.accepted
		naive.accepted += s.naive.accepted
	}
	fmt.Fprintf(w, "all\t\t%d of %d\t%d of %d\t%d of %d\t%d\t\n", verified, genuine, kept, unproven, spoofs.accepted, spoofs.all, naive.accepted)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if spoofs.all < 400 {
		t.Errorf("%d spoofs, want 400", spoofs.all)
	}
	return b.String()
}

func (c *corpus) proof() string {
	if c.receiver.Verdict == policy.ByNone {
		return "own DKIM"
	}
	return "verdict " + string(c.receiver.Verdict)
}

func residuals(list map[string]*tally) string {
	var s []string
	for name, n := range list {
		s = append(s, fmt.Sprintf("%s %d of %d", name, n.accepted, n.all))
	}
	slices.Sort(s)
	return strings.Join(s, ", ")
}
