package cmd_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
)

// sendmail gives a mail to scripts/sendmail, and returns what it would propose.
func sendmail(mail string, args ...string) (status int, out, said string) {
	cmd := exec.Command("../scripts/sendmail", args...)
	cmd.Stdin, cmd.Env = strings.NewReader(mail), []string{"PULSE_TASK=" + taskID}
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		return -1, "", err.Error()
	}
	cmd.Wait()
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// TestSendmailProposes: who gets a mail, and what it says.
func TestSendmailProposes(t *testing.T) {
	const mail = "To: Bob <bob@partner.example>, \"Eve, (not al@x.example)\" <eve@partner.example>\nSubject: Hi\n\nhi\n"
	both := `"target":["bob@partner.example","eve@partner.example"]`
	for _, c := range []struct{ args, mail, want string }{
		{"-t", mail, both + `,"args":{"text":"hi\n","subject":"Hi"}`},
		{"-ti", strings.ReplaceAll(mail, "\n", "\r\n"), both + `,"args":{"text":"hi\n","subject":"Hi"}`},
		{"-t al@partner.example", mail, `"target":["bob@partner.example","eve@partner.example","al@partner.example"],"args":{"text":"hi\n","subject":"Hi","to":["bob@partner.example","eve@partner.example"],"cc":[]}`},
		{"-f me@example.com -F Me -oi -oem -bm -B8BITMIME -- bob@partner.example eve@partner.example", mail, both + `,"args":{"text":"hi\n","subject":"Hi"}`},
		{"-r me@example.com eve@partner.example bob@partner.example", mail, `"target":["eve@partner.example","bob@partner.example"],"args":{"text":"hi\n","subject":"Hi","to":["bob@partner.example","eve@partner.example"],"cc":[]}`},
		{"-t", "Bcc: bob@partner.example\n\nhi", `"target":["bob@partner.example"],"args":{"text":"hi","to":[],"cc":[]}`},
		{"-t", "To: bob@partner.example\nCC:\n eve@partner.example\n\n", both + `,"args":{"text":"","to":["bob@partner.example"],"cc":["eve@partner.example"]}`},
		{"-t", "To: =?utf-8?q?eve=40x.example=2C?= <bob@partner.example>\n\n", `"target":["bob@partner.example"],"args":{"text":""}`},
		{"bob@partner.example", "\nTo: eve@partner.example\n.\nx\n", `"target":["bob@partner.example"],"args":{"text":"To: eve@partner.example\n"}`},
		{"-i bob@partner.example", "\n.\nx\n", `"target":["bob@partner.example"],"args":{"text":".\nx\n"}`},
		{"bob@partner.example", "Content-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: quoted-printable\n\n=FC=\n!\n", `"target":["bob@partner.example"],"args":{"text":"ü!\n"}`},
		{"bob@partner.example", "Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\naGVs\nbG8=\n", `"target":["bob@partner.example"],"args":{"text":"hello"}`},
		{"bob@partner.example", "Subject: =?utf-8?b?8J+Yjg==?=\n =?utf-8?q?_x?=\nReferences: <1@x.example> <2@x.example>\nIn-Reply-To: <2@x.example>\n\n", `"target":["bob@partner.example"],"args":{"text":"","subject":"😎 x","in_reply_to":"<2@x.example>","references":["<1@x.example>","<2@x.example>"]}`},
	} {
		status, out, said := sendmail(c.mail, strings.Fields(c.args)...)
		var got, want any
		if err := json.Unmarshal([]byte(`{"action":"external_send",`+c.want+`}`), &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil || status != 0 || said != "" || strings.Count(out, "\n") != 1 || !reflect.DeepEqual(got, want) {
			t.Errorf("%s, %q: exit %d, %s%s", c.args, c.mail, status, out, said)
		}
	}
}

// TestSendmailRefuses: what a proposal can't carry as it is, is no proposal.
func TestSendmailRefuses(t *testing.T) {
	const to = "To: bob@partner.example\n"
	var many []string
	for i := range 10000 {
		many = append(many, fmt.Sprintf("b%d@partner.example", i))
	}
	nested := to + "Content-Type: multipart/mixed; boundary=b0\n\n"
	for i := range 2000 {
		nested += fmt.Sprintf("--b%d\nContent-Type: multipart/mixed; boundary=b%d\n\n", i, i+1)
	}
	for why, mails := range map[string][]string{
		"no recipient, or more than 100": {"Subject: x\n\n", "\n", "", "To: " + strings.Join(many, ",\n ") + "\n\nhi\n", "Bcc: " + strings.Join(many[:101], ",\n ") + "\n\n"},
		"is not a plain address": {"To: bob\n\n", "To: \n\n", "To: bob@partner.example,,eve@x.example\n\n", "To: -bob@partner.example\n\n", "To: bob@partner.example.\n\n", "To: \"bob@partner.example\"\n\n",
			"To: \"a b\"@partner.example\n\n", "To: bob@x@partner.example\n\n", "To: bob @partner.example\n\n", "To: eve@x.example <bob@partner.example>\n\n", "To: <bob@partner.example> <eve@x.example>\n\n",
			"To: bob@partner.example eve@x.example\n\n", "To: =?utf-8?q?bob=40partner.example?=\n\n", "To: <bob@=?utf-8?q?x?=.example>\n\n", "To: <bob@partner.example> x\n\n", "To: >bob@partner.example<\n\n",
			"To: bob@" + strings.Repeat("x", 300) + "\n\n", "Cc: a%b@\n\n", "To: b/../ob@part/ner.example\n\n"},
		"has a group, a comment, a route": {"To: friends: bob@partner.example;\n\n", "To: undisclosed-recipients:;\n\n", "To: bob@partner.example (Bob)\n\n", "To: <@x.example:bob@partner.example>\n\n", "To: bob@[127.0.0.1]\n\n", "To: \"bob <bob@partner.example>\n\n", "To: bob\\@x@partner.example\n\n"},
		"bytes that are not ASCII":        {"To: b\xc3\xbcb@partner.example\n\n", to + "Subject: \xc3\xbc\n\n", to + "Subject: a\x00b\n\n", to + "Subject: \x1b[2J\n\n", to + "Subject: \xff\n\n"},
		"line ends are mixed":             {to + "Subject: a\rBcc: eve@x.example\n\n", "To: bob@partner.example\r\nSubject: x\n\n", to + "\nhi\r"},
		"is not a field, or too long": {"From me@example.com Mon Nov 23 02:00:00 2026\n" + to + "\n", "To : bob@partner.example\n\n", " folded\n" + to + "\n", to + "Subject\n\n", "hello\nyou\n", to + "Subject: a\n \n b\n\n",
			to + "Subject: " + strings.Repeat("x", 1000) + "\n\n", ": x\n" + to + "\n"},
		"there are two fields":                 {to + "to: eve@partner.example\n\n", to + "From: a@x.example\nFROM: b@x.example\n\n", to + "Subject: a\nSubject: b\n\n", to + "Content-Type: text/plain\nContent-Type: text/html\n\n"},
		"the field reply-to can not be kept":   {to + "Reply-To: eve@x.example\n\n"},
		"the field resent-to can not be kept":  {to + "Resent-To: eve@x.example\n\n"},
		"the field errors-to can not be kept":  {to + "Errors-To: eve@x.example\n\n"},
		"the field \\x can not be kept":        {to + "\\x: y\n\n"},
		"the field subject is broken":          {to + "Subject: =?utf-8?q?=ff?=\n\n", to + "Subject: =?nosuch?q?x?=\n\n", to + "Subject: " + strings.Repeat("=?utf-8?q?x?=\n ", 500) + "x\n\n"},
		"the subject is not one line":          {to + "Subject: =?utf-8?q?a=0ABcc:_eve@x.example?=\n\n", to + "Subject: =?utf-8?q?a=0D=0A=0D=0Ab?=\n\n", to + "Subject: =?utf-8?q?=E2=80=A8?=\n\n"},
		"HTML, several parts or an attachment": {to + "Content-Type: text/html\n\n<p>", nested, to + "Content-Type: text/plain\nContent-Disposition: attachment; filename=x\n\n", to + "Content-Type: message/rfc822\n\n"},
		"the field content-type is broken":     {to + "Content-Type: text\n\n", to + "Content-Type: \n\n", to + "Content-Type: text/plain; charset\n\n", to + "Content-Type: text/plain; charset=utf-8; charset=us-ascii\n\n"},
		"not in the encoding and charset": {to + "Content-Type: text/plain; charset=utf-7\n\n+AAo-", to + "Content-Type: text/plain; charset=rot13\n\nx", to + "Content-Type: text/plain; charset=us-ascii\n\n\xc3\xbc", to + "\n\xff",
			to + "Content-Transfer-Encoding: base64\n\n!!!!", to + "Content-Transfer-Encoding: x-uuencode\n\nx", to + "Content-Transfer-Encoding: 8bit (x)\n\nx"},
		"has a bare CR, or a NUL":          {to + "\na\x00b", to + "Content-Transfer-Encoding: base64\n\nYQ1i\n", to + "Content-Transfer-Encoding: quoted-printable\n\na=00b"},
		"more than message ids":            {to + "In-Reply-To: 1@x.example\n\n", to + "References: <1@x.example> (x)\n\n", to + "References:" + strings.Repeat(" <1@x.example>\n", 101) + "\n", to + "In-Reply-To: <1@x.example>,<2@x.example>\n\n"},
		"it answers several mails":         {to + "In-Reply-To: <1@x.example> <2@x.example>\n\n"},
		"longer than 1048576 bytes":        {to + "\n" + strings.Repeat("x", 1<<20)},
		"would be longer than 262144 byte": {to + "\n" + strings.Repeat("x", 256<<10), to + "\n" + strings.Repeat("\x01", 50<<10)},
	} {
		for _, mail := range mails {
			if status, out, said := sendmail(mail, "-t", "-i"); status != 65 || out != "" || !strings.Contains(said, why) || strings.Count(said, "\n") != 1 {
				t.Errorf("%.100q: exit %d, %.200s%s; want %s", mail, status, out, said, why)
			}
		}
	}
	for _, c := range []struct {
		status int
		args   string
	}{
		{65, "eve@partner.example"}, {65, "-f bob@partner.example"}, {65, "bob@partner.example bob"}, {65, "bob@partner.example -t"}, {65, "-- -t"},
		{64, "-bs"}, {64, "-bd"}, {64, "-bp"}, {64, "-q"}, {64, "-q15m"}, {64, "-C x bob@partner.example"}, {64, "-X log"}, {64, "--help"}, {64, "-O x=y"}, {64, "-v bob@partner.example"}, {64, "-f"}, {64, "-tq"}, {64, "-\xff"},
	} {
		if status, out, said := sendmail(to+"\nhi\n", strings.Fields(c.args)...); status != c.status || out != "" || strings.IndexByte(said, 0xff) >= 0 {
			t.Errorf("%s: exit %d, %s%q", c.args, status, out, said)
		}
	}
}

// sendmailFuzz loads the script, and gives it mails that are nearly good.
const sendmailFuzz = `
import importlib.machinery, importlib.util, json, random, re, sys
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("sendmail", sys.argv[1])
script = importlib.util.module_from_spec(importlib.util.spec_from_loader("sendmail", loader))
loader.exec_module(script)
random.seed(16)
seeds = [
    b"To: Bob <bob@partner.example>\nSubject: =?utf-8?q?x?=\n\nhi\n",
    b'Bcc: "a, b" <a@x.example>, c@x.example\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n\xc3\xbc\r\n',
    b"To: a@x.example\nCc: b@x.example\nIn-Reply-To: <1@x.example>\nContent-Transfer-Encoding: base64\n\naGk=",
]
pieces = [bytes([c]) for c in b'\n\r\t <>,;:"@()[].=?\\%\x00\xff'] + [b"\n\n", b"\r\n", b"\n ", b"=?utf-8?q?=0A?=", b"To:", b"Bcc: e@x.example\n", b"\xe2\x80\xa8", b"; charset=", b"\n.\n"]
address = re.compile(r"[^-@\s,;:<>()\[\]\"\\\\][^@\s,;:<>()\[\]\"\\\\]*@[A-Za-z0-9_][A-Za-z0-9_.-]*")
taken = 0
for i in range(int(sys.argv[2])):
    mail = bytearray(random.choice(seeds))
    for _ in range(random.randrange(5)):
        at = random.randrange(len(mail) + 1)
        mail[at : at + random.randrange(4)] = random.choice(pieces)
    try:
        p = script.proposal({"-t"}, [], bytes(mail))
    except script.Fault as e:
        assert e.status == 65 and str(e).isprintable() and str(e).isascii(), (mail, e)
        continue
    taken += 1
    assert p["action"] == "external_send" and p["target"] and isinstance(p["args"]["text"], str), mail
    assert "\n" not in json.dumps(p, ensure_ascii=False).encode().decode(), mail
    assert not re.search("[\x00-\x1f\x7f]", p["args"].get("subject", "")), mail
    for a in p["target"] + p["args"].get("to", []) + p["args"].get("cc", []):
        assert address.fullmatch(a) and a in p["target"] and a.encode() in mail, (mail, a)
print(taken)
`

// TestSendmailHostile: whatever a mail says, it is refused, or becomes one line whose
// recipients are plain and stand in the mail.
func TestSendmailHostile(t *testing.T) {
	n := 100000
	if testing.Short() {
		n = 10000
	}
	out, err := exec.Command("/usr/bin/python3", "-I", "-c", sendmailFuzz, "../scripts/sendmail", fmt.Sprint(n)).CombinedOutput()
	taken := 0
	if _, scan := fmt.Sscan(string(out), &taken); err != nil || scan != nil || taken < n/10 || taken > n*9/10 {
		t.Errorf("%v: %s", err, out)
	}
}

// TestSendmailAtOnce: many at a time, each is a whole line.
func TestSendmailAtOnce(t *testing.T) {
	parked := t.TempDir() + "/parked"
	cmd := exec.Command("sh", "-c", `for i in $(seq 49); do { echo; head -c 10000 /dev/zero | tr '\0' a; } | ../scripts/sendmail -i b$i@partner.example & done; wait`)
	cmd.Env = append(os.Environ(), "PULSE_PARKED="+parked)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%v: %s", err, out)
	}
	b, err := os.ReadFile(parked)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(b)) {
		if !json.Valid([]byte(line)) || len(line) < 10000 {
			t.Errorf("%.100q", line)
		}
		n++
	}
	if n != 49 {
		t.Errorf("%d lines", n)
	}
}
