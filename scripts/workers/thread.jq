# threaded($record) gives a proposed mail the fields by which it belongs to its conversation
# (RFC 5322, 3.6.4): in_reply_to and references, made of the record's message if the mail
# goes to the one who sent that and nobody else, and none otherwise. What a model says of them is dropped.
# An id that is not plain is left out, so that nothing else gets into a header.
def plain: type == "string" and utf8bytelength <= 500 and test("\\A<[!-;=?-~]+@[!-;=?-~]+>\\z");
def ids: if type == "array" then map(select(plain)) else [] end;
def list: if type == "array" then . else [.] end;
def folded: if type == "string" then ascii_downcase else . end;
def mail: (.tool // "") as $tool | .args != null and (.args | type) == "object" and
	(.action == "external_send" and ($tool == "" or $tool == "mail.send") or $tool == "mail.draft");
def references: (.thread.references | ids) as $all | (.thread.in_reply_to | ids) as $one |
	(if $all == [] and ($one | length) == 1 then $one else $all end) + ([.id] | ids) |
	if length > 50 then .[:1] + .[-49:] else . end;
def fields($message): ([$message.id] | ids) as $id | ($message | references) as $references |
	(if $id == [] then {} else {in_reply_to: $id[0]} end) +
	(if $references == [] then {} else {references: $references} end);
def threaded($record): ($record.identity.sender | folded) as $sender |
	if mail then .args |= del(.in_reply_to, .references) |
		if .target | list | length > 0 and all(folded == $sender) then .args += fields($record.message // {}) else . end
	else . end;
