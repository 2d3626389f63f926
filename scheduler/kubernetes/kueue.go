package kubernetes

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/strictyaml"
	"github.com/weft-sdn/weft/scheduler"
)

const (
	tierLabel = "fabric.topograph.run/tier-" // and a number
	hostLabel = "kubernetes.io/hostname"
	// goLabel is "true" for a node whose NICs can be used, and "false" for the others.
	goLabel = "weft-sdn.github.io/go"
	// portsLabel is how many ports of a node can be used.
	portsLabel = "weft-sdn.github.io/usable-ports"
	// taint keeps pods from nodes whose NICs cannot be used.
	taint = "weft-sdn.github.io/no-go"

	mostLabel = 63 // octets of a value
)

type object struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Spec       *spec    `json:"spec,omitempty"`
}

type metadata struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels,omitempty"`
}

type spec struct {
	Levels []level `json:"levels"`
}

type level struct {
	NodeLabel string `json:"nodeLabel"`
}

// WriteKueue writes a Topology of Kueue (v1beta2) and the labels of the nodes that it names, as
// YAML for "kubectl apply --server-side --field-manager=weft -f -": server-side, so that it changes
// these labels of the nodes and nothing else.
func WriteKueue(w io.Writer, t *scheduler.Tree) error {
	tiers := 0
	for _, h := range t.Hosts {
		tiers = max(tiers, len(h.Within)-1) // the root is the cluster
	}
	topology := object{APIVersion: "kueue.x-k8s.io/v1beta2", Kind: "Topology",
		Metadata: metadata{Name: "weft"}, Spec: &spec{}}
	for tier := tiers - 1; tier >= 0; tier-- { // the outermost first
		topology.Spec.Levels = append(topology.Spec.Levels, level{fmt.Sprint(tierLabel, tier)})
	}
	topology.Spec.Levels = append(topology.Spec.Levels, level{hostLabel})
	if err := write(w, topology); err != nil {
		return err
	}
	for _, h := range t.Hosts {
		labels := map[string]string{
			goLabel:    fmt.Sprint(h.Fault == ""),
			portsLabel: fmt.Sprint(h.Usable),
		}
		for tier, u := range h.Within[:len(h.Within)-1] {
			labels[fmt.Sprint(tierLabel, tier)] = labelValue(u.Name)
		}
		node := object{APIVersion: "v1", Kind: "Node", Metadata: metadata{Name: h.Name, Labels: labels}}
		if err := write(w, node); err != nil {
			return err
		}
	}
	return nil
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

// labelValue returns a name as the value of a label; one that is too long becomes x and its hash,
// as topograph has it.
func labelValue(name string) string {
	if len(name) <= mostLabel {
		return name
	}
	h := fnv.New64a()
	io.WriteString(h, name) // cannot fail
	return fmt.Sprintf("x%x", h.Sum64())
}

// WriteTaints writes commands of kubectl that taint the nodes whose NICs cannot be used, and take
// the taint from the others. They are commands and no patch, since a patch of taints replaces those
// of others too. A name that Weft gives no host is an error: it would be a part of a command.
func WriteTaints(w io.Writer, t *scheduler.Tree) error {
	for _, h := range t.Hosts {
		if err := api.ValidateName(h.Name); err != nil {
			return fmt.Errorf("host %q: %w", h.Name, err)
		}
	}
	for _, h := range t.Hosts {
		command := fmt.Sprintf("kubectl taint node %s %s:NoSchedule- 2>/dev/null || true", h.Name,
			taint)
		if h.Fault != "" {
			command = fmt.Sprintf("kubectl taint node %s %s=true:NoSchedule --overwrite # %s", h.Name,
				taint, h.Fault)
		}
		if _, err := fmt.Fprintln(w, command); err != nil {
			return err
		}
	}
	return nil
}
