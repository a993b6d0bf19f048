// Package receiverstest holds what receivers write, for tests and for probes.
package receiverstest

import (
	"strings"

	"pulse/lib/classify/receivers"
)

// Sample returns the fields that a receiver writes on top of a mail From addr that is
// good: what a genuine mail has, and what a forger would write. id is the authserv-id
// of receivers that have one.
func Sample(r *receivers.Receiver, id, addr string) []string {
	form, ok := forms[r.Name]
	if !ok {
		form = oneField
	}
	_, domain, _ := strings.Cut(addr, "@")
	text := strings.NewReplacer("@ID@", id, "@DOMAIN@", domain, "@FROM@", addr).Replace(form)
	return strings.Split(strings.Trim(text, "\n"), "\n")
}

const oneField = "Authentication-Results: @ID@; dkim=pass header.d=@DOMAIN@; spf=pass smtp.mailfrom=@DOMAIN@; dmarc=pass header.from=@DOMAIN@"

const opendmarc = `
Authentication-Results: @ID@; dmarc=pass (p=none dis=none) header.from=@DOMAIN@
Authentication-Results: @ID@; dkim=pass (2048-bit key) header.d=@DOMAIN@ header.i=@@DOMAIN@; dkim-atps=neutral`

const yahooForm = "Authentication-Results: @ID@; dkim=pass header.i=@@DOMAIN@; spf=pass smtp.mailfrom=@DOMAIN@; dmarc=pass(p=REJECT) header.from=@DOMAIN@"

// forms are the fields of receivers that write something else than oneField.
var forms = map[string]string{
	"aol": yahooForm, "yahoo": yahooForm,
	"fastmail": `
Authentication-Results: @ID@; x-csa=none; x-me-sender=none; x-ptr=pass smtp.helo=out.@DOMAIN@ policy.ptr=out.@DOMAIN@
Authentication-Results: @ID@; bimi=skipped (DMARC Policy is not at enforcement)
Authentication-Results: @ID@; arc=none (no signatures found)
Authentication-Results: @ID@; dkim=pass (2048-bit rsa key sha256) header.d=@DOMAIN@ header.i=@@DOMAIN@ header.a=rsa-sha256 header.s=s1 x-bits=2048; dmarc=pass policy.published-domain-policy=none policy.applied-disposition=none (p=none,d=none) policy.policy-from=p header.from=@DOMAIN@; iprev=pass smtp.remote-ip=192.0.2.1 (out.@DOMAIN@); spf=pass smtp.mailfrom=@FROM@ smtp.helo=out.@DOMAIN@`,
	"gmail": "Authentication-Results: @ID@; dkim=pass header.i=@@DOMAIN@ header.s=s1; spf=pass smtp.mailfrom=@FROM@; dmarc=pass (p=NONE sp=NONE dis=NONE) header.from=@DOMAIN@",
	"icloud": `
Authentication-Results: bimi.icloud.com; bimi=none
Authentication-Results: dmarc.icloud.com; dmarc=pass header.from=@DOMAIN@
Authentication-Results: dkim-verifier.icloud.com; dkim=pass (2048-bit key) header.d=@DOMAIN@ header.i=@@DOMAIN@
Authentication-Results: spf.icloud.com; spf=pass smtp.mailfrom=@FROM@`,
	"ikme":   opendmarc,
	"mailru": "Authentication-Results: @ID@; spf=pass smtp.mailfrom=@FROM@; dkim=pass header.d=@DOMAIN@; dmarc=pass header.from=@FROM@",
	"microsoft": `
Received: from @ID@ (2603:10a6:10:1::1) by AM0PR01MB1111.eurprd01.prod.outlook.com with HTTPS; Sat, 21 Nov 2026 06:55:01 +0000
Authentication-Results: spf=pass (sender IP is 192.0.2.1) smtp.mailfrom=@DOMAIN@; dkim=pass (signature was verified) header.d=@DOMAIN@;dmarc=pass action=none header.from=@DOMAIN@;compauth=pass reason=100
Received-SPF: Pass (protection.outlook.com: domain of @DOMAIN@ designates 192.0.2.1 as permitted sender) receiver=protection.outlook.com; client-ip=192.0.2.1; helo=out.@DOMAIN@; pr=C
Received: from out.@DOMAIN@ (192.0.2.1) by @ID@ (10.1.1.1) with Microsoft SMTP Server (version=TLS1_3, cipher=TLS_AES_256_GCM_SHA384) id 15.20.1.1 via Frontend Transport; Sat, 21 Nov 2026 06:55:00 +0000
X-MS-Exchange-Organization-AuthAs: Anonymous
X-MS-Exchange-Organization-AuthSource: @ID@
X-MS-Exchange-Organization-MessageDirectionality: Incoming
X-MS-Exchange-CrossTenant-FromEntityHeader: Internet`,
	"opendkim-opendmarc": opendmarc,
	"posteo": `
Authentication-Results: @ID@; dmarc=pass (p=reject dis=none) header.from=@DOMAIN@
Authentication-Results: @ID@; spf=pass smtp.mailfrom=@DOMAIN@
Authentication-Results: @ID@; dkim=pass (2048-bit key) header.d=@DOMAIN@ header.i=@@DOMAIN@; dkim-atps=neutral`,
	"proton": `
Authentication-Results: @ID@; dmarc=pass (p=none dis=none) header.from=@DOMAIN@
Authentication-Results: @ID@; spf=pass smtp.mailfrom=@DOMAIN@
Authentication-Results: @ID@; arc=none smtp.remote-ip=192.0.2.1
Authentication-Results: @ID@; dkim=pass (2048-bit key) header.d=@DOMAIN@ header.i=@@DOMAIN@`,
	"zoho": "Authentication-Results: @ID@; dkim=pass; spf=pass smtp.mailfrom=@FROM@; dmarc=pass(p=none dis=none) header.from=@DOMAIN@",
}
