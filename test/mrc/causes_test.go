package mrc

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/controllertest"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/northbound"
	"github.com/weft-sdn/weft/northbound/causes"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/topology"
)

// causesBy returns a function that asks a controller's API for the causes of now.
func causesBy(t *testing.T, c northbound.Controller, m northbound.Multipath) func() []api.Cause {
	t.Helper()
	cfg := northbound.DefaultConfig()
	cfg.Multipath, cfg.Now = m, time.Now
	all := causes.NewWatcher(func(ctx context.Context) (*causes.Known, error) {
		return northbound.Known(ctx, &cfg, c)
	}, time.Now)
	return func() []api.Cause {
		t.Helper()
		time.Sleep(time.Second) // an answer may be some time old
		found, err := all.Causes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
}

// oneCause fails unless all that causes has in the next seconds is one cause at a time, of a
// family.
func oneCause(t *testing.T, what, family string, causes func() []api.Cause) {
	t.Helper()
	found := 0
	for range 8 {
		all := causes()
		for i := range all {
			c := &all[i]
			if len(all) > 1 || !strings.HasPrefix(c.ID, family) {
				t.Errorf("%s: cause %d of %d is %s: %s %s", what, i+1, len(all), c.ID, c.What, c.Detail)
			}
		}
		found += len(all)
	}
	if found == 0 {
		t.Errorf("%s: all is well", what)
	}
}

// wait lets time pass until all is well.
func wait(t *testing.T, what string, causes func() []api.Cause) {
	t.Helper()
	var all []api.Cause
	for range 90 {
		if all = causes(); len(all) == 0 {
			return
		}
	}
	for i := range all {
		t.Errorf("%s: %s is a cause: %s %s", what, all[i].ID, all[i].What, all[i].Detail)
	}
}

// TestOneCause: in an MRC fabric a cut link makes one cause, between switches or to a host, and so
// does a dead switch with its links; afterwards all is well.
func TestOneCause(t *testing.T) {
	long(t)
	run(t, nil, func(t *testing.T, f *bed) {
		causes := causesBy(t, f.controller, f.mrc)
		wait(t, "at first", causes)
		var up, down lab.Link
		for _, l := range f.world.Network.Links {
			if _, err := f.world.MRCHost(l.B); err == nil {
				down = l
			} else if _, err := f.world.MRCHost(l.A); err == nil {
				down = l
			} else {
				up = l
			}
		}
		for i, l := range []lab.Link{up, down} {
			f.setLink(l.A, l.B, false)
			oneCause(t, l.A+" to "+l.B, []string{"link/", "hostport/"}[i], causes)
			f.setLink(l.A, l.B, true)
			wait(t, l.A+" to "+l.B+" is up again", causes)
		}
		dead := "P1-T1-1"
		f.ends[dead]()
		for _, l := range f.world.Network.Links {
			if l.A == dead || l.B == dead {
				f.setLink(l.A, l.B, false)
			}
		}
		oneCause(t, dead+" has died", "switch/"+dead, causes)
	})
}

// TestOneCauseOfGroups: in the network of Figure 1, without an MRC fabric, a cut link that takes
// receivers from a group makes one cause, and so does a dead switch.
func TestOneCauseOfGroups(t *testing.T) {
	long(t)
	bubble.Test(t, func(t *testing.T) {
		world, err := lab.NewWorld(lab.Figure1(), lab.Options{Seed: 1, Cache: compiled, Managed: true})
		if err != nil {
			t.Fatal(err)
		}
		var switches controllertest.Southbound
		ctx, cancel := context.WithCancel(t.Context())
		c, err := controller.NewController(ctx, controller.Options{
			Inventory: world.Network.Inventory(nil), Store: store.NewMemory(), Southbound: &switches})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx) }()
		defer func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}()
		learned := topology.NewBuilder()
		learn := func() {
			t.Helper()
			if err := c.SetTopology(ctx, world.Learned(learned)); err != nil {
				t.Fatal(err)
			}
		}
		learn()
		causes := causesBy(t, c, nil)
		spec := api.MulticastGroupSpec{ProxyAddress: netip.MustParseAddr("2001:db8:ffff::1"),
			DesignatedQPN: 0xd0d0}
		for i, h := range world.Network.Hosts {
			if h.Name == "S1" {
				spec.Source = api.GroupSource{Address: h.Address, QPN: 100}
			} else {
				spec.Receivers = append(spec.Receivers, api.GroupReceiver{Address: h.Address,
					QPN: uint32(200 + i)})
			}
		}
		if _, _, err := c.Groups().Put(ctx, "g", spec, resource.Precondition{}); err != nil {
			t.Fatal(err)
		}
		wait(t, "at first", causes)
		if err := world.SetLink("N4", "N1", false); err != nil {
			t.Fatal(err)
		}
		learn()
		oneCause(t, "N4 to N1", "", causes)
		if err := world.SetLink("N4", "N1", true); err != nil {
			t.Fatal(err)
		}
		learn()
		wait(t, "N4 to N1 is up again", causes)
		for _, l := range world.Network.Links {
			if l.A == "N4" || l.B == "N4" {
				if err := world.SetLink(l.A, l.B, false); err != nil {
					t.Fatal(err)
				}
			}
		}
		switches.Disconnect("N4", true)
		learn()
		oneCause(t, "N4 has died", "switch/N4", causes)
	})
}
