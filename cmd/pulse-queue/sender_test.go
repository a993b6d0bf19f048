package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

const toBob = `{"action":"external_send","target":["bob@partner.example","eve@partner.example"],"tool":"mail.send","args":{"subject":"hello","text":"hi"}}`

// TestMailLeaves: from the ask to the envelope, with everything a mail can have.
func TestMailLeaves(t *testing.T) {
	p := newPost(t)
	p.write("ws/a.txt", "as it was\n")
	name := "Prüfung (1).bin"
	content := strings.Repeat("\x00\xff\r\n.\r\n", 40000)
	p.write("ws/"+name, content)
	subject := "Grüße, and a line that is so long that it has to be put into several encoded words 字"
	args, err := json.Marshal(map[string]any{"subject": subject, "text": "One\n.\nTwo ü\r\n", "in_reply_to": "<1@mail.example>",
		"references": []string{"<0@mail.example>", "<1@mail.example>"}, "to": []string{"bob@PARTNER.example"}})
	if err != nil {
		t.Fatal(err)
	}
	id := p.approved(`{"action":"external_send","target":["Bob@PARTNER.example","eve@partner.example"],"args":` + string(args) + `,"files":["a.txt","` + name + `"]}`)
	p.write("ws/a.txt", "changed since\n")
	if err := os.Remove(p.path("ws/" + name)); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if said := p.send(); said != "" {
			t.Error(said)
		}
	}
	got, conns := p.got()
	if len(got) != 1 || conns != 1 {
		t.Fatalf("%d mails, %d connections", len(got), conns)
	}
	if m := got[0]; m.from != "agent@example.com" || !slices.Equal(m.to, []string{"Bob@partner.example", "eve@partner.example"}) {
		t.Errorf("from %s to %q", m.from, m.to)
	}
	m, err := mail.ReadMessage(strings.NewReader(got[0].data))
	if err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]string{
		"From": "agent@example.com", "To": "bob@PARTNER.example", "Cc": "", "Bcc": "", "In-Reply-To": "<1@mail.example>",
		"References": "<0@mail.example> <1@mail.example>", "Message-Id": "<" + id + "@example.com>", "Mime-Version": "1.0", "Auto-Submitted": "auto-replied",
	} {
		if got := strings.Join(m.Header[field], "|"); got != want {
			t.Errorf("%s: %q, want %q", field, got, want)
		}
	}
	if s, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject")); s != subject || err != nil {
		t.Errorf("%q, %v", s, err)
	}
	if _, err := m.Header.Date(); err != nil {
		t.Error(err)
	}
	parts := parts(t, m)
	want := []string{"", "One\r\n.\r\nTwo ü\r\n", "a.txt", "as it was\n", name, content}
	if !slices.Equal(parts, want) {
		t.Errorf("%.300q", parts)
	}
	for line := range strings.Lines(got[0].data) {
		if len(line) > 200 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
	p.must("", "pulse-queue", "verify")
}

// TestConversation: a worker's answer goes where the conversation is, and so its reader's
// next mail is linked to it.
func TestConversation(t *testing.T) {
	p := newPost(t)
	shell, err := filepath.Abs("../../scripts/workers/shell")
	if err != nil {
		t.Fatal(err)
	}
	owner, err := os.ReadFile("testdata/shared/owner.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	said := func(id, thread string) string {
		return strings.NewReplacer("<1@mail.example>", id, `"defects":[]`, `"defects":[],"thread":`+thread).Replace(string(owner))
	}
	answers := func() (id string, m *mail.Message) {
		t.Helper()
		p.must("", "pulse-queue", "run", "--proposals", "--", shell)
		for _, r := range receipts(t, p.must("", "sh", "-c", "pulse-queue outbox | pulse-authorize | pulse-queue add")) {
			if r.Action == "external_send" {
				id = r.ID
			}
		}
		p.types("yes", id)
		if said := p.send(); said != "" {
			t.Error(said)
		}
		got, _ := p.got()
		m, err := mail.ReadMessage(strings.NewReader(got[len(got)-1].data))
		if err != nil {
			t.Fatal(err)
		}
		return id, m
	}
	p.must("", "pulse-queue", "cancel", p.ask)
	p.add(said("<2@mail.example>", `{"in_reply_to":["<0@mail.example>"],"references":[]}`))
	first, m := answers()
	if in, refs := m.Header.Get("In-Reply-To"), m.Header.Get("References"); in != "<2@mail.example>" || refs != "<0@mail.example> <2@mail.example>" {
		t.Errorf("in reply to %q, references %q", in, refs)
	}
	reply := fmt.Sprintf(`{"in_reply_to":[%q],"references":["<2@mail.example>",%[1]q]}`, m.Header.Get("Message-ID"))
	next := p.add(said("<3@mail.example>", reply))[0].ID
	if out := p.must("", "pulse-queue", "show", next, "--json"); !strings.Contains(out, `"answers":"`+first+`"`) {
		t.Error(out)
	}
	second, m := answers()
	if in, refs := m.Header.Get("In-Reply-To"), m.Header.Get("References"); in != "<3@mail.example>" || refs != "<2@mail.example> <"+first+"@example.com> <3@mail.example>" {
		t.Errorf("in reply to %q, references %q", in, refs)
	}
	if out := p.must("", "pulse-queue", "thread", second, "--json"); strings.Count(out, "\n") != 6 {
		t.Error(out)
	}
	p.must("", "pulse-queue", "verify")
}

// parts returns the name and the content of each part of a message.
func parts(t *testing.T, m *mail.Message) (list []string) {
	t.Helper()
	_, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	for r := multipart.NewReader(m.Body, params["boundary"]); ; {
		part, err := r.NextPart()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, part.FileName(), decoded(t, part))
	}
}

func decoded(t *testing.T, part *multipart.Part) string {
	t.Helper()
	if enc := part.Header.Get("Content-Transfer-Encoding"); enc != "base64" {
		t.Errorf("%s: %q", part.FileName(), enc)
	}
	b, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, part))
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

// TestSendersEnd: what becomes of an effect when its submission dies at each point; and
// however often run comes by afterwards, one yes is one mail at most.
func TestSendersEnd(t *testing.T) {
	const restored, unknown, done = "scheduled worker_asked_for_later", "awaiting_review effect_unknown", "completed done"
	const refused = "failed effect_refused"
	const happened, handed = "effect happened", "nobody knows: the mail was handed over, then: "
	for name, c := range map[string]struct {
		prepare func(p *post)
		end     string
		mails   int
		says    string // of run; of a restored one, what the log keeps
	}{
		"nothing":             {nil, done, 1, ""},
		"nobody listens":      {func(p *post) { p.configure(p.t, closedPort(p.t), "127.0.0.1", password) }, restored, 0, "not handed over: cannot connect"},
		"no such host":        {func(p *post) { p.configure(p.t, p.port(), "nowhere.invalid", password) }, restored, 0, "not handed over: cannot locate host"},
		"no configuration":    {func(p *post) { p.must("", "rm", p.rc) }, restored, 0, "not handed over: "},
		"through a socket":    {func(p *post) { p.configure(p.t, closedPort(p.t), "127.0.0.1", password+"\nsocket "+p.socket) }, done, 1, ""},
		"a wrong password":    {func(p *post) { p.configure(p.t, p.port(), "127.0.0.1", "wrong") }, refused, 0, "535"},
		"a wrong certificate": {func(p *post) { p.configure(p.t, p.port(), "localhost", password) }, restored, 0, "certificate"},
		"drop at connect":     {trips(drops(atConnect)), restored, 0, "not handed over: "},
		"drop at MAIL":        {trips(drops(atMail)), restored, 0, "not handed over: "},
		"drop at RCPT":        {trips(drops(atRcpt)), restored, 0, "not handed over: "},
		"drop in DATA":        {trips(drops(inData)), unknown, 0, handed},
		"drop after the dot":  {trips(drops(afterDot)), unknown, 1, handed},
		"450 to MAIL":         {trips(answers(atMail, 450)), restored, 0, "this is 450"},
		"550 to MAIL":         {trips(answers(atMail, 550)), refused, 0, "this is 550"},
		"450 to RCPT":         {trips(answers(atRcpt, 450)), restored, 0, "this is 450"},
		"550 to RCPT":         {trips(answers(atRcpt, 550)), refused, 0, "this is 550"},
		"421 to the dot":      {trips(answers(afterDot, 421)), restored, 0, "this is 421"},
		"450 to the dot":      {trips(answers(afterDot, 450)), restored, 0, "this is 450"},
		"550 to the dot":      {trips(answers(afterDot, 550)), refused, 0, "this is 550"},
		"251 to the dot":      {trips(answers(afterDot, 251)), unknown, 1, "this is 251"},
		"killed before":       {func(p *post) { p.sender = []string{"sh", "-c", "kill -KILL $$"} }, unknown, 0, happened},
		"killed after": {func(p *post) {
			p.sender = append([]string{"sh", "-c", `"$@"; kill -KILL $$`, "sh"}, p.sender...)
		}, unknown, 1, happened},
		"msmtp is killed at MAIL":       {killsMsmtp(atMail), unknown, 0, "nobody knows: it ended with status 137"},
		"msmtp is killed after the dot": {killsMsmtp(afterDot), unknown, 1, "nobody knows: it ended with status 137"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPost(t)
			id := p.approved(toBob)
			if c.prepare != nil {
				c.prepare(p)
			}
			said := p.send()
			told := p.must("", "pulse-queue", "show", id)
			if got := p.show(id); got.State+" "+got.Reason != c.end || !strings.Contains(said+told, c.says) || (said == "") != (c.end == restored || c.end == done) {
				t.Errorf("%+v: %s\n%s", got, said, told)
			}
			if words := map[string]string{
				restored: "its sender says that it did not happen yet: ", unknown: "nobody knows whether it happened", refused: "its sender says that it did not happen: ", done: "it is done",
			}[c.end]; !strings.Contains(told, "\n  "+words) {
				t.Errorf("%q is not in\n%s", words, told)
			}
			approvals, _ := filepath.Glob(p.path("q/approvals/*"))
			if (len(approvals) == 1) != (c.end == restored) {
				t.Errorf("approvals: %q", approvals)
			}
			p.trips(nil)
			for range 2 {
				p.send()
			}
			if got, _ := p.got(); len(got) != c.mails {
				t.Errorf("%d mails", len(got))
			}
			p.must("", "pulse-queue", "verify")
		})
	}
}

func trips(trip func(*smtp.Conn, stage) error) func(*post) {
	return func(p *post) { p.trips(trip) }
}

// killsMsmtp kills msmtp at a stage, and its sender goes on.
func killsMsmtp(when stage) func(*post) {
	return func(p *post) {
		p.trips(func(_ *smtp.Conn, at stage) error {
			if at == when {
				files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
				for _, name := range files {
					argv, _ := os.ReadFile(name)
					pid, _ := strconv.Atoi(strings.Split(name, "/")[2])
					if strings.HasPrefix(string(argv), "msmtp\x00") && strings.Contains(string(argv), p.rc+"\x00") {
						_ = syscall.Kill(pid, syscall.SIGKILL)
					}
				}
			}
			return nil
		})
	}
}

// TestRunnerDies: the runner is killed while the server has the mail half, and the
// sender goes on without it.
func TestRunnerDies(t *testing.T) {
	p := newPost(t)
	id := p.approved(toBob)
	runner := p.run()
	started, dead := make(chan *os.Process, 1), make(chan bool)
	p.trips(func(_ *smtp.Conn, at stage) error {
		if at == inData {
			(<-started).Kill()
			<-dead
		}
		return nil
	})
	if err := runner.Start(); err != nil {
		t.Fatal(err)
	}
	started <- runner.Process
	err := runner.Wait()
	close(dead)
	if runner.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatal(err)
	}
	for end := time.Now().Add(cmdlinetest.Patience); p.show(id).State == "running" && time.Now().Before(end); {
		p.send() // which leaves it alone until its sender is gone
	}
	if got := p.show(id); got.State != "awaiting_review" || got.Reason != "effect_unknown" {
		t.Errorf("%+v", got)
	}
	p.send()
	if got, _ := p.got(); len(got) != 1 {
		t.Fatalf("%d mails", len(got))
	}

	// A second yes is a second mail, and its receiver can tell that it is the same.
	p.trips(nil)
	p.types("yes", id)
	p.send()
	got, _ := p.got()
	if len(got) != 2 || !strings.Contains(got[0].data, "Message-ID: <"+id+"@") || !strings.Contains(got[1].data, "Message-ID: <"+id+"@") {
		t.Errorf("%d mails: %q", len(got), got)
	}
	p.must("", "pulse-queue", "verify")
}

// TestWhatThePolicyHolds: a target that it does not list, now or when the yes was
// given; and a second mail to somebody who has just had one.
func TestWhatThePolicyHolds(t *testing.T) {
	p := newPost(t)
	p.policy("allow = [\"@PARTNER.example\"]\nmin_reply_interval = \"10m\"\n")
	one := func(target, text string) string {
		return fmt.Sprintf(`{"action":"external_send","target":%q,"args":{"text":%q}}`, target, text)
	}
	list := p.proposes(one("eve@other.example", "1"), one("bob@partner.example.other.example", "2"),
		one("bob@partner.example", "3"), one("BOB@Partner.Example", "4"), one("cy@partner.example", "5"), one("dan@partner.example", "6"))
	states := ""
	for _, r := range list {
		states += r.State + " "
		if r.State == "awaiting_review" {
			p.types("yes", r.ID)
		}
	}
	if states != "rejected rejected awaiting_review awaiting_review awaiting_review awaiting_review " {
		t.Fatal(states)
	}
	p.policy("allow = [\"bob@partner.example\", \"cy@partner.example\"]\nmin_reply_interval = \"10m\"\n")
	p.send()
	p.send()
	var to []string
	got, _ := p.got()
	for _, m := range got {
		to = append(to, m.to...)
	}
	if slices.Sort(to); !slices.Equal(to, []string{"bob@partner.example", "cy@partner.example"}) && !slices.Equal(to, []string{"BOB@partner.example", "cy@partner.example"}) {
		t.Errorf("%q", to)
	}
	if a, b, dan := p.show(list[2].ID).State, p.show(list[3].ID).State, p.show(list[5].ID); a == b || dan.State != "rejected" {
		t.Errorf("%s, %s, %+v", a, b, dan)
	}
	p.must("", "pulse-queue", "verify")
}

// TestGrantSends: what was granted ahead goes out with no further yes, once.
func TestGrantSends(t *testing.T) {
	p := newPost(t)
	p.types("grant", "bob@partner.example", "--task", p.ask)
	p.proposes(`{"action":"external_send","target":"Bob@partner.example","args":{"text":"one"}}`,
		`{"action":"external_send","target":"bob@partner.example","args":{"text":"two"}}`)
	for range 2 {
		p.send()
	}
	if got, _ := p.got(); len(got) != 1 {
		t.Errorf("%d mails", len(got))
	}
	p.must("", "pulse-queue", "verify")
}

// TestSenderRefuses: a record that says more than its envelope, or what no header can
// hold, is refused before there is a connection.
func TestSenderRefuses(t *testing.T) {
	p := newPost(t)
	const id = "0123456789abcdef0123456789abcdef"
	give := func(record string) (status int, said string) {
		cmd := p.command(p.sender[0], p.sender[1:]...)
		cmd.Env = append(cmd.Env, "PULSE_TASK="+id)
		cmd.Stdin = strings.NewReader(record)
		out, _ := cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode(), string(out)
	}
	effect := func(request string) string {
		return `{"task":{"id":"` + id + `"},"identity":{"via":"agent"},"request":{"action":"external_send",` + request + "}}\n"
	}
	refused := []string{"", "{", "[]", effect(`"target":"bob@x.example"`) + effect(`"target":"bob@x.example"`),
		strings.Replace(effect(`"target":"bob@x.example","args":{"text":""}`), "agent", "submit", 1),
		strings.Replace(effect(`"target":"bob@x.example","args":{"text":""}`), "external_send", "destructive", 1),
		strings.Replace(effect(`"target":"bob@x.example","args":{"text":""}`), id, strings.Repeat("f", 32), 1),
	}
	for _, target := range []string{`[]`, `""`, `"bob"`, `"-C@x.example"`, `"bob@x.example\n"`, `"bob@x.example eve@x.example"`, `"bob@x.example,eve@x.example"`,
		`"<bob@x.example>"`, `"Bob <bob@x.example>"`, `"\"bob\"@x.example"`, `"bob@[127.0.0.1]"`, `"bob@x.example>\r\nRCPT TO:<eve@x.example"`, `"b\u00f6b@x.example"`, `["bob@x.example","-t"]`, `{"a":1}`, `7`, `".bob@x.example"`} {
		refused = append(refused, effect(`"args":{"text":"hi"},"target":`+target))
	}
	for _, args := range []string{`null`, `"hi"`, `{}`, `{"text":1}`, `{"text":"hi","body":"ho"}`, `{"text":"hi","bcc":"eve@x.example"}`, `{"text":"hi","Bcc":["eve@x.example"]}`, `{"text":"hi","BCC":"bob@x.example"}`,
		`{"text":"hi","to":"eve@x.example"}`, `{"text":"hi","To":"eve@x.example"}`, `{"text":"hi","cc":["bob@x.example","eve@x.example"]}`, `{"text":"hi","CC":"eve@x.example"}`, `{"text":"hi","to":"bob@x.example, eve@x.example"}`,
		`{"text":"hi","headers":{"Bcc":"eve@x.example"}}`, `{"text":"hi","reply_to":"eve@x.example"}`, `{"text":"hi","from":"eve@x.example"}`, `{"text":"hi","html":"<b>ho</b>"}`,
		`{"text":"hi","subject":"a\nBcc: eve@x.example"}`, `{"text":"hi","subject":"a\r\n\r\nb"}`, `{"text":"hi","subject":"a\u0000"}`, `{"text":"hi","subject":"a\u0085b"}`, `{"text":"hi","subject":"a\u2028b"}`, `{"text":"hi","subject":["a"]}`,
		`{"text":"hi","in_reply_to":"<a@b>\nBcc: eve@x.example"}`, `{"text":"hi","in_reply_to":["<a@b>","<c@d>"]}`, `{"text":"hi","references":"<a@b> <c@d>\r\n\r\nhi"}`, `{"text":"hi","references":[1]}`,
		`{"text":"hi","in_reply_to":"<a b@c>"}`, `{"text":"hi","in_reply_to":"<a@b>>"}`, `{"text":"hi","in_reply_to":"\n<a@b>"}`, `{"text":"hi","in_reply_to":"<a@b>\n"}`, `{"text":"hi","in_reply_to":"<a@b\u0000>"}`,
		`{"text":"hi","in_reply_to":"<\u00e4@b>"}`, `{"text":"hi","in_reply_to":"<a@\u202eb>"}`, `{"text":"hi","in_reply_to":"a@b"}`, `{"text":"hi","references":["<a@` + strings.Repeat("b", 500) + `>"]}`,
		`{"text":"hi","references":[` + strings.Repeat(`"<a@b>",`, 100) + `"<a@b>"]}`} {
		refused = append(refused, effect(`"target":"bob@x.example","args":`+args))
	}
	for _, more := range []string{`"bcc":"eve@x.example"`, `"tool":"sms.send"`, `"files":[{"data":""}]`, `"files":[{"name":"a\r\nBcc: eve@x.example","data":""}]`, `"files":[{"name":"a/","data":""}]`,
		`"files":[{"name":"..","data":""}]`, `"files":[{"name":"` + strings.Repeat("\u00fc", 200) + `","data":""}]`} {
		refused = append(refused, effect(`"target":"bob@x.example","args":{"text":"hi"},`+more))
	}
	for _, data := range []string{`null`, `1`, `{}`, `["aGk="]`, `"aGk"`, `"aGk=\n"`, `"aGk=\n--pulse-` + id + `\nContent-Type: text/html\n\n<b>ho</b>"`, `"a"`, `"=aGk"`, `"a==="`, `"aG=k"`, `"aG-_"`, `"\u00fcbb"`} {
		refused = append(refused, effect(`"target":"bob@x.example","args":{"text":"hi"},"files":[{"name":"a.txt","data":`+data+`}]`))
	}
	refused = append(refused, effect(`"target":"bob@x.example","args":{"text":"hi"},"files":[{"name":"a.txt"}]`))
	for _, record := range refused {
		if status, said := give(record); status != 64 || !strings.HasPrefix(said, "msmtp: nothing was sent: ") || strings.Count(said, "\n") != 1 {
			t.Errorf("%s\nexit %d: %s", record, status, said)
		}
	}
	if got, conns := p.got(); len(got) != 0 || conns != 0 {
		t.Errorf("%d mails, %d connections", len(got), conns)
	}
	if status, said := give(effect(`"target":"bob@x.example","args":{"text":"hi"}`)); status != 0 || said != "" {
		t.Errorf("exit %d: %s", status, said)
	}

	// In the queue it is a person's, and no run tries it once more.
	effect1 := p.approved(`{"action":"external_send","target":"bob@partner.example","args":{"text":"hi","bcc":"eve@partner.example"}}`)
	said := p.send()
	p.send()
	if got := p.show(effect1); got.State != "failed" || got.Reason != "effect_refused" || !strings.Contains(said, "nothing was sent: args has a member") {
		t.Errorf("%+v: %s", got, said)
	}
	if got, conns := p.got(); len(got) != 1 || conns != 1 {
		t.Errorf("%d mails, %d connections", len(got), conns)
	}
}

// TestWords: what a model answers without proposing anything is the result of the task.
func TestWords(t *testing.T) {
	p := newPost(t)
	const model = "#!/bin/sh\ncat >/dev/null\nprintf 'The report says: buy.\\n\\n  {\"action\":\"read_public\"}\\n'\n"
	if err := os.WriteFile(filepath.Join(p.dir, "llm"), []byte(model), 0o755); err != nil {
		t.Fatal(err)
	}
	if said := p.must("", "sh", "-c", "PATH=$PWD:$PATH pulse-queue run --proposals -- pulse-queue agent llm 2>&1"); said != "" {
		t.Error(said)
	}
	shown := p.must("", "pulse-queue", "show", p.ask)
	for _, want := range []string{"result\n  | The report says: buy.\n", "  | >   {\"action\"", "exit 0"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%s\nlacks %q", shown, want)
		}
	}
	if out := p.must("", "pulse-queue", "outbox"); out != "" {
		t.Error(out)
	}
}

// TestSenderWithoutJq: what ails the machine does not refuse a record.
func TestSenderWithoutJq(t *testing.T) {
	for name, script := range map[string]string{"jq is missing": "", "jq is killed": "#!/bin/sh\nkill -KILL $$\n"} {
		bin := t.TempDir()
		for _, tool := range []string{"cat", "mktemp", "rm", "sh"} {
			path, err := exec.LookPath(tool)
			if err = errors.Join(err, os.Symlink(path, filepath.Join(bin, tool))); err != nil {
				t.Fatal(err)
			}
		}
		if script != "" {
			if err := os.WriteFile(filepath.Join(bin, "jq"), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("../../scripts/senders/msmtp")
		cmd.Env, cmd.Stdin = []string{"PATH=" + bin}, strings.NewReader("{}")
		if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 75 || !strings.Contains(string(out), "nothing was sent: jq") {
			t.Errorf("%s: %v: %s", name, cmd.ProcessState, out)
		}
	}
}
