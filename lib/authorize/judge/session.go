package judge

import (
	"crypto/sha256"
	"fmt"

	"pulse/lib/authorize/hook"
)

// session is the client of the run, as its worker and its hook tell. A client whose hook
// is not loaded would have its way, so its worker gives it the ask only after the hook has
// said hello, and in the end the uses in its transcript are counted.
type session struct {
	client  hook.Client // empty: the worker is no client's
	version string
	ask     string        // for a client that takes it from the answer to its hello
	greeted bool          // its hook said hello
	hello   chan struct{} // closes then
	byID    map[key]bool
	byName  map[key]int // uses without an id
	counted bool
	extra   string // a tool that was used without asking
}

// Begin notes which client the worker starts, with which version. A client that takes the
// ask from its hook's greeting gets it there. The error says why the client may not start.
func (j *Judge) Begin(c hook.Client, version, ask string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.session.client != "" {
		return fmt.Errorf("judge: the run has a client already, %s", j.session.client)
	}
	j.session = session{
		client: c, version: version, ask: ask, hello: make(chan struct{}),
		byID: map[key]bool{}, byName: map[key]int{},
	}
	if !c.Knows(version) {
		return fmt.Errorf("judge: nobody has tried the hooks of %s %.40q", c, version)
	}
	return nil
}

// Hello notes that a hook of the client is loaded, and returns the ask for a client that
// takes it from there.
func (j *Judge) Hello(c hook.Client) (ask string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := &j.session
	if s.client != c || !c.Knows(s.version) {
		return ""
	}
	if !s.greeted {
		s.greeted = true
		close(s.hello)
	}
	return s.ask
}

// Greeted returns a channel that closes once the client's hook has said hello; nil before
// Begin.
func (j *Judge) Greeted() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.session.hello
}

// Used is a use of a tool in a client's transcript.
type Used struct {
	ID   string
	Tool string // as the client calls it
}

// Count compares the uses in the client's transcript with those that its hook asked about.
// Where the client tells the hook an id, that counts, else how often a tool was used.
func (j *Judge) Count(list []Used) {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := &j.session
	s.counted = true
	for _, u := range list {
		switch {
		case s.byID[keyOf(u.ID)]:
		case s.byName[keyOf(u.Tool)] > 0:
			s.byName[keyOf(u.Tool)]--
		case s.extra == "":
			s.extra = u.Tool
		}
	}
}

// maxUses bounds the uses that are noted in one run. More are more than were asked about.
const maxUses = 100_000

// key stands for a text of any length.
type key [sha256.Size]byte

func keyOf(text string) key { return sha256.Sum256([]byte(text)) }

// asked notes a use that the hook asked about.
func (s *session) asked(u *hook.Use) {
	switch {
	case s.client == "" || len(s.byID)+len(s.byName) >= maxUses:
	case u.Client == hook.MCP: // its client has asked before, or has no hook
	case u.ID != "":
		s.byID[keyOf(u.ID)] = true
	default:
		s.byName[keyOf(u.Name)]++
	}
}

// ungated says why nobody knows what the client did without asking.
func (s *session) ungated() string {
	switch {
	case s.client == "":
		return ""
	case !s.client.Knows(s.version):
		return fmt.Sprintf("nobody has tried the hooks of %s %.40q", s.client, s.version)
	case !s.greeted:
		return fmt.Sprintf("the hook of %s did not say hello", s.client)
	case s.extra != "":
		return fmt.Sprintf("%s used %.100q and did not ask", s.client, s.extra)
	}
	return ""
}
