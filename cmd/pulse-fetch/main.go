// Pulse-fetch turns messages into records. See pulse-fetch(1).
package main

import (
	"context"
	"errors"
	"io"
	"log"
	"os"
	"runtime/debug"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/fetch/message"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/redial"
)

func main() {
	log.SetOutput(io.Discard) // net/http logs the words of a server that speaks unasked
	os.Exit(redial.Main(func() int { return cmdline.Main(app()) }, reach))
}

func app() *cli.App {
	return &cli.App{
		Name:      "pulse-fetch",
		Usage:     "Turn messages from a mailbox or from files into records.",
		ArgsUsage: "SOURCE...",
		Action:    fetch,
		Flags: []cli.Flag{
			cmdline.QueueFlag(),
			&cli.IntFlag{Name: "limit", Usage: "`N` at most so many messages; default: 10 without --queue, else all"},
			&cli.StringFlag{Name: "scope", Value: string(envelope.Snippet),
				Usage: "`S` how much: headers, snippet, full text, or attachments too; default: snippet"},
			&cli.IntFlag{Name: "max-text", Usage: "`N` characters of text with --scope full; default: 20000"},
			&cli.Int64Flag{Name: "max-attachments",
				Usage: "`BYTES` of a message with --scope attachments; default: 2097152"},
			cmdline.PolicyFlag(),
			&cli.BoolFlag{Name: "dkim", Usage: "verify DKIM signatures whatever the policy says; asks DNS"},
			&cli.StringFlag{Name: "resolver",
				Usage: "`ADDR` the name server to ask, an IP address or host:port; default: the machine's"},
			&cli.StringFlag{Name: "search",
				Usage: "`KEYS` let the server select: 'FROM alice SINCE 2026-01-31 UNSEEN'"},
			&cli.DurationFlag{Name: "wait", Usage: "`D` wait so long for a message if there is none"},
			&cli.StringFlag{Name: "password-command",
				Usage: "`CMD` prints the password or token; run without a shell"},
			&cli.StringFlag{Name: "password-env", Usage: "`NAME` of the variable with the password"},
			&cli.StringFlag{Name: "password-file", Usage: "`FILE` with the password, mode 600"},
			&cli.StringFlag{Name: "webhook-secret-file",
				Usage: "`FILE` with the secrets of webhook:DIR, one a line, mode 600"},
			&cli.StringFlag{Name: "auth",
				Usage: "`M` plain, login, xoauth2 or oauthbearer; default: plain or login, as the server offers"},
			&cli.StringFlag{Name: "hosts", Usage: "`LIST` other hosts that jmap: may be sent to, with commas between them"},
			&cli.StringFlag{Name: "tls-ca", Usage: "`FILE` certificates to trust besides the system's"},
			&cli.BoolFlag{Name: "mbox-quoted", Usage: "whatever writes mbox:FILE quotes the From lines in a message"},
			&cli.BoolFlag{Name: "insecure-loopback", Usage: "imap:// to this machine without TLS"},
			cmdline.SandboxFlag(),
			&cli.DurationFlag{Name: "timeout", Value: 5 * time.Minute, Usage: "`D` for the whole run, --wait not counted; default: 5m"},
		},
	}
}

// softLimit is the memory, in bytes, above which the collector works harder: a message is
// as large as a stranger made it, and garbage must not double that.
const softLimit = 44 << 20

// maxWait bounds --wait: nothing is meant to stay.
const maxWait = 24 * time.Hour

// fetch writes one record for each message of the source.
func fetch(c *cli.Context) error {
	debug.SetMemoryLimit(softLimit)
	opt, err := textOptions(c)
	if err != nil {
		return err
	}
	timeout, wait := c.Duration("timeout"), c.Duration("wait")
	switch {
	case timeout <= 0:
		return fault.Usagef("--timeout 5m", "--timeout %v: want a time above 0", timeout)
	case c.IsSet("wait") && (wait <= 0 || wait > maxWait):
		return fault.Usagef("--wait 4m", "--wait %v: want a time above 0, at most %v", wait, maxWait)
	}
	ctx, cancel := context.WithDeadline(c.Context, time.Now().Add(timeout).Add(wait))
	defer cancel()
	n := newNotes(c)
	err = fetchWithin(ctx, c, opt, n)
	if ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded) {
		err = fault.Temporaryf("--timeout D gives a run more time",
			"%s: out of time after %v", c.Args().First(), timeout+wait)
	}
	return n.end(c, err)
}

func fetchWithin(ctx context.Context, c *cli.Context, opt message.Options, n *notes) error {
	if err := cmdline.Printable(); err != nil {
		return err
	}
	signed, err := signatures(ctx, c)
	if err != nil {
		return err
	}
	src, err := open(ctx, c, signed.window(opt), n)
	if err != nil {
		return err
	}
	if err := confine(c, src, signed.port(), n); err != nil {
		return err
	}
	out := newWriter(c, opt, src)
	out.verify = signed.verifier(ctx)
	return out.each(ctx, src)
}

func textOptions(c *cli.Context) (message.Options, error) {
	opt := message.Options{
		Scope: envelope.Scope(c.String("scope")), MaxText: c.Int("max-text"), MaxAttachments: c.Int64("max-attachments"),
	}
	whole := opt.Scope == envelope.Full || opt.Scope == envelope.Attachments
	switch {
	case !whole && opt.Scope != envelope.Headers && opt.Scope != envelope.Snippet:
		return opt, fault.Usagef("--scope snippet", "--scope %s: want headers, snippet, full or attachments", opt.Scope)
	case !c.IsSet("max-attachments"):
	case opt.Scope != envelope.Attachments:
		return opt, fault.Usagef("--scope attachments", "--max-attachments is for --scope attachments")
	case opt.MaxAttachments < 1 || opt.MaxAttachments > message.MostMaxAttachments:
		return opt, fault.Usagef("--max-attachments 2097152",
			"--max-attachments %d: want 1 to %d bytes", opt.MaxAttachments, message.MostMaxAttachments)
	}
	switch {
	case !c.IsSet("max-text"):
	case !whole:
		return opt, fault.Usagef("--scope full", "--max-text is for --scope full or attachments")
	case opt.MaxText < 1 || opt.MaxText > message.MostMaxText:
		return opt, fault.Usagef("--max-text 20000",
			"--max-text %d: want 1 to %d characters", opt.MaxText, message.MostMaxText)
	}
	return opt, nil
}
