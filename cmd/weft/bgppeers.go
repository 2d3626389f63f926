package main

import (
	"bytes"
	"fmt"

	"github.com/weft-sdn/weft/api"
)

func peerTable(w *bytes.Buffer, peers []api.BGPPeer) {
	g := newGrid("PEER", "AS", "STATE", "SINCE", "SYNCED", "SESSIONS", "NODES", "LINKS", "PREFIXES",
		"SIDS", "MALFORMED", "LAST ERROR")
	for i := range peers {
		p := &peers[i]
		g.row(p.Name, p.ASN, p.State, clockTime(p.Since), yesNo(p.Synced), p.Sessions,
			p.NLRIs.Nodes, p.NLRIs.Links, p.NLRIs.Prefixes, p.NLRIs.SIDs, p.MalformedNLRIs+
				p.DiscardedAttributes, p.LastError)
	}
	g.writeTo(w)
}

func peerDetail(w *bytes.Buffer, p *api.BGPPeer) {
	g := newGrid()
	g.row("Peer:", p.Name)
	g.row("AS:", p.ASN)
	state := string(p.State)
	if since := clockTime(p.Since); since != "" && state == "established" {
		state += " since " + since
	} else if since != "" {
		state += ", no session since " + since
	}
	g.row("State:", state)
	if p.LastError != "" {
		g.row("Last error:", p.LastError)
	}
	g.row("Synced:", yesNo(p.Synced))
	g.row("Sessions:", p.Sessions)
	g.row("Updates:", p.Updates)
	g.row("NLRIs:", fmt.Sprintf("%d nodes, %d links, %d prefixes, %d SIDs", p.NLRIs.Nodes,
		p.NLRIs.Links, p.NLRIs.Prefixes, p.NLRIs.SIDs))
	if p.Refused > 0 {
		g.row("Refused:", fmt.Sprintf("%d NLRIs of nodes that it may not describe", p.Refused))
	}
	if p.MalformedNLRIs+p.DiscardedAttributes > 0 {
		g.row("Malformed:", fmt.Sprintf("%d NLRIs, %d attributes: left out", p.MalformedNLRIs,
			p.DiscardedAttributes))
	}
	if f := p.LastFault; f != nil {
		g.row("Last fault:", fmt.Sprintf("%s, %s of %d octets: %s", clockTime(f.Time), f.Object, f.Length,
			f.Reason))
		g.row("Its octets:", f.Octets)
	}
	for _, n := range p.Notifications {
		by := "received"
		if n.Sent {
			by = "sent"
		}
		g.row("NOTIFICATION:", fmt.Sprintf("%d/%d %s, %d times", n.Code, n.Subcode, by, n.Count))
	}
	g.writeTo(w)
}
