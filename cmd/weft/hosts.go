package main

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/weft-sdn/weft/api"
)

// versionText writes the version of a host's state, "" for none.
func versionText(v *api.HostVersion) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf("%d of %s", v.Number, v.Epoch)
}

func hostTable(w *bytes.Buffer, hosts []api.Host) {
	g := newGrid("NAME", "ADDRESS", "PORTS", "USABLE", "CONNECTED", "SINCE", "CURRENT", "PROFILES",
		"EVS", "NOTE")
	for i := range hosts {
		h := &hosts[i]
		usable, refused := 0, ""
		for _, p := range h.Ports {
			if p.Status.Usable {
				usable++
			}
		}
		if n := len(h.Refusals); n > 0 {
			refused = fmt.Sprintf("refuses %d: %s: %s", n, h.Refusals[0].Field, h.Refusals[0].Reason)
		}
		g.row(h.Name, h.Address, len(h.Ports), usable, yesNo(h.Connected), clockTime(h.Since),
			yesNo(h.Versions.Current), h.EVProfiles, h.EVs, notes(h.Error, refused))
	}
	g.writeTo(w)
}

func hostDetail(w *bytes.Buffer, h *api.Host) {
	g := newGrid()
	g.row("Name:", h.Name)
	g.row("Address:", strings.Join(append([]string{h.Address.String()}, texts(h.Prefixes)...), ", "))
	connected := yesNo(h.Connected)
	if since := clockTime(h.Since); since != "" {
		connected += " since " + since
	}
	g.row("Connected:", notes(connected, h.Error))
	g.row("Software:", h.Software)
	g.row("Holds:", notes(versionText(h.Versions.Held), "current: "+yesNo(h.Versions.Current),
		fmt.Sprintf("applied %d of %d", h.Versions.Applied, h.Versions.Wanted)))
	g.row("Is to hold:", fmt.Sprintf("%d EV profiles, %d EVs", h.EVProfiles, h.EVs))
	if n := h.QPHints; n != nil {
		g.row("Jobs expect:", fmt.Sprintf("%d a peer, sends to %d peers, receives from %d",
			n.NumQPsPerPeer, n.NumSendPeers, n.NumRemoteRecvPeers))
	}
	if q := h.QueuePairs; q != nil {
		g.row("Queue pairs:", fmt.Sprintf("%d, %d failed, to %d peers", q.Count, q.Failed, q.Peers))
		for _, p := range q.Groups {
			g.row("", queuePairText(&p))
		}
	}
	if c := h.Capabilities; c != nil {
		g.row("EVs:", fmt.Sprintf("%s; %s; %d bits, %d a profile, %d in all, a multiple of %d",
			strings.Join(c.EVFormatModes, " "), strings.Join(c.EVModes, " "),
			c.EVMaxWidth, c.EVMaxCountProfile, c.EVMaxCount, max(1, c.EVCountAlign)))
		g.row("Profiles:", fmt.Sprintf("%d EV, %d CC (%s)", c.EVMaxProfiles, c.CCMaxProfiles,
			strings.Join(c.CCAlgorithms, " ")))
		g.row("Options:", strings.Join(append(append([]string{}, c.Options...), c.Transport...), " "))
	}
	if n := h.ErrorsLeftOut; n > 0 {
		g.row("Errors:", fmt.Sprintf("%d more counters of ports are not listed", n))
	}
	for _, r := range h.Refusals {
		g.row("Refuses:", fmt.Sprintf("%s: %s (%s)", r.Field, r.Reason,
			notes(r.Code, versionText(r.Version))))
	}
	g.writeTo(w)
	fmt.Fprintln(w)
	portTable(w, h.Ports)
}

// queuePairText is a group of queue pairs on a line.
func queuePairText(p *api.HostQueuePairGroup) string {
	text := []string{fmt.Sprintf("%d to %s", p.Count, cmp.Or(p.PeerName, p.Peer.String()))}
	if p.Failed > 0 {
		text = append(text, fmt.Sprintf("%d failed", p.Failed))
	}
	if p.EVProfile != "" {
		text = append(text, "EVs of "+p.EVProfile)
	}
	if p.CCProfile != "" {
		text = append(text, "CC "+p.CCProfile)
	}
	if n := p.Hints; n != nil {
		text = append(text, fmt.Sprintf("expect %d a peer, %d peers sent to, %d received from",
			n.NumQPsPerPeer, n.NumSendPeers, n.NumRemoteRecvPeers))
	}
	return strings.Join(text, "; ")
}

// portErrors writes the counters of errors of a port.
func portErrors(all []api.PortError) string {
	out := make([]string, len(all))
	for i, e := range all {
		out[i] = fmt.Sprintf("%s %s %d", e.Source, e.Counter, e.Count)
	}
	return strings.Join(out, ", ")
}

func portTable(w *bytes.Buffer, ports []api.HostPort) {
	g := newGrid("PORT", "LEAF", "LEAF PORT", "USABLE", "NOTE")
	for i := range ports {
		s := &ports[i].Status
		var down, held string
		switch {
		case s.LinkDown && s.HostDown:
			down = "down at both ends"
		case s.LinkDown:
			down = "down at the leaf"
		case s.HostDown:
			down = "down at the host"
		}
		if s.Held {
			held = "held"
		}
		g.row(ports[i].Port, named(s.LeafName, s.Leaf), s.LeafPort, yesNo(s.Usable),
			notes(down, held, drainCell(s.Drains), portErrors(s.Errors)))
	}
	g.writeTo(w)
}
