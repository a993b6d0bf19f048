package https

import (
	"context"
	"net"
	"slices"

	"pulse/lib/fetch/secure"
	"pulse/lib/shared/fault"
)

// dial connects to one of the hosts. The first connection is made here, any later one by
// Redial, because this process may not connect any more.
func (c *Client) dial(ctx context.Context, _, address string) (net.Conn, error) {
	if !slices.Contains(c.Hosts, address) {
		return nil, fault.Failedf("", "a connection to a host that was not named (this is a bug)")
	}
	ctx, cancel := context.WithTimeout(ctx, c.limits().Dial)
	defer cancel()
	conn, err := c.reach(ctx, address)
	if err != nil {
		return nil, err
	}
	host, _, _ := net.SplitHostPort(address) // it was joined by Address
	secured, err := secure.Client(ctx, conn, host, "http/1.1", c.RootCAs)
	if err != nil { // a nil *tls.Conn is not a nil net.Conn
		return nil, err
	}
	return secured, nil
}

func (c *Client) reach(ctx context.Context, address string) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reached && c.Redial != nil {
		conn, err := c.Redial(ctx, address)
		if err != nil {
			return nil, fault.Temporaryf("", "%w", err)
		}
		return conn, nil
	}
	conn, err := secure.Dial(ctx, address)
	if err != nil {
		return nil, fault.Temporaryf("", "%w", err)
	}
	if c.Connected != nil && !c.reached {
		if err := c.Connected(); err != nil {
			conn.Close()
			return nil, err
		}
	}
	c.reached = true
	return conn, nil
}
