package main

import (
	"os"
	"regexp"
	"strings"
)

// syncs holds what a trace says about failed syncs. After a failed sync the kernel may
// have dropped the pages and marked them clean. Then the next sync succeeds and means
// nothing, unless the file was written again.
type syncs struct {
	injected bool
	unreal   bool     // into a call that can't fail so, see unreal
	again    []string // files synced again, unwritten
}

var (
	onFile   = regexp.MustCompile(`^\d+ +(\w+)\(\d+<([^>]*)>`)
	truncing = regexp.MustCompile(`^\d+ +openat\(.*O_TRUNC.* = \d+<([^>]*)>`)
)

func readSyncs(log string) (s syncs, err error) {
	b, err := os.ReadFile(log)
	if err != nil {
		return s, err
	}
	stale := map[string]bool{} // files whose sync failed; "" is all of them
	for line := range strings.Lines(string(b)) {
		injected := strings.Contains(line, "(INJECTED)")
		s.injected = s.injected || injected
		s.unreal = s.unreal || injected && unreal(injectedCall(line))
		if m := truncing.FindStringSubmatch(line); m != nil {
			delete(stale, m[1])
			continue
		}
		m := onFile.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		name, file := m[1], m[2]
		switch name {
		case "write", "pwrite64", "ftruncate":
			delete(stale, file)
		case "syncfs":
			if len(stale) > 0 {
				s.again = append(s.again, strings.TrimSpace(line))
			}
			if injected {
				stale[""] = true
			}
		case "fsync", "fdatasync":
			if stale[file] {
				s.again = append(s.again, strings.TrimSpace(line))
			}
			if injected {
				stale[file] = true
			}
		}
	}
	return s, nil
}
