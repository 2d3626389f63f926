package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/topology"
)

func evProfileTable(w *bytes.Buffer, profiles []api.EVProfile) {
	g := newGrid("NAME", "MODE", "EVS", "ACTIVE", "DENIED", "MIN ACTIVE", "CC", "HOSTS", "BEHIND",
		"PROGRAMMED", "DEGRADED")
	for i := range profiles {
		s := &profiles[i].Status
		g.row(profiles[i].Name, s.Mode, s.Count, s.Active, s.Denied, s.MinActive, s.CCProfile,
			len(s.Hosts), len(s.Behind),
			conditionCell(s.Conditions, api.Programmed), conditionCell(s.Conditions, api.Degraded))
	}
	g.writeTo(w)
}

func leavesText(leaves []api.LeafPort) string {
	var out []string
	for _, l := range leaves {
		out = append(out, fmt.Sprintf("%s (port %d)", named(l.Name, l.Leaf), l.Port))
	}
	return strings.Join(out, ", ")
}

func evProfileDetail(w *bytes.Buffer, p *api.EVProfile) {
	s := &p.Status
	g := newGrid()
	g.row("Name:", p.Name)
	g.row("Version:", p.Version)
	g.row("From:", leavesText(s.Source))
	g.row("To:", leavesText(s.Destination))
	if s.Format != nil {
		g.row("Format:", fmt.Sprintf("%s, fields of %s bits", s.Format.Mode,
			strings.Trim(fmt.Sprint(s.Format.Widths), "[]")))
	}
	g.row("Mode:", s.Mode)
	g.row("EVs:", fmt.Sprintf(
		"%d, active %d, denied %d, replaced %d, assumed bad %d, at least active %d", s.Count, s.Active,
		s.Denied, s.Replaced, s.AssumedBad, s.MinActive))
	g.row("CC profile:", s.CCProfile)
	g.row("Serves:", strings.Join(texts(s.Destinations), ", "))
	g.row("Hosts:", strings.Join(s.Hosts, ", "))
	if len(s.Behind) > 0 {
		g.row("Behind:", strings.Join(s.Behind, ", "))
	}
	for _, id := range s.LostLinks {
		g.row("Lost link:", id)
	}
	g.writeTo(w)
	fmt.Fprintln(w)
	evTable(w, s.EVs)
	conditionTable(w, s.Conditions)
}

func evTable(w *bytes.Buffer, evs []api.EV) {
	g := newGrid("EV", "PORT", "STATE", "NOTE")
	for _, e := range evs {
		var bad, replaced string
		if e.BadAt > 0 {
			bad = fmt.Sprintf("bad at %d hosts", e.BadAt)
		}
		if e.Replacement {
			replaced = "in the place of one whose path is lost"
		}
		g.row(e.EV, e.Port, e.State, notes(bad, replaced))
	}
	g.writeTo(w)
}

// conditionTable shows conditions below something else.
func conditionTable(w *bytes.Buffer, conditions []api.Condition) {
	if len(conditions) == 0 {
		return
	}
	fmt.Fprintln(w)
	g := newGrid("CONDITION", "STATUS", "REASON", "MESSAGE")
	for _, c := range conditions {
		g.row(c.Type, yesNo(c.Status), c.Reason, c.Message)
	}
	g.writeTo(w)
}

func pathTable(w *bytes.Buffer, p *api.EVPath) {
	fmt.Fprintf(w, "EV %s of %s, %s, %s", inLine(string(p.EV)), inLine(p.Profile),
		inLine(string(p.State)), inLine(string(p.Mode)))
	if p.Plane != 0 {
		fmt.Fprintf(w, ", plane %d", p.Plane)
	}
	fmt.Fprintln(w)
	switch k := &p.Packet; {
	case k.SourcePort != nil && k.FlowLabel != nil:
		fmt.Fprintf(w, "UDP source port %d (%#04x), flow label %#05x\n\n", *k.SourcePort, *k.SourcePort,
			*k.FlowLabel)
	case k.Segment.IsValid():
		fmt.Fprintf(w, "destination %s, segment %s, last uSID %s\n\n", k.Destination, k.Segment,
			k.LastUSID)
	default:
		fmt.Fprintf(w, "destination %s, last uSID %s\n\n", k.Destination, k.LastUSID)
	}
	lost := make(map[topology.LinkID]bool)
	for _, id := range p.LostLinks {
		lost[id] = true
	}
	g := newGrid("HOP", "FROM", "PORT", "TO", "PORT", "BY", "LINK", "NOTE")
	for i, h := range p.Hops {
		by := h.By
		if h.Value != 0 {
			by = fmt.Sprintf("%s %d", h.By, h.Value)
			if h.By != "field" {
				by = fmt.Sprintf("%s %#x", h.By, h.Value)
			}
		}
		for _, l := range h.Links {
			note := ""
			if lost[l.ID] {
				note = "lost"
			}
			g.row(i+1, named(l.FromName, l.From), l.FromPort, named(l.ToName, l.To), l.ToPort, by, l.ID,
				note)
		}
	}
	g.writeTo(w)
}
