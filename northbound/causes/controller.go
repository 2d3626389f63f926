package causes

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/topology"
)

// checks has the finding for each failed check of readiness.
var checks = map[string]api.Finding{
	"store": {
		What:  "Changes are refused",
		Means: "Nobody can change anything. What is in force goes on.",
		Todo:  "See what the store says, and that more than half of the controllers reach each other.",
	},
	"disk": {
		What: "The controller's disk, or what the disk holds, is not well",
		Means: "Traffic goes on. A full disk stops all changes, unless more than half of the " +
			"controllers that form the store have room.",
		Todo: "Do what the reason says: make room on the disk, for instance, or move the data " +
			"directory to another one.",
	},
	"members": {
		What:  "Another controller is not well",
		Means: "Traffic and changes go on. When more controllers fail, changes stop.",
		Todo:  "Do at that controller what it says: make room on its disk, for instance.",
	},
	"controllers": {
		What: "Controllers do not reach each other",
		Means: "Traffic goes on. The one that most others reach decides; at a controller that does not " +
			"reach that one nothing can be changed.",
		Todo: "See the reason: the network between the controllers at the port of cluster.listen, " +
			"their certificates, their clocks.",
	},
	"certificates": {
		What: "A certificate of the controllers expires soon, or has expired",
		Means: "Nothing is lost yet. When it has expired, the controllers refuse the one that shows " +
			"it, and that one neither decides nor owns switches.",
		Todo: "Renew it: files are read again when they change, without a restart.",
	},
	"share": {
		What: "Switches are shared out unevenly",
		Means: "Traffic goes on. The controller with the most switches programs them later than the " +
			"others.",
		Todo: "See which controller has few or none, and why it cannot reach its switches.",
	},
}

// controllerFindings returns the reasons why the controller cannot keep changes, and the faults of
// other controllers.
func (v *view) controllerFindings() (out []finding) {
	diskFails := false
	for _, c := range v.Checks {
		diskFails = diskFails || c.Name == "disk" && !c.OK
	}
	for _, c := range v.Checks {
		f, ok := checks[c.Name]
		if c.OK || !ok {
			continue
		}
		f.ID, f.Kind, f.Object, f.Detail = c.Name, "controller", "controllers", c.Message
		f.Severity = api.SeverityFault
		if c.Advisory {
			f.Severity = api.SeverityWarning
		}
		x := finding{Finding: f}
		if c.Name == "store" && diskFails {
			x.because = []string{"disk"}
		}
		out = append(out, x)
	}
	return out
}

// unready returns the finding for a controller that is not ready, provided that nothing else is
// wrong.
func (v *view) unready(found []api.Cause) (f api.Finding, ok bool) {
	for i := range found {
		if found[i].Severity != api.SeverityWork {
			return f, false
		}
	}
	for _, c := range v.Checks {
		if !c.OK && !c.Advisory {
			return api.Finding{
				ID: "ready", Kind: "controller", Object: "controllers", Severity: api.SeverityWarning,
				What: "The controller is not ready", Detail: sentence(c.Name + ": " + c.Message),
				Means: "Traffic goes on. Changes may have to wait.",
				Todo:  "Wait some seconds. If it stays, see what it waits for.",
			}, true
		}
	}
	return f, false
}

// lostSpeakers returns the findings of lost switches by the addresses that their BGP speakers may
// have.
func (v *view) lostSpeakers() map[string]string {
	at := make(map[string]int) // switches by the address of their P4Runtime servers
	for i := range v.Switches {
		at[hostOf(v.Switches[i].Address)]++
	}
	lost := make(map[string]string)
	for i := range v.Switches {
		s := &v.Switches[i]
		if !s.Managed || s.Connected {
			continue
		}
		id := "switch/" + s.Name
		if host := hostOf(s.Address); host != "" && at[host] == 1 {
			lost[host] = id
		}
		if _, router, ok := strings.Cut(s.Node, ":"); ok && router != "" {
			lost[router] = id
		}
		if loopback := v.Loopbacks[topology.NodeID(s.Node)]; loopback != "" {
			lost[loopback] = id
		}
	}
	return lost
}

// hostOf returns the host of HOST:PORT, or "".
func hostOf(address string) string {
	if p, err := netip.ParseAddrPort(address); err == nil {
		return p.Addr().String()
	}
	host, port, ok := strings.Cut(address, ":")
	if !ok || port == "" {
		return ""
	}
	return host
}

// peerFindings returns findings for lost sessions, and for peers that send malformed messages.
func (v *view) peerFindings() (out []finding) {
	speakers := v.lostSpeakers()
	var lost []string
	for i := range v.Peers {
		p := &v.Peers[i]
		if p.State == topology.PeerEstablished {
			continue
		}
		f := finding{Finding: api.Finding{
			ID: "peer/" + p.Name, Kind: "BGP-LS peer", Object: "bgp-peers/" + p.Name,
			Severity: api.SeverityFault, Since: p.Since,
			What:   "There is no BGP-LS session with " + p.Name,
			Detail: fmt.Sprintf("The session is %s.", p.State),
			Means: "Traffic goes on. What changes in the part of the network that the peer describes is " +
				"not seen.",
			Todo: "See that the peer runs, that it has this controller as a neighbor, and that port 179 " +
				"is open.",
		}}
		if p.LastError != "" {
			f.Detail = sentence(p.LastError)
		}
		if p.Synced {
			f.Severity = api.SeverityWarning
		}
		for _, name := range []string{p.Address.String(), p.Name} {
			if id := speakers[name]; id != "" {
				f.because = []string{id}
				break
			}
		}
		lost, out = append(lost, f.ID), append(out, f)
	}
	for i := range v.Peers {
		if f, ok := malformed(&v.Peers[i]); ok {
			out = append(out, f)
		}
		if f, ok := kept(&v.Peers[i]); ok {
			lost, out = append(lost, f.ID), append(out, f)
		}
	}
	for _, c := range v.Checks {
		if c.Name != "bgp-ls" || c.OK {
			continue
		}
		f := finding{because: lost, Finding: api.Finding{
			ID: "bgp-ls", Kind: "controller", Object: "bgp-peers", Severity: api.SeverityFault,
			What: "The topology is not complete", Detail: c.Message,
			Means: "What is programmed goes on. The controller removes nothing before it knows the " +
				"whole topology.",
			Todo: "Bring the BGP-LS peers up.",
		}}
		if c.Advisory {
			f.Severity, f.What = api.SeverityWarning, "The topology may be out of date"
		}
		if len(v.Peers) == 0 {
			f.Todo = "Apply a network, or name BGP-LS peers in bgp.peers of the configuration."
		} else if !slices.ContainsFunc(v.Peers, func(p api.BGPPeer) bool {
			return p.State != topology.PeerEstablished
		}) {
			f.Todo = "Wait: the peers are up, and have yet to say all that they know. If it stays, see " +
				"the log of each peer."
		}
		out = append(out, f)
	}
	return out
}

// kept returns the finding for a BGP-LS peer that no longer advertises everything that the topology
// holds from the peer.
func kept(p *api.BGPPeer) (f finding, ok bool) {
	if p.Kept == nil {
		return f, false
	}
	n := p.Kept.NLRIs
	var counts []string
	for _, c := range []struct {
		n    int
		noun string
	}{{n.Nodes, "node"}, {n.Links, "direction of links"}, {n.Prefixes, "prefix"}, {n.SIDs, "SID"}} {
		if c.n > 0 {
			counts = append(counts, Count(c.n, c.noun))
		}
	}
	f.Finding = api.Finding{
		ID: "kept/" + p.Name, Kind: "BGP-LS peer", Object: "bgp-peers/" + p.Name,
		Severity: api.SeverityWarning, Since: p.Kept.Since,
		What: fmt.Sprintf("BGP-LS peer %s no longer says all that it said", p.Name),
		Detail: fmt.Sprintf("It has left out %s. They count until %s.", strings.Join(counts, ", "),
			p.Kept.Until.UTC().Format("15:04:05 UTC")),
		Means: "Traffic goes on as it is programmed.",
		Todo:  "Nothing: what it does not say again by then is removed.",
	}
	if p.Kept.Implausible {
		f.Severity, f.What = api.SeverityFault,
			fmt.Sprintf("BGP-LS peer %s no longer describes half of the network", p.Name)
		f.Means = "Nobody confirms that these nodes are gone: traffic goes on as it is programmed, and " +
			"what changes there is not seen."
		f.Todo = "See that the peer has its own sessions and routes: a route reflector may have lost " +
			"its clients. If the nodes are gone for good, they are removed at that time."
	}
	return f, true
}

// malformed returns the finding for a peer that sends malformed messages.
func malformed(p *api.BGPPeer) (f finding, ok bool) {
	var counts []string
	if p.MalformedNLRIs > 0 {
		counts = append(counts, Count(int(p.MalformedNLRIs), "NLRI")+" left out")
	}
	if p.DiscardedAttributes > 0 {
		counts = append(counts, Count(int(p.DiscardedAttributes), "attribute")+" discarded")
	}
	if p.Synced && p.Unplaced > 0 {
		counts = append(counts, Count(p.Unplaced, "SID")+" of nodes that nobody describes")
	}
	if len(counts) == 0 {
		return f, false
	}
	f.Finding = api.Finding{
		ID: "malformed/" + p.Name, Kind: "BGP-LS peer", Object: "bgp-peers/" + p.Name,
		Severity: api.SeverityWarning,
		What:     fmt.Sprintf("BGP-LS peer %s sends what cannot be used", p.Name),
		Detail:   strings.Join(counts, ", ") + " so far.",
		Means:    "The topology lacks what was left out: traffic may take longer paths.",
		Todo:     "Look at the software of the peer.",
	}
	if p.LastFault != nil {
		f.Detail += fmt.Sprintf(" The last: %s.", p.LastFault.Reason)
		f.Since = p.LastFault.Time
	}
	return f, true
}
