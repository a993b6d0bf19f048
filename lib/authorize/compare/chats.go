package compare

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
)

// chats looks at what the platforms of both policies send: messages in chats, and HTTP
// requests.
func (s *search) chats() error {
	for _, source := range platformsOf(s.old, s.new) {
		was, is := s.old.Platform(source), s.new.Platform(source)
		for _, age := range agesOf(s.old, s.new) {
			if strings.HasPrefix(source, policy.WebhookPrefix) {
				s.webhook(source, age)
				continue
			}
			for _, id := range idsOf(was, is) {
				for _, chat := range append([]int64{0, unknownChat}, chatIDs(was, is)...) {
					s.chat(source, id, chat, age)
				}
				if err := s.enough(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func platformsOf(policies ...*policy.Policy) (list []string) {
	for _, p := range policies {
		for i := range p.Platforms {
			if !slices.Contains(list, p.Platforms[i].Source) {
				list = append(list, p.Platforms[i].Source)
			}
		}
	}
	return list
}

// unknownChat and unknownID are numbers that no policy is likely to have; fresher finds
// others if one has.
const unknownChat, unknownID = -1, 1

func (s *search) webhook(source string, age time.Duration) {
	for _, result := range []envelope.WebhookResult{envelope.WebhookPass, envelope.WebhookNone} {
		m := posted(source, age)
		m.Webhook = &envelope.Webhook{Result: result}
		what := "a request without a signature in "
		if result == envelope.WebhookPass {
			m.Webhook.Scheme, m.Webhook.Timestamp = envelope.WebhookStandard, m.Received
			what = "a signed request in "
		}
		s.message(candidate{message: m, what: what + source + aged(age), group: source + string(result)})
	}
}

func posted(source string, age time.Duration) *envelope.Message {
	sent := fetched.Add(-age)
	return &envelope.Message{Source: source, ID: "1", Digest: "sha256:" + strings.Repeat("0", 64), Received: sent, Fetched: fetched, Scope: envelope.Headers}
}

func aged(age time.Duration) string {
	if age == 0 {
		return ""
	}
	return fmt.Sprintf(", %s old", short(age.Truncate(time.Minute)))
}

// chat looks at a message in a chat, or in none, by a person who mentions the agent or
// not, and by a bot.
func (s *search) chat(source string, id, chat int64, age time.Duration) {
	for _, sender := range []envelope.Sender{{Mentioned: true}, {}, {Bot: true}} {
		if sender.Bot && chat != 0 {
			continue
		}
		m := posted(source, age)
		m.Sender = &sender
		sender.ID, sender.Chat = id, chat
		what := fmt.Sprintf("message of %d on %s", id, source)
		if sender.Bot {
			what = fmt.Sprintf("message of the bot %d on %s", id, source)
		}
		if chat != 0 {
			what += fmt.Sprintf(" in chat %d", chat)
		}
		if chat != 0 && !sender.Mentioned {
			what += " without a mention"
		}
		if chat == 0 && !sender.Mentioned && !sender.Bot {
			continue
		}
		s.message(candidate{message: m, what: what + aged(age), group: fmt.Sprint(source, id, chat)})
	}
}

// idsOf returns a sender for each way in which the platforms can judge one; either may be
// nil.
func idsOf(was, is *policy.Platform) (ids []int64) {
	all := []int64{}
	for _, pl := range []*policy.Platform{was, is} {
		if pl == nil {
			continue
		}
		all = append(append(all, pl.OwnerIDs...), pl.AllowedIDs...)
		for i := range pl.Chats {
			all = append(all, pl.Chats[i].AllowedSenders...)
		}
	}
	stranger := int64(unknownID)
	for slices.Contains(all, stranger) {
		stranger++
	}
	seen := map[string]bool{}
	for _, id := range append(all, stranger) {
		key := ""
		for _, pl := range []*policy.Platform{was, is} {
			if pl == nil {
				continue
			}
			key += fmt.Sprint(slices.Contains(pl.OwnerIDs, id), slices.Contains(pl.AllowedIDs, id))
			for i := range pl.Chats {
				key += fmt.Sprint(slices.Contains(pl.Chats[i].AllowedSenders, id))
			}
		}
		if !seen[key] {
			seen[key] = true
			ids = append(ids, id)
		}
	}
	return ids
}
