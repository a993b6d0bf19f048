package main

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/classify/dkimcheck"
	"pulse/lib/classify/identity"
	"pulse/lib/fetch/message"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
)

// check says which messages have their signatures verified, and by whose answers. With a
// policy those of strangers are not: no answer would change what a stranger may ask for.
type check struct {
	wants  func(*envelope.Message) bool // nil: no message has
	listed func(*envelope.Message) bool // for which of these a proof counts; nil: all
	server netip.AddrPort               // the name server; the zero value: those of this machine
	aside  time.Duration                // what messages that can't be checked may take together
}

// signatures reads --dkim, --policy and --resolver.
func signatures(ctx context.Context, c *cli.Context) (check, error) {
	var k check
	p := policy.Default()
	if c.String("policy") != "" {
		var err error
		if p, err = cmdline.Policy(c); err != nil {
			return k, err
		}
		k.listed = func(m *envelope.Message) bool { return identity.Listed(m, p) }
	}
	k.aside = c.Duration("timeout") / 2
	switch {
	case c.Bool("dkim"):
		k.wants = func(*envelope.Message) bool { return true }
	case p.Evidence != policy.ByAuthRes:
		k.wants = func(m *envelope.Message) bool { return identity.NeedsDKIM(m, p) }
	}
	if !c.IsSet("resolver") {
		return k, nil
	}
	if k.wants == nil && c.String("policy") == "" {
		return k, fault.Usagef("--dkim, or --policy FILE", "--resolver is for signatures, and none is looked at")
	}
	var err error
	k.server, err = nameServer(ctx, c.String("resolver"))
	return k, err
}

// window returns how much of each message is fetched: all of it if there may be a
// signature to verify.
func (k *check) window(opt message.Options) int64 {
	if k.wants != nil {
		return message.MaxMessage + 1
	}
	return opt.Window()
}

// port returns the port of the name servers, 0 if none is asked.
func (k *check) port() uint16 {
	switch {
	case k.wants == nil:
		return 0
	case k.server.IsValid():
		return k.server.Port()
	}
	return dnsPort
}

const dnsPort = 53

// nameServer returns the address that --resolver names: an IP address, with or without a
// port, or a host and a port. A host is looked up once, by the machine's own resolver.
func nameServer(ctx context.Context, text string) (netip.AddrPort, error) {
	if ip, err := netip.ParseAddr(text); err == nil {
		return netip.AddrPortFrom(ip, dnsPort), nil
	}
	host, port, err := net.SplitHostPort(text)
	n, badPort := strconv.ParseUint(port, 10, 16)
	if err != nil || badPort != nil || n == 0 || host == "" {
		return netip.AddrPort{}, fault.Usagef("--resolver 127.0.0.1:53", "--resolver %s: want an IP address, or host:port", text)
	}
	list, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return netip.AddrPort{}, fault.Temporaryf("--resolver 127.0.0.1:53 needs no DNS", "--resolver: %w", err)
	}
	return netip.AddrPortFrom(list[0].Unmap(), uint16(n)), nil
}

// verifier returns the function that fills in message.dkim, nil if no message wants it.
func (k *check) verifier(ctx context.Context) func(*envelope.Message, message.Raw) error {
	if k.wants == nil {
		return nil
	}
	dns := dkimcheck.DNS{}
	if k.server.IsValid() {
		dns.Server = k.server.String()
	}
	checker := dkimcheck.Checker{Resolver: &dkimcheck.Cache{Resolver: dns}, Aside: k.aside}
	return func(m *envelope.Message, raw message.Raw) (err error) {
		switch {
		case !k.wants(m):
			return nil
		case k.listed != nil && !k.listed(m):
			m.DKIM = &envelope.DKIM{Reason: envelope.DKIMNotListed, Why: "the policy does not list the sender"}
			return nil
		}
		if m.DKIM, err = checker.Check(ctx, m, raw); errors.Is(err, dkimcheck.ErrTemporary) {
			return fault.Temporaryf("run again once the name server answers, or name another with --resolver",
				"%s: %w", m.Source, err)
		}
		return err
	}
}
