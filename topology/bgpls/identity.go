package bgpls

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/weft-sdn/weft/topology"
	"github.com/weft-sdn/weft/topology/bgpls/wire"
)

// nodeID returns the id of the node that a descriptor names. Protocol, area and
// BGP-LS identifier are not in it: a border router is one node.
func nodeID(instance uint64, d *wire.NodeDescriptor) topology.NodeID {
	router := routerIDText(d.IGPRouterID)
	if d.IGPRouterID == "" {
		router = d.BGPRouterID.String()
	}
	id := strconv.FormatUint(uint64(d.ASN), 10) + ":" + router
	if instance != 0 {
		id += "@" + strconv.FormatUint(instance, 10)
	}
	return topology.NodeID(id)
}

// isPseudonode reports whether a descriptor names a LAN.
func isPseudonode(d *wire.NodeDescriptor) bool {
	return len(d.IGPRouterID) == 7 || len(d.IGPRouterID) == 8
}

// routerIDText writes an IGP router-id in the notation of its protocol: 4 octets as an IPv4 address
// (for an OSPF pseudonode, followed by the address of the designated router's interface); 6 octets
// in the form of an IS-IS system id, then the number of a pseudonode. Other lengths are
// hexadecimal.
func routerIDText(octets string) string {
	b := []byte(octets)
	switch len(b) {
	case 4:
		return netip.AddrFrom4([4]byte(b)).String()
	case 8:
		return netip.AddrFrom4([4]byte(b)).String() + "-" + netip.AddrFrom4([4]byte(b[4:])).String()
	case 6:
		return fmt.Sprintf("%x.%x.%x", b[:2], b[2:4], b[4:])
	case 7:
		return fmt.Sprintf("%x.%x.%x.%x", b[:2], b[2:4], b[4:6], b[6:])
	}
	return "x" + hex.EncodeToString(b)
}

// parseRouterID is the inverse of routerIDText.
func parseRouterID(s string) (octets string, err error) {
	if h, ok := strings.CutPrefix(s, "x"); ok {
		b, err := hex.DecodeString(h)
		if err != nil {
			return "", fmt.Errorf("%w: router-id %q", ErrObject, s)
		}
		return string(b), nil
	}
	if a, dr, ok := strings.Cut(s, "-"); ok {
		x, err := parseRouterID(a)
		if err != nil {
			return "", err
		}
		y, err := parseRouterID(dr)
		if err != nil {
			return "", err
		}
		return x + y, nil
	}
	if a, err := netip.ParseAddr(s); err == nil && a.Is4() {
		return string(a.AsSlice()), nil
	}
	parts := strings.Split(s, ".")
	b, err := hex.DecodeString(strings.Join(parts, ""))
	if err != nil || len(parts) < 3 || len(b) != 6 && len(b) != 7 || routerIDText(string(b)) != s {
		return "", fmt.Errorf("%w: router-id %q", ErrObject, s)
	}
	return string(b), nil
}

// parseNodeID is the inverse of nodeID.
func parseNodeID(id topology.NodeID) (instance uint64, d wire.NodeDescriptor, err error) {
	s, at, hasInstance := strings.Cut(string(id), "@")
	if hasInstance {
		if instance, err = strconv.ParseUint(at, 10, 64); err != nil {
			return 0, d, fmt.Errorf("%w: node id %q", ErrObject, id)
		}
	}
	as, router, ok := strings.Cut(s, ":")
	n, err := strconv.ParseUint(as, 10, 32)
	if !ok || err != nil {
		return 0, d, fmt.Errorf("%w: node id %q has no AS number", ErrObject, id)
	}
	d.ASN = uint32(n)
	if d.IGPRouterID, err = parseRouterID(router); err != nil {
		return 0, d, fmt.Errorf("node id %q: %w", id, err)
	}
	return instance, d, nil
}

// NodeID returns the id of an autonomous system's node with an IPv4 router-id, as OSPF, "direct"
// and "static" nodes have.
func NodeID(asn uint32, routerID netip.Addr) topology.NodeID {
	return nodeID(0, &wire.NodeDescriptor{ASN: asn, IGPRouterID: string(routerID.AsSlice())})
}
