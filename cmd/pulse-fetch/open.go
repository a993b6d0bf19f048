package main

import (
	"context"
	"crypto/x509"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/fetch/mailbox"
	"pulse/lib/fetch/secure"
	"pulse/lib/fetch/source"
	"pulse/lib/queue/peek"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/lazy"
	"pulse/lib/shared/safefile"
)

// serverFlags make sense for a mailbox on a server only. --queue is not among them:
// PULSE_QUEUE may be set for all commands.
var serverFlags = []string{"password-command", "password-env", "password-file", "auth", "tls-ca"}

// imapFlags make sense for IMAP only.
var imapFlags = []string{"search", "wait", "insecure-loopback"}

// remote are the kinds of mailbox that a queue has positions of.
var remote = []string{"imaps", "imap", "jmap", "gmail"}

// kindOf matches an argument that names a kind of source. A file with such a name can be
// given as ./name.
var kindOf = lazy.Regexp(`^([A-Za-z][A-Za-z0-9+.-]*):(.*)$`)

// open returns the source that the arguments name. Nothing was read when it fails, so its
// errors are usage errors, except those of the machine.
func open(ctx context.Context, c *cli.Context, window int64, n *notes) (source.Source, error) {
	args := c.Args().Slice()
	if c.IsSet("limit") && c.Int("limit") < 1 {
		return nil, fault.Usagef("--limit 10", "--limit %d: want at least 1", c.Int("limit"))
	}
	kind, rest := "file", ""
	for _, arg := range args {
		m := kindOf().FindStringSubmatch(arg)
		switch {
		case arg == "-":
			kind = "stdin"
		case m != nil:
			kind, rest = strings.ToLower(m[1]), m[2] // RFC 3986 §3.1
		case arg == "":
			return nil, fault.Usagef("pulse-fetch --help", "a file name is empty")
		case misspelt(arg):
			return nil, fault.Usagef("imaps://user@host/MAILBOX, and the password apart",
				"no file of that name, and no source that pulse-fetch knows")
		default:
			continue
		}
		if len(args) > 1 {
			return nil, fault.Usagef("one run for each", "%s can't stand beside other sources", withoutPassword(arg))
		}
	}
	if err := queueThere(c, kind); err != nil {
		return nil, err
	}
	for _, only := range [][2]string{{"webhook-secret-file", "webhook"}, {"mbox-quoted", "mbox"}, {"hosts", "jmap"}} {
		if c.IsSet(only[0]) && kind != only[1] {
			return nil, fault.Usagef("leave it out", "--%s is for %s:", only[0], only[1])
		}
	}
	switch kind {
	case "imaps", "imap":
		return openIMAP(ctx, c, args[0], window, n)
	case "jmap":
		return openJMAP(ctx, c, rest, window, n)
	case "gmail":
		return openGmail(ctx, c, rest, window, n)
	}
	if err := localFlags(c, kind); err != nil {
		return nil, err
	}
	return openLocal(c, kind, rest, window)
}

// openLocal returns the source that arguments name without a server.
func openLocal(c *cli.Context, kind, rest string, window int64) (source.Source, error) {
	switch kind {
	case "file":
		return source.OpenFiles(c.Args().Slice(), window)
	case "stdin":
		return &source.Stdin{Reader: cmdline.Stdin(c, 0, func() error { return nil }), Window: window}, nil
	case "maildir":
		return source.OpenMaildir(rest, window, c.Int("limit"))
	case "mbox":
		return source.OpenMbox(rest, window, c.Bool("mbox-quoted"))
	case "webhook":
		return source.OpenWebhook(rest, c.String("webhook-secret-file"))
	}
	return nil, fault.Usagef(
		"imaps://user@host/MAILBOX, jmap:https://user@host/, gmail:USER, maildir:DIR, mbox:FILE, webhook:DIR, "+
			"FILE... or -; a file of that name: ./NAME",
		"unknown kind of source %s", kind)
}

// queueThere fails if there is no queue where one is named. PULSE_QUEUE may be set for
// all commands: it names one only where it is read.
func queueThere(c *cli.Context, kind string) error {
	dir := c.String("queue")
	if dir == "" || !slices.Contains(remote, kind) && dir == os.Getenv("PULSE_QUEUE") {
		return nil
	}
	if err := peek.There(dir); err != nil {
		return fmt.Errorf("--queue: %w", err)
	}
	return nil
}

// misspelt reports whether an argument is not a file and may be a mistyped URL with a
// password in it. A message must not repeat it then.
func misspelt(arg string) bool {
	_, after, colon := strings.Cut(arg, ":")
	if !colon || !strings.Contains(after, "@") {
		return false
	}
	_, err := os.Stat(arg)
	return err != nil
}

// withoutPassword returns what a message may say of an argument.
func withoutPassword(arg string) string {
	kind, _, _ := strings.Cut(arg, ":")
	return kind
}

// localFlags refuses flags that would have no effect.
func localFlags(c *cli.Context, kind string) error {
	for _, name := range serverFlags {
		if c.IsSet(name) {
			return fault.Usagef("leave it out", "--%s is for imaps://, jmap: and gmail:", name)
		}
	}
	if err := notIMAP(c); err != nil {
		return err
	}
	for _, name := range []string{"dkim", "resolver"} {
		if c.IsSet(name) && kind == "webhook" {
			return fault.Usagef("leave it out", "--%s is for mail: a request is verified with --webhook-secret-file", name)
		}
	}
	if c.IsSet("limit") && kind != "maildir" {
		return fault.Usagef("leave it out", "--limit is for imaps://, jmap:, gmail: and maildir:")
	}
	return nil
}

// notIMAP refuses flags that mean something to IMAP alone.
func notIMAP(c *cli.Context) error {
	for _, name := range imapFlags {
		if c.IsSet(name) {
			return fault.Usagef("leave it out", "--%s is for imaps://", name)
		}
	}
	return nil
}

// changes returns a function that reports whether a file was changed or replaced since. The stages
// that a run hands its mail to have read the policy when the run began, maybe hours ago.
func changes(name string) (func() bool, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	since := func() (syscall.Timespec, bool) {
		info, err := f.Stat() // by its descriptor: a confined process can't open it again
		if err != nil {
			return syscall.Timespec{}, false
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		return stat.Ctim, ok // a file that is replaced loses a name, which counts as a change
	}
	was, ok := since()
	return func() bool { is, known := since(); return !ok || !known || is != was }, nil
}

// openIMAP prepares a mailbox on a server; it does not connect.
func openIMAP(ctx context.Context, c *cli.Context, arg string, window int64, n *notes) (source.Source, error) {
	a, err := mailbox.ParseAddress(arg)
	if err != nil {
		return nil, err
	}
	if err := plainText(c, a); err != nil {
		return nil, err
	}
	s := &mailbox.Mailbox{
		Address: a, Plain: c.Bool("insecure-loopback"), Auth: mailbox.Auth(c.String("auth")),
		Window: window, Wait: c.Duration("wait"),
	}
	if err := s.Auth.Check(""); err != nil {
		return nil, err
	}
	if s.Search, err = mailbox.ParseSearch(c.String("search")); err != nil {
		return nil, fault.Usagef("--search 'FROM alice SUBJECT \"two words\" SINCE 2026-01-31'",
			"--search: %w", err)
	}
	if s.RootCAs, err = authorities(c.String("tls-ca")); err != nil {
		return nil, err
	}
	if name := c.String("policy"); name != "" && s.Wait > 0 {
		if s.Outdated, err = changes(name); err != nil {
			return nil, fault.Usagef("ls -l "+escape.Shell(name), "%w", err)
		}
	}
	if s.From, err = start(c, a.String(), n); err != nil {
		return nil, err
	}
	if s.Password, err = password(ctx, c); err != nil {
		return nil, err
	}
	return s, s.Auth.Check(s.Password)
}

func password(ctx context.Context, c *cli.Context) (string, error) {
	secret := mailbox.Secret{
		Command: c.String("password-command"), Env: c.String("password-env"), File: c.String("password-file"),
		Live: cmdline.Watched(c),
	}
	return secret.Read(ctx, c.App.ErrWriter)
}

// plainText refuses to connect without TLS, except to this machine.
func plainText(c *cli.Context, a mailbox.Address) error {
	if !c.Bool("insecure-loopback") {
		return nil
	}
	if a.TLS {
		return fault.Usagef("leave it out", "--insecure-loopback is for imap://")
	}
	if err := a.Loopback(); err != nil {
		return fault.Usagef("leave it out: imap:// begins TLS with STARTTLS", "--insecure-loopback: %w", err)
	}
	return nil
}

// authorities returns the system's certificates, which can't be read later, and those in the
// file, if one is named. It returns nil if the system's can't be read and there are no others.
func authorities(path string) (*secure.Roots, error) {
	roots, err := secure.System()
	if fault.KindOf(err) == fault.Usage {
		return nil, err
	}
	if path == "" && err != nil {
		_, _ = x509.SystemCertPool() // fails too, and says why in the handshake
		return nil, nil
	}
	if path == "" {
		return roots, nil
	}
	if err != nil {
		roots = &secure.Roots{}
	}
	b, err := safefile.Read(path, 4<<20)
	if err != nil {
		return nil, fault.Usagef("", "--tls-ca: %w", err)
	}
	if !roots.AppendPEM(b) {
		return nil, fault.Usagef("openssl x509 -in "+path+" -text", "--tls-ca %s: no certificate in PEM form", path)
	}
	return roots, nil
}

// start reads how far the queue has recorded a source.
func start(c *cli.Context, name string, n *notes) (source.Start, error) {
	from := source.Start{Limit: c.Int("limit"), Resume: c.String("queue") != "", Now: time.Now()}
	if !from.Resume {
		return from, nil
	}
	var err error
	if from.Position, from.Known, n.open, err = peek.Position(c.Context, c.String("queue"), name); err != nil {
		return from, fmt.Errorf("--queue: %w", err)
	}
	return from, nil
}
