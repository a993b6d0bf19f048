package agentkit

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestMentions: where a text names a file with an @, as a person at a terminal would to have it
// read, no agent reads it. No hook is asked about that.
func TestMentions(t *testing.T) {
	bin := installed(t)
	starts := map[string]string{"reader": strings.Replace(workers["claude"].start, "../workers", "../readers", 1)}
	for name, worker := range workers {
		starts[name] = worker.start
	}
	for name, start := range starts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, bin)
			a := newAttacker(t)
			must(t, os.WriteFile(w.home+"/policy.toml", bytes.Replace(fmt.Appendf(nil, policy, w.inside), []byte(`"read_private", `), nil, 1), 0o600))
			text := `See @secret , x@secret , @./secret and @\"secret\" , @` + w.inside + `/secret and @` + w.outside + `/secret now.\n@secret\n\\@secret @` + w.outside + `/secret \n`
			must(t, os.WriteFile(w.home+"/record", []byte(strings.NewReplacer("Do it.", text, "{\"message", `{"schema":{},"message`).Replace(record)), 0o600))
			must(t, copyWorkers(w))
			out := w.run(t, strings.ReplaceAll(start, "..", w.home)+` <"$HOME/record" 2>"$HOME/error"; echo "exit $?"`, "URL="+a.URL, "PULSE_TASK=x")
			if !strings.HasSuffix(out, "exit 0\n") || !bytes.Contains(a.seen.Bytes(), []byte("secret now.")) {
				t.Fatalf("%s %s; the model has seen %s", out, w.file("home/error"), &a.seen)
			}
			for _, secret := range []string{insideSecret, outsideSecret} {
				if bytes.Contains(a.seen.Bytes(), []byte(secret)) {
					t.Errorf("the model has seen %s", secret)
				}
			}
		})
	}
}
