package hook

import (
	"strings"
	"unicode"
)

// patched returns the paths of a patch of Codex. What may be read as a line that names a
// file, and does not look exactly like one, leads out.
func patched(text string) (list []string) {
	for line := range strings.SplitSeq(text, "\n") {
		switch bare := strings.TrimSuffix(line, "\r"); bare {
		case "*** Begin Patch", "*** End Patch", "*** End of File":
			continue
		}
		if name, ok := names(line); ok {
			list = append(list, name)
		} else if strings.HasPrefix(strings.TrimLeftFunc(line, ignored), "***") {
			list = append(list, "../")
		}
	}
	return list
}

// names returns the file that a line of a patch names.
func names(line string) (name string, ok bool) {
	for _, head := range []string{"Add File", "Update File", "Delete File", "Move to"} {
		if name, ok := strings.CutPrefix(line, "*** "+head+": "); ok {
			return name, true
		}
	}
	return "", false
}

func ignored(r rune) bool { return unicode.IsSpace(r) || unicode.In(r, unicode.Z, unicode.C) }

func patch(in input) (a args) {
	var list []*string
	text, ok := in.text("command")
	if !ok {
		list = append(list, nil)
	}
	for _, name := range patched(text) {
		name = absolute(name, in.dir)
		list = append(list, &name)
	}
	a.paths(list)
	a.copy(in, "command=patch")
	return a
}

// deletes reports whether a patch of Codex removes a file.
func deletes(in input) bool {
	text, _ := in.text("command")
	return strings.HasPrefix(text, "*** Delete File: ") || strings.Contains(text, "\n*** Delete File: ")
}
