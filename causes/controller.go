package causes

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/topology"
)

// checks has what a failed check of readiness is a sign of.
var checks = map[string]api.Finding{
	"store": {
		What:  "Changes are refused",
		Means: "Nobody can change anything. What is in force goes on.",
		Todo:  "See what the store says, and that more than half of the controllers reach each other.",
	},
	"disk": {
		What:  "The controller's disk is not well",
		Means: "Traffic goes on. A full disk stops all changes.",
		Todo:  "Make room on the disk, or move the data directory to another one.",
	},
	"share": {
		What: "Switches are shared out unevenly",
		Means: "Traffic goes on. The controller with the most switches programs them later than the " +
			"others.",
		Todo: "See which controller has few or none, and why it cannot reach its switches.",
	},
}

// controllerFindings are what keeps the controller from keeping changes, and what is wrong with the
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

// unready is the finding of a controller that is not ready, where nothing else is wrong.
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
				What: "The controller is not ready", Detail: Plain(c.Name + ": " + c.Message),
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

// hostOf returns the host of HOST:PORT, "" where there is none.
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

// peerFindings are sessions that are lost, and peers that send what is malformed.
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
			f.Detail = Plain(p.LastError)
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
	}
	for _, c := range v.Checks {
		if c.Name != "bgp-ls" || c.OK {
			continue
		}
		out = append(out, finding{because: lost, Finding: api.Finding{
			ID: "bgp-ls", Kind: "controller", Object: "bgp-peers", Severity: api.SeverityFault,
			What: "The topology is not complete", Detail: c.Message,
			Means: "What is programmed goes on. The controller removes nothing before it knows the " +
				"whole topology.",
			Todo: "Bring the BGP-LS peers up.",
		}})
	}
	return out
}

// malformed is the finding of a peer that sends what is malformed.
func malformed(p *api.BGPPeer) (f finding, ok bool) {
	var counts []string
	if p.MalformedNLRIs > 0 {
		counts = append(counts, Count(int(p.MalformedNLRIs), "NLRI")+" left out")
	}
	if p.DiscardedAttributes > 0 {
		counts = append(counts, Count(int(p.DiscardedAttributes), "attribute")+" discarded")
	}
	if len(counts) == 0 {
		return f, false
	}
	f.Finding = api.Finding{
		ID: "malformed/" + p.Name, Kind: "BGP-LS peer", Object: "bgp-peers/" + p.Name,
		Severity: api.SeverityWarning,
		What:     fmt.Sprintf("BGP-LS peer %s sends what is malformed", p.Name),
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
