package runner

import (
	"maps"
	"slices"

	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/topology"
)

// places passes the attachments of hosts and the port reports of switches to a fabric, by the names
// of the inventory. It belongs to the goroutine of the core.
type places struct {
	fabric    attacher
	put       func(fabric.Host) error // in fabric
	inventory *inventory.Inventory
	nodes     []*topology.Node          // of the topology whose hosts the core has
	switches  map[string]*topology.Node // what switches are or were
	ports     map[string]controller.PortStates
	attached  map[string]fabric.Host
}

// attacher is a core, or the state of a fabric alone.
type attacher interface {
	SetTopology(*topology.Snapshot)
	InSync()
	SetPorts(node topology.NodeID, isUp map[uint32]bool)
	SetPortNumbers(node topology.NodeID, numbers map[uint32]uint32)
}

func newPlaces(
	f attacher, put func(fabric.Host) error, inv *inventory.Inventory,
) places {
	return places{
		fabric: f, put: put, inventory: inv, switches: make(map[string]*topology.Node),
		ports: make(map[string]controller.PortStates), attached: make(map[string]fabric.Host)}
}

// setTopology takes the advertised topology. The first complete snapshot with a node counts as the
// whole: from then on missing elements are down. attach calls known for each host that the core has
// added or refused.
func (p *places) setTopology(s *topology.Snapshot, known func(host string, err error)) {
	p.fabric.SetTopology(s)
	if !s.Incomplete() && len(s.Nodes) > 0 {
		p.attach(s, known)
		p.fabric.InSync()
	}
}

// attach puts each host whose attachment has changed into the fabric.
func (p *places) attach(s *topology.Snapshot, known func(host string, err error)) {
	if slices.Equal(p.nodes, s.Nodes) {
		return
	}
	p.nodes = s.Nodes
	p.find(plan.Nodes(s, p.inventory))
	for _, h := range fabric.HostsOf(p.inventory, p.switches) {
		if was, ok := p.attached[h.Name]; ok && was.Same(&h) {
			continue
		}
		err := p.put(h)
		if err == nil {
			p.attached[h.Name] = h
		}
		known(h.Name, err)
	}
}

// find records which nodes the switches of the inventory are. For each switch that was found, or is
// now another node, it passes the known port states to the fabric.
func (p *places) find(nodes map[string]*topology.Node) {
	var moved []string
	for _, sw := range slices.Sorted(maps.Keys(nodes)) {
		before := p.switches[sw]
		if before != nil && before.ID == nodes[sw].ID {
			continue
		}
		moved = append(moved, sw)
		if before != nil {
			p.fabric.SetPorts(before.ID, nil)
			p.fabric.SetPortNumbers(before.ID, nil)
		}
	}
	maps.Copy(p.switches, nodes)
	for _, sw := range moved {
		p.fabric.SetPortNumbers(nodes[sw].ID, p.numbers(sw))
		p.fabric.SetPorts(nodes[sw].ID, p.ports[sw].Up)
	}
}

// setPorts takes what a switch of the inventory reports of its ports.
func (p *places) setPorts(sw string, s controller.PortStates) {
	p.ports[sw] = s
	if n := p.switches[sw]; n != nil {
		p.fabric.SetPortNumbers(n.ID, p.numbers(sw))
		p.fabric.SetPorts(n.ID, s.Up)
	}
}

// numbers returns the ports of a switch by link identifier, where they differ from the advertised
// ports.
func (p *places) numbers(sw string) map[uint32]uint32 {
	configured := p.inventory.Switch(sw)
	out := controller.LearnedPorts(p.ports[sw], configured)
	maps.Copy(out, configured.Ports)
	return out
}
