package identity

import (
	"fmt"

	"pulse/lib/shared/audience"
	"pulse/lib/shared/label"
	"pulse/lib/shared/peer"
	"pulse/lib/shared/record"
	"pulse/lib/shared/terms"
)

// Member is the name of the member that pulse-classify owns in a record.
const Member = "identity"

// Via says how a record came in if it was not by a message.
type Via string

// The values of identity.via.
const (
	ViaMessage Via = ""       // a message that arrived; left out of the record
	ViaAgent   Via = "agent"  // a worker proposed it: an effect
	ViaSubmit  Via = "submit" // pulse-queue submit
)

// Identity is the `identity` member: who asks and how far that is proven.
type Identity struct {
	Sender    string // as it stands in From, or empty
	Trust     terms.Trust
	Verified  bool // the sender is proven, listed or not
	Stale     bool // proven but old
	Automatic bool // sent by a program (RFC 3834)
	Reason    Reason
	Why       string // one sentence for people
	Auth      Auth
	Session   string    // trust approved_session: the id of the session
	Chat      peer.ID   // platforms: the group chat that the ask came from, else empty
	Signed    string    // messages whose id is made of the signed fields: "sha256:" of those, else empty
	Labels    label.Set // of its root task; of a record that has no task yet: what it says itself
	Unsigned  Fields    // messages: fields that the signature proving the sender does not cover

	Via     Via
	Parent  string // effects: the task that proposed it
	Root    string // effects: the ask that the chain of proposals began with
	Ordinal int    // effects: 0 for the first of equal requests of one root
	Depth   int    // effects: how many proposals lie between it and the root, itself included
	Budget  int    // effects: how many more may come out of it
	Bulk    bool   // effects: its run proposed more closes than limits.max_closes_per_run

	Audience audience.Audience // effects: who has seen the asks that it is made of; its labels may leave fewer
}

// Auth is what the receiver said, as far as it was understood.
type Auth struct {
	AuthservID, DKIM, DKIMDomain, SPF, DMARC, HeaderFrom string
}

// Effect reports whether the record is an effect, which an agent wants to do, and not
// an ask, which a sender wants of the agent.
func (id *Identity) Effect() bool { return id.Via == ViaAgent }

// Append appends the member's value.
func (id *Identity) Append(dst []byte) []byte {
	o := record.ObjectAfter(dst)
	id.add(&o)
	if id.Via == ViaMessage {
		o.Nested("auth", id.Auth.append)
		o.StrIf("signed", id.Signed)
		if id.Unsigned != 0 {
			o.Strs("unsigned", id.Unsigned.Names())
		}
	}
	id.addOrigin(&o)
	if id.Effect() && !id.Audience.None() {
		o.Nested("audience", id.Audience.Append)
	}
	return o.Bytes()
}

// AppendShown appends the member's value as a worker is given it: the sender without
// the evidence.
func (id *Identity) AppendShown(dst []byte) []byte {
	o := record.ObjectAfter(dst)
	id.add(&o)
	id.addOrigin(&o)
	return o.Bytes()
}

// Labelled returns the member's value with other labels, one or more. All else stays, also
// what no page names.
func Labelled(v record.Value, s label.Set) (record.Value, error) {
	var o record.Object
	err := v.Each(func(name string, v record.Value) error {
		if name != "labels" && name != "labelled" {
			o.Raw(name, []byte(v))
		}
		return nil
	})
	o.Strs("labels", s.Words())
	o.Raw("labelled", s.Append(nil))
	return record.Value(o.Bytes()), err
}

func (id *Identity) add(o *record.Object) {
	o.Str("sender", id.Sender)
	o.Str("trust", string(id.Trust))
	o.Bool("verified", id.Verified)
	o.Bool("stale", id.Stale)
	o.Bool("automatic", id.Automatic)
	o.Str("reason", string(id.Reason))
	o.Str("why", id.Why)
	o.StrIf("session", id.Session)
	if id.Chat != "" {
		o.Raw("chat", []byte(id.Chat.JSON()))
	}
}

func (id *Identity) addOrigin(o *record.Object) {
	o.StrIf("via", string(id.Via))
	if id.Effect() {
		o.Str("parent", id.Parent)
		o.Str("root", id.Root)
		o.Int("ordinal", int64(id.Ordinal))
		o.Int("depth", int64(id.Depth))
		o.Int("budget", int64(id.Budget))
		o.BoolIf("bulk", id.Bulk)
	}
	if len(id.Labels) > 0 {
		o.Strs("labels", id.Labels.Words())
		o.Raw("labelled", id.Labels.Append(nil))
	}
}

func (a *Auth) append(dst []byte) []byte {
	o := record.ObjectAfter(dst)
	o.StrIf("authserv_id", a.AuthservID)
	o.StrIf("dkim", a.DKIM)
	o.StrIf("dkim_domain", a.DKIMDomain)
	o.StrIf("spf", a.SPF)
	o.StrIf("dmarc", a.DMARC)
	o.StrIf("header_from", a.HeaderFrom)
	return o.Bytes()
}

// Decode reads the member. A trust level or a via that is not in the list is an error,
// because a stage that does not know the word must not guess. What is not there counts as
// what allows least, as pulse-record(5) lists it.
func Decode(v record.Value) (Identity, error) {
	d := unstated()
	err := d.decode(nil, v)
	if err == nil {
		err = d.end()
	}
	return d.id, err
}

// Read is Decode for the member of a record.
func Read(rec *record.Record) (Identity, error) {
	d := unstated()
	err := d.decode(rec, "")
	if err == nil {
		if bad := d.end(); bad != nil {
			err = rec.Decode(Member, func(record.Value) error { return bad })
		}
	}
	return d.id, err
}

// decoder is an identity that is being decoded.
type decoder struct {
	id    Identity
	words []string // of labels
}

// unstated is an identity of which nothing is known yet: old, and sent by a program.
func unstated() decoder { return decoder{id: Identity{Stale: true, Automatic: true}} }

func (d *decoder) decode(rec *record.Record, v record.Value) error {
	id := &d.id
	to := record.To(
		"sender", &id.Sender, "trust", (*string)(&id.Trust), "verified", &id.Verified, "stale", &id.Stale,
		"automatic", &id.Automatic, "reason", (*string)(&id.Reason), "why", &id.Why, "session", &id.Session,
		"signed", &id.Signed, "labels", &d.words, "unsigned", id.Unsigned.decode, "via", (*string)(&id.Via),
		"parent", &id.Parent, "root", &id.Root, "ordinal", &id.Ordinal, "depth", &id.Depth,
		"budget", &id.Budget, "bulk", &id.Bulk,
		"chat", func(v record.Value) (err error) { id.Chat, err = peer.Decode(v); return err },
		"labelled", func(v record.Value) (err error) { id.Labels, err = label.Decode(v); return err },
		"audience", func(v record.Value) (err error) { id.Audience, err = audience.Decode(v); return err },
	)
	if rec == nil {
		return v.Each(to)
	}
	return rec.Each(Member, to)
}

func (d *decoder) end() (err error) {
	if d.id.Labels, err = d.id.Labels.Named(d.words); err != nil {
		return err
	}
	if err := d.id.valid(); err != nil {
		return err
	}
	if proven := d.id.Verified && (d.id.Sender != "" || d.id.Via != ViaMessage || d.id.Trust == terms.System); !proven && d.id.Trust != terms.OwnerClaim {
		d.id.Trust = terms.Unknown // nobody has trust who is not proven, or not named
	}
	return nil
}

func (id *Identity) valid() error {
	switch {
	case !id.Trust.Valid():
		return fmt.Errorf("trust: %s is no trust level", id.Trust)
	case id.Via != ViaMessage && id.Via != ViaAgent && id.Via != ViaSubmit:
		return fmt.Errorf("via: %s is neither agent nor submit", id.Via)
	case id.Effect() && id.Parent == "":
		return fmt.Errorf("parent: missing, and via is agent")
	case id.Effect() && (id.Ordinal < 0 || id.Depth < 0 || id.Budget < 0):
		return fmt.Errorf("ordinal, depth or budget: negative")
	}
	if id.Effect() && id.Root == "" {
		id.Root = id.Parent
	}
	return nil
}
