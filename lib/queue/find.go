package queue

import (
	"fmt"
	"strings"

	"pulse/lib/queue/store"
	"pulse/lib/shared/task"
)

// Find loads the task of a whole id. It returns ErrUnknown if the task has no file,
// because it was pruned or never existed.
func Find(v store.View, id string) (Stored, error) {
	st, err := v.Where(id)
	if err == nil && st == "" {
		err = unknown(v, id)
	}
	if err != nil {
		return Stored{}, err
	}
	return Load(v, st, id)
}

// unknown returns the error about an id that is no task's.
func unknown(v store.View, id string) error {
	refused, err := v.Has(store.Refused, id)
	switch {
	case err != nil:
		return err
	case refused:
		return fmt.Errorf("%w: %s", ErrRefused, id)
	}
	return fmt.Errorf("%w: %s", store.ErrUnknown, id)
}

// LeastPrefix is the least number of digits that may stand for an id.
const LeastPrefix = 4

// Whole returns the id that begins with prefix, which needs at least LeastPrefix digits.
// The id must be unique among the open tasks or, if no open task matches, among all tasks,
// including the pruned ones; for that Whole reads the names of all tasks. A whole id is
// returned as it is, whether the queue knows it or not.
func Whole(s store.Store, prefix string) (id string, err error) {
	switch {
	case task.ValidID(prefix):
		return prefix, nil
	case strings.Trim(prefix, "0123456789abcdef") != "":
		return "", fmt.Errorf("%w: %s is no id", store.ErrUnknown, prefix)
	case len(prefix) < LeastPrefix:
		return "", fmt.Errorf("%w: %s is too short, want %d digits of an id or more",
			store.ErrUnknown, prefix, LeastPrefix)
	}
	ids, err := s.Match(prefix)
	switch {
	case err != nil:
		return "", err
	case len(ids) == 0:
		return "", fmt.Errorf("%w: %s", store.ErrUnknown, prefix)
	case len(ids) > 1:
		return "", fmt.Errorf("%s is the beginning of more than one id, such as %s and %s", prefix, ids[0], ids[1])
	}
	return ids[0], nil
}
