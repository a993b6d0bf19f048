package identity

import (
	"slices"
	"strings"

	"pulse/lib/shared/address"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

// equipped demands that the record holds the DKIM check that the policy relies on.
func (e *evidence) equipped() finding {
	if e.m.DKIM == nil {
		return finding{EvidenceMissing, string(e.p.Evidence)}
	}
	return finding{}
}

// own demands that pulse's own check found a DMARC record, and a good DKIM signature
// that is aligned with From and covers what it must. That proves as much as a
// dmarc=pass by DKIM.
func (e *evidence) own() finding {
	d := e.m.DKIM
	switch {
	case d.Reason != "":
		return finding{reason: NotListed}
	case d.Why != "":
		return finding{SignatureBad, d.Why}
	case !address.Equal(d.From, e.from.Domain):
		return finding{SignatureBad, "the check was made for " + d.From}
	case len(d.Signatures) == 0 && e.unusable.reason == microsoftInternal:
		return e.unusable
	case len(d.Signatures) == 0:
		return finding{reason: signatureNone}
	}
	if f := e.nearest(); f.reason != "" {
		return f
	}
	switch d.DMARC.Result {
	case envelope.DMARCFound:
		return finding{}
	case envelope.DMARCNone:
		return finding{reason: dmarcRecordNone}
	}
	return finding{DMARCRecordError, string(d.DMARC.Result)}
}

// Unchecked returns the trust level that a listed sender would have had if only the check
// is missing; else unknown. So no message is lost through an outage, through a DMARC record
// that is broken for a while, or because an earlier policy did not list its sender.
func (id *Identity) Unchecked(p *policy.Policy) terms.Trust {
	if !id.Open() {
		return terms.Unknown
	}
	return trust(p, id.Sender, true)
}

// Open reports whether pulse's own check has neither proven the sender nor refuted the proof.
func (id *Identity) Open() bool {
	return !id.Verified && (id.Reason == SignatureTempError || id.Reason == DMARCRecordError || id.Reason == NotListed)
}

// ownFlaws ranks the flaws of a signature that pulse itself checked, as flaws does.
var ownFlaws = []Reason{"", signatureOtherUser, SignatureTempError, SignatureBad, SignatureNotAligned}

// nearest returns the flaw of the signature that proves most, and sets e.proof to what
// that signature covers. Among signatures without a flaw it takes the one that covers
// most.
func (e *evidence) nearest() (best finding) {
	least := len(ownFlaws)
	for i := range e.m.DKIM.Signatures {
		s := &e.m.DKIM.Signatures[i]
		f := e.proves(s)
		rank := slices.Index(ownFlaws, f.reason)
		unsigned := e.header.unsigned(s.Headers)
		if rank < least || rank == 0 && unsigned.fewer(e.proof.unsigned) {
			best, least = f, rank
			e.proof = proof{unsigned, e.nthDKIMField(i)}
		}
	}
	return best
}

// nthDKIMField returns the field that the nth signature of message.dkim was read from. They
// stand there in the order of the header (pulse-record(5)).
func (e *evidence) nthDKIMField(n int) []*dkimField {
	for i := range e.m.Headers {
		f := &e.m.Headers[i]
		if !address.Equal(strings.TrimRight(f.Name, " \t"), dkimFieldName) {
			continue
		}
		if n == 0 {
			m := new(dkimField)
			m.readField(f)
			return []*dkimField{m}
		}
		n--
	}
	return nil
}

// proves judges one signature.
func (e *evidence) proves(s *envelope.Signature) finding {
	missing := e.header.uncovered(s.Headers)
	switch {
	case s.Domain == "":
		return finding{SignatureBad, s.Why}
	case !e.ownAligned(s):
		return finding{SignatureNotAligned, s.Domain}
	case s.Result == envelope.DKIMTempError:
		return finding{SignatureTempError, s.Why}
	case s.Result != envelope.DKIMPass:
		return finding{SignatureBad, s.Why}
	case missing != "":
		return finding{SignatureBad, missing + " is not signed"}
	case s.User != "" && !address.Equal(s.User, e.from.Local):
		return finding{signatureOtherUser, s.User}
	}
	return finding{}
}

// ownAligned reports whether a signature is by a domain that may sign for From: the same,
// or, if policy and record are content with it, one of the same Organizational Domain
// (RFC 9989 §4.4.1). So the policy can only tighten what the standard says. Any counts as
// strict here. It is for receivers that compare the domain and leave it out; here the
// domain is known and no receiver has compared it.
func (e *evidence) ownAligned(s *envelope.Signature) bool {
	dmarc := &e.m.DKIM.DMARC
	switch {
	case e.p.DKIMAlignment != policy.Relaxed || dmarc.Strict:
		return address.Equal(s.Domain, e.from.Domain)
	case s.Organizational != "":
		return address.Equal(s.Organizational, dmarc.Organizational)
	case s.Result == envelope.DKIMPass: // of an earlier version, which looked at no other
		return nearby(s.Domain, e.from.Domain)
	}
	return Near(s.Domain, e.from.Domain)
}

// voucher names the server or signature that proved the sender.
func (e *evidence) voucher() string {
	server := clip(e.results.AuthservID)
	if server == "" {
		server = "Microsoft 365"
	}
	switch e.by {
	case policy.ByDKIM:
		return "a DKIM signature for " + e.from.Domain
	case policy.ByBoth:
		return server + ", with a DKIM signature for " + e.from.Domain + ","
	}
	return server
}
