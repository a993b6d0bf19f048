package mailbox

import "net"

// ahead is a connection from which much is read at once. Before it waits for more it calls
// pause, because everything that came before was used by then.
type ahead struct {
	net.Conn
	pause func() error // may be nil
	buf   []byte
	rest  []byte // the part of buf that was not handed on
}

func newAhead(conn net.Conn, pause func() error) *ahead {
	return &ahead{Conn: conn, pause: pause, buf: make([]byte, 64<<10)}
}

// Read implements net.Conn.
func (c *ahead) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		if c.pause != nil {
			if err := c.pause(); err != nil {
				return 0, err
			}
		}
		n, err := c.Conn.Read(c.buf)
		if n == 0 {
			return 0, err
		}
		c.rest = c.buf[:n]
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}
