package cmd_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pulse/lib/fetch/mailbox/dovecottest"
)

// drafter is a mailbox, and the sender that puts drafts into it.
type drafter struct {
	*dovecottest.Server
	dir string
	url string
	ca  string // whom the sender trusts
}

// folders are those that a mailbox usually has.
var folders = []dovecottest.Folder{{Name: "Drafts", Use: `\Drafts`}, {Name: "Sent", Use: `\Sent`}, {Name: "Trash", Use: `\Trash`}, {Name: "Work"}}

const draftsScript = "../scripts/senders/drafts"

func newDrafter(t *testing.T, folders ...dovecottest.Folder) *drafter {
	t.Helper()
	d := &drafter{Server: dovecottest.Start(t, folders...), dir: t.TempDir()}
	d.url, d.ca = "imaps://"+dovecottest.User+"@"+d.Addr+"/", d.CA
	d.secret(t, dovecottest.Password)
	return d
}

func (d *drafter) secret(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, "password"), []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// command is one attempt to make a draft of a record.
func (d *drafter) command(t *testing.T, record string, flags ...string) *exec.Cmd {
	t.Helper()
	args := append([]string{"--password-file", filepath.Join(d.dir, "password"), "--tls-ca", d.ca}, flags...)
	cmd := exec.Command(draftsScript, append(args, d.url)...)
	cmd.Env = []string{"PULSE_TASK=" + regexp.MustCompile(`[0-9a-f]{32}`).FindString(record)}
	cmd.Stdin = strings.NewReader(record)
	return cmd
}

func (d *drafter) give(t *testing.T, record string, flags ...string) (status int, said string) {
	t.Helper()
	cmd := d.command(t, record, flags...)
	out, _ := cmd.CombinedOutput()
	return cmd.ProcessState.ExitCode(), string(out)
}

// takes gives a record that becomes a draft, or is one already.
func (d *drafter) takes(t *testing.T, record string, flags ...string) {
	t.Helper()
	if status, said := d.give(t, record, flags...); status != 0 || said != "" {
		t.Errorf("exit %d: %s", status, said)
	}
}

// draft is a message of a folder, with its flags as the server keeps them.
type draft struct{ path, flags, text string }

// in returns what lies in a folder, named as it is on disk.
func (d *drafter) in(t *testing.T, folder string) (list []draft) {
	t.Helper()
	for _, sub := range []string{"new", "cur"} {
		paths, err := filepath.Glob(filepath.Join(d.Maildir, folder, sub, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, flags, _ := strings.Cut(path, ":2,")
			list = append(list, draft{path, flags, string(text)})
		}
	}
	return list
}

// one returns the only draft of a folder.
func (d *drafter) one(t *testing.T, folder string) (draft, *mail.Message) {
	t.Helper()
	list := d.in(t, folder)
	if len(list) != 1 {
		t.Fatalf("%d drafts in %s", len(list), folder)
	}
	m, err := mail.ReadMessage(strings.NewReader(list[0].text))
	if err != nil {
		t.Fatal(err)
	}
	return list[0], m
}

const taskID = "0123456789abcdef0123456789abcdef"

// effect is the record of a mail.draft, as a run gives it.
func effect(id, request string) string {
	return fmt.Sprintf(`{"request":{"action":"write_local","tool":"mail.draft",%s},"identity":{"via":"agent"},"task":{"id":%q,"created":%q,"attempts":0,"restarts":0}}`+"\n",
		request, id, time.Now().UTC().Format(time.RFC3339))
}

// again is the record of the next attempt after one that died.
func again(record string) string { return strings.Replace(record, `"restarts":0`, `"restarts":1`, 1) }

const toBob = `"target":"bob@partner.example","args":{"text":"hi"}`

// TestDraftInTheMailbox: a draft is everything that the record says, and nothing else.
func TestDraftInTheMailbox(t *testing.T) {
	d := newDrafter(t, folders...)
	d.Deliver(t, "1.M1.test", []byte("Message-ID: <"+taskID+"@example.com>\r\n\r\nnot a draft\r\n"))
	inbox := d.Names(t)
	subject := "Grüße, and a line that is so long that it has to be put into several encoded words 字"
	args, err := json.Marshal(map[string]any{"subject": subject, "text": "One\n.\nTwo ü\r\nno end", "in_reply_to": "<1@mail.example>",
		"references": []string{"<0@mail.example>", "<1@mail.example>"}, "to": []string{"bob@PARTNER.example"}, "cc": "al@partner.example"})
	if err != nil {
		t.Fatal(err)
	}
	name, content := "ü/Prüfung (1).bin", strings.Repeat("\x00\xff\r\n.\r\n", 40000)
	record := effect(taskID, `"target":["Bob@partner.example","eve@partner.example","al@partner.example"],"args":`+string(args)+
		`,"evidence":["<1@mail.example>"],"files":[{"name":"a.txt","data":"YXMgaXQgd2FzCg=="},{"name":"`+name+`","data":"`+base64.StdEncoding.EncodeToString([]byte(content))+`"}]`)
	for range 3 {
		d.takes(t, record, "--from", "agent@example.com")
	}
	got, m := d.one(t, ".Drafts")
	if got.flags != "DS" {
		t.Errorf("flags %q", got.flags)
	}
	want := map[string]string{"From": "agent@example.com", "To": "bob@PARTNER.example", "Cc": "al@partner.example", "Bcc": "eve@partner.example",
		"In-Reply-To": "<1@mail.example>", "References": "<0@mail.example> <1@mail.example>", "Message-Id": "<" + taskID + "@example.com>", "Mime-Version": "1.0"}
	for field, want := range want {
		if got := strings.Join(m.Header[field], "|"); got != want {
			t.Errorf("%s: %q, want %q", field, got, want)
		}
	}
	for field := range m.Header {
		if _, ok := want[field]; !ok && !slices.Contains([]string{"Subject", "Date", "Content-Type"}, field) {
			t.Errorf("a field %s", field)
		}
	}
	if s, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject")); s != subject || err != nil {
		t.Errorf("%q, %v", s, err)
	}
	if at, err := m.Header.Date(); err != nil || time.Since(at).Abs() > time.Hour {
		t.Errorf("%v, %v", at, err)
	}
	if parts := draftParts(t, m); !slices.Equal(parts, []string{"", "One\r\n.\r\nTwo ü\r\nno end", "a.txt", "as it was\n", "Prüfung (1).bin", content}) {
		t.Errorf("%.300q", parts)
	}
	if now := d.Names(t); !slices.Equal(now, inbox) {
		t.Errorf("the inbox was %q and is %q", inbox, now)
	}
}

// draftParts returns the name and the content of each part of a message.
func draftParts(t *testing.T, m *mail.Message) (list []string) {
	t.Helper()
	_, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	if params["boundary"] == "" {
		return []string{"", decoded(t, m.Header.Get("Content-Transfer-Encoding"), m.Body)}
	}
	for r := multipart.NewReader(m.Body, params["boundary"]); ; {
		part, err := r.NextPart()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, part.FileName(), decoded(t, part.Header.Get("Content-Transfer-Encoding"), part))
	}
}

func decoded(t *testing.T, encoding string, r io.Reader) string {
	t.Helper()
	b, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, r))
	if err != nil || encoding != "base64" {
		t.Errorf("%q: %v", encoding, err)
	}
	return string(b)
}

// TestDraftThroughTheQueue: from the mail to the draft in its conversation, which says what
// a person was shown; and no draft to those to whom no mail may go.
func TestDraftThroughTheQueue(t *testing.T) {
	h := newHost(t, folders...)
	d := &drafter{Server: h.Server, dir: h.dir}
	h.write(t, "policy.toml", h.read(t, "policy.toml")+"[outbound]\nallow = [\"@example.com\"]\n")
	h.deliver(t, 1, 1)
	h.must(t, h.fetch("")+" | pulse-classify | pulse-authorize | pulse-queue add")
	before := h.Names(t)
	text := "Grüße,\n\n-- \nagent\r\n\n"
	propose := func(target, text string) string {
		line, err := json.Marshal(map[string]any{"action": "write_local", "tool": "mail.draft", "target": target,
			"args": map[string]string{"subject": "Re: mail 1", "text": text, "in_reply_to": "<1@example.com>", "references": "<1@example.com>"}})
		if err != nil {
			t.Fatal(err)
		}
		return string(line)
	}
	h.write(t, "proposed", propose("me@example.com", text)+"\n"+propose("eve@partner.example", "no")+"\n"+
		`{"action":"external_send","tool":"mail.draft","target":"me@example.com","args":{"text":"no"}}`+"\n"+
		`{"action":"external_send","target":"me@example.com","args":{"text":"this is to be sent"}}`+"\n")
	h.must(t, "pulse-queue run --proposals -- cat proposed")
	const judge = "pulse-queue outbox | pulse-authorize | pulse-queue add"
	out := h.must(t, judge+` | jq -r '[.task.state, .request.tool, .request.target[0], .decision.reason] | join(" ")' | sort`)
	// The second proposal to send has the companion that every one has, a file for people.
	if want := "awaiting_review  me@example.com needs_confirmation\n" +
		"rejected mail.draft eve@partner.example target_not_allowed\nrejected mail.draft me@example.com tool_not_allowed\n" +
		"scheduled draft me@example.com allowed\nscheduled draft me@example.com allowed\nscheduled mail.draft me@example.com allowed\n"; out != want {
		t.Errorf("%s\nwant\n%s", out, want)
	}
	h.must(t, "pulse-queue run -- false") // carries out what needs no program, and leaves the rest
	script := h.abs(t, draftsScript)
	run := "pulse-queue run --effect write_local -- " + script + " --password-file " + h.dir + "/password --tls-ca " + h.CA + " --from me@example.com imaps://me@" + h.Addr + "/"
	h.must(t, run)
	h.must(t, run)
	shown := h.must(t, `pulse-queue list --all --json | jq -r 'select(.request.tool == "mail.draft" and .task.state == "completed") | .task.id' | xargs pulse-queue show --json`)
	var task struct {
		Task    struct{ ID, State string }
		Request struct{ Args struct{ Text string } }
	}
	if err := json.Unmarshal([]byte(shown), &task); err != nil {
		t.Fatal(err)
	}
	_, m := d.one(t, ".Drafts")
	lines := strings.NewReplacer("\r\n", "\n")
	if got := draftParts(t, m); lines.Replace(got[1]) != lines.Replace(task.Request.Args.Text) || task.Request.Args.Text != text {
		t.Errorf("%q, and shown was %q", got[1], task.Request.Args.Text)
	}
	if id, in, to := m.Header.Get("Message-ID"), m.Header.Get("In-Reply-To"), m.Header.Get("To"); id != "<"+task.Task.ID+"@example.com>" || in != "<1@example.com>" || to != "me@example.com" {
		t.Errorf("%s in reply to %s, to %s", id, in, to)
	}
	if now := h.Names(t); !slices.Equal(now, before) {
		t.Errorf("the inbox was %q and is %q", before, now)
	}
	h.must(t, "pulse-queue verify")
}

// TestDraftByAnotherAccount: the password belongs to the account of the sender, and no
// other account that a run starts can read it.
func TestDraftByAnotherAccount(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can start another account: a sender under an account of its own was not tried")
	}
	h := newHost(t, folders...)
	d := &drafter{Server: h.Server, dir: filepath.Join(filepath.Dir(h.CA), "sender"), url: "imaps://me@" + h.Addr, ca: h.CA}
	if err := os.Mkdir(d.dir, 0o755); err != nil { // beside the server, where any account may look
		t.Fatal(err)
	}
	d.secret(t, dovecottest.Password)
	script := filepath.Join(d.dir, "drafts")
	h.must(t, "install -m 755 "+h.abs(t, draftsScript)+" "+script+" && chown nobody "+d.dir+"/password")
	h.deliver(t, 1, 1)
	h.must(t, h.fetch("")+" | pulse-classify | pulse-authorize | pulse-queue add")
	h.write(t, "proposed", `{"action":"write_local","tool":"mail.draft","target":"bob@partner.example","args":{"text":"hi"}}`+"\n")
	h.must(t, "pulse-queue run --proposals -- cat proposed && pulse-queue outbox | pulse-authorize | pulse-queue add")
	worker := d.command(t, effect(taskID, toBob))
	worker.Path, worker.SysProcAttr = script, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1, Gid: 1}}
	out, _ := worker.CombinedOutput()
	if status := worker.ProcessState.ExitCode(); status != 64 || string(out) != "drafts: nothing was drafted: --password-file: Permission denied\n" {
		t.Errorf("exit %d: %s", status, out)
	}
	h.must(t, "pulse-queue run --effect write_local --as nobody -- "+script+" --password-file "+d.dir+"/password --tls-ca "+h.CA+" "+d.url)
	d.one(t, ".Drafts")
}

// TestDraftLeftAlone: what a person has edited, sent, archived or removed is not made again.
func TestDraftLeftAlone(t *testing.T) {
	for _, to := range []string{".Drafts", ".Sent", ".Trash", ".Kept"} {
		t.Run(to, func(t *testing.T) {
			t.Parallel()
			d := newDrafter(t, append(folders, dovecottest.Folder{Name: "Kept", Use: `\Archive`})...)
			record := effect(taskID, toBob)
			d.takes(t, record)
			made, _ := d.one(t, ".Drafts")
			// A client that edits or sends a draft writes a new message, often with the same id.
			theirs := strings.Replace(made.text, "To: bob", "To: rob", 1)
			path := filepath.Join(d.Maildir, to, "cur", "99.M1.test:2,S")
			if err := os.WriteFile(made.path, []byte(theirs), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(made.path, path); err != nil {
				t.Fatal(err)
			}
			d.takes(t, record)
			d.takes(t, again(record))
			list := slices.Concat(d.in(t, ".Drafts"), d.in(t, ".Sent"), d.in(t, ".Trash"), d.in(t, ".Kept"))
			if len(list) != 1 || list[0].path != path || list[0].text != theirs {
				t.Errorf("%q", list)
			}
		})
	}
}

// TestDraftFolder: the folder that the server names for drafts, whatever it is called, or
// the one that is given.
func TestDraftFolder(t *testing.T) {
	for name, c := range map[string]struct {
		folders []dovecottest.Folder
		flags   []string
		in      string
		says    string
	}{
		"localised":     {[]dovecottest.Folder{{Name: "Entwürfe & mehr", Use: `\Drafts`}}, nil, ".Entw&APw-rfe &- mehr", ""},
		"another name":  {[]dovecottest.Folder{{Name: "Drafts", Use: `\Sent`}, {Name: "not yet sent", Use: `\Drafts`}}, nil, ".not yet sent", ""},
		"none":          {[]dovecottest.Folder{{Name: "Drafts"}}, nil, "", "the server names 0 folders for drafts: use --mailbox NAME"},
		"none, but one": {[]dovecottest.Folder{{Name: "Entwürfe & mehr"}}, []string{"--mailbox", "Entwürfe & mehr"}, ".Entw&APw-rfe &- mehr", ""},
		"two":           {[]dovecottest.Folder{{Name: "Drafts", Use: `\Drafts`}, {Name: "Entwürfe", Use: `\Drafts`}}, nil, "", "the server names 2 folders for drafts: use --mailbox NAME"},
		"two, and one":  {[]dovecottest.Folder{{Name: "Drafts", Use: `\Drafts`}, {Name: "Entwürfe", Use: `\Drafts`}}, []string{"--mailbox=Entwürfe"}, ".Entw&APw-rfe", ""},
		"another":       {folders, []string{"--mailbox", "Work"}, ".Work", ""},
		"there is not":  {folders, []string{"--mailbox", "None"}, "", "the server refuses the folder for drafts"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDrafter(t, c.folders...)
			if c.says != "" {
				status, said := d.give(t, effect(taskID, toBob), c.flags...)
				if status != 64 || !strings.HasPrefix(said, "drafts: nothing was drafted: "+c.says) || strings.Count(said, "\n") != 1 {
					t.Errorf("exit %d: %s", status, said)
				}
				return
			}
			for range 2 {
				d.takes(t, effect(taskID, toBob), c.flags...)
			}
			if made, _ := d.one(t, c.in); !strings.Contains(made.text, "Message-ID: <"+taskID+"@pulse.invalid>") || strings.Contains(made.text, "From: ") {
				t.Errorf("%q", made.text)
			}
		})
	}
}

// TestDraftRefused: a record that says more than a draft can hold, or what no header can
// hold, and a command line or a file that is wrong, are refused before there is a
// connection; and no word of it is repeated.
func TestDraftRefused(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	connected := make(chan bool, 1)
	go func() {
		if conn, err := listener.Accept(); err == nil {
			conn.Close()
			connected <- true
		}
	}()
	d := &drafter{dir: t.TempDir(), url: "imaps://me@" + listener.Addr().String(), ca: "/dev/null"}
	d.secret(t, "s3cret")
	d.ca = filepath.Join(d.dir, "ca.pem")
	web := newWeb(t)
	if err := os.WriteFile(d.ca, web.ca, 0o600); err != nil {
		t.Fatal(err)
	}
	good := effect(taskID, toBob)
	refused := []string{"", "{", "[]", "null", good + good, strings.Replace(good, "agent", "submit", 1), strings.Replace(good, "write_local", "external_send", 1),
		strings.Replace(good, "write_local", "destructive", 1), strings.Replace(good, "mail.draft", "draft", 1), strings.Replace(good, "mail.draft", "fs.write", 1),
		strings.Replace(good, `"tool":"mail.draft",`, "", 1), strings.Replace(good, taskID, strings.ToUpper(taskID), 1), strings.Replace(good, `"hi"`, `"hi","text":"ho"`, 1),
		strings.Replace(good, `"hi"`, `"\ud800"`, 1), strings.Replace(good, `"hi"`, `NaN`, 1), strings.Replace(good, `"hi"`, strings.Repeat("[", 100000), 1),
		strings.Replace(good, `"attempts":0`, `"attempts":"0"`, 1), strings.Replace(good, "hi", "\xff", 1)}
	for _, target := range []string{`[]`, `""`, `null`, `"bob"`, `"-C@x.example"`, `"bob@x.example\n"`, `"bob@x.example eve@x.example"`, `"bob@x.example,eve@x.example"`,
		`"<bob@x.example>"`, `"Bob <bob@x.example>"`, `"\"bob\"@x.example"`, `"bob@[127.0.0.1]"`, `"bob@x.example>\r\nBcc: eve@x.example"`, `"b\u00f6b@x.example"`, `["bob@x.example","-t"]`, `{"a":1}`, `7`, `".bob@x.example"`} {
		refused = append(refused, effect(taskID, `"args":{"text":"hi"},"target":`+target))
	}
	for _, args := range []string{`null`, `"hi"`, `{}`, `{"text":1}`, `{"text":"hi","body":"ho"}`, `{"text":"hi","bcc":"bob@x.example"}`, `{"text":"hi","BCC":"bob@x.example"}`,
		`{"text":"hi","to":"eve@x.example"}`, `{"text":"hi","To":"bob@x.example"}`, `{"text":"hi","cc":["bob@x.example","eve@x.example"]}`, `{"text":"hi","to":"bob@x.example, eve@x.example"}`,
		`{"text":"hi","headers":{"Bcc":"eve@x.example"}}`, `{"text":"hi","from":"eve@x.example"}`, `{"text":"hi","html":"<b>ho</b>"}`,
		`{"text":"hi","subject":"a\nBcc: eve@x.example"}`, `{"text":"hi","subject":"a\r\n\r\nb"}`, `{"text":"hi","subject":"a\u0000"}`, `{"text":"hi","subject":"a\u0085b"}`, `{"text":"hi","subject":"a\u2028b"}`, `{"text":"hi","subject":["a"]}`,
		`{"text":"hi","in_reply_to":"<a@b>\nBcc: eve@x.example"}`, `{"text":"hi","in_reply_to":["<a@b>","<c@d>"]}`, `{"text":"hi","references":"<a@b> <c@d>\r\n\r\nhi"}`, `{"text":"hi","references":[1]}`,
		`{"text":"hi","in_reply_to":"\n<a@b>"}`, `{"text":"hi","in_reply_to":"<a@b>\n"}`, `{"text":"hi","in_reply_to":"<\u00e4@b>"}`, `{"text":"hi","in_reply_to":"a@b"}`,
		`{"text":"hi","references":["<a@` + strings.Repeat("b", 500) + `>"]}`, `{"text":"hi","references":[` + strings.Repeat(`"<a@b>",`, 100) + `"<a@b>"]}`} {
		refused = append(refused, effect(taskID, `"target":"bob@x.example","args":`+args))
	}
	for _, more := range []string{`"bcc":"eve@x.example"`, `"files":[{"data":""}]`, `"files":[{"name":"a"}]`, `"files":[{"name":"a","data":"?"}]`, `"files":["a"]`,
		`"files":[{"name":"a\r\nBcc: eve@x.example","data":""}]`, `"files":[{"name":"a/","data":""}]`, `"files":[{"name":"..","data":""}]`, `"files":[{"name":"` + strings.Repeat("\u00fc", 200) + `","data":""}]`} {
		refused = append(refused, effect(taskID, `"target":"bob@x.example","args":{"text":"hi"},`+more))
	}
	check := func(what string, status int, said string) {
		t.Helper()
		if status != 64 || !strings.HasPrefix(said, "drafts: nothing was drafted: ") || strings.Count(said, "\n") != 1 {
			t.Errorf("%.300s\nexit %d: %s", what, status, said)
		}
		for _, word := range []string{"example", "s3cret", "eve", "Bcc", dovecottest.Password} {
			if strings.Contains(said, word) {
				t.Errorf("%.300s\nit says %s", what, said)
			}
		}
	}
	for _, record := range refused {
		status, said := d.give(t, record)
		check(record, status, said)
	}

	for name, mode := range map[string]os.FileMode{"group": 0o640, "others": 0o604} {
		if err := os.WriteFile(filepath.Join(d.dir, name), []byte("s3cret\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(d.dir, "empty"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	file, url := "--password-file="+filepath.Join(d.dir, "password"), d.url
	for _, args := range [][]string{{}, {url}, {file}, {file, url, url}, {file, file, url}, {file, "--bcc=eve@x.example", url}, {file, "-v", url}, {file, url, "--from"}, {file, "--from=", url},
		{file, "--from=eve", url}, {file, "--from=eve@x.example\nBcc: eve@x.example", url}, {file, "--mailbox=a\r\nb", url}, {file, "--mailbox=\xff", url}, {file, "--timeout=0s", url}, {file, "--timeout=never", url}, {file, "--tls-ca=/none", url},
		{file, "--tls-ca=/dev/null", url}, {"--password-file=/none", url}, {"--password-file=" + d.dir, url}, {"--password-file=" + d.dir + "/group", url}, {"--password-file=" + d.dir + "/others", url}, {"--password-file=" + d.dir + "/empty", url},
		{"--password-file=/dev/null", url}, {file, strings.Replace(url, "me@", "me:s3cret@", 1)}, {file, strings.Replace(url, "me@", "me:@", 1)}, {file, strings.Replace(url, "me@", "", 1)}, {file, strings.Replace(url, "imaps", "imap", 1)},
		{file, url + "/INBOX"}, {file, url + "/?x"}, {file, url + "x"}, {file, "imaps://me@/"}, {file, "me@example.com"}, {file, url + "\n"}, {file, strings.Replace(url, "me@", "me%0d%0a@", 1)}, {file, strings.Replace(url, "me@", "%ff@", 1)},
	} {
		cmd := exec.Command(draftsScript, args...)
		cmd.Env, cmd.Stdin = []string{"PULSE_TASK=" + taskID}, strings.NewReader(good)
		said, _ := cmd.CombinedOutput()
		check(fmt.Sprint(args), cmd.ProcessState.ExitCode(), string(said))
	}
	listener.Close()
	select {
	case <-connected:
		t.Error("there was a connection")
	default:
	}
}
