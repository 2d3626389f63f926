package scheduler

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/weft-sdn/weft/api"
)

// Pattern derives the names of Weft's hosts from the nodes of a scheduler: {host} stands for the
// node, and {nic} (from 0) or {rail} (from 1) for the number of the NIC. A node with several NICs
// appears as several hosts, such as n7-0 to n7-7 by {host}-{nic}. The nil pattern is {host}.
type Pattern struct {
	rule         *regexp.Regexp
	host, number int // their groups in rule; 0: there is none
	first        int // number of the first NIC
}

// ParsePattern reads a pattern.
func ParsePattern(text string) (*Pattern, error) {
	var rule strings.Builder
	p := &Pattern{}
	hosts, numbers := 0, 0
	for rest := text; rest != ""; {
		literal, tail, found := strings.Cut(rest, "{")
		rule.WriteString(regexp.QuoteMeta(literal))
		if !found {
			break
		}
		name, after, closed := strings.Cut(tail, "}")
		switch {
		case closed && name == "host":
			hosts++
			p.host = hosts + numbers
			rule.WriteString("(.+)")
		case closed && (name == "nic" || name == "rail"):
			numbers++
			p.number = hosts + numbers
			if name == "rail" {
				p.first = 1
			}
			rule.WriteString("([0-9]{1,9})")
		default:
			return nil, wrongPattern(text)
		}
		rest = after
	}
	if hosts != 1 || numbers > 1 {
		return nil, wrongPattern(text)
	}
	p.rule = regexp.MustCompile("^" + rule.String() + "$")
	return p, nil
}

func wrongPattern(text string) error {
	return fmt.Errorf("is %q: want {host} once, and {nic} or {rail} once at most, "+
		"such as {host}-{nic}", text)
}

// node returns the node that a host is a NIC of: itself, where its name is not of the pattern.
func (p *Pattern) node(host string) string {
	if p != nil {
		if m := p.rule.FindStringSubmatch(host); m != nil {
			return m[p.host]
		}
	}
	return host
}

// Number returns the number of a NIC in its node, from 0, by the name of its host. It returns false
// for a name that does not match the pattern. A pattern without numbers describes nodes with a
// single NIC, 0.
func (p *Pattern) Number(host string) (int, bool) {
	if p == nil {
		return 0, true
	}
	m := p.rule.FindStringSubmatch(host)
	if m == nil || p.number == 0 {
		return 0, m != nil
	}
	n, err := strconv.Atoi(m[p.number])
	return n - p.first, err == nil && n >= p.first
}

// Node is a node of a scheduler with its NICs, the hosts of Weft.
type Node struct {
	Name string
	NICs []*api.Host
}

// Nodes returns the nodes that hosts belong to, in the order of their first NICs.
func Nodes(hosts []api.Host, names *Pattern) []Node {
	var nodes []Node
	at := make(map[string]int)
	for i := range hosts {
		name := names.node(hosts[i].Name)
		n, ok := at[name]
		if !ok {
			n = len(nodes)
			at[name] = n
			nodes = append(nodes, Node{Name: name})
		}
		nodes[n].NICs = append(nodes[n].NICs, &hosts[i])
	}
	return nodes
}

// Fault returns why a node cannot be used: one of its NICs is unusable, and each rank of a job
// needs a NIC; see [Fault].
func (n *Node) Fault(streams bool) string {
	var first string
	faults := 0
	for _, h := range n.NICs {
		if fault := Fault(h, streams); fault != "" {
			if faults++; faults == 1 {
				first = fault
				if len(n.NICs) > 1 {
					first = "NIC " + h.Name + ": " + fault
				}
			}
		}
	}
	if faults > 1 {
		first = fmt.Sprintf("%s, and %d more of %d NICs", first, faults-1, len(n.NICs))
	}
	return first
}
