package cluster

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/host/agent"
	"github.com/weft-sdn/weft/lab"
)

// TestHosts: hosts that are connected to three controllers are served by the decider's will, deny a
// link whose port is down while the store has no quorum and so no controller decides, use it again
// after its hold, and stay connected when the next controller decides. When the decider leaves, all
// come to another one.
func TestHosts(t *testing.T) {
	network := lab.Clos(lab.ClosConfig{Planes: 2, T0: 2, T1: 2, Hosts: 4, Rate: 5e7,
		Delay: 100 * time.Microsecond})
	b := newBedOf(t, network, 3, func(inv *inventory.Inventory) {
		inv.MRC.Mode, inv.MRC.Listen = "stev", "127.0.0.1:0"
		inv.MRC.Restore.Hold, inv.MRC.Restore.FirstRound = api.Duration(200*time.Millisecond),
			api.Duration(2*time.Second)
	})
	var connections atomic.Int64
	cfg := agent.DefaultConfig()
	cfg.Controller = "127.0.0.1:1" // of the dialer's choice
	cfg.DialOptions = []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context,
		_ string) (net.Conn, error) {
		c := b.controllers[int(connections.Add(1))%len(b.controllers)]
		to := c.hosts.Load()
		if to == nil {
			return nil, errors.New("there is no such controller")
		}
		return new(net.Dialer).DialContext(ctx, "tcp", *to)
	})}
	hosts, err := b.network.World.Subscribe(t.Context(), b.network.Clock, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer hosts.Close()
	ready := func(what string) {
		t.Helper()
		d := b.decider()
		b.until(what, func() bool {
			list, err := d.rest.Hosts().List(t.Context(), nil)
			current := 0
			for i := range list {
				if list[i].Connected && list[i].Versions.Current {
					current++
				}
			}
			return err == nil && current == len(network.Hosts)
		})
	}
	ready("hosts hold what the decider says")
	b.programmed(b.decider())
	streams := 0
	list, err := b.decider().rest.Controllers().List(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		if c.Streams == 0 {
			t.Errorf("controller %s serves no host", c.Name)
		}
		streams += c.Streams
	}
	if streams != len(network.Hosts) {
		t.Errorf("controllers serve %d streams, want one for each of %d hosts", streams,
			len(network.Hosts))
	}
	before := connections.Load()

	for _, c := range b.controllers {
		c.client.Cut()
	}
	b.until("no controller decides", func() bool {
		for _, c := range b.controllers {
			state, err := c.rest.Controllers().List(t.Context(), nil)
			if err != nil || len(state) == 0 || slices.ContainsFunc(state, func(s api.Controller) bool {
				return s.Role == api.RoleDecider
			}) {
				return false
			}
		}
		return true
	})
	setLink := func(up bool) {
		t.Helper()
		err := b.network.Do(t.Context(), func(w *lab.World) error {
			return w.SetLink("P1-T0-1", "P1-T1-1", up)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	// With two uplinks of a leaf in a plane, every host has EVs over each.
	denying := func() (n int) {
		err := b.network.Do(t.Context(), func(w *lab.World) error {
			for _, h := range network.Hosts {
				node, err := w.MRCHost(h.Name)
				if err != nil {
					return err
				}
				if denies(node.State()) {
					n++
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := denying(); n != 0 {
		t.Errorf("%d hosts deny EVs before a link has failed", n)
	}
	setLink(false)
	b.until("all hosts deny the link without a quorum", func() bool {
		return denying() == len(network.Hosts)
	})
	setLink(true)
	b.until("all hosts use the link again without a quorum", func() bool { return denying() == 0 })
	setLink(false)
	b.until("all hosts deny it again", func() bool { return denying() == len(network.Hosts) })

	for _, c := range b.controllers {
		c.client.Mend()
	}
	ready("hosts hold what the next decider says")
	if n := denying(); n != len(network.Hosts) {
		t.Errorf("%d hosts deny the link that is down, want all", n)
	}
	if now := connections.Load(); now != before {
		t.Errorf("hosts connected %d times more", now-before)
	}

	first := b.decider()
	first.stop()
	ready("hosts hold what another controller says, after the decider has left")
	if n := denying(); n != len(network.Hosts) {
		t.Errorf("%d hosts deny the link that is down, want all", n)
	}
}

// denies reports whether a state denies EVs.
func denies(s *hostapi.State) bool {
	for _, p := range s.Profiles {
		if len(p.Denied) > 0 {
			return true
		}
	}
	return false
}
