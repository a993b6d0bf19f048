package monthkit

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// job is a line of the crontab that starts something.
type job struct {
	when    []string // minute, hour, day, month, day of the week
	command string
}

// readCrontab reads the crontab that is installed. change puts this machine's paths into it.
func readCrontab(t *testing.T, change *strings.Replacer) (env []string, jobs []*job) {
	t.Helper()
	b, err := os.ReadFile("../crontab")
	if err != nil {
		t.Fatal(err)
	}
	variable := regexp.MustCompile(`^[A-Z_]+=`)
	entry := regexp.MustCompile(`^((?:[0-9*/,-]+ +){5})(?:root|pulse) (.+)$`)
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		m := entry.FindStringSubmatch(line)
		switch {
		case line == "" || line[0] == '#':
		case variable.MatchString(line):
			env = append(env, change.Replace(line))
		case m != nil:
			jobs = append(jobs, &job{strings.Fields(m[1]), change.Replace(m[2])})
		default:
			t.Fatalf("a line of the crontab: %s", line)
		}
	}
	return env, jobs
}

// due reports whether cron(8) starts the job in this minute, by the local clock.
func (j *job) due(now time.Time) bool {
	is := []int{now.Minute(), now.Hour(), now.Day(), int(now.Month()), int(now.Weekday())}
	for i, field := range j.when {
		if !slices.ContainsFunc(strings.Split(field, ","), func(part string) bool { return hits(part, is[i]) }) {
			return false
		}
	}
	return true
}

func hits(part string, n int) bool {
	if step, ok := strings.CutPrefix(part, "*/"); ok {
		every, err := strconv.Atoi(step)
		return err == nil && n%every == 0
	}
	return part == "*" || part == strconv.Itoa(n)
}

// does reports whether one of these words is in the job's command.
func (j *job) does(words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(j.command, w) })
}

func TestCron(t *testing.T) {
	env, jobs := readCrontab(t, strings.NewReplacer())
	if !slices.Contains(env, "MAILTO=root") {
		t.Errorf("a person reads what cron mails: %q", env)
	}
	at := time.Date(2027, 3, 1, 4, 20, 0, 0, time.UTC)
	for _, c := range []struct {
		word string
		at   time.Time
		due  bool
	}{
		{"pulse-queue prune", at, true}, {"pulse-queue prune", at.Add(time.Hour), false}, {"pulse-queue health", at, false},
		{"pulse-queue health", at.Add(-10 * time.Minute), true}, {"pulse-fetch", at, true}, {"pulse-fetch", at.Add(time.Minute), true},
		{"pulse-queue outbox", at.Add(time.Minute), true},
	} {
		i := slices.IndexFunc(jobs, func(j *job) bool { return j.does(c.word) })
		if i < 0 || jobs[i].due(c.at) != c.due {
			t.Errorf("%s at %s: job %d is due: %v", c.word, c.at, i, !c.due)
		}
	}
}
