package task

import (
	"maps"
	"slices"
)

// Events lists the events of a task, sorted.
var Events = slices.Sorted(maps.Keys(table))
