package agentkit

import (
	"bytes"
	"os"
	"slices"
	"testing"
)

// TestLexical: clients take a/.. out of a path before they open it, and the kernel does not, if a
// is a link. What is judged is what is opened.
func TestLexical(t *testing.T) {
	for name := range workers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShift(t, name, "Do it.")
			must(t, os.MkdirAll(s.inside+"/d/e/f", 0o755))
			must(t, os.MkdirAll(s.inside+"/d/outside", 0o755))
			must(t, os.MkdirAll(s.inside+"/sub", 0o755))
			must(t, os.WriteFile(s.inside+"/sub/CLAUDE.md", []byte(planted), 0o644))
			must(t, os.WriteFile(s.inside+"/sub/GEMINI.md", []byte(planted), 0o644))
			must(t, os.WriteFile(s.inside+"/sub/AGENTS.md", []byte(planted), 0o644))
			must(t, os.WriteFile(s.inside+"/sub/file", []byte("plain"), 0o644))
			must(t, os.Symlink("d/e/f", s.inside+"/deep"))
			must(t, os.Symlink("../outside", s.inside+"/out"))
			s.giveAway(t)
			s.calls = nil
			use := func(tool string, args ...any) {
				c := call{Name: tool, Args: map[string]any{}}
				for i := 0; i < len(args); i += 2 {
					c.Args[args[i].(string)] = args[i+1]
				}
				s.calls = append(s.calls, c)
			}
			for _, dir := range []string{"", s.inside + "/"} {
				switch name {
				case "claude":
					use("Read", "file_path", s.inside+"/sub/file")
					use("Read", "file_path", dir+"deep/../../outside/secret")
					use("Write", "file_path", dir+"deep/../../outside/pwned", "content", "x")
					use("Grep", "pattern", "SECRET", "path", dir+"deep/../../outside", "output_mode", "content")
					use("Glob", "pattern", "*", "path", dir+"deep/../../outside")
					use("Glob", "pattern", dir+"out/*")
					use("Glob", "pattern", dir+"deep/../../outside/*")
					use("Glob", "pattern", dir+"**/secret")
					use("Grep", "pattern", "SECRET", "glob", "out/*", "output_mode", "content")
					use("Grep", "pattern", "OUTSIDE-SECRE", "output_mode", "content")
					use("Grep", "pattern", "SECRET", "glob", "deep/../../outside/*", "output_mode", "content")
				case "gemini":
					use("read_file", "file_path", "sub/file")
					use("read_file", "file_path", dir+"deep/../../outside/secret")
					use("write_file", "file_path", dir+"deep/../../outside/pwned", "content", "x")
					use("list_directory", "dir_path", dir+"deep/../../outside")
					use("glob", "pattern", dir+"out/*")
					use("glob", "pattern", "**/secret")
					use("glob", "pattern", dir+"deep/../../outside/*")
					use("grep_search", "pattern", "OUTSIDE-SECRE")
					use("grep_search", "pattern", "SECRET", "include_pattern", "out/*")
					use("grep_search", "pattern", "SECRET", "include_pattern", "deep/../../outside/*")
				case "codex":
					for _, js := range []string{
						"text(await tools.apply_patch(" + string(encode("*** Begin Patch\n*** Add File: "+dir+"deep/../../outside/pwned\n+x\n*** End Patch\n")) + "))",
						"text(await tools.view_image({path: " + string(encode(dir+"deep/../../outside/secret")) + "}))",
					} {
						s.calls = append(s.calls, call{Name: "functions/exec", Raw: js})
					}
				}
			}
			before := s.tree(t)
			end, judged := s.works(t)
			if end.Event != "finished" || *end.Exit != 0 || !slices.ContainsFunc(judged, func(l line) bool { return l.Reason == "path_refused" }) {
				t.Errorf("%+v, %+v", end, judged)
			}
			if got := changed(before, s.tree(t)); len(got) > 0 {
				t.Errorf("there is now also %q", got)
			}
			if bytes.Contains(s.seen.Bytes(), []byte(":"+outsideSecret)) {
				t.Error("the model has seen what is outside")
			}
			s.kind(t)
		})
	}
}
