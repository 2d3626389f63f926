package slurm

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/weft-sdn/weft/clients/scheduler"
	"github.com/weft-sdn/weft/internal/hostlist"
	"github.com/weft-sdn/weft/internal/strictyaml"
)

// WriteConf writes a tree as topology.conf for TopologyPlugin=topology/tree: a line a unit, those
// of hosts first and the roots last. Slurm places no job on nodes of several roots.
func WriteConf(w io.Writer, t *scheduler.Tree) error {
	switches, err := switchesOf(t)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, "# topology.conf of Slurm, with TopologyPlugin=topology/tree")
	if err != nil {
		return err
	}
	for i := len(switches) - 1; i >= 0; i-- {
		s := switches[i]
		line := "SwitchName=" + s.Switch
		if s.Children != "" {
			line += " Switches=" + s.Children
		}
		if s.Nodes != "" {
			line += " Nodes=" + s.Nodes
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// topology is an element of topology.yaml.
type topology struct {
	Name    string `json:"topology"`
	Default bool   `json:"cluster_default"`
	Tree    *tree  `json:"tree,omitempty"`
	Block   *block `json:"block,omitempty"`
}

type tree struct {
	Switches []unit `json:"switches"`
}

type unit struct {
	Switch   string `json:"switch"`
	Children string `json:"children,omitempty"` // a hostlist, as Nodes
	Nodes    string `json:"nodes,omitempty"`
}

type block struct {
	Sizes  []int   `json:"block_sizes"`
	Blocks []piece `json:"blocks"`
}

type piece struct {
	Block string `json:"block"`
	Nodes string `json:"nodes"`
}

// WriteYAML writes topology.yaml, which Slurm 25.05 and later read in place of topology.conf: the
// tree, for the whole cluster, and blocks, for partitions that name them. A block is the hosts of
// one group of T0s.
func WriteYAML(w io.Writer, t *scheduler.Tree) error {
	switches, err := switchesOf(t)
	if err != nil {
		return err
	}
	all := []topology{{Name: "fabric-tree", Default: true, Tree: &tree{switches}}}
	blocks := &block{}
	least := 0
	for _, u := range groups(t.Roots, nil) {
		nodes, err := nodesOf(u)
		if err != nil {
			return err
		}
		blocks.Blocks = append(blocks.Blocks, piece{u.Name, nodes})
		if n := len(u.Hosts); least == 0 || n < least {
			least = n
		}
	}
	// Slurm plans with the first size, which every block must have; further sizes are the first size
	// times powers of two.
	for n := 1; n <= len(blocks.Blocks); n *= 2 {
		blocks.Sizes = append(blocks.Sizes, n*least)
	}
	if least > 0 {
		all = append(all, topology{Name: "fabric-blocks", Block: blocks})
	}
	document, err := json.Marshal(all)
	if err != nil {
		return err
	}
	text, err := strictyaml.FromJSON(document)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// switchesOf returns the units of a tree, the roots first.
func switchesOf(t *scheduler.Tree) ([]unit, error) {
	if len(t.Hosts) == 0 {
		return nil, fmt.Errorf("the fabric has no host whose T0 is known: there is no topology yet")
	}
	var out []unit
	level := t.Roots
	for len(level) > 0 {
		var next []*scheduler.Unit
		for _, u := range level {
			var names []string
			for _, below := range u.Units {
				names = append(names, below.Name)
			}
			children, err := hostlist.Fold(names)
			if err != nil {
				return nil, fmt.Errorf("units of %s: %w", u.Name, err)
			}
			nodes, err := nodesOf(u)
			if err != nil {
				return nil, err
			}
			if children == "" && nodes == "" {
				continue
			}
			out = append(out, unit{u.Name, children, nodes})
			next = append(next, u.Units...)
		}
		level = next
	}
	return out, nil
}

func nodesOf(u *scheduler.Unit) (string, error) {
	var names []string
	for _, h := range u.Hosts {
		names = append(names, h.Name)
	}
	nodes, err := hostlist.Fold(names)
	if err != nil {
		return "", fmt.Errorf("hosts of %s: %w", u.Name, err)
	}
	return nodes, nil
}

// groups appends to the second list every unit with hosts, at any depth below the given units.
func groups(units, to []*scheduler.Unit) []*scheduler.Unit {
	for _, u := range units {
		if len(u.Hosts) > 0 {
			to = append(to, u)
		}
		to = groups(u.Units, to)
	}
	return to
}
