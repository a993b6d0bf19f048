package health

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// TestGist: what differs each time is no difference.
func TestGist(t *testing.T) {
	for _, c := range []struct {
		a, b  string
		alike bool
	}{
		{"", "", true},
		{`{"error":{"message":"invalid x-api-key"},"request_id":"req_011CSa"}`, `{"error":{"message":"invalid x-api-key"},"request_id":"req_9Z"}`, true},
		{"2026-11-21T07:00:00Z ERROR 401 refused", "2026-11-21T07:15:00Z ERROR 401 refused", true},
		{"401 refused", "429 refused", false},
		{"pid 12345: no memory", "pid 99: no memory", true},
		{"took 312ms: timeout", "took 9001ms: timeout", true},
		{"no such file: a.pdf", "no such file: b.pdf", false},
		{"550 no such user a@partner.example", "550 no such user b@partner.example", false},
		{"déjà vu", "deja vu", false},
		{"\xff\xfe", "\xff\xff", true}, // nothing that is a word
	} {
		if got := alike(1, 1, c.a, c.b); got != c.alike {
			t.Errorf("%q and %q: %v", c.a, c.b, got)
		}
	}
	if !alike(75, 75, "one", "two") || alike(75, 1, "one", "one") {
		t.Error("75 says it all, and is not 1")
	}
}

// logged is the end of a log.
type logged struct {
	store.View
	log []audit.Line // oldest first
}

func (p *logged) Back(fn func(audit.Line) bool, _ ...task.Event) error {
	for i := len(p.log) - 1; i >= 0 && fn(p.log[i]); i-- {
	}
	return nil
}

// TestRepeats: a run tells once a day of a task that fails, and of tasks that all fail alike.
func TestRepeats(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for tries, want := range map[string]string{ // of task, minutes, and what is said; ok: it ended well
		"1/0/x":                            "-",
		"1/0/x 1/15/x 1/720/x":             "-r-", // the last one is of another day
		"1/0/x 1/15/y 1/30/x":              "--r",
		"1/0/x 2/1/x 3/2/x":                "-rr",
		"1/0/x 2/1/ok 3/2/x":               "- -",
		"1/0/x 2/1/ok 1/15/x 3/16/x":       "- rr",
		"1/0/x 2/1/y 3/2/x":                "--r",
		"1/0/x r3/1/ok 2/2/x":              "- r", // its reader is not its worker
		"r1/0/x 3/1/ok r2/2/x":             "- r",
		"r1/0/x 2/1/x":                     "--",
		"e1/0/x 2/1/x e3/2/x":              "--r",
		"d1/0/x e2/1/x":                    "--",
		"e1/0/x 2/1/ok e3/2/x":             "- r",
		"1/0/x 1/1500/x 1/2200/x":          "---",
		"1/0/x 1/1500/x! 1/2200/x!":        "-rr", // a person knows of all
		"1/0/x 1/3000/x! 2/3001/y!":        "---",
		"1/0/x 2/2/ok 3/1500/x! 3/1501/x!": "- -r",
	} {
		p, got := &logged{}, ""
		for word := range strings.FieldsSeq(tries) {
			known := strings.HasSuffix(word, "!")
			f := strings.Split(strings.TrimSuffix(word, "!"), "/")
			l := audit.Line{Event: task.Retried, Kind: task.Ask, Action: terms.ReadPublic, From: task.Running, To: task.Scheduled, End: &audit.End{Exit: 1, Said: f[2]}}
			l.Change.Reason = queue.ReasonExit
			good, of := queue.ReasonDone, f[0][0]
			switch of {
			case 'r':
				l.Change.Reason, good = queue.ReasonUnread, queue.ReasonExtracted
			case 'e', 'd':
				l.Kind, l.Action = task.Effect, map[byte]terms.Action{'e': terms.WriteLocal, 'd': terms.ExternalSend}[of]
			}
			if f[2] == "ok" {
				l.End.Exit, l.Change.Reason = 0, good
			}
			var minutes int
			fmt.Sscan(f[1], &minutes)
			l.Task, l.Time = strings.Trim(f[0], "red"), noon.Add(time.Duration(minutes)*time.Minute)
			p.log = append(p.log, l)
			again, err := repeats(p, &l, known)
			switch {
			case err != nil:
				t.Fatal(err)
			case f[2] == "ok":
				got += " "
			case again:
				got += "r"
			default:
				got += "-"
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", tries, got, want)
		}
	}
}

// TestEndsAreBounded: however many ways to end there are, and sides.
func TestEndsAreBounded(t *testing.T) {
	var e ends
	for i := range 5000 {
		l := audit.Line{Event: task.Undecided, Kind: task.Effect, Task: fmt.Sprint(i), From: task.Running, To: task.Awaiting, End: &audit.End{Exit: i + 1}}
		l.Action = terms.Action(fmt.Sprint("a", i%300))
		e.add(&l)
		l.Event, l.From, l.To, l.End = task.Started, task.Scheduled, task.Running, nil
		e.add(&l)
	}
	if len(e.open) > 0 || len(e.sides) != maxSides || len(e.streaks()) != maxSides {
		t.Errorf("%d, %d", len(e.open), len(e.sides))
	}
	for _, s := range e.sides {
		if len(s.alike) > maxAlike {
			t.Errorf("%d", len(s.alike))
		}
	}
}
