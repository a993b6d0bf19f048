package tools

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"pulse/lib/shared/lazy"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
)

// What configures the next run is not for this run to write: a hook, a setting or an
// instruction that is written now is obeyed later, by another task or by a person's shell.
// What is decided here is a name. A program that is run anyway and reads a file with a plain
// name (Makefile, conftest.py) is what the box is for.

// Place is where a path leads in a workspace. Its paths are relative to that.
type Place struct {
	Given      string // as it was given
	Real       string // clean, and without links
	Link       bool   // the last name of it is a symbolic link
	Repository string // a directory on Real, or Real, that has a HEAD, so that git may take it for a repository; empty: none
}

// The names of files that agents read their instructions and servers from without being
// told to, as plain returns them. Most such files are in a directory, or have a name, that
// begins with a dot.
var (
	instructions = lazy.Regexp(`^((agents|claude|codex|crush|gemini|qwen|warp)([.](local|override))?[.]md|(crush|opencode)[.]jsonc?)$`)
	short        = lazy.Regexp(`^[^.~]{1,7}~[0-9]{1,6}([.][^.]{1,3})?$`)
)

// head is the file without which git takes no directory for a repository.
const head = "head"

// Configures says which component of a path in a workspace makes it configure the next run,
// and why; empty if none does.
func Configures(path string) (component, why string) {
	names := strings.Split(path, "/")
	for i, name := range names {
		if name == "" || name == "." || name == ".." {
			continue
		}
		folded := fold(name)
		file := plain(folded)
		switch last := i == len(names)-1; {
		case strings.HasPrefix(folded, "."):
			return name, "begins with a dot, as settings do that a later run, git or a shell obeys"
		case short().MatchString(file):
			return name, "may be the short name of another file"
		case last && instructions().MatchString(file):
			return name, "is what agents take their instructions or servers from"
		case last && file == head:
			return name, "makes git take a directory for a repository, and run what its config says"
		}
	}
	return "", ""
}

// fold returns a name so that all names are equal which a file system may take for each
// other: it folds case (ext4 with casefold, NTFS, exFAT), decomposes (APFS, ZFS) and drops
// what is not seen (HFS+, ext4). Blanks at the beginning are dropped too, because agents trim
// what a model gives them.
func fold(name string) string {
	seen := func(s string) string {
		return strings.Map(func(r rune) rune {
			if unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
				return -1
			}
			return unicode.ToLower(unicode.ToUpper(r)) // ToUpper takes ı for I and ſ for S, as exFAT does
		}, s)
	}
	name = norm.NFKD.String(seen(norm.NFKD.String(seen(name))))
	return strings.TrimLeftFunc(name, unicode.IsSpace)
}

// plain returns a folded name without what Windows drops at its end: a stream, dots and
// blanks. Its disks are reached from Linux, too. It also takes \ for /, but nothing that
// Linux mounts does.
func plain(folded string) string {
	folded, _, _ = strings.Cut(folded, ":")
	return strings.TrimRightFunc(folded, func(r rune) bool { return r == '.' || unicode.IsSpace(r) })
}

// configures says why what is written to a place would configure the next run; empty: it
// would not.
func (at *Place) configures() string {
	if name, why := Configures(at.Given); name != "" {
		return fmt.Sprintf("%s: %s %s", at.Given, name, why)
	}
	if name, why := Configures(at.Real); name != "" {
		return fmt.Sprintf("%s leads to %s: %s %s", at.Given, at.Real, name, why)
	}
	if at.Repository != "" {
		return fmt.Sprintf("%s lies in %s, which has a HEAD: git may take that for a repository, and run what it says", at.Given, at.Repository)
	}
	return ""
}

// writes reports whether a request for the action may change what its paths lead to.
func writes(a terms.Action) bool { return a != terms.ReadPublic && a != terms.ReadPrivate }

// refused returns where paths lead that configure the next run and that exec.write does not
// name, and why the first of them does. The action is that of the request, because a check
// before this one found it no weaker than the tool's.
func (u *use) refused() (reals []string, why string) {
	if !writes(u.r.Action) {
		return nil, ""
	}
	for i := range u.places {
		at := &u.places[i]
		w := at.configures()
		if _, ok := match(u.p.Exec.Write, at.Real); w == "" || ok {
			continue
		}
		reals, why = append(reals, at.Real), cmp.Or(why, w)
	}
	return reals, why
}

// Configuring returns where the paths of a request lead that are rejected because exec.write
// does not name them.
func Configuring(p *policy.Policy, r *request.Request, world World) []string {
	u := use{p: p, r: r, world: world, tool: Of(r)}
	if world == nil || u.tool == "" || u.paths().Reason != pathConfigures {
		return nil
	}
	reals, _ := u.refused()
	return reals
}

// Linked returns a path of a request that would be written through a symbolic link; empty if
// there is none. What it leads to when it is written need not be what it leads to now.
func Linked(p *policy.Policy, r *request.Request, world World) string {
	u := use{p: p, r: r, world: world, tool: Of(r)}
	if world == nil || u.tool == "" || !writes(r.Action) || u.paths().rejects() {
		return ""
	}
	for i := range u.places {
		if u.places[i].Link {
			return u.places[i].Given
		}
	}
	return ""
}
