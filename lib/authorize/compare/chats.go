package compare

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"pulse/lib/shared/envelope"
	"pulse/lib/shared/peer"
	"pulse/lib/shared/policy"
)

// chats looks at what the platforms of both policies send: messages in chats, and HTTP
// requests.
func (s *search) chats() error {
	for _, source := range platformsOf(s.old, s.new) {
		was, is := s.old.Platform(source), s.new.Platform(source)
		known := chatIDs(was, is)
		chats := append([]peer.ID{"", unknown(unknownChat, -1, known)}, known...)
		ids := idsOf(was, is)
		for _, age := range agesOf(s.old, s.new) {
			if strings.HasPrefix(source, policy.WebhookPrefix) {
				s.webhook(source, age)
				if err := s.enough(); err != nil {
					return err
				}
				if !byID(was) && !byID(is) {
					continue
				}
			}
			for _, id := range ids {
				for _, chat := range chats {
					s.chat(source, id, chat, age)
					if err := s.enough(); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// byID reports whether the platform, which may be nil, trusts senders by their ids.
func byID(pl *policy.Platform) bool { return pl != nil && pl.Trust == "" }

func platformsOf(policies ...*policy.Policy) (list []string) {
	seen := map[string]bool{}
	for _, p := range policies {
		for i := range p.Platforms {
			if source := p.Platforms[i].Source; !seen[source] {
				seen[source] = true
				list = append(list, source)
			}
		}
	}
	return list
}

// unknownChat and unknownID are numbers that no policy is likely to have; unknown finds
// others if one has.
const unknownChat, unknownID = -1, 1

// unknown returns the first number from n on that is not known.
func unknown(n, step int64, known []peer.ID) peer.ID {
	has := map[peer.ID]bool{}
	for _, k := range known {
		has[k] = true
	}
	for has[peer.Number(n)] {
		n += step
	}
	return peer.Number(n)
}

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
func (s *search) chat(source string, id, chat peer.ID, age time.Duration) {
	for _, sender := range []envelope.Sender{{Mentioned: true}, {}, {Bot: true}} {
		if sender.Bot && chat != "" || !sender.Bot && !sender.Mentioned && chat == "" {
			continue
		}
		m := posted(source, age)
		m.Sender = &sender
		sender.ID, sender.Chat = id, chat
		if strings.HasPrefix(source, policy.WebhookPrefix) {
			m.Webhook = &envelope.Webhook{Result: envelope.WebhookPass, Scheme: envelope.WebhookSlack, Timestamp: m.Received}
		}
		what := fmt.Sprintf("message of %s on %s", id, source)
		if sender.Bot {
			what = fmt.Sprintf("message of the bot %s on %s", id, source)
		}
		if chat != "" {
			what += " in chat " + string(chat)
		}
		if chat != "" && !sender.Mentioned {
			what += " without a mention"
		}
		s.message(candidate{message: m, what: what + aged(age), group: fmt.Sprintf("%s %s %s", source, id, chat)})
	}
}

// idsOf returns a sender for each way in which the platforms can judge one; either may be
// nil.
func idsOf(was, is *policy.Platform) (ids []peer.ID) {
	var all []peer.ID
	in := map[peer.ID][]byte{} // the numbers of the lists that have a sender
	lists := uint32(0)
	add := func(list []peer.ID) {
		lists++
		this := binary.LittleEndian.AppendUint32(nil, lists)
		for _, id := range list {
			if !bytes.HasSuffix(in[id], this) {
				in[id] = append(in[id], this...)
			}
		}
		all = append(all, list...)
	}
	for _, pl := range []*policy.Platform{was, is} {
		if pl == nil {
			continue
		}
		add(pl.OwnerIDs)
		add(pl.AllowedIDs)
		for i := range pl.Chats {
			add(pl.Chats[i].AllowedSenders)
		}
	}
	seen := map[string]bool{}
	for _, id := range append(all, unknown(unknownID, 1, all)) {
		if key := string(in[id]); !seen[key] {
			seen[key] = true
			ids = append(ids, id)
		}
	}
	return ids
}
