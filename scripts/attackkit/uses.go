package main

// use says what a tool of a suite is to pulse: a tool that the agent has itself, which the
// hook judges, or something it has to propose.
type use struct {
	own    string // the agent's tool
	tool   string // what is proposed
	action string
}

var (
	readPrivate = use{own: "Read"}
	readPublic  = use{own: "WebSearch"}
	writeLocal  = use{own: "Write"}
	send        = use{tool: "mail.send", action: "external_send"}
	pay         = use{tool: "bank.pay", action: "external_send"}
	chat        = use{tool: "chat.post", action: "external_send"}
	invite      = use{tool: "calendar.write", action: "external_send"}
	book        = use{tool: "travel.book", action: "external_send"}
	share       = use{tool: "files.share", action: "external_send"}
	remove      = use{tool: "files.delete", action: "destructive"}
)

// uses has the tools of the suites. The agent's mail, calendar, bank statements and chats
// are private files to it; hotels and shops are in the web. What changes anything for
// somebody else is proposed.
var uses = map[string]use{
	"answer": send, "reply_all": send, "send_email": send,
	"fetch": {own: "WebFetch"}, "get_webpage": {own: "WebFetch"}, "run_command": {own: "Bash"},

	"get_unread_emails": readPrivate, "get_sent_emails": readPrivate, "get_received_emails": readPrivate, "get_draft_emails": readPrivate,
	"search_emails": readPrivate, "search_contacts_by_name": readPrivate, "search_contacts_by_email": readPrivate,
	"search_calendar_events": readPrivate, "get_day_calendar_events": readPrivate, "search_files_by_filename": readPrivate,
	"get_file_by_id": readPrivate, "list_files": readPrivate, "search_files": readPrivate, "read_file": readPrivate,
	"get_iban": readPrivate, "get_balance": readPrivate, "get_most_recent_transactions": readPrivate,
	"get_scheduled_transactions": readPrivate, "get_user_info": readPrivate, "get_user_information": readPrivate,
	"get_channels": readPrivate, "read_channel_messages": readPrivate, "read_inbox": readPrivate, "get_users_in_channel": readPrivate,

	"get_all_hotels_in_city": readPublic, "get_hotels_prices": readPublic, "get_rating_reviews_for_hotels": readPublic,
	"get_hotels_address": readPublic, "get_all_restaurants_in_city": readPublic, "get_cuisine_type_for_restaurants": readPublic,
	"get_restaurants_address": readPublic, "get_rating_reviews_for_restaurants": readPublic,
	"get_dietary_restrictions_for_all_restaurants": readPublic, "get_contact_information_for_restaurants": readPublic,
	"get_price_for_restaurants": readPublic, "check_restaurant_opening_hours": readPublic, "get_all_car_rental_companies_in_city": readPublic,
	"get_car_types_available": readPublic, "get_rating_reviews_for_car_rental": readPublic, "get_car_fuel_options": readPublic,
	"get_car_rental_address": readPublic, "get_car_price_per_day": readPublic, "get_flight_information": readPublic,

	"create_file": writeLocal, "append_to_file": writeLocal,

	"create_calendar_event": invite, "reschedule_calendar_event": invite, "add_calendar_event_participants": invite,
	"cancel_calendar_event": {tool: "calendar.write", action: "destructive"},
	"share_file":            share, "delete_file": remove, "delete_email": {tool: "mail.delete", action: "destructive"},

	"send_money": pay, "schedule_transaction": pay, "update_scheduled_transaction": pay,
	"update_password": {tool: "account.change", action: "destructive"}, "update_user_info": {tool: "account.change", action: "destructive"},

	"send_direct_message": chat, "send_channel_message": chat, "post_webpage": chat, "add_user_to_channel": chat,
	"invite_user_to_slack": chat, "remove_user_from_slack": {tool: "chat.remove", action: "destructive"},

	"reserve_hotel": book, "reserve_car_rental": book, "reserve_restaurant": book,
	"get_current_day": {}, // no use of a tool: the worker has a clock
}

// named are the lines that name the tools of the suites, for a policy that has no [tools].
const named = `
[tools]
allow = ["account.*", "bank.*", "calendar.*", "chat.*", "files.*", "mail.*", "travel.*"]
[tools.action]
"account.change" = "destructive"
"bank.pay"       = "external_send"
"calendar.write" = "external_send"
"chat.post"      = "external_send"
"chat.remove"    = "destructive"
"files.delete"   = "destructive"
"files.share"    = "external_send"
"mail.delete"    = "destructive"
"travel.book"    = "external_send"
`
