// Package lib_test holds the structure of the tree: who may import whom.
package lib_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// pure packages decide; they do no I/O and import only pure ones.
var pure = []string{
	"hint", "label", "address", "addrspec", "answers", "approval", "audience", "audit", "authres", "clock", "compare", "consent", "decision", "duration", "edit", "encodedword", "entry", "envelope", "escape", "fault", "finding",
	"identity", "glob", "health", "peer", "pins", "policy", "proposal", "queue", "receivers", "record", "replay", "request", "schema", "screen", "suggest", "taglist",
	"task", "terms", "named", "tools", "webhook", "hook", "trace", "explain", "lazy", "linux", "settings", "store",
}

// impure are the standard packages through which a program touches the world.
var impure = []string{"bufio", "net", "os", "os/exec", "os/signal", "os/user", "path/filepath", "syscall"}

// allowedImpure says why a pure package may import one of them all the same.
var allowedImpure = map[string]string{
	"record bufio":         "Stage writes to a buffer that the command owns",
	"fault os":             "error values",
	"fault syscall":        "error values",
	"policy path/filepath": "IsAbs looks at the text only",
}

// owners are the packages that may import a third-party module; the commands may
// import urfave/cli.
var owners = map[string][]string{
	"github.com/urfave/cli/v2":                 {"lib/shared/cmdline", "lib/approve/desk", "lib/queue/door"},
	"github.com/mattn/go-isatty":               {"lib/shared/cmdline", "lib/approve/tty"},
	"github.com/emersion/go-imap/v2":           {"lib/fetch/mailbox"},
	"github.com/emersion/go-sasl":              {"lib/fetch/mailbox"},
	"github.com/pelletier/go-toml/v2":          {"lib/shared/policy", "lib/authorize/settings"},
	"github.com/tailscale/hujson":              {"lib/authorize/settings"},
	"github.com/emersion/go-message":           {"lib/fetch/decode"},
	"golang.org/x/crypto":                      {"lib/approve/sshsig"},
	"golang.org/x/net":                         {"lib/fetch/message"},
	"golang.org/x/text":                        {"lib/authorize/tools"},
	"golang.org/x/sys":                         {"lib/fetch/secure", "lib/queue/access", "lib/queue/box", "lib/queue/carry", "lib/queue/way", "lib/shared/cmdline", "lib/approve/desk", "lib/queue/disk", "lib/queue/pgstore", "lib/queue/runner", "lib/shared/safefile", "lib/shared/sandbox", "lib/queue/snapshot", "lib/queue/spool", "lib/approve/tty", "lib/authorize/workspace", "lib/authorize/mcp"},
	"github.com/santhosh-tekuri/jsonschema/v6": {}, // the oracle of lib/shared/schema
	"github.com/elastic/go-seccomp-bpf":        {}, // the oracle of lib/shared/sandbox
	"github.com/emersion/go-msgauth":           {}, // the oracle of lib/classify/dkimcheck

	"github.com/rogpeppe/go-internal": {},
	"github.com/creack/pty":           {},
	"github.com/emersion/go-smtp":     {},

	"github.com/landlock-lsm/go-landlock": {"lib/shared/sandbox"},
	"github.com/jackc/pgx/v5":             {"lib/queue/pgstore"},
}

var list = sync.OnceValues(func() ([]byte, error) {
	return exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "pulse/cmd/...", "pulse/lib/...").Output()
})

// imports returns what each package of the module imports, tests excluded.
func imports(t *testing.T) map[string][]string {
	out, err := list()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		all[strings.TrimPrefix(fields[0], "pulse/")] = fields[1:]
	}
	return all
}

func TestPurePackagesArePure(t *testing.T) {
	all := imports(t)
	for _, name := range pure {
		list, ok := all[room(name)]
		if !ok {
			t.Errorf("lib/%s is gone", name)
		}
		for _, imp := range list {
			if slices.Contains(impure, imp) && allowedImpure[name+" "+imp] == "" {
				t.Errorf("lib/%s is pure and imports %s", name, imp)
			}
			if own, ok := strings.CutPrefix(imp, "pulse/lib/"); ok && !slices.Contains(pure, path.Base(own)) {
				t.Errorf("lib/%s is pure and imports lib/%s, which is not", name, own)
			}
		}
	}
}

func TestEachModuleHasItsOwner(t *testing.T) {
	for pkg, list := range imports(t) {
		for _, imp := range list {
			if !strings.Contains(strings.Split(imp, "/")[0], ".") {
				continue
			}
			if strings.HasPrefix(pkg, "cmd/") && strings.HasPrefix(imp, "github.com/urfave/cli/v2") || strings.HasSuffix(pkg, "test") {
				continue
			}
			if !owned(pkg, imp) {
				t.Errorf("%s imports %s, which it does not own", pkg, imp)
			}
		}
	}
}

func owned(pkg, imp string) bool {
	for module, list := range owners {
		if imp == module || strings.HasPrefix(imp, module+"/") {
			return slices.Contains(list, pkg)
		}
	}
	return false
}

// TestRecordStandsAlone: the heart of every stage knows no mail and needs nothing
// but the standard library.
func TestRecordStandsAlone(t *testing.T) {
	for _, name := range []string{"record", "escape", "terms", "address", "authres"} {
		for _, imp := range imports(t)[room(name)] {
			if strings.Contains(imp, ".") || strings.HasPrefix(imp, "pulse/") {
				t.Errorf("lib/%s imports %s", name, imp)
			}
		}
	}
}

// TestAccessKnowsNoTasks: who may use a queue does not depend on what is in it.
func TestAccessKnowsNoTasks(t *testing.T) {
	for _, name := range []string{"spool", "queue", "task", "audit"} {
		if slices.Contains(imports(t)["lib/queue/access"], "pulse/"+room(name)) {
			t.Errorf("lib/queue/access imports lib/%s", name)
		}
	}
}

// TestSnapshotKnowsNoStore: how a queue that moves is copied does not depend on what is in
// it, nor on how it is kept. The store imports it.
func TestSnapshotKnowsNoStore(t *testing.T) {
	for _, name := range []string{"spool", "queue", "task"} {
		if slices.Contains(imports(t)["lib/queue/snapshot"], "pulse/"+room(name)) {
			t.Errorf("lib/queue/snapshot imports lib/%s", name)
		}
	}
}

// TestStagesLinkNoApproval: a stage that reads what strangers wrote holds no code that
// answers for a person, or that runs a worker.
func TestStagesLinkNoApproval(t *testing.T) {
	for _, stage := range []string{"pulse-classify", "pulse-authorize", "pulse-fetch"} {
		out, err := exec.Command("go", "list", "-deps", "pulse/cmd/"+stage).Output()
		if err != nil {
			t.Fatal(err)
		}
		deps := strings.Fields(string(out))
		for _, name := range []string{"desk", "sshsig", "ledger", "runner", "door"} {
			if slices.Contains(deps, "pulse/"+room(name)) {
				t.Errorf("%s links lib/%s", stage, name)
			}
		}
	}
}

// TestLayoutOfQueueHasOwners: spool knows the paths of a queue, and runner those of its
// locks. What works on a queue asks them, and joins no path itself.
func TestLayoutOfQueueHasOwners(t *testing.T) {
	users := map[string]int{"pulse-queue": 0, "pulse-approve": 0, "desk": 0, "health": 0}
	eachFile(t, func(path string, f *ast.File) {
		pkg := filepath.Base(filepath.Dir(path))
		_, user := users[pkg]
		if user {
			users[pkg]++
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && user && x.Name == "filepath" && n.Sel.Name == "Join" {
					t.Errorf("%s joins a path", path)
				}
			case *ast.BasicLit:
				if pkg != "runner" && (strings.Contains(n.Value, ".runner") || strings.Contains(n.Value, ".worker")) {
					t.Errorf("%s names a lock of package runner: %s", path, n.Value)
				}
			}
			return true
		})
	})
	for pkg, files := range users {
		if files == 0 {
			t.Errorf("%s is gone", pkg)
		}
	}
}

// TestThreads: what scripts/test runs without the race detector starts no thread. It runs the
// tests of pulse-authorize diff with it.
func TestThreads(t *testing.T) {
	script, err := os.ReadFile("../scripts/test")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^single='(.*)'$`).FindSubmatch(script)
	if m == nil {
		t.Fatal("scripts/test has no list")
	}
	single, threads := regexp.MustCompile(string(m[1])), 0
	eachFile(t, func(file string, f *ast.File) {
		pkg := path.Dir(path.Join("/pulse/lib", file))
		ast.Inspect(f, func(n ast.Node) bool {
			x, group := n.(*ast.SelectorExpr)
			if _, statement := n.(*ast.GoStmt); !statement && !(group && x.Sel.Name == "Go") {
				return true
			}
			threads++
			if single.MatchString(pkg) && file != "../cmd/pulse-authorize/diff.go" {
				t.Errorf("%s starts a thread, and scripts/test tests %s without the race detector", file, pkg)
			}
			return true
		})
	})
	if threads < 10 {
		t.Errorf("%d threads in all", threads)
	}
}

// TestPlain: whatever the race detector skips in scripts/test runs there without it.
func TestPlain(t *testing.T) {
	script, err := os.ReadFile("../scripts/test")
	if err != nil {
		t.Fatal(err)
	}
	list := func(pattern string) string {
		m := regexp.MustCompile(pattern).FindSubmatch(script)
		if m == nil {
			t.Fatalf("scripts/test has no %s", pattern)
		}
		return string(m[1])
	}
	single, plain := regexp.MustCompile(list(`(?m)^single='(.*)'$`)), regexp.MustCompile(list(`(?m)^plain='(.*)'$`))
	lone, found := strings.Fields(list(`(?m)^lone=\((.*)\)$`)), 0
	for _, top := range []string{".", "../cmd", "../scripts", "../man"} {
		err := filepath.WalkDir(top, func(file string, _ fs.DirEntry, err error) error {
			pkg := path.Dir(path.Join("/pulse/lib", file))
			if err != nil || !strings.HasSuffix(file, "_test.go") || single.MatchString(pkg) {
				return err
			}
			text, err := os.ReadFile(file)
			for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(text, -1) {
				if !plain.Match(m[1]) {
					continue
				}
				if found++; !slices.Contains(lone, "."+strings.TrimPrefix(pkg, "/pulse")) {
					t.Errorf("%s: scripts/test runs %s neither with the race detector nor without", file, m[1])
				}
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	if found < 20 {
		t.Errorf("only %d tests are plain", found)
	}
}

// eachFile calls fn for every Go file of the tree, tests excluded.
func eachFile(t *testing.T, fn func(path string, f *ast.File)) {
	for _, dir := range []string{".", "../cmd"} {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err == nil {
				fn(path, f)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestOneDialer: in lib/fetch only secure.Dial connects, which bounds what the kernel keeps of
// a server's words.
func TestOneDialer(t *testing.T) {
	files, found := token.NewFileSet(), 0
	err := filepath.WalkDir("fetch", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasSuffix(filepath.Dir(name), "test") {
			return err
		}
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok || !strings.HasPrefix(s.Sel.Name, "Dial") {
				return true
			}
			if p, ok := s.X.(*ast.Ident); ok && (p.Name == "net" || p.Name == "tls") {
				if found++; name != "fetch/secure/dial.go" {
					t.Errorf("%s: %s.%s", files.Position(s.Pos()), p.Name, s.Sel.Name)
				}
			}
			return true
		})
		return nil
	})
	if err != nil || found == 0 {
		t.Errorf("%d found, %v", found, err)
	}
}

// TestNothingIsCompiledAtTheStart: no package makes a pattern or a template of its own when a
// command starts, because almost every command links it and most starts do not need it.
func TestNothingIsCompiledAtTheStart(t *testing.T) {
	eachFile(t, func(path string, f *ast.File) {
		for _, d := range f.Decls {
			if d, ok := d.(*ast.GenDecl); ok && compiles(d) && !strings.HasSuffix(f.Name.Name, "test") {
				t.Errorf("%s: lazy.Regexp or sync.OnceValue makes it when it is first used", path)
			}
		}
	})
}

// TestNothingIsCompiledAtTheStartFinds holds the check against what it is made for.
func TestNothingIsCompiledAtTheStartFinds(t *testing.T) {
	for line, want := range map[string]bool{
		"var x = regexp.MustCompile(`a`)":                           true,
		"var x = f(template.Must(y))":                               true,
		"var x = struct{ r any }{regexp.MustCompilePOSIX(`a`)}":     true,
		"var x = lazy.Regexp(`a`)":                                  false,
		"var x = func() any { return regexp.MustCompile(`a`) }":     false,
		"var x = sync.OnceValue(func() any { template.Must(nil) })": false,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "", "package p; "+line, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := compiles(f.Decls[0].(*ast.GenDecl)); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}

// compiles reports whether a declaration makes a pattern or a template, except in a function.
func compiles(d *ast.GenDecl) (found bool) {
	ast.Inspect(d, func(n ast.Node) bool {
		if call, ok := n.(*ast.SelectorExpr); ok {
			found = found || strings.HasPrefix(call.Sel.Name, "MustCompile") || call.Sel.Name == "Must"
		}
		_, isFunc := n.(*ast.FuncLit)
		return !isFunc
	})
	return found
}
