package lab

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/fabricview"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	mrcfabric "github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/topology"
)

// PathControl runs the core of the controller of an MRC fabric in a world's time, against the hosts
// of the world: what package mrc's runner, the streams to hosts and their agents do. Core and hosts
// are the real ones.
type PathControl struct {
	control  *Control
	inv      *inventory.Inventory
	core     *mrc.Core
	desk     *mrc.Desk
	nodes    map[string]*topology.Node // what switches are or were
	attached map[string]bool
	viewed   *fabricview.View
	assigned *ev.Assignment
	drained  uint64            // the newest mrc.Drained that the switches were told
	asking   bool              // whether they do it
	applied  map[string]uint64 // the last Set that a host holds
	ticking  time.Duration
}

// startPaths starts the core for a controller that has just started.
func (c *Control) startPaths(inv *inventory.Inventory, records []store.Record) error {
	core, err := mrc.New(mrc.Config{MRC: inv.MRC, Epoch: uint64(c.life), Start: epoch,
		Switches: true})
	if err != nil {
		return err
	}
	desk, err := mrc.NewDesk(core, core.Wall, records, nil)
	if err != nil {
		return err
	}
	p := &PathControl{
		control: c, inv: inv, core: core, desk: desk, nodes: map[string]*topology.Node{},
		attached: map[string]bool{}, applied: map[string]uint64{}, ticking: noTick,
	}
	c.Paths = p
	for _, h := range c.World.Network.Hosts {
		if node := c.World.mrc[h.Name]; node != nil {
			node.Report(pathReporter{p, h.Name})
		}
	}
	if every := inv.MRC.Counts.D(); every > 0 {
		p.count(every)
	}
	if every := inv.MRC.LinkCounts.D(); every > 0 {
		p.countLinks(every)
	}
	return nil
}

// Core is the running controller's.
func (p *PathControl) Core() *mrc.Core { return p.core }

// do has something happen to the core now, unless the controller has stopped: hosts answer later.
func (p *PathControl) do(f func() error) {
	if p.control.Paths != p {
		return
	}
	p.desk.Tick(p.control.World.now)
	p.control.fail(f())
	p.work()
}

// Drain drains a target, as a client does. Errors are the core's.
func (p *PathControl) Drain(t mrc.Target) (err error) {
	p.do(func() error {
		err = p.core.Drain(t)
		return nil
	})
	return err
}

// Undrain lets a target be used again. Errors are the core's.
func (p *PathControl) Undrain(t mrc.Target) (err error) {
	p.do(func() error {
		err = p.core.Undrain(t)
		return nil
	})
	return err
}

// later is do after a way through the network.
func (p *PathControl) later(f func() error) {
	p.control.after(p.control.Latencies.PacketIn, func() { p.do(f) })
}

// setTopology passes the present topology to the core.
func (p *PathControl) setTopology(s *topology.Snapshot) {
	p.do(func() error {
		p.core.SetTopology(s)
		maps.Copy(p.nodes, plan.Nodes(s, p.inv))
		for _, h := range mrcfabric.HostsOf(p.inv, p.nodes) {
			node := p.control.World.mrc[h.Name]
			if p.attached[h.Name] || node == nil {
				continue
			}
			p.attached[h.Name] = true
			if err := p.core.PutHost(h); err != nil {
				return err
			}
			p.control.after(p.control.Latencies.Connect, func() { p.hello(node) })
		}
		p.core.InSync()
		return nil
	})
}

// hello is a host's stream that begins.
func (p *PathControl) hello(n *MRCNode) {
	p.do(func() error {
		err := p.core.Hello(n.Name, &hostapi.Hello{
			API: hostapi.API, Name: n.Name, Instance: 1, Capabilities: n.Capabilities(),
			Version: p.control.held[n.Name],
		})
		if err != nil {
			return err
		}
		return p.core.PortStatus(n.Name, hostapi.PortMask(n.Ports()))
	})
}

// work does what the core wants done.
func (p *PathControl) work() {
	c := p.control
	for {
		r := p.desk.Ready(1)
		if r.Empty() {
			break
		}
		if err := c.store.Apply(context.Background(), r.Saves); err != nil {
			c.fail(err)
		}
		p.desk.Kept(1)
		for _, s := range r.Sets {
			c.after(c.Latencies.PacketIn, func() { p.set(s) })
		}
		for _, x := range r.Probes {
			c.after(c.Latencies.PacketIn, func() { p.probe(x) })
		}
		for _, x := range r.SelfProbes {
			c.after(c.Latencies.PacketIn, func() {
				node := c.World.mrc[x.Host]
				node.SelfProbe(c.World.now, x.Plan)
				node.Wake()
			})
		}
		for _, e := range r.Events {
			c.logf("%v event %v %s %s", c.World.now, e.Type, e.Object, e.Message)
			if c.Events != nil {
				c.Events(e)
			}
		}
	}
	if v := p.core.View(); v != p.viewed {
		p.viewed = v
		c.core.SetFabric(v)
		c.work()
	}
	if a := p.core.Assignment(); a != p.assigned {
		p.assigned = a
		c.core.SetAssignment(a)
		c.work()
	}
	if d := p.core.Drained(); d.Seq != p.drained {
		p.drained = d.Seq
		c.core.SetDrained(d.Links)
		c.work()
		if !p.asking {
			p.askSwitches()
		}
	}
	next, ok := p.desk.Next()
	if at := max(next, c.World.now); ok && at < p.ticking {
		p.ticking = at
		life := c.life
		c.World.At(at, func() {
			if c.up && c.life == life && p.ticking == at {
				p.ticking = noTick
				p.do(func() error { return nil })
			}
		})
	}
}

// askSwitches asks until no switch uses a drained object.
func (p *PathControl) askSwitches() {
	p.asking = true
	p.control.after(max(p.control.Latencies.PacketIn, time.Millisecond), func() {
		behind := p.control.core.Unrouted()
		p.asking = false
		p.do(func() error {
			p.core.Behind(p.drained, behind)
			return nil
		})
		if len(behind) > 0 && !p.asking {
			p.askSwitches()
		}
	})
}

// set has a host hold a state, unless it holds a later one.
func (p *PathControl) set(s mrc.Set) {
	node := p.control.World.mrc[s.Host]
	if node == nil || s.Seq <= p.applied[s.Host] {
		return
	}
	p.applied[s.Host] = s.Seq
	if err := node.Apply(s.State); err != nil {
		p.control.fail(fmt.Errorf("host %s: %w", s.Host, err))
		return
	}
	p.control.held[s.Host] = hostapi.Version{Epoch: uint64(p.control.life), Number: s.Seq}
	node.Wake()
	p.later(func() error { return p.core.Applied(s.Host, s.Seq) })
}

func (p *PathControl) probe(x mrc.Probe) {
	node := p.control.World.mrc[x.Host]
	node.Probe(p.control.World.now, x.Request, func(r hostapi.ProbeResult) {
		r.ID = x.Request.ID
		p.later(func() error {
			_ = p.core.ProbeResult(x.Host, &r) // it may be late; the core counts that
			return nil
		})
	})
	node.Wake()
}

// count has hosts report what their entropy values carried, repeatedly.
func (p *PathControl) count(every time.Duration) {
	p.control.after(every, func() {
		p.do(func() error {
			for _, h := range p.control.World.Network.Hosts {
				if node := p.control.World.mrc[h.Name]; node != nil && p.attached[h.Name] {
					m := &hostapi.EVCounts{}
					node.Counts(func(c hostapi.EVCount) bool {
						m.Counts = append(m.Counts, c)
						return true
					})
					_ = p.core.EVCounts(h.Name, m) // what it does not know it counts
				}
			}
			return nil
		})
		p.count(every)
	})
}

// pathReporter passes reports of a host to the core.
type pathReporter struct {
	paths *PathControl
	host  string
}

// EVEvent implements nic.Reporter.
func (r pathReporter) EVEvent(e hostapi.EVEvent) {
	r.paths.later(func() error {
		_ = r.paths.core.EVEvents(r.host, &hostapi.EVEvents{Events: []hostapi.EVEvent{e}}) // likewise
		return nil
	})
}

// SelfProbeCounts implements nic.Reporter.
func (r pathReporter) SelfProbeCounts(c *hostapi.SelfProbeCounts) {
	r.paths.later(func() error {
		_ = r.paths.core.SelfProbeCounts(r.host, c) // of an earlier controller; the core counts that
		return nil
	})
}

// PortStatus implements nic.Reporter.
func (r pathReporter) PortStatus(up hostapi.PortMask) {
	r.paths.later(func() error {
		if !r.paths.attached[r.host] {
			return nil // hello says it
		}
		return r.paths.core.PortStatus(r.host, up)
	})
}
