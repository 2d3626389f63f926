package controller_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/internal/virtual"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/topology"
)

// chaos does one thing after another to a network and its controller.
type chaos struct {
	*bed
	links   []topology.Link // all there ever are
	down    map[topology.LinkID]bool
	specs   map[string]api.MulticastGroupSpec
	restart bool // lose the store too
}

func (c *chaos) pick(n int) int { return c.rng.IntN(n) }

func (c *chaos) host() string { return fmt.Sprintf("h%d", 1+c.pick(len(c.net.Inventory.Hosts))) }

func (c *chaos) step() string {
	switch name := fmt.Sprintf("g%d", c.pick(4)); c.pick(11) {
	case 0, 1, 2:
		spec := c.spec(name)
		_, _, err := c.core.Groups().Put(name, spec, resource.Precondition{})
		var refused *api.Error
		switch {
		case err == nil:
			c.specs[name] = spec
		case !errors.As(err, &refused) || refused.Code == api.CodeInvalid &&
			c.specs[name].ProxyAddress != spec.ProxyAddress:
			c.t.Fatalf("PUT %s: %v", name, err)
		}
		return fmt.Sprintf("put %s with %d receivers, %s, %s: %v", name, len(spec.Receivers), spec.Mode,
			spec.Objective, err)
	case 3:
		_ = c.core.Groups().Delete(name, resource.Precondition{})
		delete(c.specs, name)
		return "delete " + name
	case 4:
		_, err := c.core.ResetGroup(name, resource.Precondition{})
		return fmt.Sprintf("reset %s: %v", name, err)
	case 5, 6:
		return c.flip()
	case 7, 8:
		d := c.devices[slices.Sorted(maps.Keys(c.devices))[c.pick(len(c.devices))]]
		what := "disconnect "
		if c.pick(2) == 0 {
			what = "restart "
			d.Restart()
		}
		c.disconnect(d.Name)
		c.later(c.random(20*time.Millisecond), func() { c.connect(d.Name) })
		return what + d.Name
	case 9:
		return c.reboot()
	}
	c.run(c.random(100 * time.Millisecond))
	return "wait"
}

func (c *chaos) spec(name string) api.MulticastGroupSpec {
	var receivers []string
	source := c.host()
	if old, ok := c.specs[name]; ok && c.pick(4) > 0 {
		h, _ := plan.NewNetwork(c.core.Topology(), c.core.Inventory()).HostName(old.Source.Address)
		source = h
	}
	for range 1 + c.pick(6) {
		if h := c.host(); h != source && !slices.Contains(receivers, h) {
			receivers = append(receivers, h)
		}
	}
	if len(receivers) == 0 {
		receivers = append(receivers, map[bool]string{true: "h2", false: "h1"}[source == "h1"])
	}
	slices.Sort(receivers)
	s := c.net.Spec(int(name[1]), source, receivers...)
	for i := range s.Receivers { // a queue pair of its own for each host
		s.Receivers[i].QPN = sample.QPN(int(name[1])) + uint32(s.Receivers[i].Address.As16()[15])
	}
	if c.pick(4) == 0 {
		s.Objective = api.ObjectiveCost
	}
	if c.pick(6) == 0 {
		s.Mode = api.ModeInband
	}
	return s
}

// flip takes a link down or up, both directions or one after the other.
func (c *chaos) flip() string {
	l := c.links[c.pick(len(c.links))]
	if c.down[l.ID] {
		c.net.Topology.SetLink(l)
	} else {
		c.net.Topology.RemoveLink(l.ID)
	}
	c.down[l.ID] = !c.down[l.ID]
	c.core.SetTopology(c.net.Topology.Build())
	return fmt.Sprintf("link %s down=%v", l.ID, c.down[l.ID])
}

// reboot starts a new controller, which finds the records of the old one or,
// at times, none.
func (c *chaos) reboot() string {
	what := "restart the controller"
	for name := range c.devices {
		c.session[name]++
	}
	c.pump() // what it decided on is kept before anything else
	if c.restart && c.pick(3) == 0 {
		c.store = store.NewMemory()
		what += " without its records"
		c.Run(c.Now()+5*time.Minute, virtual.Idle, nil) // more seconds than there were epochs
	}
	c.boot()
	if c.pick(2) == 0 {
		c.core.SetTopology(c.net.Topology.Build())
	} else {
		c.later(c.random(5*time.Millisecond), func() { c.core.SetTopology(c.net.Topology.Build()) })
	}
	if list, _, _ := c.store.List(c.t.Context(), "groups/"); len(list) == 0 {
		clear(c.specs)
	}
	c.connectAll()
	return what
}

func TestChaos(t *testing.T) {
	seeds(t, 60, func(t *testing.T, seed uint64) {
		net := sample.Clos(4, 3, 3)
		net.Inventory.Intervals.Drain = api.Duration(5 * time.Millisecond)
		w := up(t, net, seed)
		if seed%2 == 1 { // those that start later have it
			net.Inventory.Orphans = inventory.Orphans{Policy: inventory.OrphansRemove,
				After: api.Duration(time.Duration(seed) * 2 * time.Millisecond)}
		}
		c := chaos{bed: w, down: make(map[topology.LinkID]bool),
			specs: make(map[string]api.MulticastGroupSpec), restart: true}
		for _, l := range net.Topology.Build().Links {
			c.links = append(c.links, *l)
		}
		failing := 0.0
		for _, d := range w.devices {
			d.Refuse = func(entry.Update) *entry.Refusal {
				if w.rng.Float64() < failing {
					return &entry.Refusal{Reason: entry.RefusedOther, Message: "no mood"}
				}
				return nil
			}
		}
		var story []string
		for range 40 {
			failing = []float64{0, 0, 0.05}[c.pick(3)]
			story = append(story, c.step())
			if c.pick(3) > 0 {
				w.run(w.random(10 * time.Millisecond))
			}
		}
		failing = 0
		for _, l := range c.links {
			if c.down[l.ID] {
				net.Topology.SetLink(l)
			}
		}
		w.core.SetTopology(net.Topology.Build())
		w.run(2 * time.Minute)
		w.deleteOrphans()
		w.run(2 * time.Minute)
		w.converged()
		for _, name := range slices.Sorted(maps.Keys(c.specs)) {
			spec := c.specs[name]
			g := w.group(name)
			if !g.Status.Is(api.Programmed) || g.Status.Is(api.Degraded) {
				t.Errorf("%s: %s", name, fmt.Sprint(g.Status.Conditions))
			}
			if spec.Mode == api.ModeProvisioned {
				w.delivers(&spec)
			}
		}
		c.planned()
		if t.Failed() {
			for i, s := range story {
				t.Logf("%d: %s", i, s)
			}
		}
	})
}

// planned checks that each switch in the tree of a group holds entries of the group, and that no
// switch holds entries of a removed group.
func (c *chaos) planned() {
	live := make(map[int]bool)
	for _, g := range c.core.Groups().List() {
		live[int(g.Status.Index)] = true
		for _, n := range g.Status.Tree.Nodes {
			if !slices.ContainsFunc(slices.Collect(maps.Values(c.devices[n.Switch].Entities)),
				func(e entry.Entity) bool {
					return plan.GroupOf(e) == int(g.Status.Index)
				}) {
				c.t.Errorf("%s has nothing of %s", n.Switch, g.Name)
			}
		}
	}
	for _, d := range c.devices {
		for _, e := range d.Entities {
			if i := plan.GroupOf(e); i >= 0 && !live[i] {
				c.t.Errorf("%s has %s of a group that is gone", d.Name, e)
			}
		}
	}
}

// The same seed gives the same writes in the same order.
func TestDeterminism(t *testing.T) {
	history := func() []string {
		net := sample.Clos(4, 3, 3)
		w := newBed(t, net, 5)
		var out []string
		for _, name := range slices.Sorted(maps.Keys(w.devices)) {
			d := w.devices[name]
			d.Wrote = func(u entry.Update) { out = append(out, fmt.Sprint(w.Now(), " ", d.Name, " ", u)) }
		}
		w.core.SetTopology(net.Topology.Build())
		w.connectAll()
		c := chaos{bed: w, down: make(map[topology.LinkID]bool),
			specs: make(map[string]api.MulticastGroupSpec)}
		for _, l := range net.Topology.Build().Links {
			c.links = append(c.links, *l)
		}
		for range 20 {
			c.step()
			w.run(w.random(5 * time.Millisecond))
		}
		w.run(time.Minute)
		for _, e := range w.log {
			out = append(out, e.String())
		}
		return out
	}
	a, b := history(), history()
	if !slices.Equal(a, b) {
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Fatalf("write %d differs:\n%s\n%s", i, a[i], b[i])
			}
		}
		t.Fatalf("%d and %d writes", len(a), len(b))
	}
	if len(a) < 1000 {
		t.Errorf("only %d writes", len(a))
	}
}
