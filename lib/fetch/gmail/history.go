package gmail

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"pulse/lib/fetch/https"
	"pulse/lib/fetch/pull"
)

// change is one record of the history. Its messages got the label.
type change struct {
	ID            json.Number
	MessagesAdded []added
	LabelsAdded   []added
}

type added struct{ Message struct{ ID string } }

func mark(n json.Number) (pull.Mark, bool) {
	v, ok := whole(n)
	return pull.Mark{High: uint32(v >> 32), Low: uint32(v)}, ok && v > 0
}

// Now implements pull.History.
func (b *Box) Now(ctx context.Context) (pull.Mark, error) {
	var profile struct{ HistoryID json.Number }
	if err := b.get(ctx, "profile", url.Values{"fields": {"historyId"}}, &profile); err != nil {
		return pull.Mark{}, err
	}
	m, ok := mark(profile.HistoryID)
	if !ok {
		return m, https.Broken("an account without history")
	}
	return m, nil
}

// After implements pull.History. A record of several messages counts as read with the last one.
func (b *Box) After(ctx context.Context, m pull.Mark) ([]pull.Item, error) {
	query := url.Values{
		"startHistoryId": {strconv.FormatUint(uint64(m.High)<<32|uint64(m.Low), 10)},
		"labelId":        {b.label}, "historyTypes": {"messageAdded", "labelAdded"},
		"maxResults": {strconv.Itoa(maxPage)},
		"fields":     {"history(id,messagesAdded(message(id)),labelsAdded(message(id))),nextPageToken"},
	}
	var list []pull.Item
	seen := map[string]bool{}
	err := b.pages(ctx, "history", query, func(p *page) (bool, error) {
		for _, c := range p.History {
			next, ok := mark(c.ID)
			if !ok || next.High < m.High || next.High == m.High && next.Low <= m.Low {
				return false, https.Broken("a history that does not go on")
			}
			first := len(list)
			for _, a := range append(c.MessagesAdded, c.LabelsAdded...) {
				if !id().MatchString(a.Message.ID) {
					return false, https.Broken("a message without an id")
				}
				if seen[a.Message.ID] {
					continue
				}
				seen[a.Message.ID] = true
				list = append(list, pull.Item{ID: a.Message.ID, UIDValidity: m.High, UID: m.Low, Joined: len(list) > first})
			}
			if m = next; len(list) > first {
				list[len(list)-1].UIDValidity, list[len(list)-1].UID = m.High, m.Low
			}
		}
		return len(list) < maxPage*maxPages, nil
	})
	var status *https.Status
	if errors.As(err, &status) && status.Code == http.StatusNotFound {
		return nil, pull.ErrExpired
	}
	return list, err
}
