package screen

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pulse/lib/queue"
	"pulse/lib/shared/request"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// whole is a record with every member that a page names. SEEN stands for a text that
// people are shown, HIDDEN for one that they are not, ID for the id of a task.
const whole = `{"message":{"source":"SEEN","uid":42,"uidvalidity":7,"id":"SEEN","digest":"HIDDEN","received":"2026-11-21T06:55:00Z",` +
	`"fetched":"2026-11-21T07:00:02Z","size":5321,"headers":[["From","HIDDEN"],["X-HIDDEN","HIDDEN"]],"from":"SEEN","subject":"SEEN","text":"SEEN\nSEEN",` +
	`"scope":"snippet","truncated":true,"attachments":[{"name":"SEEN","type":"SEEN","size":3},{"name":"SEEN","type":"SEEN","size":0,"omitted":true},ATTACHED],"thread":{"in_reply_to":["SEEN","SEEN"],"references":["SEEN","SEEN"]},"defects":["HIDDEN"],` +
	`"sender":{"id":7,"chat":-100,"bot":false,"mentioned":true},` +
	`"dkim":{"from":"HIDDEN","why":"HIDDEN","signatures":[{"result":"HIDDEN","domain":"HIDDEN","headers":["HIDDEN"]}],"dmarc":{"result":"found","domain":"HIDDEN"}},` +
	`"webhook":{"result":"HIDDEN","why":"HIDDEN","scheme":"HIDDEN","timestamp":"2026-11-21T07:00:02Z","type":"HIDDEN"}},` +
	`"request":{"action":"external_send","target":["SEEN","SEEN"],"tool":"SEEN","args":{"text":"SEEN","SEEN":["SEEN",{"SEEN":"SEEN"}]},"evidence":["SEEN"],"files":[FILE]},` +
	`"identity":{"sender":"SEEN","trust":"owner_verified_email","verified":true,"stale":false,"automatic":false,"reason":"SEEN","why":"SEEN",` +
	`"auth":{"authserv_id":"HIDDEN","dkim":"HIDDEN","dkim_domain":"HIDDEN","spf":"HIDDEN","dmarc":"HIDDEN","header_from":"HIDDEN"},"session":"SEEN","signed":"HIDDEN",` +
	`"via":"agent","parent":"1ID","root":"2ID","ordinal":0,"depth":1,"budget":9,"bulk":true,` +
	`"labels":["private"],"labelled":[{"label":"private","by":"SEEN","task":"6ID","at":"2026-11-21T07:00:00Z"}]},` +
	`"decision":{"action":"external_send","outcome":"require_owner_confirmation","rule":"SEEN","reason":"SEEN","why":"SEEN","policy":"HIDDEN"},` +
	`"extra":{"HIDDEN":"HIDDEN"},"task":{"id":"3ID","kind":"effect","created":"2026-11-21T07:00:00Z","answers":"4ID","thread":"5ID"}}`

// TestWorkerGetsWhatPeopleSee: there is a canary in each text of a record, in an unknown
// member of every object, and in each header field. A worker reads those that are on the
// screen, and no others.
func TestWorkerGetsWhatPeopleSee(t *testing.T) {
	canaries := 0
	file := regexp.MustCompile("SEEN|HIDDEN").ReplaceAllStringFunc(strings.NewReplacer(
		"ATTACHED", strings.Replace(string(aFile("SEEN-name", "SEEN-data")), "{", `{"type":"SEEN",`, 1),
		"FILE", string(aFile("SEEN-name", "SEEN-data")), "ID", strings.Repeat("0", 31)).Replace(strange(t, whole)), func(word string) string {
		canaries++
		return fmt.Sprintf("%s%dx", strings.ToLower(word), canaries)
	})
	s := &queue.Stored{Task: task.Task{ID: "3" + strings.Repeat("0", 31), State: task.Awaiting, Change: task.Change{Since: now, Reason: "seen-reason"}}}
	if err := s.Parse([]byte(file + "\n")); err != nil {
		t.Fatal(err)
	}
	s.Outcomes = []queue.Outcome{{
		Task: "7" + strings.Repeat("0", 31), Action: terms.Destructive, Tool: "seen-of-a-tool", Target: []string{"seen1@example.com", "seen2@example.com"},
		Ending: "refused", Reason: "seen as a reason", At: now,
	}}
	line := string(s.Given().Line())
	sheet := strings.Join(Sheet(s, &Case{Now: now, Root: &Origin{ID: s.Identity.Root}, Parent: &Origin{ID: s.Identity.Parent}}), "\n")
	for _, shown := range []string{line, sheet, strings.Join(Task(s, now), "\n")} {
		if found := regexp.MustCompile("(?i)hidden[0-9]*").FindAllString(shown, -1); found != nil {
			t.Errorf("%q in\n%s", found, shown)
		}
	}
	if !strings.Contains(line, `"outcomes":[{"task":"7`) {
		t.Error(line)
	}
	for _, canary := range regexp.MustCompile("seen[0-9]+x").FindAllString(file, -1) {
		if !strings.Contains(line, canary) || !strings.Contains(sheet, canary) {
			t.Errorf("%s: the worker gets it: %v; the screen has it: %v", canary, strings.Contains(line, canary), strings.Contains(sheet, canary))
		}
	}
	var got any
	if err := json.Unmarshal([]byte(line), &got); err != nil {
		t.Fatal(err)
	}
	for _, text := range texts(got) {
		if data, err := base64.StdEncoding.DecodeString(text); err == nil && string(data) == "SEEN-data" {
			text = string(data)
		}
		for l := range strings.SplitSeq(text, "\n") {
			if !strings.Contains(sheet, l) && !slices.Contains(notWords, l) {
				t.Errorf("the worker gets %q, and no line of the screen has it:\n%s", l, sheet)
			}
		}
	}
}

// notWords are texts that the screen says in words of its own.
var notWords = []string{"snippet", "agent"}

func aFile(name, data string) []byte {
	list := request.AppendFiles(nil, []request.File{{Name: name, Data: []byte(data)}})
	return list[1 : len(list)-1]
}

// strange adds a member that no page names to each object of a record, except in args,
// where any member has a meaning.
func strange(t *testing.T, file string) string {
	t.Helper()
	added := strings.ReplaceAll(file, "{", `{"HIDDEN-name":{"HIDDEN":["HIDDEN"]},`)
	args := regexp.MustCompile(`"args":.*?,"evidence"`)
	added = args.ReplaceAllLiteralString(added, args.FindString(file))
	if n := strings.Count(added, "HIDDEN-name"); n < 16 {
		t.Fatalf("%d objects: %s", n, added)
	}
	return added
}

// texts returns every string of a JSON value, except the names of members.
func texts(v any) (list []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, e := range v {
			list = append(list, texts(e)...)
		}
	case map[string]any:
		for _, e := range v {
			list = append(list, texts(e)...)
		}
	}
	return list
}
