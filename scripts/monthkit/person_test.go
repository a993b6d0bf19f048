package monthkit

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// round lets the person look at what waits, and sign answers to it on another machine. Some get
// a no, and some never get an answer.
func (w *world) round() {
	if w.holiday || w.down || w.wrong != 0 {
		return
	}
	var files []string
	for _, t := range w.waiting() {
		no := ""
		switch w.answer(t.id) {
		case "never":
			continue
		case "no":
			no = " --no"
		}
		text, err := w.sh(w.person("pulse-approve statement ") + t.id + no)
		lines := strings.Split(strings.TrimSpace(text), "\n")
		if err != nil {
			w.disagree("statement %s: %v: %s", t.id, err, text)
			continue
		}
		file := w.sign(t.id, lines[len(lines)-1]+"\n")
		files = append(files, file)
		if w.model.asked[t.id]++; no == "" {
			w.model.yes[t.id]++
		}
	}
	if len(files) > 0 {
		w.must(w.person("pulse-approve take ") + strings.Join(files, " "))
		w.look()
		w.soon("external_send", "$WORKER")
	}
}

// waiting returns what waits for the person, in an order that does not depend on ids.
func (w *world) waiting() (list []*ticket) {
	for _, t := range w.model.tasks {
		if t.state == "awaiting_review" {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b *ticket) int { return strings.Compare(a.id, b.id) })
	return list
}

// answer says what the person says, always the same to one task.
func (w *world) answer(id string) string {
	switch n := id[0]; {
	case n == '0' && w.ignores:
		return "never"
	case n < '3':
		return "no"
	}
	return "yes"
}

// sign returns a file with a line and its signature.
func (w *world) sign(id, text string) string {
	file := fmt.Sprintf("%s/home/answer-%s", w.dir, id)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.must("rm -f " + file + ".sig; ssh-keygen -q -Y sign -n pulse-approve -f " + w.key + " " + file + " 2>/dev/null && " +
		"cat " + file + ".sig >>" + file)
	return file
}
