package topology

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
)

// A LinkID names one direction of a link. Parallel links have different ids.
type LinkID string

// A Link is one direction of a connection between two nodes, advertised by the local node. The
// opposite direction is a separate Link; [Graph] pairs them and uses a link only if both directions
// exist.
type Link struct {
	// ID is derived from the ends when it is empty; see [Builder.SetLink].
	ID     LinkID `json:"id"`
	Local  NodeID `json:"local"`
	Remote NodeID `json:"remote"`
	// LocalID and RemoteID are the link's identifiers as advertised (RFC 9552
	// section 5.2.2, TLV 258); 0 is unknown.
	LocalID  uint32 `json:"localId,omitempty"`
	RemoteID uint32 `json:"remoteId,omitempty"`
	// LocalPort and RemotePort are the device ports of the ends: the link
	// identifiers, unless a [PortMap] says otherwise; 0 is unknown.
	LocalPort  uint32 `json:"localPort,omitempty"`
	RemotePort uint32 `json:"remotePort,omitempty"`
	// LocalAddresses and RemoteAddresses are the interface addresses, ascending.
	LocalAddresses  []netip.Addr `json:"localAddresses,omitempty"`
	RemoteAddresses []netip.Addr `json:"remoteAddresses,omitempty"`
	IGPMetric       uint32       `json:"igpMetric"`
	// TEMetric is 0 when the link has none; the IGP metric then counts.
	TEMetric uint32 `json:"teMetric,omitempty"`
	// Delay is zero when the link did not advertise it.
	Delay Delay `json:"delay,omitzero"`
	// MaxBandwidth is the capacity in bits per second, 0 when unknown.
	MaxBandwidth uint64 `json:"maxBandwidth,omitempty"`
	AdminGroup   uint32 `json:"adminGroup,omitempty"`
	// EndX are the SIDs that send a packet over this very link.
	EndX []EndX `json:"endX,omitempty"`
	// Sources name the sources of the link in order of precedence; see [Merge]. Empty where BGP-LS is
	// the only source.
	Sources []string `json:"sources,omitempty"`
}

// A Delay is the unidirectional delay of a link in microseconds (RFC 8571
// sections 2.1 and 2.2).
type Delay struct {
	// Known distinguishes a delay below one microsecond from an unadvertised one.
	Known     bool   `json:"known"`
	Average   uint32 `json:"average,omitempty"`
	Min       uint32 `json:"min"`
	Max       uint32 `json:"max"`
	Anomalous bool   `json:"anomalous,omitempty"`
}

// An EndX is the SID of an adjacency (RFC 9514 section 4).
type EndX struct {
	SID
	Weight uint8 `json:"weight,omitempty"`
	// Neighbor is the router-id of the neighbour on a LAN, empty elsewhere.
	Neighbor string `json:"neighbor,omitempty"`
}

func compareEndX(a, b EndX) int {
	return cmp.Or(compareSIDs(a.SID, b.SID), cmp.Compare(a.Neighbor, b.Neighbor),
		cmp.Compare(a.Weight, b.Weight))
}

// NewLinkID derives the id of a link from its ends. Link identifiers distinguish parallel links;
// without identifiers, the first addresses do.
func NewLinkID(l *Link) LinkID {
	end := func(node NodeID, id uint32, addresses []netip.Addr) string {
		switch {
		case id != 0:
			return fmt.Sprintf("%s,%d", node, id)
		case len(addresses) > 0:
			return fmt.Sprintf("%s,%s", node, addresses[0])
		}
		return string(node)
	}
	return LinkID(end(l.Local, l.LocalID, l.LocalAddresses) + "~" + end(l.Remote, l.RemoteID,
		l.RemoteAddresses))
}

// Equal reports whether two links have the same content.
func (l *Link) Equal(o *Link) bool {
	return l.ID == o.ID && l.Local == o.Local && l.Remote == o.Remote &&
		l.LocalID == o.LocalID && l.RemoteID == o.RemoteID && l.LocalPort == o.LocalPort &&
		l.RemotePort == o.RemotePort &&
		slices.Equal(l.LocalAddresses, o.LocalAddresses) &&
		slices.Equal(l.RemoteAddresses, o.RemoteAddresses) &&
		l.IGPMetric == o.IGPMetric && l.TEMetric == o.TEMetric && l.Delay == o.Delay &&
		l.MaxBandwidth == o.MaxBandwidth && l.AdminGroup == o.AdminGroup &&
		slices.Equal(l.EndX, o.EndX) && slices.Equal(l.Sources, o.Sources)
}

// normal returns the link with slices of its own, sorted, with an id, and with ports.
func (l Link) normal() Link {
	l.LocalAddresses = sorted(l.LocalAddresses, netip.Addr.Compare)
	l.RemoteAddresses = sorted(l.RemoteAddresses, netip.Addr.Compare)
	l.EndX = sorted(l.EndX, compareEndX)
	if l.ID == "" {
		l.ID = NewLinkID(&l)
	}
	if l.LocalPort == 0 {
		l.LocalPort = l.LocalID
	}
	if l.RemotePort == 0 {
		l.RemotePort = l.RemoteID
	}
	return l
}

func compareLinks(a, b *Link) int {
	return cmp.Or(cmp.Compare(a.Local, b.Local), cmp.Compare(a.Remote, b.Remote),
		cmp.Compare(a.LocalID, b.LocalID), cmp.Compare(a.ID, b.ID))
}

// KnownFrom returns the sources of the link in order of precedence, also for a link known from
// BGP-LS alone. KnownFrom returns nothing for nil, a missing link.
func (l *Link) KnownFrom() []string {
	switch {
	case l == nil:
		return nil
	case len(l.Sources) == 0:
		return []string{SourceBGPLS}
	}
	return l.Sources
}
