package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"strings"
)

// A node is a value of a JSON document with its place in the text.
type node struct {
	start, end int
	fields     map[string]*node
	items      []*node
	text       string // of a string
	number     int    // of a number
}

// readNode reads the next value of a document.
func readNode(d *json.Decoder, src []byte) (*node, error) {
	from := int(d.InputOffset())
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	n := &node{start: from + len(src[from:]) - len(bytes.TrimLeft(src[from:], " \t\r\n,:"))}
	switch t := t.(type) {
	case json.Delim:
		if t == '{' {
			n.fields = map[string]*node{}
		}
		for d.More() {
			key := ""
			if n.fields != nil {
				k, err := d.Token()
				if err != nil {
					return nil, err
				}
				key = k.(string)
			}
			v, err := readNode(d, src)
			if err != nil {
				return nil, err
			}
			if n.fields != nil {
				n.fields[key] = v
			} else {
				n.items = append(n.items, v)
			}
		}
		if _, err := d.Token(); err != nil {
			return nil, err
		}
	case string:
		n.text = t
	case float64:
		n.number = int(t)
	}
	n.end = int(d.InputOffset())
	return n, nil
}

func (n *node) field(key string) *node {
	if n == nil || n.fields == nil {
		return nil
	}
	return n.fields[key]
}

func (n *node) str(key string) string {
	if f := n.field(key); f != nil {
		return f.text
	}
	return ""
}

// programSwaps are the operators of BMv2's expressions that take each other's place.
var programSwaps = map[string]string{
	"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">",
	"and": "or", "or": "and", "+": "-", "-": "+", "&": "|", "|": "&", "^": "&", "<<": ">>", ">>": "<<",
}

// effects are the primitives without which a packet would look or go otherwise.
var effects = map[string]bool{
	"add_header": true, "remove_header": true, "register_write": true, "count": true,
	"register_read": true, "pop": true,
	"truncate": true, "mark_to_drop": true, "clone_ingress_pkt_to_egress": true,
	"generate_digest": true,
	"resubmit":        true, "recirculate": true, "assign_VL": true,
	"modify_field_with_hash_based_offset": true,
	"modify_field_rng_uniform":            true,
}

// idle is a primitive without an effect.
const idle = `{"op":"assign","parameters":[{"type":"field","value":["standard_metadata",` +
	`"egress_spec"]},{"type":"field","value":["standard_metadata","egress_spec"]}]}`

// programMutants returns all changes of a compiled P4 program (BMv2 JSON): changes of parsers,
// conditions and actions, without [sameChanges]. Positions refer to the P4 source where the
// compiler records source positions.
func programMutants(name string, src []byte) ([]mutant, error) {
	d := json.NewDecoder(bytes.NewReader(src))
	root, err := readNode(d, src)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("%s: something follows the document", name)
	}
	p := &program{name: name, src: string(src), same: sameChanges(root)}
	for _, n := range root.field("parsers").items {
		p.visit(n)
	}
	for _, n := range root.field("actions").items {
		p.visit(n)
	}
	for _, pipe := range root.field("pipelines").items {
		for _, n := range pipe.field("conditionals").items {
			p.visit(n)
			p.swapNext(n)
		}
	}
	return p.out, nil
}

type program struct {
	name, src string
	fn        string
	line      int
	text      string
	out       []mutant
	same      map[*node]bool // whose change would mean the same
}

func (p *program) add(rule string, at *node, to string) {
	if p.same[at] {
		return
	}
	p.out = append(p.out, mutant{
		File: p.name, Line: p.line, Func: p.fn, Rule: rule, start: at.start,
		From: p.src[at.start:at.end], To: to, Text: p.text,
	})
}

// source sets the current position to a node's place in the P4 source, if the node has one.
func (p *program) source(n *node) {
	if at := n.field("source_info"); at != nil {
		p.line = at.field("line").number
		p.text = at.str("filename") + ": " + strings.Join(strings.Fields(at.str("source_fragment")), " ")
	}
}

func (p *program) visit(n *node) {
	if n.fields == nil {
		for _, i := range n.items {
			p.visit(i)
		}
		return
	}
	if name := n.str("name"); name != "" {
		p.fn, p.line, p.text = name, 0, ""
	}
	p.source(n)
	op := n.str("op")
	if to, ok := programSwaps[op]; ok {
		p.add("operator", n.fields["op"], `"`+to+`"`)
	}
	params := n.field("parameters")
	switch {
	case params == nil:
	case op == "assign" && len(params.items) == 2:
		to := params.items[0]
		p.add("statement", params.items[1], p.src[to.start:to.end])
	case effects[op]:
		p.add("statement", n, idle)
	}
	if v := n.field("value"); n.str("type") == "hexstr" && v != nil {
		if i, ok := new(big.Int).SetString(strings.TrimPrefix(v.text, "0x"), 16); ok {
			p.add("constant", v, fmt.Sprintf("%q", "0x"+i.Add(i, big.NewInt(1)).Text(16)))
		}
	}
	for _, key := range []string{"value", "expression", "left", "right", "cond", "parameters",
		"primitives", "parse_states", "parser_ops", "transitions"} {
		if f := n.field(key); f != nil {
			p.visit(f)
		}
	}
}

// swapNext turns a condition around: what follows when it holds, and what when not.
func (p *program) swapNext(n *node) {
	yes, no := n.field("true_next"), n.field("false_next")
	if yes == nil || no == nil {
		return
	}
	a, b := yes, no
	if a.start > b.start {
		a, b = b, a
	}
	p.source(n)
	p.fn = n.str("name")
	between := p.src[a.end:b.start]
	p.add("condition", &node{start: a.start, end: b.end}, p.src[b.start:b.end]+between+
		p.src[a.start:a.end])
}
