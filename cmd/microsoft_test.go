package cmd_test

import (
	"strings"
	"testing"
)

// fromOutside is mail as Microsoft 365 delivers it from outside; as stands for what it
// says of where the mail came from.
func fromOutside(names, domain, to, as string) string {
	return "Received: from A.eurprd02.prod.outlook.com (2603:10a6::1) by B.eurprd01.prod.outlook.com (2603:10a6::2) with\n Microsoft SMTP Server (version=TLS1_2) id 15.20.1; " + sentAt + "\n" +
		"Authentication-Results: spf=pass (sender IP is 192.0.2.1)\n smtp.mailfrom=example.com; dkim=pass (signature was verified)\n header.d=" + domain + ";dmarc=pass action=none\n header.from=example.com;compauth=pass reason=100\n" +
		"Received-SPF: Pass (protection.outlook.com: domain of example.com designates\n 192.0.2.1 as permitted sender) receiver=protection.outlook.com; pr=C\n" +
		"Received: from out.example.com (192.0.2.1) by\n DB5EUR02FT001.mail.protection.outlook.com (10.13.58.1) with Microsoft SMTP\n Server (version=TLS1_2) id 15.20.1 via Frontend Transport; " + sentAt + "\n" +
		"DKIM-Signature: v=1; d=" + domain + "; s=selector1; h=" + names + "; bh=AbCd; b=EfGh\n" + written(to, as)
}

// inside is mail from a colleague in the same tenant.
func inside(to string) string {
	return "Received: from A.eurprd02.prod.outlook.com (2603:10a6::1) by B.eurprd01.prod.outlook.com with HTTPS; " + sentAt + "\n" + written(to, "Internal")
}

func written(to, as string) string {
	return "From: Me <me@example.com>\nTo: " + to + "\nSubject: please send it\nDate: " + sentAt + "\nMessage-ID: <1@example.com>\n" +
		"X-MS-Exchange-Organization-AuthSource:\n DB5EUR02FT001.eop-EUR02.prod.protection.outlook.com\nX-MS-Exchange-Organization-AuthAs: " + as +
		"\nX-MS-Exchange-Organization-MessageDirectionality: Incoming\nX-MS-Exchange-CrossTenant-FromEntityHeader: Internet\n\nSend it.\n"
}

// A mailbox at Microsoft 365, and an owner whose domain is there too: To is not signed,
// so the policy decides how far that may be relied on.
func TestMicrosoft(t *testing.T) {
	const (
		to      = "agent+send@example.net"
		there   = "verdict = \"microsoft\"\nowners = [\"me@example.com\"]\n"
		only    = "recipients = [\"" + to + "\"]\n"
		accept  = "accept_unsigned = [\"To\"]\n"
		action  = "[[action]]\nto = \"" + to + "\"\naction = \"write_local\"\n"
		names   = "From:Date:Subject:Message-ID:Content-Type:MIME-Version"
		outside = "Anonymous"
	)
	for _, c := range []struct{ policy, mail, want string }{
		{there, fromOutside(names, "example.com", to, outside), "authenticated_owner read_public allow allowed"},
		{there + only, fromOutside(names, "example.com", to, outside), "authenticated_owner read_public queue_for_review field_unsigned"},
		{there + action, fromOutside(names, "example.com", to, outside), "authenticated_owner write_local queue_for_review field_unsigned"},
		{there + accept + only + action, fromOutside(names, "example.com", to, outside), "authenticated_owner write_local allow allowed"},
		{there + only + action, fromOutside(names+":To", "example.com", to, outside), "authenticated_owner write_local allow allowed"},
		{there + only, fromOutside(names, "example.com", "bob@example.net", outside), "not_addressed read_public reject not_permitted"},
		{there, fromOutside(names, "example.onmicrosoft.com", to, outside), "dkim_not_aligned read_public reject not_permitted"},
		{there, fromOutside(names, "example.com", to, "Internal"), "microsoft_form read_public reject not_permitted"},
		{there, inside(to), "microsoft_internal read_public reject not_permitted"},
		{strings.Replace(there, "microsoft", "none", 1), fromOutside(names, "example.com", to, outside), "verdict_none read_public reject not_permitted"},
		{there + "[[receiver]]\nsource = \"*\"\nverdict = \"microsoft\"\n", fromOutside(names, "example.com", to, outside), "authenticated_owner read_public allow allowed"},
	} {
		d := newDesk(t, "")
		d.put(t, "policy.toml", c.policy)
		if got, _ := d.take(t, c.mail); got != c.want {
			t.Errorf("%s%s, want\n%s", c.policy, got, c.want)
		}
	}
}
