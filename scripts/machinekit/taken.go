package main

import (
	"errors"
	"fmt"
	"time"
)

// cutOff takes the network of the runner that has a worker. From then on nobody knows whether it lives.
func (w *world) cutOff() (err error) {
	if w.cut, err = w.caught("long cut off", "asked"); err != nil {
		return err
	}
	w.since = time.Now()
	w.ended = make(chan error, 1)
	go func() {
		var twice error
		err := w.until("the worker that was cut off is ended", func() (bool, error) {
			starts := len(w.noted("asked", "long cut off"))
			alive, err := w.cut.Sh("pgrep -x sleep -u pulse-worker || :")
			if alive != "" && starts > 1 {
				twice = errors.New("the task was started elsewhere while its worker lived")
			}
			return alive == "" || twice != nil, err
		})
		w.lasted = time.Since(w.since)
		w.ended <- errors.Join(err, twice)
	}()
	return w.cut.cable("down")
}

// gate turns one off while it takes mail.
func (w *world) gate() error { return w.restarted(w.machines["gate1"]) }

// restarted turns a machine off, and on again.
func (w *world) restarted(m *computer) error {
	m.off()
	return errors.Join(m.boot(), m.work())
}

func (w *world) runner() error {
	m, err := w.caught("long off", "asked")
	if err != nil {
		return err
	}
	if m == w.cut {
		return errors.New("the machine that is cut off got a task")
	}
	if err := w.restarted(m); err != nil {
		return err
	}
	return w.until("it is asked once more", func() (bool, error) { return len(w.noted("asked", "long off")) == 2, nil })
}

// sender turns it off in a hand-over. A person says yes again, and it is handed over again.
func (w *world) sender() error {
	m, err := w.caught("slow send", "sent")
	if err != nil {
		return err
	}
	if err := w.restarted(m); err != nil {
		return err
	}
	return w.until("a person says yes again", func() (bool, error) { return len(w.noted("sent", "slow send")) == 2, nil })
}

// primary loses the first server, as the page says.
func (w *world) primary() error {
	start := time.Now()
	db1, db2 := w.machines["db1"], w.machines["db2"]
	db1.off()
	if _, err := db2.Sh("pg_ctlcluster " + w.version + " main promote"); err != nil {
		return err
	}
	if err := errors.Join(db1.boot(), w.paste("db1", "standby", map[string]string{"PRIMARY=db1": "PRIMARY=db2"})); err != nil {
		return err
	}
	subject := "after the failover"
	if _, err := w.caught(subject, "asked"); err != nil {
		return err
	}
	w.apart = append(w.apart, fmt.Sprintf("the failover, with the new standby, took %.1f s until mail that came after it was worked on", time.Since(start).Seconds()))
	return nil
}

// healed waits for the end of the worker that was cut off, and its task's new start, before the
// network comes back.
func (w *world) healed() error {
	err := <-w.ended
	if err != nil {
		return err
	}
	w.apart = append(w.apart, fmt.Sprintf("%s was cut off; its worker was ended after %.0f s", w.cut.name, w.lasted.Seconds()))
	err = w.until("it is started elsewhere", func() (bool, error) { return len(w.noted("asked", "long cut off")) == 2, nil })
	if err != nil {
		return err
	}
	w.apart = append(w.apart, fmt.Sprintf("its task was started on %s after %.0f s", w.noted("asked", "long cut off")[1][2], time.Since(w.since).Seconds()))
	return w.cut.cable("up")
}

// drained hands in nothing more, and waits until nothing is open, and nothing is proposed that a
// gate has not taken, between two looks; then cron ends everywhere.
func (w *world) drained() error {
	close(w.enough)
	w.streaming.Wait()
	m := w.machines["gate2"]
	err := w.until("all is done", func() (bool, error) {
		out, err := m.Sh(m.as("pulse-queue list --json; pulse-queue outbox; pulse-queue list --json"))
		if err != nil || out != "" {
			return false, err
		}
		asks, err := w.tasks()
		return asks.asks >= len(w.mail), err
	})
	if err != nil {
		return err
	}
	close(w.night)
	w.awake.Wait()
	return w.each(jobs, (*computer).rest)
}
