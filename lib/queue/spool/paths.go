package spool

import (
	"path/filepath"

	"pulse/lib/shared/task"
)

// Workers returns the directory of a queue where package runner keeps its locks.
func Workers(queue string) string { return filepath.Join(queue, workersDir) }

// TaskFile returns the file of a task while it is in a state.
func TaskFile(queue string, st task.State, id string) string {
	return filepath.Join(queue, taskFile(st, id))
}

// HoldFile returns the file that stops every run of a queue while it is there, however
// it got there.
func HoldFile(queue string) string { return filepath.Join(queue, holdFile) }
