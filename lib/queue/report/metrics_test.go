package report

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue/store"
	"pulse/lib/shared/task"
)

var (
	helpLine   = regexp.MustCompile(`^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) ([^\\\n]+)$`)
	typeLine   = regexp.MustCompile(`^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge)$`)
	sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"(?:,[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*")*\})? ([0-9.eE+-]+)$`)
)

// exposition reads the text format of Prometheus more strictly than Prometheus: help,
// type and samples of a metric stand together in this order, and once.
func exposition(text string) (samples map[string]float64, err error) {
	if !strings.HasSuffix(text, "\n") {
		return nil, fmt.Errorf("the last line has no newline")
	}
	samples = map[string]float64{}
	known := map[string]bool{}
	name, typed := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if m := helpLine.FindStringSubmatch(line); m != nil && !known[m[1]] && (name == "" || typed) {
			name, typed = m[1], false
			known[name] = true
			continue
		}
		if m := typeLine.FindStringSubmatch(line); m != nil && m[1] == name && !typed {
			typed = true
			continue
		}
		m := sampleLine.FindStringSubmatch(line)
		if m == nil || m[1] != name || !typed {
			return nil, fmt.Errorf("bad line %q", line)
		}
		if _, twice := samples[m[1]+m[2]]; twice {
			return nil, fmt.Errorf("%s%s stands there twice", m[1], m[2])
		}
		if samples[m[1]+m[2]], err = strconv.ParseFloat(m[3], 64); err != nil {
			return nil, err
		}
	}
	for name := range known {
		found := false
		for s := range samples {
			found = found || s == name || strings.HasPrefix(s, name+"{")
		}
		if !found {
			return nil, fmt.Errorf("%s has no sample", name)
		}
	}
	return samples, nil
}

func TestMetrics(t *testing.T) {
	now := time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)
	f := Figures{counts: map[task.State]int{task.Scheduled: 3, task.Completed: 1_000_000}, now: now, refusedDay: "2026-11-21", refused: 7, kept: 3, keptBytes: 4096, held: "held since", asks: 5, effects: 2, month: newMonth(now, 0)}
	for _, e := range []store.Entry{
		{State: task.Scheduled, Since: now.Add(-time.Minute)},
		{State: task.Scheduled, Since: now.Add(-time.Hour), NotBefore: now.Add(-90 * time.Second)},
		{State: task.Scheduled, Since: now.Add(-48 * time.Hour), NotBefore: now.Add(time.Hour)},
		{State: task.Awaiting, Since: now.Add(-25 * time.Hour)},
		{State: task.Running, Since: now.Add(-100 * time.Hour)},
	} {
		f.noteWait(e)
	}
	got, err := exposition(string(f.Metrics()))
	if err != nil {
		t.Fatalf("%v\n%s", err, f.Metrics())
	}
	want := map[string]float64{
		`pulse_exits_75_1h`:                    0,
		`pulse_failing_senders`:                0,
		`pulse_queue_info{format="1"}`:         1,
		`pulse_refused_today`:                  7,
		`pulse_refused_kept`:                   3,
		`pulse_refused_kept_bytes`:             4096,
		`pulse_held`:                           1,
		`pulse_oldest_scheduled_seconds`:       90,
		`pulse_oldest_awaiting_seconds`:        25 * 3600,
		`pulse_starts_24h{kind="ask"}`:         5,
		`pulse_starts_24h{kind="effect"}`:      2,
		`pulse_tasks{state="scheduled"}`:       3,
		`pulse_tasks{state="completed"}`:       1_000_000,
		`pulse_tasks{state="running"}`:         0,
		`pulse_tasks{state="rejected"}`:        0,
		`pulse_tasks{state="failed"}`:          0,
		`pulse_tasks{state="corrupt"}`:         0,
		`pulse_tasks{state="awaiting_review"}`: 0,
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	f.now, f.held = now.AddDate(0, 0, 1), ""
	if got, err := exposition(string(f.Metrics())); err != nil || got["pulse_refused_today"] != 0 || got["pulse_held"] != 0 {
		t.Errorf("the day after: %v, %v", got, err)
	}
}

// TestExposition: the reader of these tests can tell good from bad.
func TestExposition(t *testing.T) {
	const good = "# HELP a b\n# TYPE a gauge\na 1\na{x=\"y\",z=\"\"} 2\n"
	if _, err := exposition(good); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{
		"a 1\n", "# TYPE a gauge\na 1\n", "# HELP a b\na 1\n", good + good, good + "a 1\n", strings.TrimSpace(good), good + "\n", "# HELP a b\n# TYPE a gauge\n",
		strings.Replace(good, "a 1", "a", 1), strings.Replace(good, "a 1", "a 1 # x", 1), strings.Replace(good, `"y"`, `y`, 1), strings.Replace(good, "gauge", "number", 1),
		strings.Replace(good, "a 1", "b 1", 1), strings.Replace(good, `x="y"`, `x-y="y"`, 1), strings.Replace(good, `"y"`, "\"y\n\"", 1),
	} {
		if got, err := exposition(bad); err == nil {
			t.Errorf("%q is read as %v", bad, got)
		}
	}
}
