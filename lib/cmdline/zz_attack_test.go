package cmdline_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

func TestZZAttackRewrite(t *testing.T) {
	w := newThree(t)
	real := w.approved("real@partner.example")
	id := w.propose("evil@partner.example")
	w.forge(id)
	text, err := os.ReadFile(w.approval(id))
	w.do(err)
	q := w.path("home/q")
	sh := func(script string, args ...string) string {
		return w.mustBy(w.intake, "", "/bin/sh", append([]string{"-c", "cd " + q + " && " + script, "sh"}, args...)...)
	}
	forged := strings.Replace(strings.TrimSpace(string(text)), `"level":"terminal"`, `"level":"user"`, 1)
	line := `{"time":"2026-10-01T00:00:00Z","event":"repaired",` + strings.TrimSuffix(forged[1:], "}") +
		`,"pad":"` + strings.Repeat("x", 2000) + `","prev":"sha256:` + strings.Repeat("0", 64) + `"}` + "\n"
	w.do(os.WriteFile(w.path("out/line"), []byte(line), 0o644))
	sh("cp -a audit /" + w.path("home") + "/sav; cp -p checkpoint agenda starts " + w.path("home") + "/; rm -f audit/* checkpoint; cp " + w.path("out/line") + " audit/2026-10.jsonl; truncate -s 48M audit/2026-10.jsonl; chmod 660 audit/2026-10.jsonl; chmod 660 audit/2026-10.jsonl")
	cmd := w.by(w.person, "pulse-queue", "list")
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	w.do(cmd.Start())
	time.Sleep(400 * time.Millisecond)
	sh("mv approvals/" + real + ".json audit/2026-10.jsonl")
	fmt.Println("list:", cmd.Wait(), out.String())
	fmt.Println(sh("ls -l audit approvals; head -c 300 audit/2026-10.jsonl"))
	sh("mv audit/2026-10.jsonl approvals/" + id + ".json; rm -f audit/*; cp -a " + w.path("home") + "/sav/* audit/; rm -f checkpoint agenda starts; cp " + w.path("home") + "/checkpoint " + w.path("home") + "/agenda " + w.path("home") + "/starts .; chmod 660 checkpoint agenda starts")
	o, st := w.send()
	fmt.Println("send:", o, st, w.sent(), w.read("out/sent"))
	fmt.Printf("%+v\n", w.show(id))
}
