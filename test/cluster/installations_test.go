package cluster

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/northbound"
	"github.com/weft-sdn/weft/service"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/store/etcd"
)

// installation is a controller with an etcd of its own.
type installation struct {
	b       *bed
	name    string
	dir     string
	local   netip.Addr // of its BGP-LS sessions
	service *service.Service
	store   *etcd.Store
	rest    *client.Client

	mu    sync.Mutex
	cut   bool       // it reaches no switch
	conns []net.Conn // to switches
}

// courtesy is how long an installation leaves a switch alone whose primary has gone.
const courtesy = 300 * time.Millisecond

func (i *installation) dial(ctx context.Context, address string) (net.Conn, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.cut {
		return nil, errors.New("cut off from switches")
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", address)
	if err == nil {
		i.conns = append(i.conns, c)
	}
	return c, err
}

// reach has the installation reach switches, or not.
func (i *installation) reach(does bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.cut = !does
	if i.cut {
		for _, c := range i.conns {
			_ = c.Close() // it may have ended
		}
		i.conns = nil
	}
}

func (i *installation) start() {
	t := i.b.t
	t.Helper()
	inv := i.b.inventory
	inv.Cluster = inventory.Default().Cluster
	inv.BGP.RouterID = netip.AddrFrom4([4]byte{10, 255, 255, i.local.As4()[3]})
	inv.BGP.Peers = slices.Clone(inv.BGP.Peers)
	for k := range inv.BGP.Peers {
		inv.BGP.Peers[k].LocalAddress = i.local
	}
	log := slog.New(slog.DiscardHandler)
	if os.Getenv("WEFT_LOG") != "" {
		log = slog.New(slog.NewTextHandler(os.Stderr, nil)).With("installation", i.name)
	}
	served := northbound.DefaultConfig()
	served.Version, served.Grace = "test", 100*time.Millisecond
	var err error
	if i.store, err = etcd.Open(t.Context(), etcd.Config{Dir: i.dir, Release: "weft test",
		NoSync: true}); err != nil {
		t.Fatal(err)
	}
	i.service, err = service.Start(context.WithoutCancel(t.Context()), service.Options{Inventory: inv,
		Store: i.store, API: served, Log: log,
		Configure: func(_ inventory.Switch, c *southbound.Config) {
			c.Courtesy = courtesy
			c.Backoff = southbound.Backoff{Initial: 20 * time.Millisecond, Max: 100 * time.Millisecond,
				Multiplier: 2}
			c.DialOptions = append(c.DialOptions, grpc.WithContextDialer(i.dial))
		}})
	if err != nil {
		t.Fatal(err)
	}
	if i.rest,
		err = client.New(client.Config{Server: "http://" + i.service.Addr().String()}); err != nil {
		t.Fatal(err)
	}
}

func (i *installation) stop() {
	if i.service == nil {
		return
	}
	if err := errors.Join(i.service.Close(), i.store.Close()); err != nil {
		i.b.t.Errorf("%s: %v", i.name, err)
	}
	i.rest.Close()
	i.service = nil
}

// sees returns which switches an installation has, with nothing left to write, and why it has not
// all: those that another installation programs, whether /readyz says so, and whether a cause does.
func (i *installation) sees() (has, contested []string, ready, caused bool) {
	ctx := i.b.t.Context()
	switches, err := i.rest.Switches().List(ctx, nil)
	if err != nil {
		return nil, nil, false, false
	}
	for k := range switches {
		s := &switches[k]
		if s.Connected && s.Synced && !s.Settling {
			has = append(has, s.Name)
		}
		if c := s.Conditions.Find(api.Contested); c != nil && c.Status {
			contested = append(contested, s.Name)
		}
	}
	_, err = i.rest.Get(ctx, "/readyz", nil)
	var problem *api.Problem
	if ready = err == nil; errors.As(err, &problem) &&
		problem.Status != http.StatusServiceUnavailable {
		i.b.t.Errorf("%s: /readyz: %v", i.name, err)
	}
	answer, err := i.rest.Get(ctx, "/v1/causes", nil)
	if err != nil {
		return has, contested, ready, false
	}
	var list api.List[api.Cause]
	if err := answer.Decode(&list); err != nil {
		i.b.t.Error(err)
	}
	for k := range list.Items {
		caused = caused || strings.HasPrefix(list.Items[k].What, "Another installation programs")
	}
	return has, contested, ready, caused
}

// TestTwoInstallations: two installations, each on an etcd of its own, have the same switches. The
// first one holds the switches; the second one says so in a condition, in /readyz and by a cause.
// When the first one loses its connections, the second one takes the switches, and the first one
// takes the switches back at once. The next time the first one has to pause, says so, and takes
// nothing from the second one. An installation that ends leaves its switches to the other one.
func TestTwoInstallations(t *testing.T) {
	b := &bed{t: t}
	locals := []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")}
	var err error
	b.network, err = lab.StartLive(t.Context(), lab.LiveOptions{Network: lab.Figure1(),
		Listen: "127.0.0.1:0", Collectors: locals, Controller: func(inv inventory.Inventory) error {
			inv.Intervals.Settle = api.Duration(200 * time.Millisecond)
			b.inventory = inv
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.network.Close(); err != nil {
			t.Error(err)
		}
	})
	var all []string
	for _, s := range b.network.World.Network.Switches {
		all = append(all, s.Name)
	}
	slices.Sort(all)
	first := &installation{b: b, name: "first", dir: t.TempDir(), local: locals[0]}
	second := &installation{b: b, name: "second", dir: t.TempDir(), local: locals[1]}
	t.Cleanup(func() { first.stop(); second.stop() })
	is := func(what string, i *installation, have, lack []string) {
		t.Helper()
		last := ""
		defer func() {
			if t.Failed() {
				t.Log(last)
			}
		}()
		b.until(what, func() bool {
			has, contested, ready, caused := i.sees()
			last = strings.Join([]string{i.name, "has", strings.Join(has, ","), "contested",
				strings.Join(contested, ",")}, " ")
			return slices.Equal(has, have) && slices.Equal(contested, lack) &&
				ready == (len(lack) == 0) && caused == (len(lack) > 0)
		})
	}
	first.start()
	is("the first has all switches", first, all, nil)
	b.until("a group is accepted", func() bool {
		_, err := first.rest.Do(t.Context(), http.MethodPut, "/v1/multicast-groups/g", nil,
			map[string]any{"spec": spec(0)})
		return err == nil
	})
	b.until("the group is programmed", func() bool {
		g, err := first.rest.Groups().Get(t.Context(), "g")
		return err == nil && g.Status.Is(api.Programmed)
	})
	is("the first has written all", first, all, nil)
	written := b.network.Written()
	second.start()
	is("the second waits", second, nil, all)
	is("the first keeps all switches", first, all, nil)

	// The first loses its connections, and the second finds switches that nobody has.
	first.reach(false)
	is("the second has all switches", second, all, nil)
	first.reach(true)
	is("the first takes its switches back", first, all, nil)
	is("the second waits again", second, nil, all)

	// Once more: now the first has to wait before it takes them back.
	first.reach(false)
	is("the second has all switches again", second, all, nil)
	first.reach(true)
	is("the first says who has its switches", first, nil, all)
	is("the second keeps all switches", second, all, nil)
	second.stop()
	is("the first has what nobody else has", first, all, nil)
	second.start()
	is("the second waits after its restart", second, nil, all)
	first.stop()
	is("the second takes what the first has left", second, all, nil)
	first.start()
	is("the first waits after its restart", first, nil, all)
	b.unwritten(written, "in eight changes of installations")
}
