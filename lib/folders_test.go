package lib_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

type folder struct {
	name    string
	imports []string
}

// folders are the stages in the order of the pipeline, after what they share. A folder
// imports only those named with it, which stand above it: so there is no circle.
var folders = []folder{
	{"shared", nil},
	{"fetch", []string{"shared"}},
	{"classify", []string{"shared", "fetch"}},
	{"authorize", []string{"shared", "classify"}},
	{"queue", []string{"shared", "classify", "authorize"}},
	{"approve", []string{"shared", "classify", "authorize", "queue"}},
}

// room returns the path of the package of that name.
func room(name string) string {
	if dirs, err := filepath.Glob("*/" + name); err == nil && len(dirs) == 1 {
		return "lib/" + dirs[0]
	}
	return "lib/" + name
}

// folderOf returns in which folder of lib a package lies, or the command that it is.
func folderOf(pkg string) string {
	parts := strings.Split(strings.TrimPrefix(pkg, "pulse/"), "/")
	if parts[0] == "lib" && len(parts) > 1 {
		return parts[1]
	}
	return strings.Join(parts, "/")
}

// misplaced returns what is wrong about the arrows between folders.
func misplaced(all map[string][]string) (faults []string) {
	above, drawn := map[string][]string{}, map[string]bool{}
	for _, f := range folders {
		above[f.name] = f.imports
	}
	for pkg, list := range all {
		from := folderOf(pkg)
		if !strings.HasPrefix(pkg, "lib/") {
			continue
		}
		if _, ok := above[from]; !ok {
			faults = append(faults, fmt.Sprintf("%s lies in no folder of the table", pkg))
		}
		for _, imp := range list {
			to := folderOf(imp)
			if !strings.HasPrefix(imp, "pulse/lib/") || to == from {
				continue
			}
			drawn[from+" "+to] = true
			if !slices.Contains(above[from], to) {
				faults = append(faults, fmt.Sprintf("%s imports %s, and lib/%s may import %v only", pkg, imp, from, above[from]))
			}
		}
	}
	for i, f := range folders {
		for _, to := range f.imports {
			if !slices.ContainsFunc(folders[:i], func(g folder) bool { return g.name == to }) {
				faults = append(faults, fmt.Sprintf("the table lets lib/%s import lib/%s, which does not stand above it", f.name, to))
			}
			if !drawn[f.name+" "+to] {
				faults = append(faults, fmt.Sprintf("the table lets lib/%s import lib/%s, and nothing there does", f.name, to))
			}
		}
	}
	return faults
}

func TestFoldersFollowThePipeline(t *testing.T) {
	for _, fault := range misplaced(imports(t)) {
		t.Error(fault)
	}
}

// TestFoldersFollowThePipelineFinds holds the check against what it is made for.
func TestFoldersFollowThePipelineFinds(t *testing.T) {
	for pkg, imp := range map[string]string{
		"lib/shared/record":     "pulse/lib/fetch/message",       // what is shared knows no stage
		"lib/fetch/message":     "pulse/lib/classify/identity",   // upward
		"lib/authorize/tools":   "pulse/lib/queue",               // upward, to a stage's own package
		"lib/queue/spool":       "pulse/lib/approve/screen",      // upward
		"lib/authorize/tools/x": "pulse/lib/fetch/message",       // down, over a stage
		"lib/ledger":            "pulse/lib/shared/fault",        // in no folder
		"lib/fetch/imaptest":    "pulse/lib/queue/disk/disktest", // test rooms are rooms
	} {
		all := imports(t)
		all[pkg] = append(slices.Clone(all[pkg]), imp)
		if len(misplaced(all)) == 0 {
			t.Errorf("%s may import %s", pkg, imp)
		}
	}
}

// TestSharedIsShared: a room that one stage alone needs belongs to that stage.
func TestSharedIsShared(t *testing.T) {
	all, needed := imports(t), map[string]map[string]bool{}
	for pkg, list := range all {
		for _, imp := range list {
			if own := strings.TrimPrefix(imp, "pulse/"); strings.HasPrefix(own, "lib/shared/") {
				if needed[own] == nil {
					needed[own] = map[string]bool{}
				}
				needed[own][folderOf(pkg)] = true
			}
		}
	}
	for pkg := range all {
		if strings.HasPrefix(pkg, "lib/shared/") && !strings.HasSuffix(pkg, "test") && len(needed[pkg]) < 2 {
			t.Errorf("%s serves %v only", pkg, needed[pkg])
		}
	}
}

// TestFoldersSayWhatTheyOwn: README.md of a folder names its rooms, and what it imports
// as the table has it.
func TestFoldersSayWhatTheyOwn(t *testing.T) {
	for _, f := range folders {
		b, err := os.ReadFile(f.name + "/README.md")
		if err != nil {
			t.Error(err)
			continue
		}
		imports := "Imports: nothing of pulse."
		if len(f.imports) > 0 {
			imports = "Imports: lib/" + strings.Join(f.imports, ", lib/") + "."
		}
		if !strings.Contains(string(b), "\n"+imports+"\n") {
			t.Errorf("lib/%s/README.md does not say %q", f.name, imports)
		}
		for _, name := range roomsOf(t, f.name) {
			if !strings.Contains(string(b), "`"+name+"`") {
				t.Errorf("lib/%s/README.md does not name `%s`", f.name, name)
			}
		}
	}
	for _, name := range roomsOf(t, ".") {
		if !slices.ContainsFunc(folders, func(f folder) bool { return f.name == name }) {
			t.Errorf("lib/%s is not a folder of the table", name)
		}
	}
}

func roomsOf(t *testing.T, dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && e.Name() != "testdata" {
			names = append(names, e.Name())
		}
	}
	return names
}
