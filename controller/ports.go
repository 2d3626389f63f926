package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/discovery"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/neighbor"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/port"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/internal/plain"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/topology"
)

// PortStates are the ports of a switch as it reports them by gNMI. Their maps do not change any
// more.
type PortStates = southbound.Ports

// LearnedPorts returns the ports, by link identifier, that a switch reports and the inventory does
// not list.
func LearnedPorts(p PortStates, sw *inventory.Switch) map[uint32]uint32 {
	return port.Learned(p, sw)
}

// PortTask holds settings to write to an interface of a switch, and PortResult the outcome.
type (
	PortTask   = port.Task
	PortResult = port.Result
)

// SetPorts replaces all that is known of a switch's ports. Trees, tunnels and routes leave links
// whose port is down with the next Tick, which is due at once. Package mrc decides what follows for
// EVs.
func (c *Core) SetPorts(name string, p PortStates) {
	c.ports.Set(name, p)
	c.discovery.SetPorts(name, p.Up)
	c.neighbors.SetPorts(name, p.Up)
	c.settle()
}

// SetNeighbors replaces what a switch hears by LLDP of its own.
func (c *Core) SetNeighbors(name string, heard southbound.Neighbors) {
	c.discovery.SetNeighbors(name, heard)
	c.settle()
}

// PortDone takes the outcome of a PortTask. One that is not awaited any more is ignored.
func (c *Core) PortDone(r PortResult) {
	c.ports.Done(r)
	c.settle()
}

// network returns the network as switches report their ports: without links out of use, with
// reported rates and port numbers, and with discovered hosts.
func (c *Core) network(s *topology.Snapshot, configured *inventory.Inventory) *plan.Network {
	inv := c.neighbors.Complete(c.ports.Complete(configured))
	names := make(map[topology.NodeID]string)
	for name, node := range plan.Nodes(s, inv) {
		names[node.ID] = name
	}
	view := c.ports.View(s, inv, names)
	if view.Out != nil || view.Rate != nil {
		s = s.With(view)
	}
	return plan.NewNetwork(s, inv)
}

// Ports returns the ports of switches.
func (c *Core) Ports() resource.Resources[api.PortSpec, api.Port] {
	return c.ports.Ports()
}

// listPorts implements list of [more]: a fabric has many ports, and few have a spec.
func listPorts(c *Core, filter any) []api.Port {
	if _, wanted := filter.(api.WantedPorts); wanted {
		return c.ports.Wanted()
	}
	return c.Ports().List()
}

// Ports returns the ports of switches.
func (c *Controller) Ports() kind.Handle[api.PortSpec, api.Port] {
	return kind.Of[api.PortSpec, api.Port](c.Kinds())
}

// SwitchGNMI returns what a switch answers by gNMI. The error is an *api.Error.
func (c *Core) SwitchGNMI(name string) (api.SwitchGNMI, error) {
	if !c.switches.Exists(name) {
		return api.SwitchGNMI{}, noSwitch(name)
	}
	out := api.SwitchGNMI{Paths: []api.GNMIPath{}, Differs: c.differs(name)}
	p := c.ports.States(name)
	if p == nil {
		return out, nil
	}
	out.Dialect, out.Version, out.Encoding, out.Ignored = p.Report.Dialect, p.Report.Version,
		p.Report.Encoding, p.Ignored
	if p.Err != nil {
		out.Error = plain.Error(p.Err)
	}
	for _, m := range p.Report.Models {
		out.Models = append(out.Models, api.GNMIModel{Name: m.Name, Organization: m.Organization,
			Version: m.Version})
	}
	for _, x := range p.Report.Paths {
		out.Paths = append(out.Paths, api.GNMIPath{Stream: x.Stream, Path: x.Path, Mode: x.Mode,
			Error: x.Error})
	}
	return out, nil
}

// differs returns what a switch says otherwise than the configuration or BGP-LS.
func (c *Core) differs(name string) []api.PortMismatch {
	sw := c.configured.Switch(name)
	if sw == nil {
		return nil
	}
	var links []*topology.Link
	if node := c.env.Net.Node(name); node != nil {
		links = c.advertised.LinksFrom(node.ID)
	}
	return c.ports.Differs(sw, links, c.advertised.LinkName)
}

// inventoryDiffers returns the condition of a switch that contradicts the configuration or BGP-LS.
func (c *Core) inventoryDiffers(name string) api.Conditions {
	all := c.differs(name)
	if len(all) == 0 {
		return nil
	}
	var texts []string
	for _, d := range all[:min(len(all), 5)] {
		texts = append(texts, fmt.Sprintf("%s is %s, and the switch says %s", d.Field, d.Want, d.Got))
	}
	if len(all) > len(texts) {
		texts = append(texts, fmt.Sprintf("and %d more", len(all)-len(texts)))
	}
	return api.Conditions{{Type: api.InventoryDiffers, Status: true, Reason: api.ReasonPortsDiffer,
		Message: strings.Join(texts, "; ")}}
}

// miscabled returns the condition of a switch whose cables differ from the known cabling.
func (c *Core) miscabled(name string) api.Conditions {
	all := c.discovery.Faults(name)
	if len(all) == 0 {
		return nil
	}
	texts := all[:min(len(all), 5)]
	if len(all) > len(texts) {
		texts = append(slices.Clip(texts), fmt.Sprintf("and %d more", len(all)-len(texts)))
	}
	return api.Conditions{{Type: api.Miscabled, Status: true, Reason: api.ReasonCablesDiffer,
		Message: strings.Join(texts, "; ")}}
}

// Hosts returns the configured and the discovered hosts, and how each was found.
func (c *Controller) Hosts(ctx context.Context) (out []inventory.Found, err error) {
	err = c.read(ctx, func(core *Core) { out = core.neighbors.Hosts() })
	return out, err
}

// FrameCounts are the frames of discovery since the start: of links, and of hosts. nil: it is off.
type FrameCounts struct {
	Links *discovery.Counts
	Hosts *neighbor.Counts
}

// FrameCounts returns the frames of discovery since the start.
func (c *Controller) FrameCounts(ctx context.Context) (n FrameCounts, err error) {
	err = c.read(ctx, func(core *Core) {
		if links := core.discovery.Counts(); core.Inventory().Discovery.On() {
			n.Links = &links
		}
		if hosts, on := core.neighbors.Counts(); on {
			n.Hosts = &hosts
		}
	})
	return n, err
}

func viewPorts(p *PortStates) *api.SwitchPorts {
	v := &api.SwitchPorts{Ignored: p.Ignored}
	for _, port := range slices.Sorted(maps.Keys(p.Up)) {
		if p.Up[port] {
			v.Up++
		} else {
			v.Down = append(v.Down, port)
		}
	}
	if p.Err != nil {
		v.Error = plain.Error(p.Err)
	}
	return v
}
