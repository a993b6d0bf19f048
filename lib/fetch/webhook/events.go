package webhook

// event is one kind of request that is an ask, and where its body has what an ask needs.
// Paths are names of members with a full stop between them; * is any element of an array.
type event struct {
	when      []fact   // all of them hold, or the request is of another kind
	person    []fact   // all of them hold, or a program sent it
	private   []fact   // all of them hold: nobody else reads the chat; nil: the ids say it
	mentioned []fact   // all of them hold: the message addresses the agent; nil: nothing says it
	kind      string   // begins message.id, where ids of several kinds could be equal
	id        []string // the message, for ever: ids and numbers that no edit and no delivery changes
	sender    string   // an id that can't be renamed
	author    string   // of the text; empty: the sender. Another one has not asked for anything
	chat      string   // an id
	at        string   // when it was written; empty: the header says when it was signed

	from, subject, text string // for people; text may be any JSON
}

// fact is what a body says at a path.
type fact struct{ path, want string }

// What a fact can want besides JSON, which has | between words that will all do.
const (
	there  = "+" // anything but null and false
	absent = "-" // nothing, null or false
)

// https://docs.github.com/en/webhooks/webhook-events-and-payloads: issue_comment and issues.
// The name of the event is in a field that nobody signs, so the members tell it. An issue
// that is moved from another repository is opened by whoever moved it.
var githubEvents = []event{{
	when:   []fact{{"action", `"created"`}, {"issue", there}, {"comment", there}},
	person: []fact{{"sender.type", `"User"`}, {"comment.performed_via_github_app", absent}},
	kind:   "comment", id: []string{"comment.id"}, sender: "sender.id", author: "comment.user.id", chat: "repository.id", at: "comment.created_at",
	from: "sender.login", subject: "issue.title", text: "comment.body",
}, {
	when:   []fact{{"action", `"opened"`}, {"issue", there}, {"comment", absent}},
	person: []fact{{"sender.type", `"User"`}, {"issue.performed_via_github_app", absent}},
	kind:   "issue", id: []string{"issue.id"}, sender: "sender.id", author: "issue.user.id", chat: "repository.id", at: "issue.created_at",
	from: "sender.login", subject: "issue.title", text: "issue.body",
}}

// https://docs.slack.dev/reference/events: message and app_mention, which can both be sent
// for one message. What has a subtype is an edit, a bot's, or no message.
var slackEvents = []event{{
	when: []fact{{"type", `"event_callback"`}, {"event.type", `"message"|"app_mention"`},
		{"event.subtype", absent}, {"event.edited", absent}},
	person:    []fact{{"event.bot_id", absent}},
	private:   []fact{{"event.type", `"message"`}, {"event.channel_type", `"im"`}},
	mentioned: []fact{{"event.type", `"app_mention"`}},
	id:        []string{"event.channel", "event.ts"}, sender: "event.user", chat: "event.channel",
	from: "event.user", text: "event.text",
}}

// https://core.telegram.org/bots/api#update: a new message with text of the sender's own. A
// chat with the sender alone has the sender's number. from is a stand-in where there is a
// sender_chat. A server of one's own that is older than version 7.0 has no forward_origin, but
// a forward_date.
var telegramEvents = []event{{
	when:      []fact{{"message.text", there}, {"message.forward_origin", absent}, {"message.forward_date", absent}, {"message.via_bot", absent}},
	person:    []fact{{"message.from.is_bot", "false"}, {"message.sender_chat", absent}},
	mentioned: []fact{{"message.entities.*.type", `"mention"|"bot_command"`}},
	id:        []string{"message.chat.id", "message.message_id"}, sender: "message.from.id", chat: "message.chat.id", at: "message.date",
	from: "message.from.first_name", text: "message.text",
}}

// https://discord.com/developers/docs/interactions/receiving-and-responding: a command that was
// typed, in a server or elsewhere. It always addresses the application. A command chosen from
// the menu of a message or a person brings what others wrote, in data.resolved, and so does a
// typed one that names a person or a channel: only the options are the sender's own.
var discordEvents = []event{{
	when:      []fact{{"type", "2"}, {"data.type", "1"}, {"member", there}},
	person:    []fact{{"member.user.bot", absent}},
	mentioned: []fact{},
	id:        []string{"id"}, sender: "member.user.id", chat: "channel_id",
	from: "member.user.username", subject: "data.name", text: "data.options",
}, {
	when:      []fact{{"type", "2"}, {"data.type", "1"}, {"member", absent}, {"user", there}},
	person:    []fact{{"user.bot", absent}},
	private:   []fact{{"context", "1"}},
	mentioned: []fact{},
	id:        []string{"id"}, sender: "user.id", chat: "channel_id",
	from: "user.username", subject: "data.name", text: "data.options",
}}
