package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/plan/node"
	"github.com/weft-sdn/weft/southbound/target"
	"github.com/weft-sdn/weft/southbound/target/sonic"
	"github.com/weft-sdn/weft/topology"
)

// The fabric of arXiv 2605.04333 for 131,072 GPUs: in each plane every T0 has a link to every T1,
// and as many hosts.
const (
	configPlanes = 8
	configT0     = 512
	configT1     = 256
	configHosts  = 256 // of a T0
)

// configuring measures CONFIG_DB for all switches of a fabric of production's size, in both forms
// of paths: a uN a switch, and a uA a link.
func configuring(_ context.Context, out *report) error {
	for _, hops := range []string{"nodes", "links"} {
		out.tell("device: CONFIG_DB of %d switches, hops %s", configPlanes*(configT0+configT1), hops)
		if err := configure(out, hops); err != nil {
			return err
		}
	}
	return nil
}

// configure goes plane by plane: planes share no link, and memory holds one.
func configure(out *report, hops string) error {
	var planning, rendering, cpu time.Duration
	var octets, switches, sids, routes int
	for plane := range configPlanes {
		topo, inv := configPlane(plane)
		start, before := time.Now(), processorTime()
		f, err := planPlane(topo, inv, hops)
		if err != nil {
			return err
		}
		planning += time.Since(start)
		for i := range inv.Switches {
			start := time.Now()
			sw := &inv.Switches[i]
			m := node.Of(f, sw, nil)
			d := target.Device{Name: sw.Name, System: target.SONiC}
			planning += time.Since(start)
			start = time.Now()
			config, err := sonic.Render(&d, &m)
			if err != nil {
				return err
			}
			rendering += time.Since(start)
			links, local := configT1, 3
			if i >= configT0 {
				links, local = configT0, 1
			}
			if hops == "links" {
				local += links - min(1, local-1) // and no uDT6 behind the own uN
			}
			if len(m.SIDs) != local {
				return fmt.Errorf("%s has %d SIDs, want %d", sw.Name, len(m.SIDs), local)
			}
			if len(m.Routes) < links || len(d.Lint(&m)) > 0 {
				return fmt.Errorf("%s has %d routes to %d neighbors, and lacks %v", sw.Name, len(m.Routes),
					links, d.Lint(&m))
			}
			octets, switches = octets+len(config), switches+1
			sids, routes = sids+len(m.SIDs), routes+len(m.Routes)
		}
		cpu += processorTime() - before
	}
	return out.print(figure{bench: "device/" + hops, unit: "s",
		value: (planning + rendering).Seconds(), more: []field{
			{"switches", switches}, {"sids", sids}, {"routes", routes}, {"octets", octets},
			{"model", planning.Seconds()}, {"render", rendering.Seconds()},
			{"cpuSeconds", cpu.Seconds()},
		}})
}

// planPlane numbers a plane.
func planPlane(
	topo *topology.Snapshot, inv *inventory.Inventory, hops string,
) (node.Fabric, error) {
	inv.MRC = inventory.DefaultMRC("usid-f3216")
	inv.MRC.Hops = hops
	net := plan.NewNetwork(topo, inv)
	var leaves []topology.NodeID
	for i := range configT0 {
		leaves = append(leaves, nodeID(i+1))
	}
	clos, err := net.Graph().Clos(topology.ClosRequest{Leaves: leaves})
	if err != nil {
		return node.Fabric{}, err
	}
	a, err := ev.Assign(clos, inv.MRC.Format(), ev.Numbers{})
	return node.Fabric{Network: net, Assignment: a}, err
}

// configPlane returns a plane of the fabric: T0s first, with uplinks at the first ports.
func configPlane(plane int) (*topology.Snapshot, *inventory.Inventory) {
	b, inv := topology.NewBuilder(), inventory.Default()
	for i := range configT0 + configT1 {
		name := fmt.Sprintf("P%d-T0-%d", plane+1, i+1)
		if i >= configT0 {
			name = fmt.Sprintf("P%d-T1-%d", plane+1, i-configT0+1)
		}
		inv.Switches = append(inv.Switches, inventory.Switch{Name: name, MAC: inventory.MAC{2, 0, 0,
			byte(plane), byte(i >> 8), byte(i)}})
		b.SetNode(topology.Node{ID: nodeID(i + 1), Name: name})
	}
	for t0 := range configT0 {
		for t1 := range configT1 {
			up := topology.Link{Local: nodeID(t0 + 1), Remote: nodeID(configT0 + t1 + 1),
				LocalID: uint32(t1 + 1), RemoteID: uint32(t0 + 1), IGPMetric: 1}
			b.SetLink(up)
			b.SetLink(topology.Link{Local: up.Remote, Remote: up.Local, LocalID: up.RemoteID,
				RemoteID: up.LocalID, IGPMetric: 1})
		}
		for h := range configHosts {
			i := t0*configHosts + h
			address := [16]byte{0x20, 0x01, 0x0d, 0xb8, 0, 1}
			binary.BigEndian.PutUint32(address[12:], uint32(i+1))
			inv.Hosts = append(inv.Hosts, inventory.Host{Name: fmt.Sprintf("h%d", i+1),
				Address: netip.AddrFrom16(address), Switch: inv.Switches[t0].Name,
				Port: uint32(configT1 + h + 1)})
		}
	}
	return b.Build(), &inv
}
