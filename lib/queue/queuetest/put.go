package queuetest

import (
	"cmp"
	"slices"
	"time"

	"pulse/lib/authorize/decision"
	"pulse/lib/classify/identity"
	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
	"pulse/lib/shared/task"
)

// Put adds a task in the state that it names, whatever would have led there, and returns
// it as Load would: its file is made of its content.
func (m *Memory) Put(s queue.Stored) (queue.Stored, error) {
	file := File(&s)
	put := queue.Stored{Task: s.Task}
	if err := put.Parse(file); err != nil {
		return put, err
	}
	if put.Task.Since.IsZero() {
		put.Task.Since = put.Task.Created
	}
	l := audit.Line{
		Time: put.Task.Since, Event: "put", Task: put.Task.ID, To: put.Task.State,
		Digest: put.Task.Digest, Change: put.Task.Change, Kind: put.Kind(),
		Action: put.Decision.Action, Sender: put.Identity.Sender, Trust: put.Identity.Trust,
	}
	if put.Message != nil {
		l.Source, l.MessageID = put.Message.Source, cmp.Or(put.Message.ID, put.Message.Digest)
	}
	blob := store.Blob{Shelf: store.On(l.To), Key: l.Task, Bytes: file, Made: put.Task.Created}
	return put, m.Update(func(store.View) (*store.Commit, error) {
		return &store.Commit{Lines: []audit.Line{l}, Blobs: []store.Blob{blob}}, nil
	})
}

// File returns a task file with the content of a task.
func File(s *queue.Stored) []byte {
	var o record.Object
	if s.Message != nil {
		o.Raw(envelope.Member, s.Message.Append(nil))
	}
	if s.Request != nil {
		o.Raw(request.Member, s.Request.Append(nil))
	}
	o.Raw(identity.Member, s.Identity.Append(nil))
	o.Raw(decision.Member, s.Decision.Append(nil))
	o.Raw(task.Member, s.Task.AppendFixed(nil))
	return append(o.Bytes(), '\n')
}

// Lay puts a thing on a shelf as if by hand, or removes it if it has no bytes. The log
// says nothing about it.
func (m *Memory) Lay(s store.Shelf, key string, item store.Item) {
	m.mu.Lock()
	defer m.mu.Unlock()
	shelf := m.shelf(s)
	t := thing{bytes: item.Bytes, made: shelf[key].made, writer: item.Writer}
	if t.made.IsZero() {
		t.made = time.Unix(0, int64(len(shelf))) // in the order in which they were laid
	}
	file := m.Tasks[key]
	isFile := slices.Contains(task.States, task.State(s))
	switch {
	case item.Bytes == nil && isFile:
		delete(m.Tasks, key)
	case item.Bytes == nil:
		delete(shelf, key)
	case isFile:
		file.State, file.File = task.State(s), t
		m.Tasks[key] = file
	default:
		if shelf == nil {
			shelf = map[string]thing{}
		}
		shelf[key], m.Things[s] = t, shelf
		m.Outboxes[key], _ = store.ReadOutbox(item.Bytes)
	}
}

// Log returns the lines of the log, oldest first.
func (m *Memory) Log() []audit.Line {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.clone().lines
}
