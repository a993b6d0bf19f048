package identity

import (
	"strings"
	"unicode/utf8"

	"pulse/lib/escape"
)

// Reason is why an identity is what it is: a closed list, with what to do about
// each, in pulse-classify(1).
type Reason string

// The reasons of a sender who is proven, or needs no proof.
const (
	AuthenticatedOwner    Reason = "authenticated_owner"
	ApprovedSession       Reason = "approved_session"
	AuthenticatedExternal Reason = "authenticated_external"
	AuthenticatedUnlisted Reason = "authenticated_unlisted"
	LocalSubmit           Reason = "local_submit"
)

// The reasons of a sender who is not proven, in the order of the checks.
const (
	Defective          Reason = "defective"
	NoFrom             Reason = "no_from"
	SeveralFrom        Reason = "several_from"
	MalformedFrom      Reason = "malformed_from"
	OddFieldName       Reason = "odd_field_name"
	DuplicateField     Reason = "duplicate_field"
	EvidenceMissing    Reason = "evidence_missing"
	NoPin              Reason = "no_pin"
	NoAuthRes          Reason = "no_authres"
	SelfSent           Reason = "self_sent"
	AuthResName        Reason = "authres_name"
	AuthservIDMismatch Reason = "authserv_id_mismatch"
	AuthResMalformed   Reason = "authres_malformed"
	AuthResComment     Reason = "authres_comment"
	AuthResVersion     Reason = "authres_version"
	AuthResBounds      Reason = "authres_bounds"
	NoDMARC            Reason = "no_dmarc"
	SeveralDMARC       Reason = "several_dmarc"
	DMARCNone          Reason = "dmarc_none"
	DMARCError         Reason = "dmarc_error"
	DMARCFail          Reason = "dmarc_fail"
	DMARCUnbound       Reason = "dmarc_unbound"
	DMARCAddress       Reason = "dmarc_address"
	DMARCOtherDomain   Reason = "dmarc_other_domain"
	NoDKIM             Reason = "no_dkim"
	DKIMFail           Reason = "dkim_fail"
	DKIMUnbound        Reason = "dkim_unbound"
	DKIMNotAligned     Reason = "dkim_not_aligned"
	DKIMAmbiguous      Reason = "dkim_ambiguous"
	DKIMOtherUser      Reason = "dkim_other_user"
	SignatureMissing   Reason = "signature_missing"
	SignaturePartial   Reason = "signature_partial"
	SubmittedWithLogin Reason = "submitted_with_login"

	SignatureNone       Reason = "signature_none"
	SignatureNotAligned Reason = "signature_not_aligned"
	SignatureBad        Reason = "signature_bad"
	SignatureTempError  Reason = "signature_temperror"
	SignatureOtherUser  Reason = "signature_other_user"
	DMARCRecordNone     Reason = "dmarc_record_none"
	DMARCRecordError    Reason = "dmarc_record_error"

	NotAddressed Reason = "not_addressed"
)

// The reasons of a sender on a chat platform who may ask for nothing.
const (
	PlatformNoSender     Reason = "platform_no_sender"
	PlatformBot          Reason = "platform_bot"
	PlatformChat         Reason = "platform_chat"
	PlatformNotMentioned Reason = "platform_not_mentioned"
)

// The reasons of an HTTP request: that it is proven, and why not.
const (
	WebhookSigned     Reason = "webhook_signed"
	WebhookUndeclared Reason = "webhook_undeclared" // proven, and the policy doesn't know the source
	WebhookUnchecked  Reason = "webhook_unchecked"
	WebhookMalformed  Reason = "webhook_malformed"
	WebhookUnsigned   Reason = "webhook_unsigned"
	WebhookSignature  Reason = "webhook_signature"
	WebhookTime       Reason = "webhook_time"
)

// NoLongerListed is the reason of an identity that Cap has lowered.
const NoLongerListed Reason = "no_longer_listed"

// Reasons returns the closed list in the order of the manual.
func Reasons() []Reason {
	list := make([]Reason, len(explanations))
	for i := range explanations {
		list[i] = explanations[i].reason
	}
	return list
}

// Advice returns what to do about it, as pulse-classify(1) prints it; empty for a
// word that is no reason.
func (r Reason) Advice() string { return r.explanation().advice }

// sentence returns identity.why: detail, which may come from the message, is
// shortened and made safe to show.
func (r Reason) sentence(detail string) string {
	before, after, found := strings.Cut(r.explanation().why, "%s")
	if !found {
		return before
	}
	return before + escape.ASCII(clip(detail)) + after
}

func (r Reason) explanation() explanation {
	for i := range explanations {
		if explanations[i].reason == r {
			return explanations[i]
		}
	}
	return explanation{}
}

// maxClip bounds what is repeated of a message, in bytes. A domain name fits.
const maxClip = 255

// clip shortens hostile text at a character.
func clip(s string) string {
	if len(s) <= maxClip {
		return s
	}
	n := maxClip
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}
