package topology

import "net/netip"

// A PortMap gives the device port of a link end where the port differs from the advertised link
// identifier. Nodes and ends that are missing from the map keep the identifier.
type PortMap map[NodeID]NodePorts

// NodePorts maps the link ends of one node to its ports.
type NodePorts struct {
	// ByLinkID maps link identifiers (TLV 258).
	ByLinkID map[uint32]uint32
	// ByAddress maps interface addresses. It counts where a link has no identifier or ByLinkID lacks
	// the identifier.
	ByAddress map[netip.Addr]uint32
}

// Port returns the port of the end of a link with an identifier and addresses.
func (p NodePorts) Port(id uint32, addresses []netip.Addr) (port uint32, ok bool) {
	if port, ok = p.ByLinkID[id]; ok {
		return port, true
	}
	for _, a := range addresses {
		if port, ok = p.ByAddress[a]; ok {
			return port, true
		}
	}
	return 0, false
}

// apply sets the ports of a link that are still 0.
func (m PortMap) apply(l *Link) {
	if l.LocalPort == 0 {
		l.LocalPort, _ = m[l.Local].Port(l.LocalID, l.LocalAddresses)
	}
	if l.RemotePort == 0 {
		l.RemotePort, _ = m[l.Remote].Port(l.RemoteID, l.RemoteAddresses)
	}
}
