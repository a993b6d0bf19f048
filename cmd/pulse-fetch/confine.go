package main

import (
	"context"
	"fmt"
	"net"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"pulse/lib/fetch/mailbox"
	"pulse/lib/fetch/pull"
	"pulse/lib/fetch/source"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/redial"
	"pulse/lib/shared/sandbox"
)

// How often a run connects to a server again. Over HTTPS a server may end the connection after each
// answer; what bounds a run there is --timeout.
const (
	redialsIMAP  = 16
	redialsHTTPS = 1_000_000
)

// redialer returns a function that connects to a server again once this process can't.
func redialer(most int, addresses ...string) redial.Dial {
	d, err := redial.Start(most, addresses...)
	if err != nil { // it may never be needed
		return func(context.Context, string) (net.Conn, error) { return nil, fmt.Errorf("connecting again: %w", err) }
	}
	return d.Dial
}

// confine gives up all but what the source is read from. For a mailbox on a server that is
// the connection, once it is open and before anything the server says was read: from then
// on no other host can be reached, except name servers at a port that is not 0.
func confine(c *cli.Context, src source.Source, dns uint16, n *notes) error {
	var files []string
	now := func() error {
		_, err := cmdline.Confine(c, sandbox.Source(dns, files...))
		return err
	}
	switch s := src.(type) {
	case *mailbox.Mailbox:
		s.Connected = now
		if cmdline.Confines(c) {
			again := make(chan redial.Dial, 1)
			address := net.JoinHostPort(s.Address.Host, s.Address.Port)
			go func() { again <- redialer(redialsIMAP, n.with(address)...) }() // it costs no time beside the first connection
			s.Connected = func() error {
				dial := <-again
				n.by(dial)
				s.Redial = func(ctx context.Context) (net.Conn, error) { return dial(ctx, address) }
				return now()
			}
		}
		return nil
	case *pull.Mailbox:
		s.Client.Connected = now
		if cmdline.Confines(c) {
			s.Client.Connected = func() error {
				s.Client.Redial = redialer(redialsHTTPS, n.with(s.Client.Hosts...)...)
				n.by(s.Client.Redial)
				return now()
			}
		}
		return nil
	case *source.Files:
		files = s.Paths
	case *source.Maildir:
		files = []string{s.Dir, filepath.Join(s.Dir, "new"), filepath.Join(s.Dir, "cur")}
	case *source.Webhook:
		files, dns = []string{s.Dir}, 0
	case *source.Mbox:
		files = []string{s.Path}
	}
	return now()
}
