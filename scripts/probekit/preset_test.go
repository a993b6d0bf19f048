package main

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pulse/lib/classify/receivers"
)

// pretend returns the fields that a receiver writes on a mail of elsewhere.example that is
// not signed.
func pretend(name string) string {
	switch name {
	case "fastmail":
		id := "mx3.messagingengine.com"
		return "Authentication-Results: " + id + "; x-csa=none\nAuthentication-Results: " + id + "; bimi=none\n" +
			"Authentication-Results: " + id + "; dkim=none; dmarc=none header.from=elsewhere.example; spf=pass\n" + received
	case "microsoft":
		const host = "AM0PEPF00000001.mail.protection.outlook.com"
		return "Received: from " + host + " by AM0PR01MB1111.eurprd01.prod.outlook.com with HTTPS; Sat, 21 Nov 2026 06:55:01 +0000\n" +
			"Authentication-Results: spf=pass (sender IP is 192.0.2.1) smtp.mailfrom=elsewhere.example; dkim=none (message not signed) header.d=none;dmarc=none action=none header.from=elsewhere.example;compauth=pass reason=100\n" +
			"Received-SPF: Pass (protection.outlook.com: domain of elsewhere.example designates 192.0.2.1 as permitted sender)\n" +
			"Received: from a.elsewhere.example by " + host + " with Microsoft SMTP Server id 15.20.1.1 via Frontend Transport; Sat, 21 Nov 2026 06:55:00 +0000\n" +
			"X-MS-Exchange-Organization-AuthAs: Anonymous\nX-MS-Exchange-Organization-AuthSource: " + host + "\nX-MS-Exchange-Organization-MessageDirectionality: Incoming\n"
	}
	return received
}

// rename gives fields another name, as Microsoft does.
func rename(mail, pattern, to string) string {
	return regexp.MustCompile(`(?mi)^(`+pattern+`)[ \t]*:`).ReplaceAllString(mail, to+":")
}

func TestPresets(t *testing.T) {
	messaging := `(?i:authentication-results)[ \t]*:[^:]*messagingengine`
	tests := []struct {
		name, preset string
		receive      func(string) string
		args         []string
		status       int
		says         string
	}{
		{"a set, own ids removed", "fastmail", func(m string) string { return pretend("fastmail") + without(messaging)(m) }, nil,
			0, "trusted: its own fields stand there, and no forged one with its name"},
		{"a set, nothing removed", "fastmail", func(m string) string { return pretend("fastmail") + m }, nil,
			0, "which void the set"},
		{"a set, and none on this mail", "fastmail", func(m string) string { return received + m }, nil,
			1, "not trusted: the receiver wrote no field of its own on this mail"},
		{"a set, all removed by some server", "fastmail", func(m string) string { return pretend("fastmail") + without("(?i:authentication-results)[ \t]*:")(m) }, nil,
			1, "not shown: no forged field of any id arrived"},
		{"a set, all removed by the receiver", "fastmail", func(m string) string { return pretend("fastmail") + without("(?i:authentication-results)[ \t]*:")(m) }, []string{"--direct"},
			0, "trusted: "},
		{"Microsoft renames and removes", "microsoft", func(m string) string {
			return pretend("microsoft") + rename(rename(m, "authentication-results", "Authentication-Results-Original"), `x-ms-exchange-[a-z-]*`, "X-Old")
		}, nil, 0, "trusted: what was forged arrived under another name or not at all"},
		{"a tenant that keeps organization fields", "microsoft", func(m string) string {
			return pretend("microsoft") + rename(m, "authentication-results", "Authentication-Results-Original")
		}, nil, 1, "as if Microsoft's servers had written them: x-ms-exchange-crosstenant-authas, "},
		{"one field is enough", "microsoft", func(m string) string {
			m = rename(rename(m, "authentication-results", "Authentication-Results-Original"), `x-ms-exchange-(?:crosstenant[a-z-]*|organization-(?:authsource|message)[a-z-]*)`, "X-Old")
			return pretend("microsoft") + m
		}, nil, 1, "had written them: x-ms-exchange-organization-authas\n"},
		{"no Microsoft at all", "microsoft", func(m string) string {
			return received + rename(rename(m, "authentication-results", "X-Old"), `x-ms-exchange-[a-z-]*`, "X-Old")
		}, nil, 1, "there is no Authentication-Results field"},
		{"a receiver that is silent about some mail", "yandex", func(m string) string {
			return "Authentication-Results: iva4-1a2b3c4d5e6f.qloud-c.yandex.net; spf=pass; dkim=none\n" + received + m
		}, nil, 1, "not trusted: whatever this mail shows: it leaves some mail without its field"},
		{"a field that decides from the top", "gmail", func(m string) string {
			return strings.ReplaceAll(stamp, pin, "mx.google.com") + received + m
		}, nil, 1, "would be believed, should the receiver ever leave a mail without its own"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			args := []string{"--receiver", tt.preset}
			if r, _ := receivers.ByName(tt.preset); r.Example != "" {
				args = append(args, "--pin", r.Example)
			}
			mail, nonce := printed(t, args...)
			status, out := ask(t, fetched(tt.receive(mail)), append(tt.args, "--nonce", nonce)...)
			if status != tt.status || !strings.Contains(out, tt.says) {
				t.Errorf("exit status %d, want %d; it does not say %q:\n%s", status, tt.status, tt.says, out)
			}
		})
	}
}

// Every preset can be probed from outside and from inside with the commands that init
// prints for it.
func TestEveryPresetCanBeProbed(t *testing.T) {
	for _, r := range receivers.All() {
		outside, inside := r.Probe()
		args := strings.Fields(strings.NewReplacer("YOU@ELSEWHERE", "you@elsewhere.example", "YOU", "you@example.com").Replace(outside))[2:]
		if mail, nonce := printed(t, args...); !strings.Contains(mail, nonce) || !strings.Contains(mail, "receiver="+r.Name+" ") {
			t.Errorf("%s: %s", outside, mail)
		}
		args = strings.Fields(strings.NewReplacer("YOU", "you@example.com", "OWNER", "me@example.com").Replace(inside))[2:]
		mail, nonce := printed(t, append(args[:slices.Index(args, "--server"):slices.Index(args, "--server")], "--inside")...)
		if status, out := ask(t, fetched(received+mail), "--nonce", nonce); !strings.Contains(out, "a user of the server wrote a verdict") {
			t.Errorf("%s: exit status %d:\n%s", inside, status, out)
		}
	}
	var stdout, stderr bytes.Buffer
	if status := run([]string{"mail", "--to", "me@example.com", "--receiver", "gmial"}, nil, &stdout, &stderr); status != usage || !strings.Contains(stderr.String(), "known are gmail, ") {
		t.Errorf("exit status %d: %s", status, &stderr)
	}
}
