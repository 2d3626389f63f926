package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/weft-sdn/weft/api"
)

// evProfileDocument is the part of an EV profile that is shown.
type evProfileDocument struct {
	Name    string            `json:"name"`
	Version uint64            `json:"version"`
	Spec    api.EVProfileSpec `json:"spec"`
	Status  struct {
		Conditions  []api.Condition `json:"conditions"`
		Source      []leafDocument  `json:"source"`
		Destination []leafDocument  `json:"destination"`
		Format      *struct {
			Mode   string `json:"mode"`
			Widths []int  `json:"widths"`
		} `json:"format"`
		Mode         string       `json:"mode"`
		Count        int          `json:"count"`
		Active       int          `json:"active"`
		Denied       int          `json:"denied"`
		Replaced     int          `json:"replaced"`
		AssumedBad   int          `json:"assumedBad"`
		MinActive    int          `json:"minActive"`
		CCProfile    string       `json:"ccProfile"`
		Destinations []string     `json:"destinations"`
		Hosts        []string     `json:"hosts"`
		Behind       []string     `json:"behind"`
		LostLinks    []string     `json:"lostLinks"`
		EVs          []evDocument `json:"evs"`
	} `json:"status"`
}

type leafDocument struct {
	Port int    `json:"port"`
	Leaf string `json:"leaf"`
	Name string `json:"name"`
}

type evDocument struct {
	EV          string `json:"ev"`
	Index       int    `json:"index"`
	Port        int    `json:"port"`
	State       string `json:"state"`
	BadAt       int    `json:"badAt"`
	Replacement bool   `json:"replacement"`
}

func evProfileTable(w io.Writer, profiles []evProfileDocument) error {
	g := newGrid("NAME", "MODE", "EVS", "ACTIVE", "DENIED", "MIN ACTIVE", "CC", "HOSTS", "BEHIND", "PROGRAMMED", "DEGRADED")
	for i := range profiles {
		s := &profiles[i].Status
		status := api.MulticastGroupStatus{Conditions: s.Conditions}
		g.row(profiles[i].Name, s.Mode, s.Count, s.Active, s.Denied, s.MinActive, s.CCProfile, len(s.Hosts), len(s.Behind),
			conditionCell(&status, api.Programmed), conditionCell(&status, api.Degraded))
	}
	return g.writeTo(w)
}

func leavesText(leaves []leafDocument) string {
	var out []string
	for _, l := range leaves {
		out = append(out, fmt.Sprintf("%s (port %d)", named(l.Name, l.Leaf), l.Port))
	}
	return strings.Join(out, ", ")
}

func evProfileDetail(w io.Writer, p *evProfileDocument) error {
	s := &p.Status
	g := newGrid()
	g.row("Name:", p.Name)
	g.row("Version:", p.Version)
	g.row("From:", leavesText(s.Source))
	g.row("To:", leavesText(s.Destination))
	if s.Format != nil {
		g.row("Format:", fmt.Sprintf("%s, fields of %s bits", s.Format.Mode, strings.Trim(fmt.Sprint(s.Format.Widths), "[]")))
	}
	g.row("Mode:", s.Mode)
	g.row("EVs:", fmt.Sprintf("%d, active %d, denied %d, replaced %d, assumed bad %d, at least active %d", s.Count, s.Active, s.Denied, s.Replaced, s.AssumedBad, s.MinActive))
	g.row("CC profile:", s.CCProfile)
	g.row("Serves:", strings.Join(s.Destinations, ", "))
	g.row("Hosts:", strings.Join(s.Hosts, ", "))
	if len(s.Behind) > 0 {
		g.row("Behind:", strings.Join(s.Behind, ", "))
	}
	for _, id := range s.LostLinks {
		g.row("Lost link:", id)
	}
	if err := g.writeTo(w); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := evTable(w, s.EVs); err != nil {
		return err
	}
	return conditionTable(w, s.Conditions)
}

func evTable(w io.Writer, evs []evDocument) error {
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
	return g.writeTo(w)
}

// conditionTable shows conditions below something else.
func conditionTable(w io.Writer, conditions []api.Condition) error {
	if len(conditions) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	g := newGrid("CONDITION", "STATUS", "REASON", "MESSAGE")
	for _, c := range conditions {
		g.row(c.Type, yesNo(c.Status), c.Reason, c.Message)
	}
	return g.writeTo(w)
}

// pathDocument is the way of an EV.
type pathDocument struct {
	Profile string `json:"profile"`
	EV      string `json:"ev"`
	State   string `json:"state"`
	Mode    string `json:"mode"`
	Plane   int    `json:"plane"`
	Packet  struct {
		SourcePort  *uint16 `json:"sourcePort"`
		FlowLabel   *uint32 `json:"flowLabel"`
		Destination string  `json:"destination"`
		Segment     string  `json:"segment"`
		LastUSID    string  `json:"lastUsid"`
	} `json:"packet"`
	Hops []struct {
		By    string `json:"by"`
		Value uint32 `json:"value"`
		Links []struct {
			ID       string `json:"id"`
			From     string `json:"from"`
			FromName string `json:"fromName"`
			FromPort uint32 `json:"fromPort"`
			To       string `json:"to"`
			ToName   string `json:"toName"`
			ToPort   uint32 `json:"toPort"`
		} `json:"links"`
	} `json:"hops"`
	LostLinks []string `json:"lostLinks"`
}

func pathTable(w io.Writer, p *pathDocument) error {
	fmt.Fprintf(w, "EV %s of %s, %s, %s", p.EV, p.Profile, p.State, p.Mode)
	if p.Plane != 0 {
		fmt.Fprintf(w, ", plane %d", p.Plane)
	}
	fmt.Fprintln(w)
	switch k := &p.Packet; {
	case k.SourcePort != nil && k.FlowLabel != nil:
		fmt.Fprintf(w, "UDP source port %d (%#04x), flow label %#05x\n\n", *k.SourcePort, *k.SourcePort, *k.FlowLabel)
	case k.Segment != "":
		fmt.Fprintf(w, "destination %s, segment %s, last uSID %s\n\n", k.Destination, k.Segment, k.LastUSID)
	default:
		fmt.Fprintf(w, "destination %s, last uSID %s\n\n", k.Destination, k.LastUSID)
	}
	lost := make(map[string]bool)
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
			g.row(i+1, named(l.FromName, l.From), l.FromPort, named(l.ToName, l.To), l.ToPort, by, l.ID, note)
		}
	}
	return g.writeTo(w)
}
