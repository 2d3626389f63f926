package main

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/weft-sdn/weft/api"
)

func fabricTable(w *bytes.Buffer, d *api.Fabric) {
	g := newGrid()
	g.row("Mode:", d.Mode)
	g.row("In sync:", yesNo(d.InSync))
	if d.Failure != "" {
		g.row("Failure:", d.Failure)
	}
	g.row("Shape:", fmt.Sprintf("%d planes, %d tiers, %d leaves", d.Planes, d.Tiers, d.Leaves))
	g.row("Links:", fmt.Sprintf("%d, denied %d", d.Links.All, d.Links.Bad))
	g.row("Hosts:", fmt.Sprintf("%d, connected %d, current %d", d.Hosts.All, d.Hosts.Connected,
		d.Hosts.Current))
	g.row("EV profiles:", fmt.Sprintf("%d, degraded %d", d.Profiles.All, d.Profiles.Bad))
	g.writeTo(w)
}

// drainCell reports what takes something out of use.
func drainCell(drains []api.Drain) string {
	var out []string
	for _, d := range drains {
		text := d.Target + " drained"
		if !d.Drained {
			text = d.Target + " draining"
			if len(d.Awaits) > 0 {
				text += ", awaits " + few(d.Awaits)
			}
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// joined lists ids.
func joined[ID ~string](ids []ID) string {
	var out []string
	for _, id := range ids {
		out = append(out, string(id))
	}
	return strings.Join(out, ", ")
}

// few names some of many.
func few(names []string) string {
	const most = 4
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

func named[ID ~string](name string, id ID) string { return cmp.Or(name, string(id)) }

// texts are values as people write them.
func texts[T fmt.Stringer](values []T) []string {
	var out []string
	for _, v := range values {
		out = append(out, v.String())
	}
	return out
}

// notes joins what there is to say.
func notes(texts ...string) string {
	var out []string
	for _, t := range texts {
		if t != "" {
			out = append(out, t)
		}
	}
	return strings.Join(out, "; ")
}

func linkTable(w *bytes.Buffer, links []api.Link) {
	g := newGrid("FROM", "TO", "PLANE", "PHASE", "SINCE", "DENIED", "KNOWN FROM", "ID", "NOTE")
	for i := range links {
		s, plane := &links[i].Status, ""
		if s.Plane != 0 {
			plane = fmt.Sprint(s.Plane)
		}
		g.row(named(s.FromName, s.From), named(s.ToName, s.To), plane, s.Phase, clockTime(s.Since),
			yesNo(s.Denied), strings.Join(s.Sources, ", "), links[i].ID, notes(s.Cause, drainCell(s.Drains)))
	}
	g.writeTo(w)
}

func nodeTable(w *bytes.Buffer, nodes []api.Node) {
	g := newGrid("NAME", "ID", "TIER", "PLANES", "LINKS", "DENIED", "NOTE")
	for i := range nodes {
		s, gone := &nodes[i].Status, ""
		if !s.Present {
			gone = "not advertised"
		}
		tier := ""
		if s.Tier != nil {
			tier = fmt.Sprint(*s.Tier)
		}
		g.row(s.Name, nodes[i].ID, tier, strings.Trim(fmt.Sprint(s.Planes), "[]"), s.Links, s.DeniedLinks,
			notes(gone, drainCell(s.Drains)))
	}
	g.writeTo(w)
}

func planeTable(w *bytes.Buffer, planes []api.Plane) {
	g := newGrid("PLANE", "LINKS", "DENIED", "NOTE")
	for i := range planes {
		s := &planes[i].Status
		g.row(planes[i].Plane, s.Links, s.DeniedLinks, drainCell(s.Drains))
	}
	g.writeTo(w)
}

func suspectTable(w *bytes.Buffer, suspects []api.Suspect) {
	g := newGrid("KIND", "FROM", "TO", "LOSS", "CONFIDENCE", "LOST", "SENT", "PATHS", "SINCE",
		"DENIED", "LINKS", "NOTE")
	for i := range suspects {
		s := &suspects[i]
		from := cmp.Or(named(s.NodeName, s.Node), named(s.FromName, s.From))
		g.row(s.Kind, from, named(s.ToName, s.To), fmt.Sprintf("%.3g", s.Loss),
			fmt.Sprintf("%.4f", s.Confidence),
			s.Evidence.Lost, s.Evidence.Sent, s.Evidence.Paths, clockTime(s.Since), yesNo(s.Denied),
			joined(s.Links), s.Why)
	}
	g.writeTo(w)
}

func probeTable(w *bytes.Buffer, probes []api.EVProbe) {
	g := newGrid("PROFILE", "EV", "FROM", "TO", "SENT", "RECEIVED", "LOSS", "RTT MIN", "MEAN", "MAX",
		"AT")
	rtt := func(d *api.Duration) string {
		if d == nil {
			return ""
		}
		return d.String()
	}
	for i := range probes {
		p := &probes[i]
		g.row(p.Profile, p.EV, p.Source, p.Destination, p.Sent, p.Received, fmt.Sprintf("%.3g", p.Loss),
			rtt(p.RTTMin), rtt(p.RTTMean), rtt(p.RTTMax), clockTime(p.At))
	}
	g.writeTo(w)
}

func ccTable(w *bytes.Buffer, profiles []api.CCProfile) {
	g := newGrid("NAME", "VERSION", "ALGORITHM", "TARGET DELAY", "BASE RTT", "MIN CWND", "MAX CWND",
		"GAMMA")
	for i := range profiles {
		p, n := &profiles[i], &profiles[i].Spec.NSCC
		g.row(p.Name, p.Version, p.Spec.Algorithm, n.TargetDelay, n.BaseRTT, n.MinCwnd, n.MaxCwnd,
			n.Gamma)
	}
	g.writeTo(w)
}
