package audit

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"pulse/lib/shared/task"
)

// TestEvents: every event that is declared here is listed, so that a log can be asked
// for it.
func TestEvents(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "line.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared []task.Event
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		typ, ok := spec.Type.(*ast.SelectorExpr)
		if lit, is := spec.Values[0].(*ast.BasicLit); ok && is && typ.Sel.Name == "Event" {
			word, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			declared = append(declared, task.Event(word))
		}
		return true
	})
	slices.Sort(declared)
	if len(declared) < 15 || !slices.Equal(declared, Events) {
		t.Errorf("declared are %v, listed %v", declared, Events)
	}
}
