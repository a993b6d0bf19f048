package identity

import (
	"slices"
	"strings"

	"pulse/lib/classify/authres"
)

// proof is what the signature that proves a sender covers of the message.
type proof struct {
	unsigned Fields       // fields that stand in the message and are not covered
	fields   []*dkimField // the signature; several if nothing tells which of them it is
}

// stamps returns what tells the signature from others. The list is sorted, so that
// the order of the fields, which the sender chooses, makes no difference.
func (p *proof) stamps() []string {
	list := make([]string, len(p.fields))
	for i := range p.fields {
		list[i] = p.fields[i].stamp()
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// carried demands that the message carries the signature that the receiver calls
// good, and records in e.proof what that signature covers. It is not asked for where the
// policy asks for pulse's own check, because that has looked at the signature itself.
func (e *evidence) carried() finding {
	var worst finding
	found := false
	fields := e.dkimFields()
	for i := range e.results.Results {
		r := &e.results.Results[i]
		if r.Method != "dkim" || e.flawOf(r).reason != "" {
			continue
		}
		p, f := e.proofOf(r, fields)
		switch {
		case f.reason != "":
			worst = f
		case !found || p.unsigned.fewer(e.proof.unsigned):
			e.proof, found = p, true
		}
	}
	if found {
		return finding{}
	}
	return worst
}

// dkimFields returns the signatures. They are the same at each call, and stand in the same memory.
func (e *evidence) dkimFields() []dkimField {
	list := e.memory.signatures[:0]
	for i := range e.m.Headers {
		if f := &e.m.Headers[i]; isDKIMField(f) {
			list = append(list, dkimField{})
			list[len(list)-1].readField(f)
		}
	}
	e.memory.signatures = list
	return list
}

// proofOf looks for the signature that a good dkim result is about. It may be a field
// that can't be read: b= is not signed, so anyone who sends the message on can put
// bytes there that the receiver overlooks. Beside such a field nothing is certain.
func (e *evidence) proofOf(r *authres.Result, fields []dkimField) (proof, finding) {
	p := pointerOf(r)
	memory := make([]*dkimField, 8) // more than most mail has
	own, fits, broken := memory[:0:4], memory[4:4], false
	for i := range fields {
		m := &fields[i]
		switch {
		case m.read && !p.names(m):
		case !m.wellFormed():
			broken = true
		case p.bare() && !nearby(m.d, e.from.Domain):
			return proof{}, finding{dkimUnbound, ""}
		default:
			own = append(own, m)
			if p.fits(m) {
				fits = append(fits, m)
			}
		}
	}
	switch {
	case overlooked(own), len(fits) > 0 && overlooked(fits), p.d == "" && !e.anyAligned(own):
		return proof{}, finding{signatureMissing, e.signed(r).domain}
	case broken:
		return proof{}, finding{dkimAmbiguous, "beside the signature stands a DKIM-Signature field that can't be read"}
	case slices.ContainsFunc(fits, (*dkimField).partial), len(fits) == 0 && slices.ContainsFunc(own, (*dkimField).partial):
		return proof{}, finding{signaturePartial, e.signed(r).domain}
	case len(fits) > 1 && e.disagree(fits) && e.failed(fits):
		return proof{}, finding{dkimAmbiguous, "two DKIM-Signature fields fit it, and another result says that one is not good"}
	}
	all := e.together(own, fits)
	if len(all.fields) > 1 && e.passed(all.fields) < len(all.fields) && e.disagree(all.fields) && !e.header.named(&all) {
		return proof{}, finding{dkimAmbiguous,
			"more DKIM-Signature fields fit it than the server calls good, and the name of the task hangs on which it is"}
	}
	return all, finding{}
}

// together returns what is covered by every signature that fits. If none fits, the
// receiver speaks of a signature that is not there, and nothing is covered.
func (e *evidence) together(own, fits []*dkimField) proof {
	p := proof{fields: fits}
	if len(fits) == 0 {
		return proof{e.header.unsigned(nil), own}
	}
	for i := range fits {
		p.unsigned |= fits[i].unsigned(&e.header)
	}
	return p
}

// overlooked reports whether a verifier may have seen none of the signatures. It says
// nothing then, and so leaves a forged verdict on one of them alone.
func overlooked(list []*dkimField) bool {
	return !slices.ContainsFunc(list, func(m *dkimField) bool { return !m.odd })
}

// TextProven reports whether what proves the sender of a message also proves how its text
// reads.
func (id *Identity) TextProven() bool { return id.Unsigned&mimeFields == 0 }

// textProven reports whether the body says what the text of the message says. If a field
// that tells how to read it is not signed, anyone who sends the message on can have it read
// otherwise, and no verifier sees that. Then the signed bytes themselves must be the text,
// and nothing of them may be left out (pulse-record(5)). A record that does not say what was
// left out is not by pulse-fetch; of that the fields count that are there.
func (e *evidence) textProven() bool {
	unsigned := e.proof.unsigned & mimeFields
	for s := slotContentType; s < slots && !e.m.Left.Known(); s++ {
		if e.header.count[s] == 0 {
			unsigned &^= 1 << s
		}
	}
	return unsigned == 0 || e.m.Left.Nothing()
}

// settle drops fields about the body that can't have changed how it reads: a
// Content-Disposition that is not there, and a Content-Transfer-Encoding that changes nothing
// or is not there. Under a signed Content-Type other than plain text and a multipart the
// latter may have stood there: quoted-printable that is read as it stands is another HTML.
func (e *evidence) settle() {
	u, h := &e.proof.unsigned, &e.header
	if h.count[slotDisposition] == 0 {
		*u &^= 1 << slotDisposition
	}
	kind := keyword(h.value[slotContentType])
	readable := u.has(slotContentType) || h.count[slotContentType] == 0 || kind == "text/plain" || strings.HasPrefix(kind, "multipart/")
	switch keyword(h.value[slotTransferEncoding]) {
	case "", "7bit", "8bit", "binary":
		if readable {
			*u &^= 1 << slotTransferEncoding
		}
	}
}

func (e *evidence) anyAligned(list []*dkimField) bool {
	return slices.ContainsFunc(list, func(m *dkimField) bool {
		return aligned(m.d, e.from.Domain, e.p.DKIMAlignment)
	})
}

// disagree reports whether it matters which of the signatures is the good one.
func (e *evidence) disagree(list []*dkimField) bool {
	return slices.ContainsFunc(list, func(m *dkimField) bool {
		return m.unsigned(&e.header) != list[0].unsigned(&e.header) || m.stamp() != list[0].stamp()
	})
}

// passed counts the good dkim results that can be about a signature in the list. A
// receiver is silent about a signature beyond its limit or one that it can't read.
// Anyone who sends the mail on can add such a field, a different one each time. It
// must not give the mail a new id.
func (e *evidence) passed(list []*dkimField) (n int) {
	for i := range e.results.Results {
		r := &e.results.Results[i]
		if r.Method == "dkim" && r.Value == "pass" && isAbout(r, list) {
			n++
		}
	}
	return n
}

// failed reports whether a dkim result other than a pass can be about a signature in
// the list.
func (e *evidence) failed(list []*dkimField) bool {
	for i := range e.results.Results {
		r := &e.results.Results[i]
		if r.Method == "dkim" && r.Value != "pass" && isAbout(r, list) {
			return true
		}
	}
	return false
}

// isAbout reports whether a dkim result can be about a signature in the list.
func isAbout(r *authres.Result, list []*dkimField) bool {
	p := pointerOf(r)
	return slices.ContainsFunc(list, func(m *dkimField) bool { return p.names(m) && p.fits(m) })
}
