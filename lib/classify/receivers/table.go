package receivers

// Basis: where the facts below come from. None of them was measured with pulse.
const (
	samples2022 = "mail of 2022-09 in the public test data of Delta Chat"
	tested2022  = "what Delta Chat found out in 2022"
	published   = "samples and documentation the provider or its users published"
	manual      = "the documentation of the software"
)

const unknown = "unknown"

var table = []Receiver{
	{
		Name:       "amazon-ses",
		AuthservID: "amazonses.com",
		Stamps:     "one field: spf, dkim and dmarc, with header.from",
		Strips:     unknown, Checked: unchecked, Basis: published,
	},
	{
		Name:       "disroot",
		Unpinnable: "it leaves mail without a good signature without its field, so that a forged one stands first",
		Stamps:     "a field on some mail only",
		Strips:     unknown, Checked: unchecked, Basis: tested2022,
		IMAP: []string{"disroot.org"},
	},
	{
		Name:       "fastmail",
		Unpinnable: "it writes several fields, the first without dmarc, under the name of whichever host took the mail",
		Stamps:     "mx*.messagingengine.com: x-csa first, then bimi, arc, then dkim with dmarc",
		Strips:     unknown, Checked: unchecked, Basis: samples2022,
		IMAP: []string{"imap.fastmail.com"},
	},
	{
		Name:       "gmail",
		AuthservID: "mx.google.com",
		Stamps:     "one field: dkim with header.i, spf, and dmarc where the domain of From has a record",
		Strips:     unknown, Checked: unchecked, Basis: samples2022,
		IMAP: []string{"imap.gmail.com", "imap.googlemail.com"},
	},
	{
		Name:       "gmx",
		Unpinnable: "its field says nothing of dmarc",
		Stamps:     "gmx.net: dkim alone",
		Strips:     unknown, Checked: unchecked, Basis: published,
		IMAP: []string{"imap.gmx.net", "imap.gmx.com", "imap.web.de"},
	},
	{
		Name:       "icloud",
		Unpinnable: "it writes a field for each check, each under a name of its own, and the first says nothing of dmarc",
		Stamps:     "bimi.icloud.com first, then arc, dmarc.icloud.com, dkim-verifier.icloud.com, spf",
		Strips:     unknown, Checked: unchecked, Basis: samples2022,
		IMAP: []string{"imap.mail.me.com"},
	},
	{
		Name:       "mailo",
		Unpinnable: "it leaves mail without a good signature without its field, so that a forged one stands first",
		Stamps:     "a field on some mail only",
		Strips:     unknown, Checked: unchecked, Basis: tested2022,
		IMAP: []string{"mail.mailo.com"},
	},
	{
		Name:       "mailru",
		Unpinnable: "its dmarc result names an address where the domain of From should stand",
		Stamps:     "mxs.mail.ru: one field: spf, dkim, dmarc",
		Strips:     unknown, Checked: unchecked, Basis: samples2022,
		IMAP: []string{"imap.mail.ru"},
	},
	{
		Name:       "microsoft",
		Unpinnable: "it writes no authserv-id, so its field can't be told from a forged one",
		Stamps:     "no id: spf, dkim, dmarc, compauth",
		Strips:     unknown, Checked: unchecked, Basis: published,
		IMAP: []string{"outlook.office365.com", "imap-mail.outlook.com"},
	},
	{
		Name:       "opendkim-opendmarc",
		Unpinnable: "each of the two writes a field of its own, and only the first counts",
		Stamps:     "the name you gave them: dmarc in one field, dkim in another",
		Strips:     "their own name with a dkim result, on mail from outside, by their manuals", Checked: unchecked, Basis: manual,
		Inside: "signs what logins and internal hosts hand in, and removes no forged field from it",
	},
	{
		Name:       "posteo",
		Unpinnable: "it writes dmarc, spf and dkim into fields of their own, and only the first counts",
		Stamps:     "posteo.de: dmarc first, then spf, then dkim",
		Strips:     unknown, Checked: unchecked, Basis: samples2022,
		IMAP: []string{"posteo.de"},
	},
	{
		Name:       "proton",
		Unpinnable: "it writes a field for each check, in an order that varies, and only the first counts",
		Stamps:     "mail.protonmail.ch: dmarc, spf, arc, dkim, a field each",
		Strips:     unknown, Checked: unchecked, Basis: published,
	},
	{
		Name:       "riseup",
		Unpinnable: "it leaves mail without a good signature without its field, so that a forged one stands first",
		Stamps:     "a field on some mail only",
		Strips:     unknown, Checked: unchecked, Basis: tested2022,
		IMAP: []string{"mail.riseup.net"},
	},
	{
		Name:   "rspamd",
		Stamps: "the name of your server: one field with dkim, spf, dmarc, arc",
		Strips: "every such field, on mail from outside, by its manual", Checked: unchecked, Basis: manual,
		Inside: "skips logins and local senders unless authenticated_headers and local_headers list its routine",
	},
	{
		Name:       "yahoo",
		Unpinnable: "the authserv-id is the name of whichever host took the mail",
		Stamps:     "atlas*.yahoo.com: one field: dkim with header.i, spf, dmarc",
		Strips:     unknown, Checked: unchecked, Basis: samples2022,
		IMAP: []string{"imap.mail.yahoo.com", "imap.aol.com"},
	},
	{
		Name:       "yandex",
		Unpinnable: "the authserv-id is the name of whichever host took the mail, and dmarc is missing",
		Stamps:     "*.yandex.net: one field: spf, dkim with header.i",
		Strips:     unknown, Checked: unchecked, Basis: published,
		IMAP: []string{"imap.yandex.ru", "imap.yandex.com"},
	},
	{
		Name:       "zoho",
		Unpinnable: "its dkim result does not say which domain signed",
		Stamps:     "mx.zohomail.com or .eu: one field: dkim without properties, spf, dmarc",
		Strips:     unknown, Checked: unchecked, Basis: published,
		IMAP: []string{"imap.zoho.com", "imap.zoho.eu"},
	},
}
