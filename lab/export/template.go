package export

import (
	"embed"
	"fmt"
	"net/netip"
	"path"
	"reflect"
	"strings"
	"text/template/parse"
)

//go:embed templates
var sources embed.FS

// functions are those of templates. Package text/template has all but the last three; its or and
// and return one of their values, and these a boolean.
var functions = map[string]any{
	"len":   func(v ...reflect.Value) any { return v[0].Len() },
	"index": func(v ...reflect.Value) any { return v[0].Index(int(v[1].Int())).Interface() },
	"eq": func(v ...reflect.Value) any {
		if v[0].Kind() == reflect.String {
			return v[0].String() == v[1].String()
		}
		return v[0].Int() == v[1].Int()
	},
	"gt":  func(v ...reflect.Value) any { return v[0].Int() > v[1].Int() },
	"or":  func(v ...reflect.Value) any { return truth(v[0]) || truth(v[1]) },
	"and": func(v ...reflect.Value) any { return truth(v[0]) && truth(v[1]) },
	"not": func(v ...reflect.Value) any { return !truth(v[0]) },
	// quote makes a string of YAML, JSON or Python.
	"quote": func(v ...reflect.Value) any { return fmt.Sprintf("%q", fmt.Sprint(v[0])) },
	"addr":  func(v ...reflect.Value) any { return v[0].Interface().(netip.AddrPort).Addr() },
	"port":  func(v ...reflect.Value) any { return v[0].Interface().(netip.AddrPort).Port() },
}

// A page is what a template has become so far. Package text/template would make it, too, but calls
// methods by names that the linker does not know: a program with text/template contains every
// exported method of every type, a seventh of the program's size. A page takes fields of data
// alone.
type page struct {
	text strings.Builder
	vars []variable // those of inner blocks last
}

type variable struct {
	name  string
	value reflect.Value
}

// render returns what the template of this name makes of data.
func render(name string, data any) (text string, err error) {
	source, err := sources.ReadFile(path.Join("templates", name))
	if err != nil {
		return "", err
	}
	trees, err := parse.Parse(name, string(source), "", "", functions)
	if err != nil {
		return "", err
	}
	defer func() {
		if r := recover(); r != nil { // package reflect panics where data is not what the template says
			err = fmt.Errorf("template %s: %v", name, r)
		}
	}()
	dot := reflect.ValueOf(data)
	p := page{vars: []variable{{"$", dot}}}
	p.walk(dot, trees[name].Root)
	return p.text.String(), nil
}

// walk writes a part of a template.
func (p *page) walk(dot reflect.Value, n parse.Node) {
	outer := len(p.vars)
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, inner := range n.Nodes {
				p.walk(dot, inner)
			}
		}
	case *parse.TextNode:
		p.text.Write(n.Text)
		return
	case *parse.ActionNode:
		if v := p.value(dot, n.Pipe); len(n.Pipe.Decl) == 0 {
			fmt.Fprint(&p.text, v)
		}
		return // a variable lasts until its block ends
	case *parse.IfNode:
		if truth(p.value(dot, n.Pipe)) {
			p.walk(dot, n.List)
		} else {
			p.walk(dot, n.ElseList)
		}
	case *parse.WithNode:
		if v := p.value(dot, n.Pipe); truth(v) {
			p.walk(v, n.List)
		} else {
			p.walk(dot, n.ElseList)
		}
	case *parse.RangeNode:
		if n.ElseList != nil {
			panic(fmt.Sprintf("%v: no range of a template has an else", n))
		}
		all := p.value(dot, n.Pipe)
		for i := range all.Len() {
			p.vars = p.vars[:outer]
			for j, name := range n.Pipe.Decl {
				v := all.Index(i)
				if len(n.Pipe.Decl) == 2 && j == 0 {
					v = reflect.ValueOf(i)
				}
				p.vars = append(p.vars, variable{name.Ident[0], v})
			}
			p.walk(all.Index(i), n.List)
		}
	default:
		panic(fmt.Sprintf("%v: want what other templates have", n))
	}
	p.vars = p.vars[:outer]
}

// value returns what an expression says.
func (p *page) value(dot reflect.Value, n parse.Node) reflect.Value {
	switch n := n.(type) {
	case *parse.PipeNode:
		if len(n.Cmds) > 1 || n.IsAssign {
			panic(fmt.Sprintf("%v: templates have neither pipes nor assignments", n))
		}
		v := p.call(dot, n.Cmds[0].Args)
		if len(n.Decl) == 1 {
			p.vars = append(p.vars, variable{n.Decl[0].Ident[0], v})
		}
		return v
	case *parse.DotNode:
		return dot
	case *parse.FieldNode:
		return fields(dot, n.Ident)
	case *parse.ChainNode:
		return fields(p.value(dot, n.Node), n.Field)
	case *parse.VariableNode:
		for i := len(p.vars) - 1; i >= 0; i-- {
			if p.vars[i].name == n.Ident[0] {
				return fields(p.vars[i].value, n.Ident[1:])
			}
		}
	case *parse.StringNode:
		return reflect.ValueOf(n.Text)
	case *parse.NumberNode:
		return reflect.ValueOf(int(n.Int64))
	}
	panic(fmt.Sprintf("%v: want what other templates have", n))
}

// call returns what a function returns, or the value of what is none.
func (p *page) call(dot reflect.Value, args []parse.Node) reflect.Value {
	name, is := args[0].(*parse.IdentifierNode)
	if !is {
		return p.value(dot, args[0])
	}
	var in []reflect.Value
	for _, a := range args[1:] {
		in = append(in, p.value(dot, a))
	}
	return reflect.ValueOf(functions[name.Ident].(func(...reflect.Value) any)(in...))
}

// fields returns a field of a field of a value, and so on.
func fields(v reflect.Value, names []string) reflect.Value {
	for _, name := range names {
		of := reflect.Indirect(v)
		if v = of.FieldByName(name); !v.IsValid() {
			panic(fmt.Sprintf("%v has no field %s", of.Type(), name))
		}
	}
	return v
}

// truth reports whether a value is something: neither empty, nor zero, nor nil.
func truth(v reflect.Value) bool {
	if v.Kind() == reflect.Slice {
		return v.Len() > 0
	}
	return v.Kind() == reflect.Struct || !v.IsZero()
}
