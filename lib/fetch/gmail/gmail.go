// Package gmail reads the messages with one label over the Gmail API, v1, with a token that can
// only read (gmail.readonly), or read only headers (gmail.metadata).
//
// Invariant: only GET leaves this program, and only for the host of the API. A run that begins
// at a position of Google's history misses nothing that got the label since, in whichever order.
// Caveat: it was made from the published reference, and has met no other server than the one in
// its tests.
package gmail

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"pulse/lib/fetch/https"
	"pulse/lib/fetch/pull"
	"pulse/lib/fetch/source"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/lazy"
)

// Box is a pull.Box and a pull.History.
type Box struct {
	Address Address
	Client  *https.Client
	Reader  *source.Reader
	API     *url.URL // Address.API, except in tests
	Headers bool     // only header fields, which a token of gmail.metadata can read, too

	label string // its id
}

const (
	maxPage  = 100
	maxPages = 2000
)

// id matches ids of messages and labels.
var id = lazy.Regexp(`^[A-Za-z0-9_-]{1,255}$`)

func (b *Box) url(path string, query url.Values) *url.URL {
	u := b.API.JoinPath(path)
	u.RawQuery = query.Encode()
	return u
}

// get asks for a resource.
func (b *Box) get(ctx context.Context, path string, query url.Values, into any) error {
	_, err := b.Client.GetJSON(ctx, b.url(path, query), into)
	return explain(err)
}

// The reasons that Google gives for 403 (Gmail API, "Resolve errors").
var (
	slowDown = []string{"rateLimitExceeded", "userRateLimitExceeded", "dailyLimitExceeded", "quotaExceeded"}
	noScope  = []string{"insufficientPermissions", "forbidden"}
)

// explain finds the reason for 403, which Google gives for a token that is for something else
// and for too many requests.
func explain(err error) error {
	var status *https.Status
	if !errors.As(err, &status) || status.Code != http.StatusForbidden {
		return err
	}
	var words struct {
		Error struct{ Errors []struct{ Reason string } }
	}
	if json.Unmarshal(status.Body, &words) != nil {
		return err
	}
	for _, e := range words.Error.Errors {
		switch {
		case slices.Contains(slowDown, e.Reason):
			return fault.Temporaryf("run again later", "the server answers %s", e.Reason)
		case slices.Contains(noScope, e.Reason):
			return fault.Failedf("the token needs the scope gmail.readonly; with gmail.metadata: --scope headers",
				"the token is for another account, or can't read this: %s", e.Reason)
		}
	}
	return err
}

// Open implements pull.Box: it finds the label.
func (b *Box) Open(ctx context.Context) error {
	if b.label = b.Address.Label; b.label == inbox {
		return nil
	}
	var got struct{ Labels []struct{ ID, Name string } }
	if err := b.get(ctx, "labels", url.Values{"fields": {"labels(id,name)"}}, &got); err != nil {
		return err
	}
	for _, l := range got.Labels {
		if (l.Name == b.Address.Label || l.ID == b.Address.Label) && id().MatchString(l.ID) {
			b.label = l.ID
			return nil
		}
	}
	return fault.Failedf("gmail:USER/INBOX, or the label's name as Gmail shows it",
		"the account has no label %q", b.Address.Label)
}

// whole returns a number of 64 bits, which Google's JSON has as a string.
func whole(n json.Number) (uint64, bool) {
	v, err := strconv.ParseUint(n.String(), 10, 63)
	return v, err == nil
}

// about is what the list does not say of a message.
type about struct {
	ID           string
	LabelIDs     []string
	InternalDate json.Number // milliseconds
}

// look completes an item. It returns pull.ErrSkip if the message does not have the label (any
// more), and pull.ErrGone if it does not exist.
func (b *Box) look(ctx context.Context, it *pull.Item) error {
	var a about
	query := url.Values{"format": {"minimal"}, "fields": {"id,labelIds,internalDate"}}
	if err := b.get(ctx, "messages/"+it.ID, query, &a); err != nil {
		return gone(err)
	}
	ms, ok := whole(a.InternalDate)
	if !ok || a.ID != it.ID {
		return https.Broken("a message without a date, or another one")
	}
	it.Received = time.UnixMilli(int64(ms)).UTC().Truncate(time.Second)
	if !slices.Contains(a.LabelIDs, b.label) {
		return pull.ErrSkip
	}
	return nil
}

// gone tells a message that does not exist from other errors.
func gone(err error) error {
	var status *https.Status
	if errors.As(err, &status) && status.Code == http.StatusNotFound {
		return pull.ErrGone
	}
	return explain(err)
}

// Newest implements pull.Box.
func (b *Box) Newest(ctx context.Context, n int) ([]pull.Item, error) {
	return b.list(ctx, n, time.Time{})
}

// Since implements pull.Box.
func (b *Box) Since(ctx context.Context, t time.Time) ([]pull.Item, error) {
	return b.list(ctx, maxPage*maxPages, t)
}

// list returns up to n messages received at t or later, or a few more. Google lists the newest
// first, so the first page whose messages are all older is the last. A page that says nothing of
// when is not: it may be empty, or its messages were archived since. A search by date (q) would
// need more than gmail.metadata.
func (b *Box) list(ctx context.Context, n int, t time.Time) ([]pull.Item, error) {
	var list []pull.Item
	seen, silent := map[string]bool{}, 0
	query := url.Values{"labelIds": {b.label}, "maxResults": {strconv.Itoa(min(n, maxPage))}}
	err := b.pages(ctx, "messages", query, func(p *page) (more bool, err error) {
		if len(p.Messages) > maxPage {
			return false, https.Broken("more messages than were asked for")
		}
		older := false
		for _, m := range p.Messages {
			it := pull.Item{ID: m.ID}
			switch {
			case !id().MatchString(m.ID):
				return false, https.Broken("a message without an id")
			case seen[m.ID]: // new mail moves the others to the next page
				continue
			}
			seen[m.ID] = true
			err := b.look(ctx, &it)
			if err != nil && !pull.Final(ctx, err) {
				err = b.look(ctx, &it)
			}
			switch {
			case errors.Is(err, pull.ErrGone), errors.Is(err, pull.ErrSkip):
				continue
			case err == nil:
				silent = 0
			case pull.Final(ctx, err):
				return false, err
			default:
				if silent++; silent > maxSilent {
					return false, err
				}
				it.Received, it.Blob = time.Time{}, undated
			}
			if it.Blob == undated || !it.Received.Before(t) {
				list, more = append(list, it), true
			} else {
				older = true
			}
		}
		return (more || !older) && len(list) < n, nil
	})
	date(list)
	return list, err
}

// Of so many messages in a row the server may fail to say when they were received. If there are
// more, the server is ill, and not a message.
const maxSilent = 10

const undated = "undated" // the Blob of such a message

// date gives those messages the time of the one that is listed behind them, because Google lists
// the newest first; the last ones get that of the one before. Get asks again.
func date(list []pull.Item) {
	last := time.Now()
	for _, it := range list {
		if it.Blob != undated {
			last = it.Received
		}
	}
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Blob == undated {
			list[i].Received = last
		}
		last = list[i].Received
	}
}

// page is a page of a list of messages, or of the history.
type page struct {
	Messages      []struct{ ID string }
	History       []change
	NextPageToken string
}

// pages calls use with each page of a list as long as there are more, and use wants them.
func (b *Box) pages(ctx context.Context, path string, query url.Values, use func(*page) (bool, error)) error {
	for range maxPages {
		var p page
		if err := b.get(ctx, path, query, &p); err != nil {
			return err
		}
		if more, err := use(&p); err != nil || !more || p.NextPageToken == "" {
			return err
		}
		query.Set("pageToken", p.NextPageToken)
	}
	return https.Broken("a list without end")
}

// Get implements pull.Box.
func (b *Box) Get(ctx context.Context, it *pull.Item, m *source.Message) error {
	if it.Received.IsZero() || it.Blob == undated { // the history does not say
		err := b.look(ctx, it)
		if errors.Is(err, pull.ErrGone) {
			return pull.ErrSkip // it was removed at some time since the last run
		}
		if err != nil {
			return err
		}
		m.Received = it.Received
	}
	if b.Headers {
		return b.headers(ctx, it.ID, m)
	}
	at := b.url("messages/"+it.ID, url.Values{"format": {"raw"}, "fields": {"raw"}})
	return gone(b.Client.Get(ctx, at, maxRaw, func(r io.Reader) (err error) {
		if r, err = rawReader(r); err == nil {
			m.Raw, err = b.Reader.Read(r, -1)
		}
		m.CRLF = true
		return err
	}))
}

// header is a header field as format=metadata has it.
type header struct{ Name, Value string }

// lineEnd matches a line end inside a value, with the blank that makes it a fold (RFC 5322 §2.2.3).
var lineEnd = lazy.Regexp(`\r\n[ \t]|\r\n|\r|\n`)

// String returns the field. A line end that is no fold stays in its field and gets the defect
// line_ends, because it becomes a bare LF and a blank.
func (h header) String() (string, error) {
	if h.Name == "" || strings.ContainsAny(h.Name, ":\r\n\x00") || strings.Contains(h.Value, "\x00") {
		return "", https.Broken("a header field that can't be one")
	}
	value := lineEnd().ReplaceAllStringFunc(h.Value, func(s string) string {
		if len(s) == len("\r\n ") {
			return s
		}
		return "\n "
	})
	return h.Name + ": " + value + "\r\n", nil
}

// headers gets the header block, from its fields: a token of gmail.metadata gives no more.
func (b *Box) headers(ctx context.Context, one string, m *source.Message) error {
	var got struct {
		Payload      struct{ Headers []header }
		SizeEstimate int64
	}
	query := url.Values{"format": {"metadata"}, "fields": {"payload/headers,sizeEstimate"}}
	if err := b.get(ctx, "messages/"+one, query, &got); err != nil {
		return gone(err)
	}
	var block strings.Builder
	for _, h := range got.Payload.Headers {
		line, err := h.String()
		if err != nil {
			return err
		}
		block.WriteString(line)
	}
	if block.Len() == 0 {
		return https.Broken("a message without header fields")
	}
	block.WriteString("\r\n")
	raw, err := b.Reader.Read(strings.NewReader(block.String()), int64(block.Len()))
	if err != nil {
		return err
	}
	raw.Size, raw.Partial, raw.CRLF = max(got.SizeEstimate, raw.Size), true, true
	m.Raw = raw
	return nil
}
