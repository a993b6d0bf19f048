package spool

import (
	"strings"

	"pulse/lib/queue/store"
	"pulse/lib/shared/task"
)

// A shelf of package queue is a directory, and a thing on it is a file. The exceptions: the hold
// and the last jump of the clock are files of the queue's own directory, the ids that were pruned
// and the names of mails are lines (pruned.go), and a spent approval, the first of two, labels, an extract
// and a finding lie in the directories of other shelves, which every queue has.

// dirOf returns the directory of a shelf; "" is the queue itself.
func dirOf(s store.Shelf) string {
	switch s {
	case store.Hold, store.Clocks:
		return ""
	case store.Spent, store.Partly:
		return approvalDir
	case store.Labels:
		return metaDir
	case store.Extracts:
		return resultDir
	case store.Findings:
		return positionDir
	}
	return string(s)
}

// suffixes holds what names of files end in, where that is not .json.
var suffixes = map[store.Shelf]string{
	store.Results: "", store.Outbox: ".jsonl", store.Spent: ".spent", store.Partly: ".partly", store.Labels: ".labels", store.Extracts: ".extract",
	store.Findings: ".finding",
}

func suffixOf(s store.Shelf) string {
	if suffix, ok := suffixes[s]; ok {
		return suffix
	}
	return ".json"
}

// fileOf returns the name of a thing's file.
func fileOf(s store.Shelf, key string) string {
	switch s {
	case store.Hold:
		return holdFile
	case store.Clocks:
		return clockFile
	case store.Pruned, store.Names:
		return prunedDir + "/" + key[:min(3, len(key))] // a forged line may name anything
	}
	return dirOf(s) + "/" + key + suffixOf(s)
}

// keyOf returns the key of the thing in a file of a shelf's directory.
func keyOf(s store.Shelf, name string) (key string, ok bool) {
	key, ok = strings.CutSuffix(name, suffixOf(s))
	return key, ok && (!byTask(s) || task.ValidID(key))
}

// byTask reports whether the keys of a shelf are ids of tasks.
func byTask(s store.Shelf) bool {
	return s != store.Grants && s != store.Sessions && s != store.Positions && s != store.Findings && s != store.Hold && s != store.Clocks
}

// stagedFile returns the file of a new thing until its line is committed.
func stagedFile(s store.Shelf, key string) string {
	switch s {
	case store.Results, store.Drafts:
		return tmpDir + "/" + key + ".result"
	case store.Outbox:
		return tmpDir + "/" + key + ".outbox"
	case store.Refused, store.Extracts:
		return tmpDir + "/" + key + "." + string(s)
	}
	return tmpDir + "/" + key + ".json"
}

func taskFile(st task.State, id string) string { return fileOf(store.On(st), id) }
