package spool

import (
	"strings"

	"pulse/lib/queue"
	"pulse/lib/shared/task"
)

// A shelf of package queue is a directory, and a thing on it is a file. The exceptions: the hold
// and the last jump of the clock are files of the queue's own directory, the ids that were pruned
// and the names of mails are lines (pruned.go), and a spent approval, the first of two, labels, an extract
// and a finding lie in the directories of other shelves, which every queue has.

// dirOf returns the directory of a shelf; "" is the queue itself.
func dirOf(s queue.Shelf) string {
	switch s {
	case queue.Hold, queue.Clocks:
		return ""
	case queue.Spent, queue.Partly:
		return approvalDir
	case queue.Labels:
		return metaDir
	case queue.Extracts:
		return resultDir
	case queue.Findings:
		return positionDir
	}
	return string(s)
}

// suffixes holds what names of files end in, where that is not .json.
var suffixes = map[queue.Shelf]string{
	queue.Results: "", queue.Outbox: ".jsonl", queue.Spent: ".spent", queue.Partly: ".partly", queue.Labels: ".labels", queue.Extracts: ".extract",
	queue.Findings: ".finding",
}

func suffixOf(s queue.Shelf) string {
	if suffix, ok := suffixes[s]; ok {
		return suffix
	}
	return ".json"
}

// fileOf returns the name of a thing's file.
func fileOf(s queue.Shelf, key string) string {
	switch s {
	case queue.Hold:
		return holdFile
	case queue.Clocks:
		return clockFile
	case queue.Pruned, queue.Names:
		return prunedDir + "/" + key[:min(3, len(key))] // a forged line may name anything
	}
	return dirOf(s) + "/" + key + suffixOf(s)
}

// keyOf returns the key of the thing in a file of a shelf's directory.
func keyOf(s queue.Shelf, name string) (key string, ok bool) {
	key, ok = strings.CutSuffix(name, suffixOf(s))
	return key, ok && (!byTask(s) || task.ValidID(key))
}

// byTask reports whether the keys of a shelf are ids of tasks.
func byTask(s queue.Shelf) bool {
	return s != queue.Grants && s != queue.Sessions && s != queue.Positions && s != queue.Findings && s != queue.Hold && s != queue.Clocks
}

// stagedFile returns the file of a new thing until its line is committed.
func stagedFile(s queue.Shelf, key string) string {
	switch s {
	case queue.Results, queue.Drafts:
		return tmpDir + "/" + key + ".result"
	case queue.Outbox:
		return tmpDir + "/" + key + ".outbox"
	case queue.Refused, queue.Extracts:
		return tmpDir + "/" + key + "." + string(s)
	}
	return tmpDir + "/" + key + ".json"
}

func taskFile(st task.State, id string) string { return fileOf(queue.On(st), id) }
