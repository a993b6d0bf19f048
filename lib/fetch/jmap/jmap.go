// Package jmap reads a mailbox over JMAP (RFC 8620, RFC 8621).
//
// Invariant: only three methods leave this program, and all of them only read: Mailbox/get,
// Email/query and Email/get. Messages are downloaded as they are (RFC 8620 §6.2). Nothing
// changes at the server. Caveat: it was tried against Cyrus IMAP alone.
package jmap

import (
	"context"
	"encoding/json"
	"io"
	"net/url"
	"slices"
	"strings"

	"pulse/lib/fetch/https"
	"pulse/lib/fetch/message"
	"pulse/lib/fetch/pull"
	"pulse/lib/fetch/source"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/lazy"
)

// Box is a pull.Box.
type Box struct {
	Address Address
	Client  *https.Client // its Posts is Posts
	Reader  *source.Reader

	api      *url.URL
	download string // a template
	account  string
	mailbox  string // its id
	page     int    // how many messages one request names
}

const (
	core = "urn:ietf:params:jmap:core"
	mail = "urn:ietf:params:jmap:mail"

	maxPage = 250
)

// methods are those that may be called.
var methods = []string{"Mailbox/get", "Email/query", "Email/get"}

// Posts allows a request that only reads, however it came about.
func Posts(body []byte) error {
	var req struct{ MethodCalls [][]json.RawMessage }
	if err := json.Unmarshal(body, &req); err != nil || len(req.MethodCalls) == 0 {
		return fault.Failedf("", "a request that pulse-fetch must not send (this is a bug)")
	}
	for _, call := range req.MethodCalls {
		var name string
		if len(call) != 3 || json.Unmarshal(call[0], &name) != nil || !slices.Contains(methods, name) {
			return fault.Failedf("", "a request that pulse-fetch must not send (this is a bug)")
		}
	}
	return nil
}

// session is the part of the session resource that is used (RFC 8620 §2).
type session struct {
	Username, APIURL, DownloadURL string
	PrimaryAccounts               map[string]string
	Capabilities                  struct {
		Core struct{ MaxObjectsInGet int } `json:"urn:ietf:params:jmap:core"`
	}
}

// id matches an id (RFC 8620 §1.2).
var id = lazy.Regexp(`^[A-Za-z0-9_-]{1,255}$`)

// Open implements pull.Box: it finds the account and the mailbox.
func (b *Box) Open(ctx context.Context) error {
	var s session
	at, err := b.Client.GetJSON(ctx, b.Address.session, &s)
	if err != nil {
		return err
	}
	if s.Username != "" && !same(s.Username, b.Address.User) {
		return fault.Failedf("the part before the host names the user; an @ in it is %40",
			"the token or password is not for %q", b.Address.User)
	}
	b.account, b.download = s.PrimaryAccounts[mail], s.DownloadURL
	b.page = min(maxPage, s.Capabilities.Core.MaxObjectsInGet)
	if b.page < 1 {
		b.page = maxPage
	}
	b.api, err = at.Parse(s.APIURL)
	if err != nil || s.APIURL == "" || !id().MatchString(b.account) {
		return https.Broken("a session without mail")
	}
	blob, err := b.blob("x")
	if err != nil {
		return https.Broken("a session without downloads")
	}
	if err := b.reachable(b.api, blob); err != nil {
		return err
	}
	return b.find(ctx)
}

// same reports whether two names are of one user. Servers leave out their own domain.
func same(a, b string) bool {
	a, b = strings.ToLower(a), strings.ToLower(b)
	return a == b || strings.HasPrefix(a, b+"@") || strings.HasPrefix(b, a+"@")
}

// reachable fails if the session leads to hosts that nobody named.
func (b *Box) reachable(urls ...*url.URL) error {
	var others []string
	for _, u := range urls {
		address, err := https.Address(u)
		if err != nil {
			return https.Broken("a session that leads away from https")
		}
		if !slices.Contains(b.Client.Hosts, address) {
			others = append(others, strings.TrimSuffix(address, ":443"))
		}
	}
	if len(others) == 0 {
		return nil
	}
	list := strings.Join(slices.Compact(others), ",")
	return fault.Failedf("--hosts "+list+" lets it, if these are the same provider's",
		"the server wants mail to be read from other hosts: %s", list)
}

// blob returns the URL of a blob (RFC 8620 §6.2).
func (b *Box) blob(blobID string) (*url.URL, error) {
	text := strings.NewReplacer(
		"{accountId}", url.PathEscape(b.account), "{blobId}", url.PathEscape(blobID),
		"{name}", "message.eml", "{type}", "message%2Frfc822",
	).Replace(b.download)
	return b.api.Parse(text)
}

// Get implements pull.Box.
func (b *Box) Get(ctx context.Context, it *pull.Item, m *source.Message) error {
	if it.Blob == "" {
		return https.Broken("a message that is listed and not found")
	}
	at, err := b.blob(it.Blob)
	if err != nil {
		return https.Broken("a message without a URL")
	}
	most := min(it.Size, message.MaxMessage)
	return b.Client.Get(ctx, at, most, func(r io.Reader) error {
		if it.Size <= message.MaxMessage {
			r = &exactly{r, it.Size}
		}
		m.Raw, err = b.Reader.Read(r, it.Size)
		m.CRLF = true
		if err == nil && !m.Partial {
			_, err = io.Copy(io.Discard, r) // there must be no more
		}
		return err
	})
}

// exactly fails if what it reads is not so long.
type exactly struct {
	io.Reader
	left int64
}

// Read implements io.Reader.
func (r *exactly) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.left -= int64(n)
	if r.left < 0 || err == io.EOF && r.left > 0 {
		return n, https.Broken("a message that is not as long as the server says")
	}
	return n, err
}
