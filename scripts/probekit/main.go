// Probekit is scripts/probe-receiver: it asks a receiving server whether it lets
// forged Authentication-Results fields pass.
//
// Where --receiver names a preset of pulse-authorize init, what that receiver writes is
// forged as a whole, and judged as its kind of verdict is.
package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"pulse/lib/shared/escape"
)

// The exit statuses are those of pulse(7).
const (
	trusted    = 0
	notTrusted = 1
	usage      = 64
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	err := errUsage
	ok := true
	switch {
	case len(args) > 0 && args[0] == "mail":
		err = mail(args[1:], stdout, stderr)
	case len(args) > 0 && args[0] == "submit":
		err = submit(args[1:], stdout)
	case len(args) > 0 && args[0] == "check":
		ok, err = check(args[1:], stdin, stdout)
	}
	switch {
	case errors.Is(err, errUsage):
		fmt.Fprintf(stderr, "probe-receiver: error: %s\n", escape.Message(err.Error()))
		return usage
	case err != nil:
		fmt.Fprintf(stderr, "probe-receiver: error: %s\n", escape.Message(err.Error()))
		return notTrusted
	case !ok:
		return notTrusted
	}
	return trusted
}

var errUsage = errors.New("usage: probe-receiver mail --to ADDR [--from ADDR] [--receiver NAME] [--pin ID] [--broken|--inside] | probe-receiver submit --to ADDR --from OWNER (--receiver NAME|--pin ID) --server smtp://HOST [--sender ADDR] [--login USER --password-file FILE] | probe-receiver check --nonce N [--pin ID] [--direct] <RECORDS")

// flags parses args. Arguments that do not fit are errUsage.
func flags(args []string, define func(*flag.FlagSet)) error {
	set := flag.NewFlagSet("probe-receiver", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	define(set)
	err := set.Parse(args)
	if err == nil && set.NArg() > 0 {
		err = fmt.Errorf("stray argument %s", set.Arg(0))
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		return fmt.Errorf("%w; %w", err, errUsage)
	}
	return err
}

// define defines the flags that every probe has.
func (p *probe) define(set *flag.FlagSet) {
	set.StringVar(&p.to, "to", "", "")
	set.StringVar(&p.from, "from", "", "")
	set.StringVar(&p.pin, "pin", "", "")
	set.StringVar(&p.receiver, "receiver", "", "")
	set.StringVar(&p.envelope, "sender", "", "")
}

// begin completes a probe and checks it.
func (p *probe) begin() error {
	if p.from == "" {
		p.from = p.to
	}
	var nonce [16]byte
	rand.Read(nonce[:])
	p.nonce = hex.EncodeToString(nonce[:])
	if err := p.name(); err != nil {
		return err
	}
	return p.valid()
}

// mail prints the mail, and on stderr what to do with it.
func mail(args []string, stdout, stderr io.Writer) error {
	var p probe
	err := flags(args, func(set *flag.FlagSet) {
		p.define(set)
		set.BoolVar(&p.broken, "broken", false, "")
		set.BoolVar(&p.inside, "inside", false, "")
	})
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(stdout, errUsage)
		return nil
	}
	if err != nil {
		return err
	}
	if err := p.begin(); err != nil {
		return err
	}
	where := "from another provider"
	if p.inside {
		where = "from the server itself, as one of its users, or with sendmail -t"
	}
	fmt.Fprintf(stderr, "probe-receiver: send this to %s %s; then: pulse-fetch --limit 20 SOURCE | scripts/probe-receiver check --nonce %s\n", p.to, where, p.nonce)
	_, err = io.WriteString(stdout, p.message(time.Now()))
	return err
}
