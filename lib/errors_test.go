package lib_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestErrorsAreNotLost: an err that a statement of a block declares does not hide
// another one that is read below the block: it would end with the block, and what is
// read there is nil. An err in the head of an if, for or switch is seen to hide.
func TestErrorsAreNotLost(t *testing.T) {
	files := token.NewFileSet()
	for _, root := range []string{"../cmd", "../lib", "../man", "../scripts"} {
		err := filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(name) != ".go" || strings.Contains(name, "/testdata/") {
				return err
			}
			file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
			if err == nil {
				for _, lost := range lostErrors(file) {
					t.Errorf("%s: this err hides the one that is read below its block", files.Position(lost))
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestErrorsAreNotLostFinds holds the check against what it is made for.
func TestErrorsAreNotLostFinds(t *testing.T) {
	for body, want := range map[string]int{
		`_, err := f(); if x { _, err := f(); err = g() }; return err`:                                 1,
		`_, err := f(); if x { _, err := f(); use(err) }; use(err)`:                                    1,
		`_, err := f(); if x { _, err := f(); use(err) }; err = h(err)`:                                1,
		`var err error; if x { var err error; err = g() }; return err`:                                 1,
		`var err error; { err := g() }; h(func() { use(err) })`:                                        1,
		`_, err := f(); for { _, err := f(); a, err = f() }; return err`:                               1,
		`_, err := f(); switch { case x: err := g() }; return err`:                                     1,
		`_, err := f(); select { case <-x: err := g() }; return err`:                                   1,
		`_, err := f(); h(func() { _, err := f(); { _, err := f(); err = g() }; use(err) })`:           1,
		`_, err := f(); if x { _, err := f(); err = g() } else { err = h() }; return err`:              1,
		`_, err := f(); if x { _, err := f(); use(err) }; if err = h(); err != nil { return err }`:     0,
		`if x { err := g() }; return`:                                                                  1,
		`return func() (err error) { if x { err := g() }; return }`:                                    1,
		`_, err := f(); if x { _, err := f(); use(err) }; err = g(); return err`:                       0,
		`_, err := f(); if x { _, err := f(); use(err) }; _, err = f(); return err`:                    0,
		`_, err := f(); if x { _, err := f(); use(err) }; return nil`:                                  0,
		`_, err := f(); if err := g(); err != nil { return err }; return err`:                          0,
		`_, err := f(); h(func() error { _, err := f(); return err }); return err`:                     0,
		`_, err := f(); if x { err = g() }; return err`:                                                0,
		`_, err := f(); _, err = f(); a, err := f(); return err`:                                       0,
		`if x { _, err := f(); use(err) } else { _, err := f(); use(err) }; _, err := f(); return err`: 0,
		`_, err := f(); if x { err := g() }; use(x.err, y{err: x})`:                                    0,
		`var h func(err error); if x { err := g() }; h(nil)`:                                           0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p; func f() (err error) { "+body+" }", parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(body, err)
		}
		if got := lostErrors(file); len(got) != want {
			t.Errorf("%s: %v, want %d", body, got, want)
		}
	}
}

// lostErrors returns which declarations of an err hide another one of the same function
// that is read below their block, before it is assigned again.
func lostErrors(file *ast.File) (lost []token.Pos) {
	w := &world{}
	ast.Walk(&scope{world: w}, file)
	for _, v := range w.errs {
		if v.hides != nil && v.hides.readBelow(v.scope) {
			lost = append(lost, v.pos)
		}
	}
	return lost
}

// world is all of a file.
type world struct {
	errs []*variable
}

// variable is one that is called err.
type variable struct {
	pos   token.Pos // of its declaration
	scope ast.Node
	hides *variable // another one of the same function
	uses  []use     // in the order of the text
}

type use struct {
	pos  token.Pos
	read bool
	in   ast.Node // the block of the statement
}

// readBelow reports whether it is read after a block and before it is assigned in all
// cases, so not only in an else.
func (v *variable) readBelow(block ast.Node) bool {
	for _, u := range v.uses {
		if u.pos >= block.End() && (u.read || u.in.Pos() <= block.Pos() && block.End() <= u.in.End()) {
			return u.read
		}
	}
	return false
}

// scope is a block, as the language has them.
type scope struct {
	world    *world
	node     ast.Node
	outer    *scope
	function ast.Node // the innermost one
	head     bool     // of a function, whose parameters and results its body's block declares too
	block    bool     // a list of statements
	err      *variable
}

// Visit makes scope a visitor of ast.Walk.
func (s *scope) Visit(n ast.Node) ast.Visitor {
	in := &scope{world: s.world, node: n, outer: s, function: s.function}
	switch n := n.(type) {
	case *ast.FuncDecl, *ast.FuncLit:
		in.head, in.function = true, n
		return in
	case *ast.BlockStmt:
		if !s.head {
			in.block = true
			return in
		}
		s.head, s.block = false, true
	case *ast.CaseClause, *ast.CommClause:
		in.block = true
		return in
	case *ast.IfStmt, *ast.ForStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt:
		return in
	case *ast.RangeStmt:
		ast.Walk(s, n.X)
		in.assign(n.Tok, n.Pos(), n.Key, n.Value)
		ast.Walk(in, n.Body)
		return nil
	case *ast.FuncType:
		if s.head {
			s.assign(token.DEFINE, n.Pos(), fields(n)...)
		}
		return nil
	case *ast.SelectorExpr:
		ast.Walk(s, n.X)
		return nil
	case *ast.KeyValueExpr:
		ast.Walk(s, n.Value)
		return nil
	case *ast.ValueSpec:
		for i, name := range n.Names {
			if i < len(n.Values) {
				ast.Walk(s, n.Values[i])
			}
			s.assign(token.DEFINE, n.End(), name)
		}
		return nil
	case *ast.AssignStmt:
		for _, e := range n.Rhs {
			ast.Walk(s, e)
		}
		s.assign(n.Tok, n.End(), n.Lhs...)
		return nil
	case *ast.ReturnStmt:
		if n.Results == nil {
			s.use(n.Pos(), true)
		}
	case *ast.Ident:
		if isErr(n) {
			s.use(n.Pos(), true)
		}
	}
	return s
}

// fields returns the names of a function's parameters and results.
func fields(f *ast.FuncType) (names []ast.Expr) {
	lists := []*ast.FieldList{f.Params}
	if f.Results != nil {
		lists = append(lists, f.Results)
	}
	for _, list := range lists {
		for _, field := range list.List {
			for _, name := range field.Names {
				names = append(names, name)
			}
		}
	}
	return names
}

// assign notes that err is among the names that are assigned or declared; other
// expressions on that side may read it.
func (s *scope) assign(tok token.Token, pos token.Pos, names ...ast.Expr) {
	for _, e := range names {
		switch {
		case e == nil:
		case !isErr(e):
			ast.Walk(s, e)
		case tok == token.DEFINE && s.err == nil:
			s.err = &variable{pos: e.Pos(), scope: s.node}
			if o := s.outer.find(); s.block && o != nil && o.function == s.function {
				s.err.hides = o.err
			}
			s.world.errs = append(s.world.errs, s.err)
		default:
			s.use(pos, false)
		}
	}
}

// find returns the scope in which err is declared, from here.
func (s *scope) find() *scope {
	for s != nil && s.err == nil {
		s = s.outer
	}
	return s
}

func (s *scope) use(pos token.Pos, read bool) {
	in := s
	for !in.block && in.outer != nil {
		in = in.outer
	}
	if at := s.find(); at != nil {
		at.err.uses = append(at.err.uses, use{pos, read, in.node})
	}
}

func isErr(e ast.Expr) bool {
	name, ok := e.(*ast.Ident)
	return ok && name.Name == "err"
}
