package mrc

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/topology"
)

// apart is the number of hosts up to which what each sends is told from what
// others of its leaf send: beyond, there would be too many paths to look at.
const apart = 128

// HostEnd is the link between a host and its leaf, in one direction: where packets of EVs begin and
// end.
type HostEnd struct {
	// Host is empty when it is one of those of a rack, and not known which.
	Host string
	Port uint8
	Leaf topology.NodeID
	// Receiving is the direction from the leaf to the host.
	Receiving bool
}

// hostEnds are the links of hosts that paths were made of, by what the locator knows them by.
type hostEnds map[topology.LinkID]hostEnd

type hostEnd struct {
	HostEnd
	rack string
}

// host returns the link of a host.
func (e hostEnds) host(h *fabric.Attached, port uint8, receiving bool) topology.LinkID {
	return e.name(hostEnd{HostEnd{h.Name, port, h.Rack().Leaf(port), receiving}, h.Rack().Name()})
}

// of returns the link of any host of a rack.
func (e hostEnds) of(r *fabric.Rack, port uint8, receiving bool) topology.LinkID {
	return e.name(hostEnd{HostEnd{"", port, r.Leaf(port), receiving}, r.Name()})
}

func (e hostEnds) name(x hostEnd) topology.LinkID {
	direction, whose := "sending", "host "+x.Host
	if x.Receiving {
		direction = "receiving"
	}
	if x.Host == "" {
		whose = "hosts of " + x.rack
	}
	id := topology.LinkID(fmt.Sprintf("%s port %d %s", whose, x.Port, direction))
	e[id] = x
	return id
}

// forget drops the links of a host that is gone.
func (e hostEnds) forget(host string) {
	maps.DeleteFunc(e, func(_ topology.LinkID, x hostEnd) bool { return x.Host == host })
}

// ends adds the links of hosts to a path, so that a bad one is not taken for a
// bad link of the fabric: that of the host which sends, and, as an EV does not
// say who receives, all those of the last leaf's hosts.
func (s *hostSet) ends(
	h *host, to *fabric.Rack, port uint8, links []topology.LinkID,
) []topology.LinkID {
	first, last := s.named.of(h.Rack(), port, false), s.named.of(to, port, true)
	if len(s.byName) <= apart {
		first = s.named.host(h.Attached, port, false)
	}
	if len(to.Hosts()) == 1 {
		last = s.named.host(to.Hosts()[0], port, true)
	}
	return slices.Concat([]topology.LinkID{first}, links, []topology.LinkID{last})
}
