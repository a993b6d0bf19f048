package main

import (
	"fmt"
	"os"
	"time"

	"pulse/lib/queue/door"
	"pulse/lib/queue/health"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// conditions finds out what about the server of a queue needs attention, and whether the
// account of the last worker of this machine could connect to it.
func conditions(s door.Store, w door.Server, now time.Time) ([]health.Finding, error) {
	list, err := w.Conditions(now)
	if err != nil || os.Geteuid() != 0 {
		return list, err // only root can try what another account can
	}
	uid, known := lastWorker(s)
	if known && uid != 0 && w.Reachable(int(uid), int(uid)) {
		list = append(list, health.Finding{
			Code: health.Reachable, Text: fmt.Sprintf("a worker, uid %d, can connect to the server", uid),
			Do: "man pulse-deploy, MANY MACHINES: workers have no route to it",
		})
	}
	return list, nil
}

// lastWorker returns the account under which a worker was started last, of the latest lines.
func lastWorker(s door.Store) (uid uint32, known bool) {
	seen := 0
	_ = s.History(func(l audit.Line) bool { // a broken log is found later
		if l.Event == task.Started {
			uid, known = health.UIDOf(l.Account)
		}
		seen++
		return !known && seen < 1000
	})
	return uid, known
}
