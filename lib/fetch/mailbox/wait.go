package mailbox

import (
	"cmp"
	"io"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
)

// maxPause is how long a server can make the pause between two searches by saying again and
// again that there is a new message while a search finds none.
const maxPause = time.Minute

// waiting is what a run knows about the wait for a message.
type waiting struct {
	news  chan struct{} // has an element once the server says how many messages there are
	until time.Time     // when the wait is over; zero before it begins
	pause time.Duration // between two searches
	quiet time.Time     // when the next search may be
	deaf  bool          // the server has no IDLE
}

// changed notes that the server says how many messages there are. That number is not
// compared: a search finds out whether there is a new one.
func (w *waiting) changed(data *imapclient.UnilateralDataMailbox) {
	if data.NumMessages == nil {
		return
	}
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// forget forgets what the server has announced, because the search that follows finds it.
func (w *waiting) forget() {
	select {
	case <-w.news:
	default:
	}
}

// learnIdle finds out whether a run that may have to wait can let the server say when there is mail.
func (f *fetcher) learnIdle() error {
	if f.Wait == 0 || f.client.Caps().Has(imap.CapIdle) {
		return nil
	}
	caps, err := f.client.Capability().Wait() // those above may be from before the login
	f.deaf = err == nil && !caps.Has(imap.CapIdle)
	return err
}

// pauseAfter keeps a run from ending before its time if the server has no IDLE and there was
// nothing. So a crontab that starts a run each minute does not log in each minute. There is no
// connection meanwhile.
func (f *fetcher) pauseAfter() error {
	if !f.deaf || f.emitted+len(f.vanished) > 0 {
		return nil
	}
	f.close()
	over := time.NewTimer(f.Wait)
	defer over.Stop()
	select {
	case <-over.C:
		return nil
	case <-f.ctx.Done():
		return f.ctx.Err()
	}
}

// wait returns once there may be a message that no search has found, or the time is over.
// It reports whether to search again, which is once more at the end. Nothing is waited for
// once there was a message.
func (f *fetcher) wait() (more bool, err error) {
	if f.Wait == 0 || f.deaf || f.emitted+len(f.vanished) > 0 {
		return false, nil
	}
	if f.until.IsZero() {
		f.until, f.pause = time.Now().Add(f.Wait), f.limits().pause
	}
	if f.guard == nil { // what came meanwhile is not announced any more
		return true, f.reopen()
	}
	if time.Until(f.until) <= 0 {
		return false, nil
	}
	return true, f.idle()
}

// idle lets the server say when there is something new. Mail that came after the last
// search was announced in the answer to it, or is as soon as IDLE begins.
func (f *fetcher) idle() error {
	idle, err := f.client.Idle()
	if err != nil {
		return err
	}
	if f.testOnlyIdling != nil {
		f.testOnlyIdling()
	}
	f.rest()
	err = idle.Close()
	select {
	case <-f.client.Closed():
		return cmp.Or(f.client.Close(), io.ErrUnexpectedEOF)
	default:
	}
	if err = cmp.Or(idle.Wait(), err); err != nil {
		return err
	}
	if box := f.client.Mailbox(); box != nil {
		f.messages = box.NumMessages
	}
	return nil
}

// rest returns when there is something new, when the IDLE must end, or when the connection
// ends. A server that gives cause for one search after the other has to wait longer each
// time.
func (f *fetcher) rest() {
	over := time.NewTimer(min(f.limits().renew, time.Until(f.until)))
	defer over.Stop()
	select {
	case <-f.news:
	case <-over.C:
		return
	case <-f.client.Closed():
		return
	}
	if time.Until(f.quiet) > 0 {
		f.pause = min(2*f.pause, maxPause)
	} else {
		f.pause = f.limits().pause
	}
	pause := time.NewTimer(time.Until(f.quiet))
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-over.C:
	case <-f.client.Closed():
	}
	f.quiet = time.Now().Add(f.pause)
}
