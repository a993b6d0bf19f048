package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"pulse/lib/shared/escape"
	"pulse/lib/shared/task"
)

// metric is one of the metrics, and its samples. One without samples is left out.
type metric struct {
	name, help string
	samples    []sample
}

type sample struct {
	labels string // as labels returns them
	n      int64
}

// Metrics returns the figures in the text exposition format of Prometheus. All are
// gauges: what they count can become less.
func (f *Figures) Metrics() []byte {
	var tasks []sample
	for _, st := range task.States {
		tasks = append(tasks, sample{labels("state", string(st)), int64(f.counts[st])})
	}
	held := 0
	if f.held != "" {
		held = 1
	}
	var b bytes.Buffer
	for _, m := range append([]metric{
		{"pulse_queue_info", "The queue; its format is a label.", []sample{{labels("format", "1"), 1}}},
		{"pulse_tasks", "Tasks in each state.", tasks},
		{"pulse_refused_today", "Records that add refused since 00:00 UTC.", number(f.refusedToday())},
		{"pulse_refused_kept", "Refused records that are kept.", number(f.kept)},
		{"pulse_refused_kept_bytes", "Size of the refused records that are kept.", number(int(f.keptBytes))},
		{"pulse_held", "1 while the queue is held.", number(held)},
		{"pulse_oldest_scheduled_seconds", "How long the task that waits longest for a start has been due.", seconds(f.longestDue)},
		{"pulse_oldest_awaiting_seconds", "How long the task that waits longest for a person has waited.", seconds(f.longestAwaiting)},
		{"pulse_starts_24h", "Starts of workers within the last 24 hours.", []sample{
			{labels("kind", "ask"), int64(f.asks)}, {labels("kind", "effect"), int64(f.effects)},
		}},
	}, f.peopleMetrics()...) {
		if len(m.samples) > 0 {
			fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s gauge\n", m.name, m.help, m.name)
		}
		for _, s := range m.samples {
			fmt.Fprintf(&b, "%s%s %d\n", m.name, s.labels, s.n)
		}
	}
	return b.Bytes()
}

func number(n int) []sample { return []sample{{n: int64(n)}} }

func seconds(d time.Duration) []sample { return number(int(d.Seconds())) }

var labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// labels returns pairs of a name and a value, which may be anything.
func labels(pairs ...string) string {
	var list []string
	for pair := range slices.Chunk(pairs, 2) {
		list = append(list, pair[0]+`="`+labelEscapes.Replace(escape.ASCII(pair[1]))+`"`)
	}
	return "{" + strings.Join(list, ",") + "}"
}
