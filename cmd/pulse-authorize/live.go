package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/authorize/layout"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/address"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

// live is a gate as it is set up, which check --live tries from end to end by the same commands
// that cron or systemd start. Nothing is added to its queue, and its mailbox is only read.
type live struct {
	c       *cli.Context
	policy  *policy.Policy
	at      *layout.Layout
	place   layout.Place
	queue   string
	machine bool          // started by root for a machine's gate: each program gets its account
	try     time.Duration // bounds each program that is tried, --wait not counted
	wrong   int
}

// maxTry and maxRead bound each program that is tried, and the one that reads a mailbox, which ends
// by itself. FETCH_FLAGS may make the second shorter.
const (
	maxTry  = 2 * time.Minute
	maxRead = 90 * time.Second
)

// maxSaid is how many characters of a line are shown: a server may say very much.
const maxSaid = 600

// checkLive tries what the policy alone can't show, one line for each part: ok, none or wrong. It
// ends with 0 only when a mail of an owner came through.
func checkLive(c *cli.Context, p *policy.Policy) error {
	at, err := layout.Read(environment(c, p), true)
	if err != nil {
		return fault.Usagef("pulse-authorize check --live --environment FILE; pulse-authorize init --dir writes one", "%w", err)
	}
	l := &live{c: c, policy: p, at: at, queue: cmdline.QueueDir(c), try: maxTry}
	if l.place, err = layout.At(at.Dir); err != nil {
		return err
	}
	if l.place.Dir == layout.System {
		l.place.Data = "/var/lib/pulse"
	}
	if l.queue == "" {
		l.queue = filepath.Join(l.place.Data, "queue")
	}
	l.machine = l.place.Dir == layout.System && os.Geteuid() == 0
	if risky := len(risks(p, l.queue)); risky > 0 {
		l.ok("policy", "valid; pulse-authorize check lists what is risky: %d", risky)
	} else {
		l.ok("policy", "valid")
	}
	for _, try := range []func(){l.mailboxes, l.kept, l.ways, l.sender, l.started} {
		try()
	}
	if l.wrong == 0 {
		l.firstMail(c.Duration("wait"))
	}
	if l.wrong > 0 {
		return fault.Failedf("mend the first of them, and run it again", "not yet: %d wrong", l.wrong)
	}
	return nil
}

func (l *live) ok(what, format string, args ...any) { l.line("ok", what, format, args) }

func (l *live) none(what, format string, args ...any) { l.line("none", what, format, args) }

// bad says what is wrong, and what to type.
func (l *live) bad(what, hint, format string, args ...any) {
	l.wrong++
	l.line("wrong", what, format, args)
	for line := range strings.Lines(hint) {
		fmt.Fprintf(l.c.App.Writer, "       %s\n", escape.Message(bounded(strings.TrimSpace(line))))
	}
}

func (l *live) line(word, what, format string, args []any) {
	fmt.Fprintf(l.c.App.Writer, "%-5s  %s: %s\n", word, what, escape.Message(bounded(fmt.Sprintf(format, args...))))
}

// bounded cuts what is too long to be read.
func bounded(s string) string {
	if r := []rune(s); len(r) > maxSaid {
		return string(r[:maxSaid]) + "..."
	}
	return s
}

// said is what a program printed, and how it ended.
type said struct {
	out []byte
	err string // what it said of itself
	ok  bool
}

// command is a program as the account that the units give it. It gets neither the queue nor the
// environment of whoever tries it.
func (l *live) command(ctx context.Context, account string, argv ...string) (*exec.Cmd, error) {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "PULSE_POLICY=" + l.policy.Name}
	if l.machine && account != "" {
		u, err := user.Lookup(account)
		if err != nil {
			return nil, err
		}
		argv = append([]string{"setpriv", "--reuid=" + u.Uid, "--regid=" + u.Gid, "--init-groups", "--"}, argv...)
		env[1] = "HOME=" + u.HomeDir
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env, cmd.WaitDelay = env, 5*time.Second // what it started may hold its output open
	return cmd, nil
}

// run starts a program and waits for its end.
func (l *live) run(account string, in []byte, argv ...string) said {
	ctx, cancel := context.WithTimeout(l.c.Context, l.try)
	defer cancel()
	cmd, err := l.command(ctx, account, argv...)
	if err != nil {
		return said{err: err.Error()}
	}
	var out, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &stderr
	err = cmd.Run()
	text := strings.TrimSpace(stderr.String())
	if err != nil && ctx.Err() == context.DeadlineExceeded {
		text = strings.TrimSpace(fmt.Sprintf("%s\n%s did not end within %s", text, argv[0], l.try))
	}
	if text == "" && err != nil {
		text = err.Error()
	}
	return said{out.Bytes(), text, err == nil}
}

// heard is as much of a record as is told.
type heard struct {
	Message struct {
		ID      string
		Subject string
	}
	Identity struct {
		Sender string
		Trust  terms.Trust
		Reason identity.Reason
		Why    string
	}
	Decision struct {
		Outcome terms.Outcome
		Why     string
	}
	Task struct{ ID, State string }
}

func records(b []byte) (list []heard) {
	for line := range bytes.Lines(b) {
		var h heard
		if json.Unmarshal(line, &h) == nil {
			list = append(list, h)
		}
	}
	return list
}

func (h *heard) owned(p *policy.Policy) bool {
	return slices.ContainsFunc(p.Owners, func(o string) bool { return address.Equal(o, h.Identity.Sender) })
}

// inboxFiles are the environment of each mailbox, and the file with its password.
func (l *live) inboxFiles() (list [][2]string) {
	if l.at.Values["INBOX"] != "" {
		list = append(list, [2]string{l.at.Name, filepath.Join(l.at.Dir, "password")})
	}
	more, _ := filepath.Glob(filepath.Join(l.at.Dir, "intake-*")) // the pattern is good
	for _, file := range more {
		_, name, _ := strings.Cut(filepath.Base(file), "-")
		list = append(list, [2]string{file, filepath.Join(l.at.Dir, "password-"+name)})
	}
	return list
}

// mailboxes logs in at each, and judges what it reads there by the policy.
func (l *live) mailboxes() {
	files := l.inboxFiles()
	if len(files) == 0 {
		l.bad("mailbox", `INBOX="imaps://agent%40example.com@imap.example.com/INBOX"`, "%s has no INBOX", l.at.Name)
	}
	for _, f := range files {
		values, err := layout.Variables(f[0])
		if err != nil {
			l.bad("mailbox", "ls -l "+escape.Shell(f[0]), "%v", err)
			continue
		}
		inbox := values["INBOX"]
		got := l.read(values, f[1], 100)
		if !got.ok {
			l.bad("mailbox", got.err+lookAt(inbox, got.err), "%s can't be read", inbox)
			continue
		}
		l.ok("mailbox", "%s: the login works, and %d mails were read", inbox, len(records(got.out)))
		l.pin(got.out)
	}
}

// lookAt is what to type about a server of IMAP if pulse-fetch has no hint.
func lookAt(inbox, errs string) string {
	u, err := url.Parse(inbox)
	if err != nil || u.Hostname() == "" || strings.Contains(errs, ": hint: ") {
		return ""
	}
	port, starttls := cmp.Or(u.Port(), "993"), ""
	if u.Scheme == "imap" {
		port, starttls = cmp.Or(u.Port(), "143"), " -starttls imap"
	}
	return "\nsee what answers: openssl s_client -connect " + escape.Shell(net.JoinHostPort(u.Hostname(), port)) + starttls
}

// read fetches the newest mail, whatever was read before, and keeps no position.
func (l *live) read(values map[string]string, password string, limit int) said {
	argv, timeout := []string{"pulse-fetch", "--limit", fmt.Sprint(limit)}, maxRead
	for _, o := range layout.Options(values["FETCH_FLAGS"]) {
		if d, err := time.ParseDuration(o.Value); o.Name == "--timeout" && err == nil && d > 0 {
			timeout = min(timeout, d)
		}
		if o.Name != "--wait" && o.Name != "--limit" && o.Name != "--timeout" && o.Name != "--queue" {
			argv = append(argv, o.Words()...)
		}
	}
	return l.run("pulse", nil, append(argv, "--timeout", timeout.String(), "--password-file", password, values["INBOX"])...)
}

// pin tells whether an owner's mail is proven here.
func (l *live) pin(mail []byte) {
	judged := l.run("pulse", mail, "pulse-classify")
	if !judged.ok {
		l.bad("proof", judged.err, "pulse-classify failed")
		return
	}
	var from, proven int
	var last heard
	for _, h := range records(judged.out) {
		if h.owned(l.policy) {
			from++
			if h.Identity.Trust == terms.OwnerVerifiedEmail {
				proven++
			} else {
				last = h
			}
		}
	}
	switch {
	case from == 0:
		l.none("proof", "no mail of an owner is there yet")
	case proven == 0:
		hint := last.Identity.Reason.Advice()
		if got := l.run("pulse", mail, "pulse-classify", "suggest", "--owner", l.policy.Owners[0]); got.ok {
			hint += "\n" + string(got.out)
		}
		l.bad("proof", hint+"\nthen take the mail in again: man pulse-trouble, \"Take refused mail in again\"",
			"%d mails are from an owner, and none is proven; the last: %s, %s", from, last.Identity.Reason, last.Identity.Why)
	default:
		l.ok("proof", "of %d mails from an owner, %d are proven", from, proven)
	}
}

// kept asks the queue how it is: accounts, groups, modes and storage.
func (l *live) kept() {
	argv := []string{"pulse-queue", "health", "--queue", l.queue}
	for _, o := range layout.Options(l.at.Values["HEALTH_FLAGS"]) {
		argv = append(argv, o.Words()...)
	}
	if got := l.run("pulse", nil, argv...); !got.ok {
		l.bad("queue", string(got.out)+got.err, "%s is not as it should be", l.queue)
		return
	}
	l.ok("queue", "%s is in order", l.queue)
}

// started tells whether anything starts the stages.
func (l *live) started() {
	if l.place.Dir == layout.System {
		if _, err := os.Stat("/etc/cron.d/pulse"); err == nil {
			l.ok("start", "/etc/cron.d/pulse is there")
			return
		}
		if got := l.run("", nil, "systemctl", "is-active", "pulse.target"); !got.ok {
			l.bad("start", "systemctl enable --now pulse.target", "neither pulse.target nor /etc/cron.d/pulse starts anything")
			return
		}
		l.ok("start", "pulse.target is active")
		return
	}
	if got := l.run("", nil, "crontab", "-l"); !strings.Contains(string(got.out), "# BEGIN pulse") || !strings.Contains(string(got.out), l.place.Dir) {
		l.bad("start", "(crontab -l | sed '/^# BEGIN pulse/,/^# END pulse/d'; cat "+l.place.Dir+"/crontab) | crontab -",
			"your crontab does not start this gate")
		return
	}
	l.ok("start", "your crontab starts it")
}
