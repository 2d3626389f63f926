package main

import (
	"bytes"

	"github.com/weft-sdn/weft/api"
)

func orphanTable(w *bytes.Buffer, orphans []api.Orphan) {
	g := newGrid("NAME", "SWITCH", "KIND", "INDEX", "ENTRIES", "SINCE", "REMOVAL", "DETAIL")
	for i := range orphans {
		o := &orphans[i]
		index := any(o.Index)
		if o.Kind == api.OrphanPFC {
			index = ""
		}
		g.row(o.Name, o.Switch, o.Kind, index, o.Entries, clockTime(o.Since), clockTime(o.Removal),
			o.Detail)
	}
	g.writeTo(w)
}

func orphanDetail(w *bytes.Buffer, o *api.Orphan) {
	g := newGrid()
	g.row("Orphan:", o.Name)
	g.row("Switch:", o.Switch)
	if !o.Connected {
		g.row("State:", "not connected: a deletion is carried out when it is back")
	}
	g.row("Kind:", o.Kind)
	if o.Kind != api.OrphanPFC {
		g.row("Index:", o.Index)
	}
	if o.Detail != "" {
		g.row("Detail:", o.Detail)
	}
	g.row("Entries:", o.Entries)
	g.row("Since:", clockTime(o.Since))
	if removal := clockTime(o.Removal); removal != "" {
		g.row("Removal:", removal)
	}
	g.row("Reason:", o.Reason)
	g.writeTo(w)
}
