package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/weft-sdn/weft/api"
)

func leaseTable(w *bytes.Buffer, leases []api.PathLease) {
	g := newGrid("NAME", "PHASE", "PAIRS", "PATHS", "DISJOINT", "SHARING", "BANDWIDTH", "JOB", "ENDS")
	for i := range leases {
		l := &leases[i]
		g.row(l.Name, l.Status.Phase, len(l.Spec.Pairs), len(l.Status.Paths), l.Spec.Disjointness,
			l.Spec.Sharing, l.Spec.Bandwidth, l.Spec.Job, clockTime(l.Status.Ends))
	}
	g.writeTo(w)
}

func leaseDetail(w *bytes.Buffer, l *api.PathLease) {
	leaseTable(w, []api.PathLease{*l})
	if l.Status.Reason != "" {
		fmt.Fprintf(w, "\n%s\n", inLine(l.Status.Reason))
	}
	for _, of := range []struct {
		what  string
		paths []api.LeasedPath
	}{{"", l.Status.Paths}, {"Former paths, held until it has moved:", l.Status.Former}} {
		if len(of.paths) == 0 {
			continue
		}
		fmt.Fprintln(w, strings.TrimSuffix("\n"+of.what, "\n"))
		g := newGrid("FROM", "TO", "PLANE", "PORT", "EV", "DESTINATION", "SEGMENT", "BY")
		for i := range of.paths {
			p := &of.paths[i]
			g.row(p.From, p.To, p.Plane, p.EV.Port, p.EV.Value, addressText(p.EV.Packet.Destination),
				addressText(p.EV.Packet.Segment), strings.Join(p.Nodes, " "))
		}
		g.writeTo(w)
	}
	fmt.Fprintln(w)
	conditionTable(w, l.Status.Conditions)
}
