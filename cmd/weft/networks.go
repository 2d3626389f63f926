package main

import (
	"bytes"
	"fmt"

	"github.com/weft-sdn/weft/api"
)

func networkTable(w *bytes.Buffer, networks []api.Network) {
	g := newGrid("NAME", "NODES", "LINKS", "IN FORCE", "NOTE")
	for i := range networks {
		n := &networks[i]
		note := ""
		if c := n.Status.Conditions.Find(api.Degraded); c != nil && c.Status {
			note = c.Message
		}
		g.row(n.Name, len(n.Spec.Nodes), n.Status.Links, fmt.Sprint(n.Status.InForce), note)
	}
	g.writeTo(w)
}
