package queue

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"pulse/lib/classify/identity"
	"pulse/lib/queue/store"
	"pulse/lib/shared/address"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// A mail may arrive again with another proof: after an outage of DNS, under another evidence, or
// without one of its signatures. So a mail has several names. One is the id of its task. A mail
// is looked for under all of them, and a name counts only if the mail that took it could not
// have been made to take it:
//
//	                         came first: proven           came first: not proven
//	comes now: proven        its Message-ID, if that is   all that is shown of it, and its
//	                         signed in the first, or      body, are equal
//	                         Date, Subject and body, if
//	                         those are and not both have
//	                         signed a Message-ID of their
//	                         own; or one digest of signed
//	                         fields
//	comes now: not proven,   the same                     the same
//	and not rejected
//	comes now: not proven,   never                        the same
//	and rejected
//
// A proven mail takes names of signed fields alone, which nobody but its sender chooses. One
// that is not proven takes no name that a mail with other content could have: a forger who
// knows a Message-ID ahead of its mail takes nothing with it, and one who sends the very mail
// that is to come shows a person nothing else. What is not proven may be taken for a proven
// mail with less, because only a copy is left out then. What is not proven and rejected becomes
// no task, so it is logged for what it is.

// ID returns the id of a record's task, as README.md describes it.
func (c *Content) ID() (string, error) {
	switch {
	case c.Identity.Effect():
		if c.Request == nil {
			return "", fmt.Errorf("%w %s, and identity.via is agent", record.ErrMissing, request.Member)
		}
		canonical, err := c.Request.Canonical()
		return task.EffectID(c.Identity.Root, canonical, c.Identity.Ordinal), err
	case c.Identity.Via == identity.ViaSubmit:
		return task.RandomID(), nil
	case c.Message == nil:
		return "", fmt.Errorf("%w %s", record.ErrMissing, envelope.Member)
	case c.Message.ID == "" && c.Message.Digest == "":
		return "", errors.New("message has neither id nor digest")
	case c.posted():
		return task.MessageID(c.Message.Source, c.Message.ID), nil
	case !c.proven() && c.whole() != "":
		return c.whole(), nil
	case c.proven() && c.Identity.Signed != "" && !c.signs("Message-ID"):
		return c.signed(), nil
	}
	return c.byMessageID(c.proven()), nil
}

// proven reports whether the sender of a mail is, and with that the text. A copy whose text
// anyone may have changed must not take the place of the mail that it was made of.
func (c *Content) proven() bool { return c.Identity.Verified && c.Identity.TextProven() }

// posted reports whether a server vouches for the sender and the id of the message.
func (c *Content) posted() bool {
	return (c.Message.Sender != nil || c.Message.Webhook != nil) && c.Identity.Verified && c.Message.ID != ""
}

// mail reports whether the record is of a mail.
func (c *Content) mail() bool {
	return c.Identity.Via == identity.ViaMessage && c.Message != nil && c.Message.Sender == nil && c.Message.Webhook == nil
}

// names returns what the mail may be known by: ids that a task of it may have, its own first,
// and the name by its content, if it has one.
func (c *Content) names(own string) (ids []string, content string) {
	switch {
	case !c.mail() || !c.proven() && c.Decision.Outcome == terms.Reject:
		return []string{own}, ""
	case c.proven():
		ids = []string{own, c.byMessageID(true), c.signed(), c.whole()}
	default:
		ids = []string{own, c.byMessageID(true)}
	}
	return slices.DeleteFunc(ids, func(id string) bool { return id == "" }), c.byContent()
}

// takes returns the name that the task of a mail takes besides its id, if any.
func (c *Content) takes() string {
	if !c.mail() || !c.proven() || !c.signs("Date") || len(c.fields("subject")) > 0 && !c.signs("Subject") {
		return ""
	}
	return c.byContent()
}

// twinOf reports whether a mail is not the one that came first, although their Date, Subject and
// body are equal: a script may send many in one second. Both Message-IDs are signed, and differ.
func (c *Content) twinOf(first *Content) bool {
	both := first.mail() && c.proven() && first.proven() && c.signs("Message-ID") && first.signs("Message-ID")
	return both && c.Message.ID != first.Message.ID
}

// signs reports whether the signature that proves the sender covers a field that is there. A
// Message-ID with a blank may be respaced on the way, so it is not one that is signed.
func (c *Content) signs(name string) bool {
	value := c.Message.ID
	if name != "Message-ID" {
		value = strings.Join(c.fields(strings.ToLower(name)), "")
	} else if value == c.Message.Digest || strings.ContainsAny(value, blanks) {
		return false
	}
	return value != "" && !slices.Contains(c.Identity.Unsigned.Names(), name)
}

func (c *Content) sender() string { return address.Fold(c.Identity.Sender) }

func (c *Content) byMessageID(verified bool) string {
	return task.MailID(verified, c.sender(), cmp.Or(c.Message.ID, c.Message.Digest))
}

// signed returns the name by the digest of the signed fields, "" if the record has none.
func (c *Content) signed() string {
	if c.Identity.Signed == "" {
		return ""
	}
	return task.SignedMailID(c.sender(), c.Identity.Signed)
}

// byContent returns the name by Date, Subject and body, "" if Date or the digest of the body is
// not there once. Without a Date, what is sent every day would be one mail.
func (c *Content) byContent() string {
	date, subject := c.fields("date"), c.fields("subject")
	if c.Message.Body == "" || len(date) != 1 || date[0] == "" || len(subject) > 1 {
		return ""
	}
	return task.ContentMailID(c.sender(), date[0], strings.Join(subject, ""), c.Message.Body)
}

// shownFields are those that say what a person or a worker is shown of a mail, or what it may do.
var shownFields = []string{
	"from", "sender", "reply-to", "to", "cc", "bcc", "subject", "date", "message-id", "in-reply-to", "references",
	"mime-version", "content-type", "content-transfer-encoding", "content-disposition",
}

// whole returns the name by all that is shown of the mail: of its body, or of what was read of
// that.
func (c *Content) whole() string {
	if !c.mail() || c.Shown == nil {
		return ""
	}
	sum := sha256.New()
	for _, name := range shownFields {
		for _, value := range c.fields(name) {
			io.WriteString(sum, name+":"+value+"\r\n")
		}
	}
	io.WriteString(sum, "\r\n"+c.Message.Body)
	if c.Message.Body == "" { // the message is too large, or nobody read all of it
		part := *c.Shown
		part.Source, part.Received = "", time.Time{} // it may come from elsewhere, and later
		sum.Write(part.Append(nil))
	}
	return task.WholeMailID(c.sender(), "sha256:"+hex.EncodeToString(sum.Sum(nil)))
}

// blanks separate words in a field.
const blanks = " \t\r\n"

// fields returns the values of the fields of a name, unfolded and with single spaces (RFC 6376
// §3.4.2), because a relay may respace them.
func (c *Content) fields(name string) (values []string) {
	for i := range c.Message.Headers {
		if f := &c.Message.Headers[i]; address.Equal(strings.TrimRight(f.Name, " \t"), name) {
			words := strings.FieldsFunc(f.Value, func(r rune) bool { return strings.ContainsRune(blanks, r) })
			values = append(values, strings.Join(words, " "))
		}
	}
	return values
}

// NameOf returns the task that has taken a name of a mail, "" if none has.
func NameOf(v store.View, name string) (id string, err error) {
	item, err := v.Get(store.Names, name)
	if errors.Is(err, store.ErrUnknown) {
		return "", nil
	}
	return string(item.Bytes), err
}
