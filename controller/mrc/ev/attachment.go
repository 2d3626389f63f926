package ev

import (
	"fmt"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/topology"
)

// An Attachment lists the leaf of each port of a host, port 1 first, empty for an unattached port.
// A port is in the plane of its leaf. If the leaf is in several planes, the port number is the
// plane (section 11.5: port = plane). Hosts with the same attachment share profiles.
type Attachment []topology.NodeID

// Ports returns the number of attached ports.
func (at Attachment) Ports() int {
	n := 0
	for _, leaf := range at {
		if leaf != "" {
			n++
		}
	}
	return n
}

func (at Attachment) validate() error {
	if at.Ports() == 0 || len(at) > hostapi.MaxPort {
		return fmt.Errorf("%d ports, %d of them attached, want 1 to %d: %w", len(at), at.Ports(),
			hostapi.MaxPort, ErrMalformed)
	}
	return nil
}

// A Pair is where packets come from and where they go: what a profile is for.
type Pair struct{ Source, Destination Attachment }

// String names both ends by the leaf of their first port.
func (p Pair) String() string {
	first := func(at Attachment) topology.NodeID {
		for _, leaf := range at {
			if leaf != "" {
				return leaf
			}
		}
		return ""
	}
	return fmt.Sprintf("%s to %s", first(p.Source), first(p.Destination))
}
