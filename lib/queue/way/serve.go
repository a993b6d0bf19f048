package way

import (
	"errors"
	"io"
	"net"
	"os"
	"time"
)

// maxConns is how many connections there are at once. More wait.
const maxConns = 100

// lingering is how long one end of a connection may go on after the other has said all.
const lingering = 10 * time.Minute

// Conn is a connection of which either half can be closed.
type Conn interface {
	net.Conn
	CloseWrite() error
}

// Listener is a socket that takes such connections.
type Listener interface {
	net.Listener
	SetDeadline(t time.Time) error
}

// Serve hands each connection to lead, in a goroutine, and closes it after that. It ends without
// an error when there has been no connection for the time idle, or never if idle is 0.
func Serve(l Listener, idle time.Duration, lead func(Conn)) error {
	slots := make(chan struct{}, maxConns)
	for {
		slots <- struct{}{}
		if idle > 0 {
			if err := l.SetDeadline(time.Now().Add(idle)); err != nil {
				return err
			}
		}
		c, err := l.Accept()
		if err != nil {
			<-slots
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				return err
			}
			if len(slots) == 0 {
				return nil
			}
			continue
		}
		go func() {
			defer func() { <-slots }()
			defer c.Close()
			lead(c.(Conn))
		}()
	}
}

// Join copies what each says to the other until both have said all, or one fails. It closes
// neither.
func Join(a, b Conn) {
	ended := make(chan struct{})
	go func() {
		pass(b, a)
		close(ended)
	}()
	pass(a, b)
	<-ended
}

// pass copies what one says to another, and then ends that half. A failure ends both halves of
// both at once.
func pass(from, to Conn) {
	_, err := io.Copy(to, from)
	if err == nil {
		err = to.CloseWrite()
	}
	until := time.Now()
	if err == nil {
		until = until.Add(lingering)
	}
	_, _ = from.SetDeadline(until), to.SetDeadline(until)
}
