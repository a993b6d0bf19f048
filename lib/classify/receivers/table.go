package receivers

import "pulse/lib/shared/policy"

// The measurements: mail of 2022-09 from each of some 17 providers to each in the public
// test data of Delta Chat, unsigned mail with a forged field of a foreign id among it;
// mail to honeypots of 2019 to 2026 in the public collection Phishing Pot; and single
// mails in the public test data of other programs. Genuine means that the receiver
// itself called the DKIM signature good. A mail with an injected field of the receiver's
// own id was simulated for nine of the providers: 0 of 294 were believed.

const (
	silent  = "it leaves some mail without its field, so that a forged one stands alone: seen on mail of 2022-09"
	inside  = "another user who can submit mail without a word of it in Received could write the verdict"
	probe   = "probe it from inside, as another of its users"
	useDKIM = "nothing: pulse checks DKIM itself"
)

var table = []Receiver{
	{
		Name: "amavis", Title: "amavis", Aliases: []string{"amavisd-new"},
		Verdict: policy.ByNone, Yours: true, Evidence: policy.ByDKIM,
		Writes:     "one field with dkim, and a comment after the id; no dmarc",
		Documented: "all of it except the form of a handful of mails",
		Risk:       "without dmarc its field does not bind the signature to From, so it proves nothing",
		Do:         "put OpenDMARC after it, and use opendkim-opendmarc; or leave it: pulse checks DKIM itself",
	},
	{
		Name: "amazon-ses", Title: "Amazon SES", Aliases: []string{"ses", "aws"},
		Verdict: policy.ByNone, Unsafe: []string{"amazonses.com"}, Evidence: policy.ByDKIM,
		Writes:     "one field with spf, dkim and dmarc, with header.from",
		Documented: "all of it: samples that Amazon published",
		Risk:       "nobody knows whether it writes on every mail, and what it does with a forged field of its name, so its field proves nothing",
		Do:         useDKIM,
	},
	{
		Name: "aol", Title: "AOL", Aliases: []string{"aim", "aol.com"}, IMAP: []string{"imap.aol.com"},
		Verdict: policy.BySet, IDs: []string{"*.yahoo.com"}, Example: "atlas101.aol.mail.ne1.yahoo.com", Evidence: policy.ByEither,
		Writes:   yahooWrites,
		Measured: "25 of 27 genuine mails verified with Yahoo's, 0 of 2 forged; a field on 14 of 14 (2022-09)",
		Risk:     yahooRisk,
		Do:       probe,
	},
	{
		Name: "disroot", Title: "Disroot", Aliases: []string{"disroot.org"}, IMAP: []string{"disroot.org"},
		Verdict: policy.ByNone, Unsafe: []string{"disroot.org", "*.disroot.org"}, Evidence: policy.ByDKIM,
		Writes: "a field on some mail only", Measured: "the forged field was the only one (2022-09)",
		Risk: silent, Do: useDKIM,
	},
	{
		Name: "exchange", Title: "Exchange on premises", Aliases: []string{"exchange-server", "exchange-on-premises", "on-premises"},
		Verdict: policy.ByNone, Yours: true, Evidence: policy.ByDKIM,
		Writes:     "no field; one that came with the mail, from a gateway or from the sender, stays first",
		Measured:   "the form of 1 mail",
		Documented: "the fields that rule M reads are written here too, and no verdict is behind them",
		OwnCheck:   rewrites,
		Risk:       "never verdict microsoft here; the id of a gateway only if Exchange takes mail from that gateway alone",
		Do:         "if a gateway in front writes a verdict and is the only way in: authserv_id = its id; else leave it",
	},
	{
		Name: "exim", Title: "Exim",
		Verdict: policy.BySet, Yours: true, Evidence: policy.ByEither,
		Writes:     "what the ACL adds: ${authresults {ID}} with dkim, spf and dmarc, at the end unless it says :at_start:",
		Documented: "all of it: Exim's manual",
		Risk:       "it removes nothing: on a route that does not pass the ACL a forged field stands alone",
		OwnCheck:   "a field that the sender wrote and that stands above Exim's leaves the mail to it",
		Do:         "add the field on every route, on top (add_header = :at_start:...), remove incoming ones in the ACL (remove_header), and probe from outside and inside",
	},
	{
		Name: "fastmail", Title: "Fastmail", Aliases: []string{"fastmail.com", "fastmail.fm", "messagingengine"},
		IMAP:    []string{"imap.fastmail.com", "imap.messagingengine.com"},
		Verdict: policy.BySet, IDs: []string{"*.messagingengine.com"}, Example: "mx4.messagingengine.com", Evidence: policy.ByEither,
		Writes:     "four fields of one host: x-csa; bimi; arc; dkim with dmarc and spf",
		Measured:   "15 of 16 genuine mails verified, 0 of 1 forged; its fields on 17 of 17 (2022-09)",
		Documented: "incoming fields of its hosts are removed; of its own users' mail DMARC is not checked",
		Risk:       "another Fastmail user, if fields are not removed from what users submit",
		Do:         probe,
	},
	{
		Name: "gmail", Title: "Gmail, Google Workspace",
		Aliases: []string{"googlemail", "google", "google-workspace", "gsuite", "gmail.com"},
		IMAP:    []string{"imap.gmail.com", "imap.googlemail.com"},
		Verdict: policy.ByFirst, IDs: []string{"mx.google.com"}, Evidence: policy.ByAuthRes,
		Writes:   "one field with dkim (header.i), spf, and dmarc if the domain of From has a record",
		Measured: "15 of 16 genuine mails verified, 0 of 1 forged; its field on 17 of 17 (2022-09); the form of about 148 mails",
		Never:    "mail from you to yourself",
		Risk:     "it all rests on its field standing on top of what the sender sent",
		Do:       "nothing; if your own mail to yourself has no verdict, write from another account",
	},
	{
		Name: "gmx", Title: "GMX, web.de",
		Aliases: []string{"web.de", "gmx.de", "gmx.net", "gmx.com", "1und1"}, IMAP: []string{"imap.gmx.net", "imap.gmx.com", "imap.web.de"},
		Verdict: policy.ByNone, Unsafe: []string{"gmx.net", "*.gmx.net", "web.de", "*.web.de"}, Evidence: policy.ByDKIM,
		Writes:   "gmx.net; dkim=pass header.i, a field for each good signature, and none on other mail; no dmarc",
		Measured: "the form of 3 mails",
		Risk:     "it is silent about bad mail, as far as seen, so that a forged field stands first",
		Do:       useDKIM,
	},
	{
		Name: "icloud", Title: "iCloud", Aliases: []string{"me", "mac", "apple", "icloud.com", "me.com", "mac.com"},
		IMAP:    []string{"imap.mail.me.com"},
		Verdict: policy.BySet,
		IDs:     []string{"bimi.icloud.com", "dmarc.icloud.com", "dkim-verifier.icloud.com", "spf.icloud.com"}, Evidence: policy.ByEither,
		Writes:   "a field for each method, each with an id of its own: bimi, dmarc, dkim-verifier, spf",
		Measured: "14 of 15 genuine mails verified, 0 of 1 forged; dmarc on 16 of 16 (2022-09)",
		OwnCheck: "Hide My Email removes the signature",
		Never:    "mail through Hide My Email",
		Risk:     "whether it removes a forged field of its names is not known; two of a kind make pulse refuse",
		Do:       probe,
	},
	{
		Name: "ikme", Title: "ik.me, Infomaniak", Aliases: []string{"infomaniak"}, IMAP: []string{"mail.infomaniak.com"},
		Verdict: policy.BySet, IDs: []string{"mx.infomaniak.com"}, Evidence: policy.ByEither,
		Writes:   "dmarc and dkim on top, a field each, and spf below From",
		Measured: "14 of 15 genuine mails verified, 0 of 1 forged; its fields on 16 of 16 (2022-09)",
		Risk:     inside,
		Do:       probe,
	},
	{
		Name: "mailo", Title: "Mailo", Aliases: []string{"mailo.com", "netcourrier"}, IMAP: []string{"mail.mailo.com"},
		Verdict: policy.ByNone, Unsafe: []string{"mailo.com", "*.mailo.com"}, Evidence: policy.ByDKIM,
		Writes: "a field on some mail only", Measured: "the forged field was the only one (2022-09)",
		Risk: silent, Do: useDKIM,
	},
	{
		Name: "mailru", Title: "mail.ru", Aliases: []string{"inbox.ru", "bk.ru", "list.ru"}, IMAP: []string{"imap.mail.ru"},
		Verdict: policy.BySet, IDs: []string{"mxs.mail.ru"}, Evidence: policy.ByEither,
		Writes:   "one field with spf, dkim and dmarc, below From on most mail; header.from is the whole address",
		Measured: "15 of 16 genuine mails verified, 0 of 1 forged; its field on 17 of 17, below From on 15 (2022-09)",
		Risk:     "whether it removes a forged field of its name is not known; two make pulse refuse; under verdict first it would count",
		Do:       probe,
	},
	{
		Name: "microsoft", Title: "Microsoft 365, Outlook.com",
		Aliases: []string{"outlook", "outlook.com", "hotmail", "hotmail.com", "live", "live.com", "msn", "office365", "o365", "m365",
			"microsoft365", "ms365", "exchange-online"},
		IMAP:    []string{"outlook.office365.com", "outlook.office.com", "imap-mail.outlook.com"},
		Verdict: policy.ByMicrosoft, Probed: true, Evidence: policy.ByEither,
		Writes:     "one field without an id, tied to its place among the fields of Microsoft's own servers",
		Measured:   "1,086 of 7,726 mails to honeypots verified, 0 wrongly, 12 replays; 1 of 2 to business tenants (2019 to 2026)",
		Never:      "mail within one tenant, which has neither verdict nor, as a rule, a signature",
		Documented: "that the fields of its servers are cut off at the border of an organization, except over connectors set to keep them",
		OwnCheck:   rewrites,
		Risk:       "a colleague, connector or hybrid server that may keep organization fields can write all of it; so can the tenant's administrator",
		Do:         "probe from outside, as a colleague over SMTP AUTH, by Direct Send and through each connector; set recipients against replays",
	},
	{
		Name: "opendkim-opendmarc", Title: "OpenDKIM with OpenDMARC", Aliases: []string{"opendkim", "opendmarc"},
		Verdict: policy.BySet, Yours: true, Evidence: policy.ByAuthRes,
		Writes:     "dmarc in one field, dkim in another, both with the name that you gave them",
		Documented: "OpenDKIM removes fields of its name with a dkim result, and only from mail that it verifies; OpenDMARC removes none and believes what is left",
		Never:      "mail that its own users submit",
		Risk:       "mail of logins and internal hosts is signed and not looked at: a verdict in it stays",
		Do:         "set AlwaysAddARHeader and RemoveARAll, have the submission service delete the field (header_checks), and probe from inside",
	},
	{
		Name: "posteo", Title: "Posteo", Aliases: []string{"posteo.de", "posteo.net"}, IMAP: []string{"posteo.de"},
		Verdict: policy.BySet, IDs: []string{"posteo.de"}, Evidence: policy.ByEither,
		Writes:   "dmarc, spf and dkim, a field each, in that order; no dkim on unsigned mail",
		Measured: "15 of 16 genuine mails verified, 0 of 1 forged; its fields on 17 of 17 (2022-09)",
		Risk:     inside,
		Do:       probe,
	},
	{
		Name: "proton", Title: "Proton Mail", Aliases: []string{"protonmail", "proton-bridge", "proton.me", "pm.me"},
		Verdict: policy.BySet, IDs: []string{"mail.protonmail.ch"}, Unsafe: []string{"mailin*.protonmail.ch"}, Evidence: policy.ByEither,
		Writes:   "dmarc, spf, arc and dkim, a field each; fields are grouped by name, so their place says nothing",
		Measured: "22 of 31 mails with dmarc=pass verified, of 85 to honeypots (2019 to 2026)",
		Risk:     "fields of its very name that a sender wrote survived in 1 mail of 85, of a former name in 2; two make pulse refuse",
		Do:       "read it through Bridge on loopback (imap://...@127.0.0.1:1143/ with --insecure-loopback), which alone can",
	},
	{
		Name: "riseup", Title: "Riseup", Aliases: []string{"riseup.net"}, IMAP: []string{"mail.riseup.net"},
		Verdict: policy.ByNone, Unsafe: []string{"riseup.net", "*.riseup.net"}, Evidence: policy.ByDKIM,
		Writes: "a field on some mail only", Measured: "the forged field was the only one (2022-09)",
		Risk: silent, Do: useDKIM,
	},
	{
		Name: "rspamd", Title: "rspamd", Aliases: []string{"mailcow", "mailu"},
		Verdict: policy.ByFirst, Yours: true, Evidence: policy.ByAuthRes,
		Writes:     "one field with dkim, spf, dmarc and arc, with the name of your server",
		Documented: "every such field is removed from mail from outside; mail of logins and local senders is skipped",
		Never:      "mail that its own users submit",
		Risk:       "on mail of logins and local senders it neither writes nor removes a field, by default",
		Do:         "list its routine in authenticated_headers and local_headers (milter_headers.conf), and probe from inside",
	},
	{
		Name: "two-mx", Title: "two or more MX hosts of your own", Aliases: []string{"mx", "several-mx"},
		Verdict: policy.BySet, Yours: true, Evidence: policy.ByAuthRes,
		Writes:     "what each of the hosts writes, each with its own name",
		Documented: "nothing of them: it depends on what runs there",
		Risk:       "a host that leaves one mail without its field lets a forged one of any listed name stand alone",
		Do:         "list the names of all of them, see that each writes on every mail, and probe each",
	},
	{
		Name: "yahoo", Title: "Yahoo", Aliases: []string{"ymail", "yahoo.com", "rocketmail"}, IMAP: []string{"imap.mail.yahoo.com"},
		Verdict: policy.BySet, IDs: []string{"*.yahoo.com"}, Example: "atlas101.free.mail.ne1.yahoo.com", Evidence: policy.ByEither,
		Writes:   yahooWrites,
		Measured: "25 of 27 genuine mails verified with AOL's, 0 of 2 forged; a field on 15 of 15 (2022-09)",
		Risk:     yahooRisk,
		Do:       probe,
	},
	{
		Name: "yandex", Title: "Yandex", Aliases: []string{"yandex.ru", "yandex.com", "ya.ru"},
		IMAP:    []string{"imap.yandex.ru", "imap.yandex.com"},
		Verdict: policy.ByNone, Unsafe: []string{"*.yandex.net", "*.yandex.ru"}, Example: "iva4-1a2b3c4d5e6f.qloud-c.yandex.net", Evidence: policy.ByDKIM,
		Writes:   "one field with spf and dkim under the name of whichever host took the mail; no dmarc",
		Measured: "no field on unsigned mail, 2 of 2 (2022-09)",
		Risk:     silent, Do: useDKIM,
	},
	{
		Name: "zoho", Title: "Zoho", Aliases: []string{"zohomail", "zoho.com", "zoho.eu"},
		IMAP:    []string{"imap.zoho.com", "imap.zoho.eu", "imappro.zoho.com", "imappro.zoho.eu"},
		Verdict: policy.BySet, IDs: []string{"mx.zohomail.com", "mx.zohomail.eu"}, Evidence: policy.ByEither,
		Writes:     "one field; its dkim result does not say which domain signed",
		Measured:   "16 of 17 genuine mails of mx.zohomail.eu verified without a look at the signatures, 0 of 1 forged (2022-09)",
		Documented: "the name mx.zohomail.com; older fields lack a semicolon between results and are refused",
		Risk:       "its word that the domains agree is taken, on mail whose every signature is by the domain of From or near it",
		Do:         probe,
	},
}

const (
	yahooWrites = "one field with dkim (header.i), spf and dmarc under the name of whichever host took the mail"
	yahooRisk   = "whether it removes a forged field of its names is not known; two make pulse refuse"
	rewrites    = "Exchange writes the mail anew on the way, so that many good signatures fail"
)
