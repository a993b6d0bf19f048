package monthkit

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// count says how many letters there are of each job.
func count(list []*letter) string {
	of := map[string]int{}
	for _, l := range list {
		of[l.job]++
	}
	var words []string
	for _, job := range slices.Sorted(maps.Keys(of)) {
		words = append(words, fmt.Sprintf("%d of %s", of[job], job))
	}
	first := strings.SplitN(list[0].text, "\n", 2)[0]
	return strings.Join(words, ", ") + "; the first: " + first
}

// report prints what came of it, beside the figures of the month without a memory.
func (w *world) report(n int) {
	notices, _ := os.ReadFile(w.dir + "/out/notices")
	fmt.Printf("\n%-40s %-13s %6s %9s %7s %9s\n", "incident", "mails before", "now", "questions", "starts", "disagrees")
	for _, i := range w.incidents {
		fmt.Printf("%-40s %-13s %6d %9d %7d %9d\n", i.name, cmp.Or(i.before, "-"), i.letters, i.asked, i.starts, i.wrong)
	}
	fmt.Printf("\n%d days, seed %d: %d mails, %d tasks, %d lines of the log, %d starts, %d power cuts\n",
		n, *seed, len(w.model.order), len(w.model.tasks), w.logs.all, w.model.began, w.cuts)
	fmt.Printf("cron mailed %d times: %d on the worst day; %d of the days had a mail though nothing was wrong\n",
		len(w.letters), w.worst, w.noisy)
	fmt.Printf("%d notices, %d questions to the person\n", strings.Count(string(notices), "\n"), w.questions())
	fmt.Printf("%d disagreements\n", len(w.model.wrong))
}

// alike returns the first of the disagreements of each kind, and how many more there are.
func alike(list []string) (kinds []string) {
	particular := regexp.MustCompile(`[0-9a-f]{8,}|\d+|[a-z.]+@`)
	at, n := map[string]int{}, map[string]int{}
	for _, text := range list {
		kind := particular.ReplaceAllString(text, "#")
		if n[kind]++; n[kind] == 1 {
			at[kind] = len(kinds)
			kinds = append(kinds, text)
		}
	}
	for kind, i := range at {
		if n[kind] > 1 {
			kinds[i] += fmt.Sprintf(" [and %d like it]", n[kind]-1)
		}
	}
	return kinds
}
