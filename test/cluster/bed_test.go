package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/northbound"
	"github.com/weft-sdn/weft/service"
	"github.com/weft-sdn/weft/store/storetest"
	"github.com/weft-sdn/weft/topology/bgpls/bgplstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, bgplstest.LeftByGoBGP()) }

// patience is how long a test waits for what has to happen, also on a busy machine.
const patience = 6 * time.Minute

// bed is a network, Figure 1 unless a test has another, with several controllers.
type bed struct {
	t           *testing.T
	network     *lab.Live
	inventory   inventory.Inventory
	server      *storetest.Server
	controllers []*controller
}

// controller is one of several.
type controller struct {
	b       *bed
	name    string
	local   netip.Addr // of its BGP-LS sessions
	client  *storetest.Client
	service *service.Service
	rest    *client.Client
	// hosts is where it takes streams of hosts while it runs: for dialers, which are in goroutines of
	// their own.
	hosts atomic.Pointer[string]
}

func newBed(t *testing.T, n int, tune ...func(*inventory.Inventory)) *bed {
	t.Helper()
	return newBedOf(t, lab.Figure1(), n, tune...)
}

// newBedOf is newBed with another network.
func newBedOf(t *testing.T, network lab.Network, n int, tune ...func(*inventory.Inventory)) *bed {
	t.Helper()
	b := &bed{t: t, server: storetest.NewServer()}
	o := lab.LiveOptions{Network: network, Listen: "127.0.0.1:0",
		Controller: func(inv inventory.Inventory) error {
			inv.Intervals.Settle = api.Duration(200 * time.Millisecond)
			inv.Cluster.Listen, inv.Cluster.TTL = "127.0.0.1:0", api.Duration(time.Second)
			for _, f := range tune {
				f(&inv)
			}
			b.inventory = inv
			return nil
		}}
	for i := range n {
		o.Collectors = append(o.Collectors, netip.AddrFrom4([4]byte{127, 0, 0, byte(i + 1)}))
	}
	var err error
	if b.network, err = lab.StartLive(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.network.Close(); err != nil {
			t.Error(err)
		}
	})
	for i, local := range o.Collectors {
		c := &controller{b: b, name: fmt.Sprintf("c%d", i+1), local: local}
		b.controllers = append(b.controllers, c)
		c.start()
	}
	t.Cleanup(func() {
		for _, c := range b.controllers {
			c.stop()
		}
	})
	return b
}

func (c *controller) start() {
	t := c.b.t
	t.Helper()
	inv := c.b.inventory
	inv.Cluster.Name = c.name
	inv.BGP.RouterID = netip.AddrFrom4([4]byte{10, 255, 255, c.local.As4()[3]})
	inv.BGP.Peers = append([]inventory.Peer(nil), inv.BGP.Peers...)
	for i := range inv.BGP.Peers {
		inv.BGP.Peers[i].LocalAddress = c.local
	}
	log := slog.New(slog.DiscardHandler)
	if os.Getenv("WEFT_LOG") != "" {
		log = slog.New(slog.NewTextHandler(os.Stderr, nil)).With("controller", c.name)
	}
	served := northbound.DefaultConfig()
	served.Version, served.Grace = "test", 100*time.Millisecond
	c.client = c.b.server.Client()
	var err error
	// A context of its own: the cleanups that need the service come after the test's has ended.
	c.service, err = service.Start(context.WithoutCancel(t.Context()), service.Options{Inventory: inv,
		Store: c.client, API: served, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	if c.rest,
		err = client.New(client.Config{Server: "http://" + c.service.Addr().String()}); err != nil {
		t.Fatal(err)
	}
	if at := c.service.HostsAddr(); at != nil {
		text := at.String()
		c.hosts.Store(&text)
	}
}

// stop has the controller leave in order.
func (c *controller) stop() {
	c.b.t.Helper()
	if c.service == nil {
		return
	}
	c.hosts.Store(nil)
	c.client.Mend()
	if err := c.service.Close(); err != nil {
		c.b.t.Errorf("%s: %v", c.name, err)
	}
	c.rest.Close()
	c.service = nil
}

// kill ends the controller without a word to the store.
func (c *controller) kill() {
	c.hosts.Store(nil)
	c.client.Cut()
	_ = c.service.Close()
	c.client.Mend()
	c.rest.Close()
	c.service = nil
}

// until polls until a condition holds.
func (b *bed) until(what string, holds func() bool) {
	b.t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(patience); !holds(); <-ticker.C {
		if time.Now().After(deadline) {
			b.t.Fatalf("not after %v: %s", patience, what)
		}
	}
}

// decider returns the controller that decides and is ready, as reported by a running controller.
func (b *bed) decider() *controller {
	b.t.Helper()
	var found *controller
	b.until("a controller decides", func() bool {
		for _, asked := range b.controllers {
			if asked.service == nil {
				continue
			}
			list, err := asked.rest.Controllers().List(b.t.Context(), nil)
			if err != nil {
				continue
			}
			for _, c := range list {
				if c.Role != api.RoleDecider {
					continue
				}
				for _, is := range b.controllers {
					if is.name == c.Name && is.service != nil {
						found = is
						return true
					}
				}
			}
		}
		return false
	})
	return found
}

// other returns a controller that runs and is not c.
func (b *bed) other(c *controller) *controller {
	for _, o := range b.controllers {
		if o != c && o.service != nil {
			return o
		}
	}
	b.t.Fatal("there is no other controller")
	return nil
}

// spec is the spec of the i-th group.
func spec(i int) api.MulticastGroupSpec {
	host := func(n int) netip.Addr { return netip.MustParseAddr(fmt.Sprintf("2001:db8:1:%d::1", n)) }
	return api.MulticastGroupSpec{
		ProxyAddress: netip.MustParseAddr(fmt.Sprintf("2001:db8:ffff::%x", i+1)), DesignatedQPN: 4096,
		Source: api.GroupSource{Address: host(1), QPN: uint32(256 + i)},
		Receivers: []api.GroupReceiver{{Address: host(2), QPN: uint32(512 + i)},
			{Address: host(2 + 1 + i%3), QPN: uint32(1024 + i)}},
	}
}

func (c *controller) put(name string, spec api.MulticastGroupSpec) error {
	_, err := c.rest.Do(c.b.t.Context(), http.MethodPut, "/v1/multicast-groups/"+name, nil,
		map[string]any{"spec": spec})
	return err
}

// groups returns the multicast groups by name.
func (c *controller) groups() (map[string]api.MulticastGroup, error) {
	list, err := c.rest.List(c.b.t.Context(), "/v1/multicast-groups", nil)
	if err != nil {
		return nil, err
	}
	out := make(map[string]api.MulticastGroup)
	for _, item := range list.Items {
		var g api.MulticastGroup
		if err := json.Unmarshal(item, &g); err != nil {
			return nil, err
		}
		out[g.Name] = g
	}
	return out, nil
}

// programmed waits until groups are in the switches, and nothing is left to write, by what a
// controller says.
func (b *bed) programmed(c *controller, names ...string) map[string]api.MulticastGroup {
	b.t.Helper()
	var groups map[string]api.MulticastGroup
	why := "nothing was answered"
	defer func() {
		if b.t.Failed() {
			b.t.Log(why)
		}
	}()
	b.until(fmt.Sprintf("%q programmed, all switches synced, by %s", names, c.name), func() bool {
		var err error
		if groups, err = c.groups(); err != nil {
			return false
		}
		for _, name := range names {
			g := groups[name]
			if !g.Status.Is(api.Programmed) {
				why = fmt.Sprintf("group %s: %v", name, g.Status.Conditions)
				return false
			}
		}
		switches, err := c.rest.Switches().List(b.t.Context(), nil)
		if err != nil {
			return false
		}
		for i := range switches {
			if s := &switches[i]; !s.Synced || s.Settling {
				why = fmt.Sprintf("switch %s: %+v", s.Name, *s)
				return false
			}
		}
		why = fmt.Sprintf("%d switches", len(switches))
		return len(switches) == len(b.network.World.Network.Switches)
	})
	return groups
}

// unwritten fails when switches were written to since.
func (b *bed) unwritten(since map[string]uint64, when string) {
	b.t.Helper()
	if now := b.network.Written(); !maps.Equal(now, since) {
		b.t.Errorf("switches that agree were written to %s: %v, were %v", when, now, since)
	}
}
