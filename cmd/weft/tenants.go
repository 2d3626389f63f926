package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/weft-sdn/weft/api"
)

func srv6PolicyTable(w *bytes.Buffer, policies []api.SRv6Policy) {
	g := newGrid("NAME", "HEADEND", "ENDPOINT", "METRIC", "MODE", "PATH", "PFC NODES", "ACCEPTED",
		"PROGRAMMED")
	for i := range policies {
		p, s := &policies[i], &policies[i].Spec
		status := p.Status.Conditions
		g.row(p.Name, s.Headend, s.Endpoint, s.Metric, s.Mode, strings.Join(p.Status.Path, " "),
			strings.Join(p.Status.PFCNodes, " "),
			conditionCell(status, api.Accepted), conditionCell(status, api.Programmed))
	}
	g.writeTo(w)
}

func srv6PolicyDetail(w *bytes.Buffer, p *api.SRv6Policy) {
	g := newGrid()
	g.row("Name:", p.Name)
	g.row("Version:", p.Version)
	g.row("From, to:", p.Spec.Headend+", "+p.Spec.Endpoint)
	g.row("Metric, mode:", fmt.Sprintf("%s, %s", p.Spec.Metric, p.Spec.Mode))
	g.row("Path:", strings.Join(p.Status.Path, " "))
	g.row("PFC nodes:", strings.Join(p.Status.PFCNodes, " "))
	g.row("Used by:", strings.Join(p.Status.UsedBy, ", "))
	g.writeTo(w)
	fmt.Fprintln(w)
	g = newGrid("SEGMENT", "SID", "BEHAVIOR")
	for _, s := range p.Status.SegmentList {
		g.row(s.Node, s.SID, s.Behavior)
	}
	g.writeTo(w)
	conditionTable(w, p.Status.Conditions)
}

func tenantDetail(w *bytes.Buffer, t *api.Tenant) {
	g := newGrid()
	g.row("Name:", t.Name)
	g.row("Version:", t.Version)
	g.row("Slice, priority:", fmt.Sprintf("%d, %d", t.Spec.Slice, t.Spec.Priority))
	if t.Spec.Rate > 0 {
		g.row("Rate:", bitRate(t.Spec.Rate))
	}
	g.row("VRF:", t.Status.VRF)
	g.row("SRv6 policies:", strings.Join(t.Spec.Policies, ", "))
	g.row("Used by:", strings.Join(t.Status.UsedBy, ", "))
	g.writeTo(w)
	fmt.Fprintln(w)
	g = newGrid("SITE", "SID", "PREFIXES")
	sites := t.Status.Sites
	for i, s := range t.Spec.Sites {
		var sid, prefixes string
		if i < len(sites) {
			sid, prefixes = sites[i].SID.String(), strings.Trim(fmt.Sprint(sites[i].Prefixes), "[]")
		}
		g.row(fmt.Sprintf("%s:%d", s.Switch, s.Port), sid, prefixes)
	}
	g.writeTo(w)
	conditionTable(w, t.Status.Conditions)
}

func tenantTable(w *bytes.Buffer, tenants []api.Tenant) {
	g := newGrid("NAME", "SLICE", "PRIORITY", "RATE", "VRF", "SITES", "POLICIES", "ACCEPTED",
		"PROGRAMMED")
	for i := range tenants {
		t, s := &tenants[i], &tenants[i].Spec
		var sites []string
		for _, x := range s.Sites {
			sites = append(sites, fmt.Sprintf("%s:%d", x.Switch, x.Port))
		}
		rate := ""
		if s.Rate > 0 {
			rate = bitRate(s.Rate)
		}
		status := t.Status.Conditions
		g.row(t.Name, s.Slice, s.Priority, rate, t.Status.VRF, strings.Join(sites, " "),
			strings.Join(s.Policies, " "),
			conditionCell(status, api.Accepted), conditionCell(status, api.Programmed))
	}
	g.writeTo(w)
}

func pfcPolicyTable(w *bytes.Buffer, policies []api.PFCPolicy) {
	g := newGrid("NAME", "SRV6 POLICY", "TENANT", "SCENARIO", "QUEUES", "PAUSED", "TUNNELS", "UP",
		"ACCEPTED", "PROGRAMMED", "DEGRADED")
	for i := range policies {
		p, s := &policies[i], &policies[i].Spec
		paused, up := 0, 0
		for _, n := range p.Status.Nodes {
			if n.Queue != nil && n.Queue.Paused {
				paused++
			}
		}
		for _, t := range p.Status.Tunnels {
			if t.State == api.TunnelUp {
				up++
			}
		}
		status := p.Status.Conditions
		g.row(p.Name, s.SRv6Policy, s.Tenant, s.Scenario, len(p.Status.Nodes), paused,
			len(p.Status.Tunnels), up,
			conditionCell(status, api.Accepted), conditionCell(status, api.Programmed),
			conditionCell(status, api.Degraded))
	}
	g.writeTo(w)
}

func pfcPolicyDetail(w *bytes.Buffer, p *api.PFCPolicy) {
	g := newGrid()
	g.row("Name:", p.Name)
	g.row("Version:", p.Version)
	g.row("SRv6 policy, tenant:", p.Spec.SRv6Policy+", "+p.Spec.Tenant)
	g.row("Scenario, tunnel:", fmt.Sprintf("%d, %s", p.Spec.Scenario, p.Spec.Tunnel))
	if len(p.Status.Cycle) > 0 {
		g.row("Circle:", strings.Join(p.Status.Cycle, " "))
	}
	g.writeTo(w)
	fmt.Fprintln(w)
	g = newGrid("QUEUE", "UPSTREAM", "BUFFER", "HEADROOM", "XOFF", "XON", "RTT", "PAUSED", "HELD",
		"MOST", "RECEIVED", "XOFF SENT", "XON SENT", "DROPPED", "STORMS", "LAST XOFF", "LAST XON")
	for i := range p.Status.Nodes {
		n := &p.Status.Nodes[i]
		m, rtt := &n.Watermarks, n.Watermarks.RTT.String()
		if !m.Measured {
			rtt += " assumed"
		}
		queue := fmt.Sprintf("%s:%d priority %d", n.Switch, n.Port, n.Priority)
		q := n.Queue
		if q == nil {
			g.row(queue, n.Upstream, m.Buffer, m.Headroom, m.XOFF, m.XON, rtt, "", "", "", "", "", "", "",
				"", "", "")
			continue
		}
		paused := yesNo(q.Paused)
		if q.Paused {
			paused = "for " + q.PausedFor.String()
		}
		g.row(queue, n.Upstream, m.Buffer, m.Headroom, m.XOFF, m.XON, rtt, paused, q.Held, q.MaxHeld,
			q.PausesReceived, q.XOFFSent, q.XONSent, q.Dropped, q.Storms,
			clockTime(q.LastXOFF), clockTime(q.LastXON))
	}
	g.writeTo(w)
	fmt.Fprintln(w)
	g = newGrid("TUNNEL", "FROM", "TO", "SEGMENTS", "STATE", "RTT", "SENT", "LOST")
	for i := range p.Status.Tunnels {
		t := &p.Status.Tunnels[i]
		var segments []string
		for _, s := range t.Segments {
			segments = append(segments, s.SID.String())
		}
		g.row(t.ID, t.From, t.To, strings.Join(segments, " "), t.State, t.RTT, t.Sent, t.Lost)
	}
	g.writeTo(w)
	conditionTable(w, p.Status.Conditions)
}
