package main

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/topology"
)

func topologyTable(w *bytes.Buffer, d *api.Topology) {
	state := "current"
	if d.Stale != nil {
		state = "stale since " + clockTime(d.Stale.Since) + ": " + d.Stale.Reason
	}
	fmt.Fprintf(w, "version %d, %s\n\n", d.Version, inLine(state))
	names := make(map[topology.NodeID]string, len(d.Nodes))
	g := newGrid("NODE", "ID", "LOOPBACK", "LOCATORS", "SIDS", "NOTE")
	for i := range d.Nodes {
		n := &d.Nodes[i]
		names[n.ID] = cmp.Or(n.Name, string(n.ID))
		var locators, sids, notes []string
		for _, l := range n.Locators {
			locators = append(locators, l.Prefix.String())
		}
		for _, s := range n.SIDs {
			sids = append(sids, s.Behavior+" "+s.Address.String())
		}
		for _, note := range []struct {
			is   bool
			text string
		}{{n.Pseudonode, "pseudonode"}, {n.Overload, "overloaded"}, {!n.SRv6, "no SRv6"}} {
			if note.is {
				notes = append(notes, note.text)
			}
		}
		g.row(cmp.Or(n.Name, string(n.ID)), n.ID, n.Loopback, strings.Join(locators, ", "),
			strings.Join(sids, ", "), strings.Join(notes, ", "))
	}
	g.writeTo(w)
	fmt.Fprintln(w)
	end := func(node topology.NodeID, port uint32) string {
		name := names[node]
		if name == "" {
			name = string(node)
		}
		if port == 0 {
			return name
		}
		return fmt.Sprintf("%s:%d", name, port)
	}
	g = newGrid("LINK FROM", "TO", "METRIC", "DELAY", "BANDWIDTH")
	for _, l := range d.Links {
		var delay, bandwidth string
		if l.Delay.Known {
			delay = fmt.Sprintf("%dus", l.Delay.Min)
		}
		if l.MaxBandwidth > 0 {
			bandwidth = bitRate(l.MaxBandwidth)
		}
		g.row(end(l.Local, l.LocalPort), end(l.Remote, l.RemotePort), l.IGPMetric, delay, bandwidth)
	}
	g.writeTo(w)
	fmt.Fprintln(w)
	g = newGrid("HOST", "ADDRESS", "SWITCH", "PORTS")
	for _, h := range d.Hosts {
		g.row(h.Name, h.Address, h.Switch, strings.Trim(fmt.Sprint(h.Ports), "[]"))
	}
	g.writeTo(w)
}

// bitRate writes a rate in the greatest unit that leaves 1 or more.
func bitRate(rate uint64) string {
	for _, u := range []struct {
		bits uint64
		name string
	}{{1e12, "Tb/s"}, {1e9, "Gb/s"}, {1e6, "Mb/s"}, {1e3, "kb/s"}} {
		if rate >= u.bits {
			return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.3f", float64(rate)/float64(u.bits)),
				"0"), ".") + " " + u.name
		}
	}
	return fmt.Sprintf("%d b/s", rate)
}
