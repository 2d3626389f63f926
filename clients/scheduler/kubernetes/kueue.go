package kubernetes

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/weft-sdn/weft/clients/scheduler"
	"github.com/weft-sdn/weft/internal/strictyaml"
)

const (
	tierLabel = "fabric.topograph.run/tier-" // and a number
	hostLabel = "kubernetes.io/hostname"
	// goLabel is "true" for a node with usable NICs, and "false" for any other node.
	goLabel = "weft-sdn.github.io/go"
	// portsLabel is how many ports of a node can be used.
	portsLabel = "weft-sdn.github.io/usable-ports"
	// taint keeps pods from nodes whose NICs cannot be used.
	taint = "weft-sdn.github.io/no-go"

	mostLabel = 63  // octets of a value
	mostName  = 253 // octets of a name
	mostNodes = 500 // in a command, far below the longest line of a shell
)

// nodeName matches names of nodes: subdomains of RFC 1123.
var nodeName = regexp.MustCompile(`^` + part + `(\.` + part + `)*$`)

const part = `[a-z0-9]([-a-z0-9]*[a-z0-9])?`

type object struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Spec       *spec    `json:"spec"`
}

type metadata struct {
	Name string `json:"name"`
}

type spec struct {
	Levels []level `json:"levels"`
}

type level struct {
	NodeLabel string `json:"nodeLabel"`
}

// WriteKueue writes a Topology of Kueue (v1beta2) with the labels that WriteLabels gives nodes.
func WriteKueue(w io.Writer, t *scheduler.Tree) error {
	topology := object{APIVersion: "kueue.x-k8s.io/v1beta2", Kind: "Topology",
		Metadata: metadata{Name: "weft"}, Spec: &spec{}}
	for tier := tiers(t) - 1; tier >= 0; tier-- { // the outermost first
		topology.Spec.Levels = append(topology.Spec.Levels, level{fmt.Sprint(tierLabel, tier)})
	}
	topology.Spec.Levels = append(topology.Spec.Levels, level{hostLabel})
	return write(w, topology)
}

// tiers returns how many labels of tiers a node has. A root is the cluster, and no tier, unless
// there are several.
func tiers(t *scheduler.Tree) int {
	most := 0
	for _, h := range t.Hosts {
		most = max(most, len(h.Within)-1)
	}
	if len(t.Roots) > 1 {
		most++
	}
	return most
}

// WriteLabels writes commands of kubectl that label the nodes. It writes commands, not objects,
// since applying the object of a missing node would create the node. Nodes with equal labels share
// a command. The error is from [nodeNames].
func WriteLabels(w io.Writer, t *scheduler.Tree) error {
	names, err := nodeNames(t)
	if err != nil {
		return err
	}
	most := tiers(t)
	var order []string
	nodes := make(map[string][]string) // by their labels
	for i, h := range t.Hosts {
		var labels strings.Builder
		for tier := range most {
			// Kueue places nothing on a node that lacks a label. If the units of outer tiers are unknown,
			// their labels repeat the name of the outermost known unit.
			u := h.Within[min(tier, len(h.Within)-2)]
			if len(t.Roots) > 1 && tier == most-1 {
				u = h.Within[len(h.Within)-1]
			}
			fmt.Fprintf(&labels, " %s%d=%s", tierLabel, tier, labelValue(u.Name))
		}
		fmt.Fprintf(&labels, " %s=%t %s=%d", goLabel, h.Fault == "", portsLabel, h.Usable)
		if nodes[labels.String()] == nil {
			order = append(order, labels.String())
		}
		nodes[labels.String()] = append(nodes[labels.String()], names[i])
	}
	for _, labels := range order {
		for some := range slices.Chunk(nodes[labels], mostNodes) {
			if _, err := fmt.Fprintf(w, "kubectl label node %s --overwrite%s\n", strings.Join(some, " "),
				labels); err != nil {
				return err
			}
		}
	}
	return nil
}

// nodeNames returns the names of the nodes of Kubernetes: the names of hosts in lower case, as the
// kubelet writes them. The error names a host that cannot be a node of Kubernetes (RFC 1123), or
// two hosts that would be the same node.
func nodeNames(t *scheduler.Tree) ([]string, error) {
	names := make([]string, 0, len(t.Hosts))
	of := make(map[string]string)
	for _, h := range t.Hosts {
		name := strings.ToLower(h.Name)
		switch {
		case len(name) > mostName || !nodeName.MatchString(name):
			return nil, fmt.Errorf("host %q: no node of Kubernetes has this name: want letters, digits, "+
				"'-' and '.', a letter or digit at both ends of each part, at most %d octets", h.Name,
				mostName)
		case of[name] != "":
			return nil, fmt.Errorf("hosts %s and %s: both would be the node %s of Kubernetes, which has "+
				"no capitals", of[name], h.Name, name)
		}
		of[name] = h.Name
		names = append(names, name)
	}
	return names, nil
}

// write writes a document of a stream of YAML.
func write(w io.Writer, o object) error {
	document, err := json.Marshal(o)
	if err != nil {
		return err
	}
	text, err := strictyaml.FromJSON(document)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "---\n%s", text)
	return err
}

// labelValue returns a name as the value of a label. A name of more than 63 octets becomes an x and
// the hash of the name, as in topograph.
func labelValue(name string) string {
	if len(name) <= mostLabel {
		return name
	}
	h := fnv.New64a()
	io.WriteString(h, name) // cannot fail
	return fmt.Sprintf("x%x", h.Sum64())
}

// WriteTaints writes commands of kubectl that taint the nodes with unusable NICs, and remove the
// taint from all other nodes. It writes commands, not a patch, since a patch of taints also
// replaces taints set by others. The error is from [nodeNames].
func WriteTaints(w io.Writer, t *scheduler.Tree) error {
	names, err := nodeNames(t)
	if err != nil {
		return err
	}
	for i, h := range t.Hosts {
		command := fmt.Sprintf("kubectl taint node %s %s:NoSchedule- 2>/dev/null || true", names[i],
			taint)
		if h.Fault != "" {
			command = fmt.Sprintf("kubectl taint node %s %s=true:NoSchedule --overwrite # %s", names[i],
				taint, h.Fault)
		}
		if _, err := fmt.Fprintln(w, command); err != nil {
			return err
		}
	}
	return nil
}
