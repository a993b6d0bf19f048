package https

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"pulse/lib/fetch/secure"
	"pulse/lib/shared/fault"
)

// answer is the body of an answer, which is read within its bounds.
type answer struct {
	ctx    context.Context // of the caller
	resp   *http.Response
	kind   string // Content-Type without parameters
	left   int64
	cancel context.CancelFunc
	idle   *time.Timer
	wait   time.Duration
}

func newAnswer(
	ctx context.Context, resp *http.Response, cancel context.CancelFunc, most int64, wait time.Duration,
) *answer {
	a := &answer{ctx: ctx, resp: resp, kind: mediaType(resp), left: most, cancel: cancel, wait: wait}
	a.idle = time.AfterFunc(wait, cancel)
	a.idle.Stop()
	return a
}

// Read implements io.Reader.
func (a *answer) Read(p []byte) (int, error) {
	a.idle.Reset(a.wait)
	defer a.idle.Stop() // what reads it may take its time
	n, err := a.resp.Body.Read(p[:min(int64(len(p)), a.left+1)])
	if a.left -= int64(n); a.left < 0 {
		return 0, Broken("an answer that is too long")
	}
	if err != nil && err != io.EOF {
		err = plain(a.ctx, err)
	}
	return n, err
}

// Close ends the answer. What is left of it is read, within its bounds, so that the connection
// can be used again.
func (a *answer) Close() {
	_, _ = io.Copy(io.Discard, a)
	a.idle.Stop()
	_ = a.resp.Body.Close()
	a.cancel()
}

// plain returns an error of the library without the words of the server, and with the reason
// why a request ended.
func plain(ctx context.Context, err error) error {
	var classed *fault.Error
	var network *net.OpError
	var slow net.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &classed):
		return classed
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return secure.ErrStalled
	case errors.As(err, &slow) && slow.Timeout():
		return secure.ErrStalled
	case errors.As(err, &network):
		return network
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the server ends the connection")
	}
	return Broken("HTTP that can't be read")
}

// after reads a Retry-After field (RFC 9110 §10.2.3).
func after(field string) time.Duration {
	const most = 24 * time.Hour
	d := time.Duration(0)
	if n, err := strconv.ParseUint(field, 10, 31); err == nil {
		d = time.Duration(n) * time.Second
	} else if t, err := http.ParseTime(field); err == nil {
		d = time.Until(t).Round(time.Second)
	}
	return max(0, min(d, most))
}
