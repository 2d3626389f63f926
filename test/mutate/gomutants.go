package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
)

// A mutant is one change of a file: From at an offset becomes To.
type mutant struct {
	File  string `json:"file"` // relative to the module
	Line  int    `json:"line"`
	Func  string `json:"func"` // function or method, or what stands for it in a P4 program
	Rule  string `json:"rule"` // which kind of change
	From  string `json:"from"`
	To    string `json:"to"`
	Text  string `json:"text"` // the line, without the white space around it
	start int
	// reached names another line if tests that reach this line also reach the change. Coverage
	// profiles attribute a case expression to the following statements, although Go evaluates the
	// expression with the switch.
	reached int
}

// in returns a file with the change.
func (m mutant) in(src []byte) string {
	return string(src[:m.start]) + m.To + string(src[m.start+len(m.From):])
}

// swaps are the operators that take each other's place.
var swaps = map[token.Token][]token.Token{
	token.LSS: {token.LEQ}, token.LEQ: {token.LSS}, token.GTR: {token.GEQ}, token.GEQ: {token.GTR},
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL},
	token.LAND: {token.LOR}, token.LOR: {token.LAND},
	token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO}, token.QUO: {token.MUL},
	token.REM: {token.MUL}, token.AND: {token.OR}, token.OR: {token.AND}, token.XOR: {token.AND},
	token.SHL: {token.SHR}, token.SHR: {token.SHL}, token.AND_NOT: {token.AND},
	token.ADD_ASSIGN: {token.SUB_ASSIGN}, token.SUB_ASSIGN: {token.ADD_ASSIGN},
	token.OR_ASSIGN: {token.AND_ASSIGN}, token.AND_ASSIGN: {token.OR_ASSIGN},
	token.INC: {token.DEC}, token.DEC: {token.INC},
}

// goMutants returns all changes of a Go file, in the order of their places. A generated file has
// none.
func goMutants(name string, src []byte) ([]mutant, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(file) {
		return nil, nil
	}
	g := &goFile{name: name, src: string(src), fset: fset, lines: strings.Split(string(src), "\n")}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Body == nil || forReaders(d.Name.Name) {
				continue
			}
			g.fn = funcName(d)
			ast.Inspect(d.Body, g.node)
			ast.Inspect(d.Body, g.cases)
		case *ast.GenDecl:
			if d.Tok == token.CONST || d.Tok == token.VAR {
				g.fn = ""
				ast.Inspect(d, g.node)
			}
		}
	}
	return g.out, nil
}

// forReaders reports whether a function only makes text for people.
func forReaders(name string) bool {
	return name == "String" || name == "GoString" || name == "Error" || name == "LogValue"
}

func funcName(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return d.Name.Name
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name + "." + d.Name.Name
		default:
			return d.Name.Name
		}
	}
}

// A goFile collects the changes of a file.
type goFile struct {
	name  string
	src   string
	fset  *token.FileSet
	lines []string
	fn    string
	out   []mutant
}

func (g *goFile) offset(p token.Pos) int { return g.fset.Position(p).Offset }

func (g *goFile) text(n ast.Node) string { return g.src[g.offset(n.Pos()):g.offset(n.End())] }

func (g *goFile) add(rule string, from, to token.Pos, text string) {
	at := g.fset.Position(from)
	g.out = append(g.out, mutant{
		File: g.name, Line: at.Line, Func: g.fn, Rule: rule, start: at.Offset,
		From: g.src[at.Offset:g.offset(to)], To: text, Text: strings.TrimSpace(g.lines[at.Line-1]),
	})
}

func (g *goFile) operator(at token.Pos, op token.Token) {
	for _, other := range swaps[op] {
		g.add("operator", at, at+token.Pos(len(op.String())), other.String())
	}
}

func (g *goFile) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		g.operator(n.OpPos, n.Op)
		if n.Op == token.LAND || n.Op == token.LOR {
			g.add("condition", n.Pos(), n.End(), g.text(n.X))
			g.add("condition", n.Pos(), n.End(), g.text(n.Y))
		}
	case *ast.UnaryExpr:
		if n.Op == token.NOT || n.Op == token.SUB {
			g.add("operator", n.OpPos, n.X.Pos(), "")
		}
	case *ast.IfStmt:
		g.condition(n.Cond)
	case *ast.ForStmt:
		if n.Cond != nil {
			g.add("condition", n.Cond.Pos(), n.Cond.End(), "false")
		}
	case *ast.SwitchStmt:
		for _, c := range n.Body.List {
			for _, e := range c.(*ast.CaseClause).List {
				if n.Tag == nil {
					g.condition(e)
				}
			}
		}
	case *ast.IncDecStmt:
		g.operator(n.TokPos, n.Tok)
	case *ast.AssignStmt:
		g.operator(n.TokPos, n.Tok)
	case *ast.BasicLit:
		g.literal(n)
	case *ast.Ident:
		switch n.Name {
		case "true":
			g.add("constant", n.Pos(), n.End(), "false")
		case "false":
			g.add("constant", n.Pos(), n.End(), "true")
		}
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.Ident); ok && len(n.Args) > 1 {
			switch f.Name {
			case "min":
				g.add("operator", f.Pos(), f.End(), "max")
			case "max":
				g.add("operator", f.Pos(), f.End(), "min")
			}
		}
	case *ast.BlockStmt:
		g.statements(n.List)
	case *ast.CaseClause:
		g.statements(n.Body)
	case *ast.CommClause:
		g.statements(n.Body)
	case *ast.ImportSpec, *ast.ArrayType:
		return false // a length is a type
	}
	return true
}

// cases notes where changes of the expressions of a switch are reached.
func (g *goFile) cases(n ast.Node) bool {
	s, ok := n.(*ast.SwitchStmt)
	if !ok {
		return true
	}
	for _, c := range s.Body.List {
		for _, e := range c.(*ast.CaseClause).List {
			for i := range g.out {
				if at := g.out[i].start; g.offset(e.Pos()) <= at && at < g.offset(e.End()) {
					g.out[i].reached = g.fset.Position(s.Body.Lbrace).Line
				}
			}
		}
	}
	return true
}

// condition negates a condition, unless the operator in it is swapped anyway.
func (g *goFile) condition(e ast.Expr) {
	if b, ok := e.(*ast.BinaryExpr); ok && (b.Op == token.EQL || b.Op == token.NEQ) {
		return
	}
	if u, ok := e.(*ast.UnaryExpr); ok && u.Op == token.NOT {
		return
	}
	g.add("condition", e.Pos(), e.End(), "!("+g.text(e)+")")
}

func (g *goFile) literal(l *ast.BasicLit) {
	switch l.Kind {
	case token.INT:
		v, err := strconv.ParseUint(strings.ReplaceAll(l.Value, "_", ""), 0, 64)
		if err != nil {
			return
		}
		g.add("constant", l.Pos(), l.End(), strconv.FormatUint(v+1, 10))
	case token.FLOAT:
		g.add("constant", l.Pos(), l.End(), fmt.Sprintf("(%s*2)", l.Value))
	}
}

// statements removes each statement that has an effect of its own.
func (g *goFile) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt:
			if call, ok := s.X.(*ast.CallExpr); ok && logs(call) {
				continue
			}
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				continue
			}
			if id, ok := s.Lhs[0].(*ast.Ident); ok && id.Name == "_" {
				continue
			}
		case *ast.IncDecStmt, *ast.SendStmt, *ast.DeferStmt:
		default:
			continue
		}
		g.add("statement", s.Pos(), s.End(), "")
	}
}

// logs reports whether a call writes to a log: nobody promises its lines.
func logs(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	switch f.Sel.Name {
	case "Debug", "Info", "Warn", "Error", "DebugContext", "InfoContext", "WarnContext",
		"ErrorContext":
		return true
	}
	return false
}
