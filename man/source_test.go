package man

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// source is the syntax of a package of ours, its tests left out.
type source []*ast.File

func load(t *testing.T, name string) (files source) {
	t.Helper()
	dir := "../lib/" + name
	if rooms, err := filepath.Glob("../lib/*/" + name); err != nil || len(rooms) == 1 {
		dir = rooms[0]
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, e.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// constants returns the values of the constants that match.
func (s source) constants(t *testing.T, match func(name, typ string) bool) (values []string) {
	t.Helper()
	for _, f := range s {
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != len(spec.Names) {
				return true
			}
			for i, name := range spec.Names {
				lit, ok := spec.Values[i].(*ast.BasicLit)
				if ok && match(name.Name, typeName(spec.Type)) && text(lit) != "" {
					values = append(values, text(lit))
				}
			}
			return true
		})
	}
	if values == nil {
		t.Fatal("no such constants")
	}
	return values
}

func typeName(e ast.Expr) string {
	if e == nil {
		return ""
	}
	return types.ExprString(e)
}

// text returns a literal's value: a string without its quotes.
func text(lit *ast.BasicLit) string {
	if s, err := strconv.Unquote(lit.Value); err == nil {
		return s
	}
	return lit.Value
}

func ofType(want string) func(name, typ string) bool {
	return func(_, typ string) bool { return typ == want }
}

func suffixed(suffix string) func(name, typ string) bool {
	return func(name, _ string) bool { return strings.HasSuffix(name, suffix) }
}

// written returns the names of the members that functions ("Type.Func") write to
// a record.Object.
func (s source) written(t *testing.T, functions ...string) (names []string) {
	t.Helper()
	found := 0
	for _, f := range s {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || !slices.Contains(functions, strings.TrimPrefix(typeName(fn.Recv.List[0].Type), "*")+"."+fn.Name.Name) {
				continue
			}
			found++
			ast.Inspect(fn, func(n ast.Node) bool {
				if _, inner := n.(*ast.FuncLit); inner {
					return false // writes the objects of a list
				}
				if call, ok := n.(*ast.CallExpr); ok && isObject(call) && !slices.Contains(names, text(call.Args[0].(*ast.BasicLit))) {
					names = append(names, text(call.Args[0].(*ast.BasicLit)))
				}
				return true
			})
		}
	}
	if found != len(functions) {
		t.Fatalf("found %d of %v", found, functions)
	}
	return names
}

func isObject(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) != 2 || !slices.Contains([]string{"Str", "StrIf", "Int", "IntIf", "Bool", "BoolIf", "Time", "Strs", "StrsIf", "Raw", "Nested"}, sel.Sel.Name) {
		return false
	}
	_, ok = call.Args[0].(*ast.BasicLit)
	return ok
}

// keys returns the keys of the policy file, out of the tags of the type it is
// decoded into.
func (s source) keys(typ ast.Expr, prefix string) (list []string) {
	switch e := typ.(type) {
	case *ast.Ident:
		if def := s.definition(e.Name); def != nil {
			return s.keys(def, prefix)
		}
	case *ast.ArrayType:
		return s.keys(e.Elt, prefix)
	case *ast.MapType:
		if def, ok := e.Value.(*ast.Ident); ok && s.definition(def.Name) != nil {
			return s.keys(def, prefix+".TRUST")
		}
	case *ast.StructType:
		for _, f := range e.Fields.List {
			tag, _ := strconv.Unquote(f.Tag.Value)
			key := strings.TrimPrefix(prefix+"."+reflect.StructTag(tag).Get("toml"), ".")
			list = append(list, s.keys(f.Type, key)...)
		}
		return list
	}
	return []string{prefix}
}

func (s source) definition(name string) (def ast.Expr) {
	for _, f := range s {
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.Name == name {
				def = spec.Type
			}
			return true
		})
	}
	return def
}
