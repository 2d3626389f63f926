package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/weft-sdn/weft/api"
)

func leaseTable(w io.Writer, leases []api.PathLease) error {
	g := newGrid("NAME", "PHASE", "PAIRS", "PATHS", "DISJOINT", "SHARING", "BANDWIDTH", "JOB", "ENDS")
	for i := range leases {
		l := &leases[i]
		g.row(l.Name, l.Status.Phase, len(l.Spec.Pairs), len(l.Status.Paths), l.Spec.Disjointness,
			l.Spec.Sharing, l.Spec.Bandwidth, l.Spec.Job, clockTime(l.Status.Ends))
	}
	return g.writeTo(w)
}

func leaseDetail(w io.Writer, l *api.PathLease) error {
	if err := leaseTable(w, []api.PathLease{*l}); err != nil {
		return err
	}
	if l.Status.Reason != "" {
		if _, err := fmt.Fprintf(w, "\n%s\n", inLine(l.Status.Reason)); err != nil {
			return err
		}
	}
	for _, of := range []struct {
		what  string
		paths []api.LeasedPath
	}{{"", l.Status.Paths}, {"Former paths, held until it has moved:", l.Status.Former}} {
		if len(of.paths) == 0 {
			continue
		}
		if _, err := fmt.Fprintln(w, strings.TrimSuffix("\n"+of.what, "\n")); err != nil {
			return err
		}
		g := newGrid("FROM", "TO", "PLANE", "PORT", "EV", "DESTINATION", "SEGMENT", "BY")
		for i := range of.paths {
			p := &of.paths[i]
			g.row(p.From, p.To, p.Plane, p.EV.Port, p.EV.Value, addressText(p.EV.Packet.Destination),
				addressText(p.EV.Packet.Segment), strings.Join(p.Nodes, " "))
		}
		if err := g.writeTo(w); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return conditionTable(w, l.Status.Conditions)
}
