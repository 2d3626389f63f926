package main

import (
	"io"

	"github.com/weft-sdn/weft/api"
)

func orphanTable(w io.Writer, orphans []api.Orphan) error {
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
	return g.writeTo(w)
}

func orphanDetail(w io.Writer, o *api.Orphan) error {
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
	return g.writeTo(w)
}
