package device

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/agent"
)

// Backend is a device without EV profiles of its own: it gets the paths of each destination. Its
// methods are called one at a time.
type Backend interface {
	// Ports returns the ports that the device has.
	Ports() hostapi.PortMask
	// Apply has the device use paths in place of those before: all of them or, with an error, none.
	// An error that is a *hostapi.FieldError names what the device cannot take.
	Apply(paths []Path) error
}

// Path defines the EVs by which packets to a destination may leave: outer IPv6 destinations (the
// first 16 octets of the values) with their ports, each once, in the order of EV.Compare.
type Path struct {
	Destination netip.Prefix
	EVs         []hostapi.EV
}

// Paths returns what a state says of each destination, in the order of the destinations: the EVs of
// its profile without denied ones, and without ports that the host or the peer lacks. A peer that
// lacks ports has a Path of its own. A destination without any EV left has a Path without EVs.
func Paths(s *hostapi.State) (out []Path, err error) {
	for _, p := range s.Profiles {
		var evs []hostapi.EV
		for _, v := range p.EVs {
			if p.IsDenied(v) || s.DeniedPorts.Has(int(v.Port)) {
				continue
			}
			wire, err := p.Expand(v)
			if err != nil {
				return nil, err
			}
			evs = append(evs, wire)
		}
		slices.SortFunc(evs, hostapi.EV.Compare)
		evs = slices.Compact(evs)
		for _, d := range p.Destinations {
			out = append(out, Path{d, by(evs, s.PeerPorts(d.Addr()), d.IsSingleIP())})
		}
		for _, peer := range s.Peers {
			if whole := netip.PrefixFrom(peer.Peer, peer.Peer.BitLen()); s.ProfileTo(peer.Peer) == p &&
				!slices.Contains(p.Destinations, whole) {
				out = append(out, Path{whole, by(evs, peer.Ports, true)})
			}
		}
	}
	slices.SortFunc(out, func(a, b Path) int {
		return cmp.Or(a.Destination.Addr().Compare(b.Destination.Addr()),
			cmp.Compare(a.Destination.Bits(), b.Destination.Bits()))
	})
	return out, nil
}

// by returns the EVs of some ports; if the destination is no single peer, all EVs.
func by(evs []hostapi.EV, ports hostapi.PortMask, onePeer bool) []hostapi.EV {
	if !onePeer || ports == ^hostapi.PortMask(1) {
		return evs
	}
	return slices.DeleteFunc(slices.Clone(evs), func(v hostapi.EV) bool {
		return !ports.Has(int(v.Port))
	})
}

// PathTo returns what a state says of an address; ok is false if no profile serves it.
func PathTo(s *hostapi.State, a netip.Addr) (best Path, ok bool) {
	one := *s
	p := s.ProfileTo(a)
	if p == nil {
		return Path{}, false
	}
	one.Profiles = []*hostapi.Profile{p}
	paths, err := Paths(&one)
	for _, p := range paths {
		if p.Destination.Contains(a) && (!ok || p.Destination.Bits() > best.Destination.Bits()) {
			best, ok = p, true
		}
	}
	return best, ok && err == nil
}

// Device is a Backend as the endpoint of an agent.
type Device struct{ backend Backend }

// Endpoint returns the endpoint of a backend.
func Endpoint(b Backend) *Device { return &Device{b} }

// Capabilities implements [agent.Endpoint]: explicit profiles of SRv6 without events, counters,
// probes and congestion control.
func (d *Device) Capabilities() hostapi.Capabilities {
	return hostapi.Capabilities{
		EVMaxFormats: hostapi.MaxProfiles, EVMaxProfiles: hostapi.MaxProfiles, EVMaxCount: maxEVs,
		EVMaxCountProfile: maxEVs, EVCountAlign: 1, EVFreeCount: maxEVs, EVMaxWidth: 8 * hostapi.EVBytes,
		EVFormatModes: hostapi.Modes(hostapi.FormatSRv6),
		EVModes:       hostapi.Modes(hostapi.ModeExplicit), Ports: d.backend.Ports(),
		OptAttr: hostapi.OptEVProfileModifyOnline,
	}
}

// maxEVs bounds the EVs of all profiles together.
const maxEVs = 1 << 20

// Apply implements [agent.Endpoint].
func (d *Device) Apply(c agent.Change) error {
	paths, err := Paths(c.To)
	if err != nil {
		return err
	}
	return d.backend.Apply(paths)
}

// Probe implements [agent.Endpoint]: no controller asks for one.
func (d *Device) Probe(p *hostapi.Probe, done func(hostapi.ProbeResult)) {
	done(hostapi.ProbeResult{ID: p.ID, Err: "the device makes no probes"})
}

// Counts implements [agent.Endpoint]: the device counts nothing by EV.
func (d *Device) Counts(func(hostapi.EVCount) bool) {}

// Hop is a port: its interface, and the address of the switch behind it there.
type Hop struct {
	Interface string
	Gateway   netip.Addr
}

// outer returns the outer destination of an EV.
func outer(v hostapi.EV) netip.Addr { return netip.AddrFrom16([16]byte(v.Value[:16])) }

// noPort returns the error for an EV by a port that the device lacks.
func noPort(v hostapi.EV, have int) *hostapi.FieldError {
	return &hostapi.FieldError{Code: hostapi.CodeUnsupported, Field: "port",
		Reason: fmt.Sprintf("EV %v leaves by port %d, want 1 to %d", v, v.Port, have)}
}
