package jmap

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"pulse/lib/fetch/https"
	"pulse/lib/fetch/pull"
	"pulse/lib/shared/fault"
)

type object = map[string]any

// call is one method call; its answer goes into into.
type call struct {
	method string
	args   object
	into   any
}

// problems are the errors of methods that another try may mend (RFC 8620 §3.6.2).
var problems = []string{"serverUnavailable", "serverFail", "serverPartialFail"}

// ask calls methods in one request (RFC 8620 §3.3).
func (b *Box) ask(ctx context.Context, calls ...call) error {
	list := make([][3]any, len(calls))
	for i, c := range calls {
		c.args["accountId"] = b.account
		list[i] = [3]any{c.method, c.args, string(rune('a' + i))}
	}
	body, err := json.Marshal(object{"using": []string{core, mail}, "methodCalls": list})
	if err != nil {
		return err
	}
	var answer struct{ MethodResponses [][]json.RawMessage }
	if err := b.Client.PostJSON(ctx, b.api, body, &answer); err != nil {
		return explain(err)
	}
	if len(answer.MethodResponses) != len(calls) {
		return https.Broken("answers that are not one for each question")
	}
	for i, c := range calls {
		if err := c.take(answer.MethodResponses[i]); err != nil {
			return err
		}
	}
	return nil
}

// explain finds out whether a request was refused because there were too many of them, or too much
// in it, at this time (RFC 8620 §3.6.1).
func explain(err error) error {
	var status *https.Status
	var problem struct{ Type string }
	if errors.As(err, &status) && json.Unmarshal(status.Body, &problem) == nil && problem.Type == "urn:ietf:params:jmap:error:limit" {
		return fault.Temporaryf("run again later", "the server answers that a limit of its own is reached")
	}
	return err
}

// take reads the answer to a call.
func (c call) take(answer []json.RawMessage) error {
	var name string
	if len(answer) != 3 || json.Unmarshal(answer[0], &name) != nil {
		return https.Broken("an answer that can't be read")
	}
	if name == "error" {
		var e struct{ Type string }
		if json.Unmarshal(answer[1], &e) == nil && slices.Contains(problems, e.Type) {
			return fault.Temporaryf("run again", "the server fails at %s: %s", c.method, e.Type)
		}
		return fault.Failedf("the token must allow to read mail", "the server refuses %s", c.method)
	}
	if name != c.method || json.Unmarshal(answer[1], c.into) != nil {
		return https.Broken("an answer that can't be read")
	}
	return nil
}

// folder is a Mailbox (RFC 8621 §2).
type folder struct{ ID, Name, Role, ParentID string }

// find finds the mailbox.
func (b *Box) find(ctx context.Context) error {
	var got struct{ List []folder }
	err := b.ask(ctx, call{"Mailbox/get", object{"properties": []string{"id", "name", "role", "parentId"}}, &got})
	if err != nil {
		return err
	}
	byID := map[string]folder{}
	for _, f := range got.List {
		if byID[f.ID].ID != "" || !id().MatchString(f.ID) {
			return https.Broken("mailboxes without ids of their own")
		}
		byID[f.ID] = f
	}
	for _, f := range got.List {
		found := f.Role == "inbox"
		if b.Address.Mailbox != inbox {
			found = path(f, byID) == b.Address.Mailbox
		}
		if found {
			b.mailbox = f.ID
			return nil
		}
	}
	return fault.Failedf("#INBOX, or the names with / between them: #Lists/Go",
		"the account has no mailbox %q", b.Address.Mailbox)
}

// path returns the names of a mailbox and of those that it lies in.
func path(f folder, all map[string]folder) string {
	const maxDepth = 32
	names := []string{f.Name}
	for up, ok := all[f.ParentID]; ok && len(names) < maxDepth; up, ok = all[up.ParentID] {
		names = append(names, up.Name)
	}
	slices.Reverse(names)
	return strings.Join(names, "/")
}

// email is an Email (RFC 8621 §4).
type email struct {
	ID, BlobID string
	Size       int64
	ReceivedAt time.Time
}

// found is the answer to Email/query and the Email/get that follows it.
type found struct {
	query struct {
		QueryState string
		Position   int
		IDs        []string
	}
	get struct {
		List     []email
		NotFound []string
	}
}

// look asks for one page of messages.
func (b *Box) look(ctx context.Context, filter object, ascending bool, position, n int) (found, error) {
	var f found
	filter["inMailbox"] = b.mailbox
	err := b.ask(ctx,
		call{"Email/query", object{
			"filter": filter, "position": position, "limit": n,
			"sort": []object{{"property": "receivedAt", "isAscending": ascending}},
		}, &f.query},
		call{"Email/get", object{
			"#ids":       object{"resultOf": "a", "name": "Email/query", "path": "/ids"},
			"properties": []string{"id", "blobId", "size", "receivedAt"},
		}, &f.get})
	switch {
	case err != nil:
	case f.query.Position != position && len(f.query.IDs) > 0:
		err = https.Broken("messages from another place of the list")
	case len(f.query.IDs) > n || len(f.get.List)+len(f.get.NotFound) > len(f.query.IDs):
		err = https.Broken("more messages than were asked for")
	}
	return f, err
}

// items checks the messages of a page, and adds them. One that Email/get leaves out, or names in
// notFound, is missing. In an ascending list it was received no earlier than the one before it.
func (f *found) items(list []pull.Item, ascending bool) ([]pull.Item, error) {
	got := map[string]email{}
	for _, e := range f.get.List {
		if _, twice := got[e.ID]; twice || !id().MatchString(e.ID) || !id().MatchString(e.BlobID) || e.Size < 0 || e.ReceivedAt.IsZero() {
			return nil, https.Broken("a message twice, or with parts missing")
		}
		got[e.ID] = e
	}
	for _, one := range f.query.IDs {
		e, ok := got[one]
		delete(got, one)
		it := pull.Item{ID: one, Blob: e.BlobID, Size: e.Size, Received: e.ReceivedAt, Missing: !ok}
		if n := len(list); !ok && ascending && n > 0 {
			it.Received = list[n-1].Received
		}
		list = append(list, it)
	}
	if len(got) > 0 {
		return nil, https.Broken("a message that was not asked for")
	}
	return list, nil
}

// Newest implements pull.Box.
func (b *Box) Newest(ctx context.Context, n int) ([]pull.Item, error) {
	return b.list(ctx, object{}, false, n)
}

// Since implements pull.Box.
func (b *Box) Since(ctx context.Context, t time.Time) ([]pull.Item, error) {
	after := t.UTC().Truncate(time.Second).Format(time.RFC3339)
	return b.list(ctx, object{"after": after}, true, maxList)
}

const (
	maxList    = 50_000 // messages that one run looks at; the next one goes on
	maxChanges = 3      // of the mailbox while it is listed
)

// list returns up to n messages. If the mailbox changes between two pages, it begins again,
// because a message may have moved from one page to the other.
func (b *Box) list(ctx context.Context, filter object, ascending bool, n int) ([]pull.Item, error) {
	var list []pull.Item
	state, changes := "", 0
	for position := 0; position < n; {
		f, err := b.look(ctx, filter, ascending, position, min(b.page, n-position))
		if err != nil {
			return nil, err
		}
		if position > 0 && f.query.QueryState != state {
			if changes++; changes > maxChanges {
				return nil, fault.Temporaryf("run again", "the mailbox changes all the time while it is listed")
			}
			list, position = nil, 0
			continue
		}
		if state = f.query.QueryState; len(f.query.IDs) == 0 {
			break
		}
		if list, err = f.items(list, ascending); err != nil {
			return nil, err
		}
		position += len(f.query.IDs)
	}
	until(list, ascending)
	return unique(list)
}

// until says of each missing message that it was received no later than the next one.
func until(list []pull.Item, ascending bool) {
	var next time.Time
	for i := range list {
		it := &list[i]
		if ascending {
			it = &list[len(list)-1-i]
		}
		if it.Missing {
			it.Until = next
		} else {
			next = it.Received
		}
	}
}

// unique makes sure that no message is in the list twice.
func unique(list []pull.Item) ([]pull.Item, error) {
	seen := make(map[string]bool, len(list))
	for _, it := range list {
		if seen[it.ID] {
			return nil, https.Broken("a message twice")
		}
		seen[it.ID] = true
	}
	return list, nil
}
