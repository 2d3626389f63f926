package topograph

import (
	"encoding/json"
	"io"

	"github.com/weft-sdn/weft/clients/scheduler"
)

type instances struct {
	Instances []instance `json:"instances"`
}

// instance is a host. Its layers are the units around it, the nearest first.
type instance struct {
	ID     string   `json:"id"`
	Layers []string `json:"network_layers"`
}

// WriteGraph writes a tree as topograph's graph: the hosts with the units around them.
func WriteGraph(w io.Writer, t *scheduler.Tree) error {
	out := instances{Instances: []instance{}}
	for _, h := range t.Hosts {
		i := instance{ID: h.Name}
		for _, u := range h.Within {
			i.Layers = append(i.Layers, u.Name)
		}
		out.Instances = append(out.Instances, i)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}
