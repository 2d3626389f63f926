package slurm

import (
	"regexp"
	"slices"
	"strings"
)

// Mark begins the reason of every node that Weft drains. A node whose reason begins otherwise is
// the administrators'.
const Mark = "weft: "

// Node is a node of Slurm.
type Node struct {
	Name   string
	State  []string // the base state and its flags, such as IDLE and DRAIN
	Reason string
}

// drained reports whether no job is started on a node because somebody drained it.
func (n *Node) drained() bool { return slices.Contains(n.State, "DRAIN") }

// down reports whether Slurm starts no job on a node anyway.
func (n *Node) down() bool {
	return slices.ContainsFunc(n.State, func(s string) bool { return s == "DOWN" || s == "FAIL" })
}

// ours reports whether Weft has drained a node.
func (n *Node) ours() bool { return n.drained() && strings.HasPrefix(n.Reason, Mark) }

// stamp is who gave a reason, and when, which Slurm writes behind it.
var stamp = regexp.MustCompile(` \[[^\[\]@ ]+@[0-9T:-]+\]`)

// ParseNodes reads the output of "scontrol --oneliner show node".
func ParseNodes(text string) []Node {
	var nodes []Node
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		rest, ok := strings.CutPrefix(line, "NodeName=")
		if !ok {
			continue
		}
		name, rest, _ := strings.Cut(rest, " ")
		_, rest, _ = strings.Cut(" "+rest, " State=")
		state, rest, _ := strings.Cut(rest, " ")
		n := Node{Name: name}
		for flag := range strings.SplitSeq(state, "+") {
			// Older versions mark states by a letter behind them, such as IDLE* for no response.
			n.State = append(n.State, strings.TrimRight(flag, "*~#!%$@^-"))
		}
		if _, reason, ok := strings.Cut(" "+rest, " Reason="); ok {
			if at := stamp.FindStringIndex(reason); at != nil {
				reason = reason[:at[0]]
			}
			n.Reason = reason
		}
		nodes = append(nodes, n)
	}
	return nodes
}
