package identity

import (
	"strings"
	"unicode/utf8"

	"pulse/lib/shared/escape"
)

// Reason says why an identity is what it is. pulse-classify(1) has the closed list,
// with what to do about each. Only reasons that another package names are exported.
type Reason string

// The reasons of a sender who is proven, or needs no proof.
const (
	AuthenticatedOwner    Reason = "authenticated_owner"
	ApprovedSession       Reason = "approved_session"
	authenticatedExternal Reason = "authenticated_external"
	authenticatedUnlisted Reason = "authenticated_unlisted"
	LocalSubmit           Reason = "local_submit"
)

// The reasons of a sender who is not proven, in the order of the checks.
const (
	Defective          Reason = "defective"
	noFrom             Reason = "no_from"
	severalFrom        Reason = "several_from"
	malformedFrom      Reason = "malformed_from"
	oddFieldName       Reason = "odd_field_name"
	duplicateField     Reason = "duplicate_field"
	EvidenceMissing    Reason = "evidence_missing"
	noPin              Reason = "no_pin"
	verdictNone        Reason = "verdict_none"
	noAuthRes          Reason = "no_authres"
	selfSent           Reason = "self_sent"
	authResName        Reason = "authres_name"
	authservIDMismatch Reason = "authserv_id_mismatch"
	authResMalformed   Reason = "authres_malformed"
	authResComment     Reason = "authres_comment"
	authResVersion     Reason = "authres_version"
	authResBounds      Reason = "authres_bounds"
	severalAuthRes     Reason = "several_authres"
	microsoftInternal  Reason = "microsoft_internal"
	microsoftForm      Reason = "microsoft_form"
	noDMARC            Reason = "no_dmarc"
	severalDMARC       Reason = "several_dmarc"
	dmarcNone          Reason = "dmarc_none"
	dmarcError         Reason = "dmarc_error"
	DMARCFail          Reason = "dmarc_fail"
	dmarcUnbound       Reason = "dmarc_unbound"
	dmarcAddress       Reason = "dmarc_address"
	dmarcOtherDomain   Reason = "dmarc_other_domain"
	noDKIM             Reason = "no_dkim"
	dkimFail           Reason = "dkim_fail"
	dkimUnbound        Reason = "dkim_unbound"
	dkimNotAligned     Reason = "dkim_not_aligned"
	dkimAmbiguous      Reason = "dkim_ambiguous"
	dkimOtherUser      Reason = "dkim_other_user"
	signatureMissing   Reason = "signature_missing"
	signaturePartial   Reason = "signature_partial"
	submittedWithLogin Reason = "submitted_with_login"
	verdictUnfit       Reason = "verdict_unfit"

	NotListed           Reason = "not_listed"
	signatureNone       Reason = "signature_none"
	SignatureNotAligned Reason = "signature_not_aligned"
	SignatureBad        Reason = "signature_bad"
	SignatureTempError  Reason = "signature_temperror"
	signatureOtherUser  Reason = "signature_other_user"
	dmarcRecordNone     Reason = "dmarc_record_none"
	DMARCRecordError    Reason = "dmarc_record_error"

	notAddressed Reason = "not_addressed"
)

// The reasons of a sender on a chat platform who may ask for nothing.
const (
	platformNoSender     Reason = "platform_no_sender"
	platformBot          Reason = "platform_bot"
	platformChat         Reason = "platform_chat"
	platformNotMentioned Reason = "platform_not_mentioned"
)

// The reasons of an HTTP request: that it is proven, and why not.
const (
	webhookSigned     Reason = "webhook_signed"
	webhookUndeclared Reason = "webhook_undeclared" // proven, and the policy doesn't know the source
	webhookUnchecked  Reason = "webhook_unchecked"
	webhookMalformed  Reason = "webhook_malformed"
	webhookUnsigned   Reason = "webhook_unsigned"
	webhookSignature  Reason = "webhook_signature"
	webhookTime       Reason = "webhook_time"
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
// word that is not a reason.
func (r Reason) Advice() string { return r.explanation().advice }

// Good reports whether it is the reason of a sender who is proven and listed: nothing about
// the sender has to change.
func (r Reason) Good() bool {
	switch r {
	case AuthenticatedOwner, ApprovedSession, authenticatedExternal, LocalSubmit, webhookSigned:
		return true
	}
	return false
}

// Unproven reports whether it is the reason of a sender who could be checked against no
// evidence, or failed: not that of one who is proven, or on no list, or wrote to others, too.
func (r Reason) Unproven() bool {
	switch r {
	case authenticatedUnlisted, NotListed, NoLongerListed, notAddressed:
		return false
	}
	return !r.Good() && r.explanation().reason == r
}

// sentence returns identity.why. It shortens detail, which may come from the message,
// and makes it safe to show.
func (r Reason) sentence(detail string) string {
	before, after, found := strings.Cut(r.explanation().why, "%s")
	if !found {
		return before
	}
	return before + escape.ASCII(clip(detail)) + after
}

func (r Reason) explanation() *explanation {
	for i := range explanations {
		if explanations[i].reason == r {
			return &explanations[i]
		}
	}
	return &explanation{}
}

// maxClip bounds how much of a message's text is repeated, in bytes. A domain name fits.
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
