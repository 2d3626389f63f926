package discovery

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/topology"
	"github.com/weft-sdn/weft/topology/static"
)

// advertised is a link of another source.
type advertised struct {
	link    *topology.Link
	to      end // port 0: unknown; sw "": the node is no switch of the inventory
	byBGPLS bool
}

// sources names what a link is known from besides LLDP.
func (a *advertised) sources() string {
	if len(a.link.Sources) == 0 {
		return topology.SourceBGPLS
	}
	return strings.Join(slices.DeleteFunc(slices.Clone(a.link.Sources), isLLDP), ", ")
}

// agrees reports whether the link leads to a port.
func (a *advertised) agrees(to end) bool {
	return a.to.sw == to.sw && (a.to.port == to.port || a.to.port == 0)
}

func isLLDP(source string) bool  { return source == topology.SourceLLDP }
func isOther(source string) bool { return source != topology.SourceLLDP }

// readAdvertised reads the links of other sources out of the network. A link that has disappeared
// from BGP-LS counts as withdrawn while both nodes exist.
func (f *Feature) readAdvertised() {
	net := f.env.Net
	before := make(map[string]map[uint32]advertised, len(f.switches))
	for sw, st := range f.switches {
		before[sw], st.advertised = st.advertised, nil
	}
	for _, l := range net.Snapshot.Advertised().Links {
		name, ok := net.SwitchOf(l.Local)
		if !ok || !f.env.Switches.Exists(name) || len(l.Sources) > 0 && !slices.ContainsFunc(l.Sources,
			isOther) {
			continue
		}
		a := advertised{link: l, byBGPLS: len(l.Sources) == 0 ||
			slices.Contains(l.Sources, topology.SourceBGPLS)}
		if remote, ok := net.SwitchOf(l.Remote); ok {
			a.to = end{remote, net.Switch(remote).Port(l.RemoteID, l.RemotePort)}
		}
		st := f.state(name)
		if st.advertised == nil {
			st.advertised = make(map[uint32]advertised)
		}
		st.advertised[net.Switch(name).Port(l.LocalID, l.LocalPort)] = a
	}
	for sw, ports := range before {
		for port, a := range ports {
			from := end{sw, port}
			if _, still := f.advertised(from); !still && a.byBGPLS && a.to.sw != "" {
				f.withdrawn[from] = a.to
			}
		}
	}
	maps.DeleteFunc(f.withdrawn, func(from, to end) bool {
		_, again := f.advertised(from)
		return again || net.Node(from.sw) == nil || net.Node(to.sw) == nil
	})
}

// makeSources makes topology sources from the frames heard.
func (f *Feature) makeSources() {
	confirmed, found := topology.NewBuilder(), topology.NewBuilder()
	arrivals := f.arrivals()
	f.eachSender(func(from end, s *sender) {
		to := s.heard
		if to.sw == "" || to.sw == from.sw || f.facesHost(to) || len(arrivals[to]) > 1 {
			return
		}
		if a, ok := f.advertised(from); ok {
			if a.agrees(to) {
				confirmed.SetLink(topology.Link{ID: a.link.ID, Local: a.link.Local, Remote: a.link.Remote})
			}
			return
		}
		if was, ok := f.withdrawn[from]; ok {
			if was.sw == to.sw && (was.port == to.port || was.port == 0) {
				return
			}
			delete(f.withdrawn, from) // another cable
		}
		if _, taken := f.advertised(to); taken {
			return
		}
		if l, ok := f.link(from, to); ok {
			found.SetLink(l)
		}
	})
	f.confirmTold(confirmed)
	for i, b := range [...]*topology.Builder{confirmed, found} {
		if s := b.Build(); f.sources[i] == nil && len(s.Links) > 0 || f.sources[i] != nil &&
			!sameLinks(s, f.sources[i]) {
			f.sources[i], f.fresh = s, true
		}
	}
}

// arrivals returns the ports whose frames arrive at a port, in order.
func (f *Feature) arrivals() map[end][]end {
	out := make(map[end][]end)
	f.eachSender(func(from end, s *sender) {
		if s.heard.sw != "" {
			out[s.heard] = append(out[s.heard], from)
		}
	})
	for _, from := range out {
		slices.SortFunc(from, compareEnds)
	}
	return out
}

// link returns the link that a cable is; ok is false when a node is not known.
func (f *Feature) link(from, to end) (l topology.Link, ok bool) {
	net := f.env.Net
	local, remote := net.Node(from.sw), net.Node(to.sw)
	if local == nil || remote == nil {
		return l, false
	}
	return topology.Link{
		Local: local.ID, Remote: remote.ID, LocalPort: from.port, RemotePort: to.port,
		LocalID: net.Switch(from.sw).LinkID(from.port), RemoteID: net.Switch(to.sw).LinkID(to.port),
		IGPMetric: static.DefaultMetric, EndX: static.EndXOf(local, from.port),
	}, true
}

func sameLinks(a, b *topology.Snapshot) bool {
	return slices.EqualFunc(a.Links, b.Links, (*topology.Link).Equal)
}

// facesHost reports whether a port is one of a host.
func (f *Feature) facesHost(e end) bool {
	sw := f.env.Net.Switch(e.sw)
	return sw != nil && slices.Contains(f.env.Net.HostPorts(sw), e.port)
}

// Take returns the sources of the topology that LLDP is; ok is false when they have not changed
// since the last call.
func (f *Feature) Take() (sources []topology.Source, ok bool) {
	if !f.fresh {
		return nil, false
	}
	f.fresh = false
	for i, s := range f.sources {
		if s != nil {
			sources = append(sources, topology.Source{Name: topology.SourceLLDP, Snapshot: s, Fills: i == 1,
				Confirms: i == 0})
		}
	}
	return sources, true
}

// compare finds the ports whose cables differ from the known links.
func (f *Feature) compare() {
	faults := make(map[end]string)
	arrivals := f.arrivals()
	f.eachSender(func(from end, s *sender) {
		a, known := f.advertised(from)
		switch to := s.heard; {
		case to.sw == "" && known && f.silent(s, a.to):
			faults[from] = fmt.Sprintf("port %v: %s has a link to %v, and no LLDP frame arrives there", from,
				a.sources(), f.place(&a))
		case to.sw == "" && len(arrivals[from]) == 1 && f.silent(s, arrivals[from][0]):
			faults[from] = fmt.Sprintf("port %v: LLDP frames of %v arrive, and none arrives there", from,
				arrivals[from][0])
		case to.sw == "":
		case to.sw == from.sw:
			faults[from] = fmt.Sprintf("port %v: LLDP frames come back by port %v of the same switch", from,
				to)
		case known && !a.agrees(to):
			faults[from] = fmt.Sprintf("port %v: %s has a link to %v, and LLDP frames arrive at %v", from,
				a.sources(), f.place(&a), to)
		case f.env.Net.Node(from.sw) == nil || f.env.Net.Node(to.sw) == nil:
			faults[from] = fmt.Sprintf("port %v: LLDP frames arrive at %v, and the topology lacks a node "+
				"of these switches", from, to)
		}
	})
	for at, from := range arrivals {
		switch {
		case f.facesHost(at):
			faults[at] = fmt.Sprintf("port %v: configured for a host, and LLDP frames of %v arrive", at,
				from[0])
		case len(from) > 1:
			faults[at] = fmt.Sprintf("port %v: LLDP frames of both %v and %v arrive", at, from[0], from[1])
		}
	}
	f.compareTold(faults)
	f.setFaults(faults)
}

// silent reports whether frames of a port should have arrived at another port by now: both switches
// have been connected for long enough, and the other port is up.
func (f *Feature) silent(s *sender, at end) bool {
	peer := f.switches[at.sw]
	return peer != nil && peer.connected && s.sent > f.cfg().Missed && !f.isDown(at) &&
		s.sentAt-peer.since >= f.cfg().Interval.D()*time.Duration(f.cfg().Missed)
}

// place names where a link leads.
func (f *Feature) place(a *advertised) string {
	switch node := f.env.Net.Snapshot.Node(a.link.Remote); {
	case a.to.sw != "" && a.to.port != 0:
		return a.to.String()
	case a.to.sw != "":
		return a.to.sw
	case node != nil:
		return node.DisplayName()
	}
	return string(a.link.Remote)
}
