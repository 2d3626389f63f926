package lab

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/mrc/ev"
)

// TestLivePortDown: a port of a leaf goes down, which nobody but its switch says, by
// gNMI, and hosts stop using the link, both ways, that BGP-LS has all the while. When
// the port is up again a probe brings it back.
func TestLivePortDown(t *testing.T) {
	if testing.Short() {
		t.Skip("in real time")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	network := Clos(ClosConfig{T0: 2, T1: 2, Hosts: 2})
	network.MRC = MRCSettings(&network, ev.ModeStructured)
	network.MRC.Restore.Hold = api.Duration(10 * time.Millisecond)
	live, err := StartLive(ctx, LiveOptions{Network: network, Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := live.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := live.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	const leaf, spine = "P1-T0-1", "P1-T1-1"
	set := func(up bool) {
		t.Helper()
		if err := live.Do(ctx, func(w *World) error {
			wire, err := w.Wire(leaf, spine)
			if err == nil {
				w.switches[leaf].Device().Switch().SetPortUp(wire.FromPort, up)
				w.switches[leaf].Wake()
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	denied := func() (out []api.Link) {
		t.Helper()
		links := kind.Of[api.AdminSpec, api.Link](live.Service.Multipath().Kinds())
		p, err := links.List(ctx, kind.Query{Filter: api.LinkFilter{Denied: true}})
		if err != nil {
			t.Fatal(err)
		}
		return p.Items
	}

	set(false)
	// Each host's EVs to the peer are denied if they cross the link, and the host leaves these EVs.
	deniedOf := func(w *World) (all []int) {
		for _, h := range w.Network.Hosts {
			n := 0
			for _, p := range w.mrc[h.Name].State().Profiles {
				n += len(p.Denied)
			}
			all = append(all, n)
		}
		return all
	}
	if err := live.Until(ctx, "hosts have denials", func(w *World) (bool, error) {
		return !slices.Contains(deniedOf(w), 0), nil
	}); err != nil {
		t.Fatal(err)
	}
	links := denied()
	if len(links) != 2 {
		t.Fatalf("%d links are denied, want both directions of one", len(links))
	}
	id := NodeID(*live.World.Network.sw(leaf))
	for _, l := range links {
		s := l.Status
		here, there := s.FromPort, s.ToPort
		if s.To == id {
			here, there = there, here
		}
		if s.From != id && s.To != id || s.Phase != "down" || s.Cause != "port down" || here != "down" ||
			there != "up" {
			t.Errorf("%+v", s)
		}
		if snap := live.Service.Controller().Topology(); snap.Link(l.ID) == nil || snap.Stale != nil {
			t.Errorf("%s is advertised no longer, so that this test shows nothing", l.ID)
		}
	}
	switches, err := live.Service.Controller().Switches(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range switches {
		down := 0
		if s.Name == leaf {
			down = 1
		}
		if s.Ports == nil || s.Ports.Error != "" || s.Ports.Up == 0 || len(s.Ports.Down) != down {
			t.Errorf("%s: %+v, want %d ports down", s.Name, s.Ports, down)
		}
	}

	set(true)
	if err := live.Until(ctx, "every EV is restored", func(w *World) (bool, error) {
		return w.Supplied(), nil
	}); err != nil {
		t.Fatal(err)
	}
	if links := denied(); len(links) != 0 {
		t.Errorf("%+v are still denied", links)
	}
}
