package prove

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/topology"
)

// apart is the highest number of hosts for which the locator distinguishes the senders at a leaf.
// With more hosts, there would be too many paths to look at.
const apart = 128

// hostEnd is the link between a host and its leaf, in one direction: where packets of EVs begin and
// end.
type hostEnd struct {
	host string // empty: one of the rack, and not known which
	rack string
	port uint8
	leaf topology.NodeID
	// receiving is the direction from the leaf to the host.
	receiving bool
}

// hostEnds are the links of hosts in observed paths, by their ids in the locator.
type hostEnds map[topology.LinkID]hostEnd

// host returns the link of a host.
func (e hostEnds) host(h *fabric.Attached, port uint8, receiving bool) topology.LinkID {
	return e.name(hostEnd{h.Name, h.Rack().Name(), port, h.Rack().Leaf(port), receiving})
}

// of returns the link of any host of a rack.
func (e hostEnds) of(r *fabric.Rack, port uint8, receiving bool) topology.LinkID {
	return e.name(hostEnd{"", r.Name(), port, r.Leaf(port), receiving})
}

func (e hostEnds) name(x hostEnd) topology.LinkID {
	direction, whose := "sending", "host "+x.host
	if x.receiving {
		direction = "receiving"
	}
	if x.host == "" {
		whose = "hosts of " + x.rack
	}
	id := topology.LinkID(fmt.Sprintf("%s port %d %s", whose, x.port, direction))
	e[id] = x
	return id
}

// forget drops the links of a host that is gone.
func (e hostEnds) forget(host string) {
	maps.DeleteFunc(e, func(_ topology.LinkID, x hostEnd) bool { return x.host == host })
}

// ends adds the links of hosts to a path, so that the locator does not mistake a bad host link for
// a bad fabric link. It adds the link of the sending host. The receiver is unknown from the EV, so
// it adds the links of all hosts at the last leaf.
func (e *env) ends(
	h *Host, to *fabric.Rack, port uint8, links []topology.LinkID,
) []topology.LinkID {
	first, last := e.named.of(h.Rack(), port, false), e.named.of(to, port, true)
	if len(e.hosts) <= apart {
		first = e.named.host(h.Attached, port, false)
	}
	if len(to.Hosts()) == 1 {
		last = e.named.host(to.Hosts()[0], port, true)
	}
	return slices.Concat([]topology.LinkID{first}, links, []topology.LinkID{last})
}

// answers returns whether answers to probes of a profile's port may cross a link, in either
// direction: responders send them by EVs of their own, by the same port.
func (e *env) answers(p *Profile, port uint8) func(topology.LinkID) bool {
	from, to := p.to.Leaf(port), p.from.rack.Leaf(port)
	return func(id topology.LinkID) bool {
		f := e.State.Fabric()
		if f == nil {
			return false
		}
		i, ok := f.Place(id)
		if !ok {
			return false
		}
		for _, edge := range [...]*fabric.Edge{f.Edge(i), f.Reverse(f.Edge(i))} {
			if edge == nil {
				continue
			}
			leaf := to
			leaves, sending := crossing(edge)
			if sending {
				leaf = from
			}
			if slices.Contains(leaves, leaf) {
				return true
			}
		}
		return false
	}
}
