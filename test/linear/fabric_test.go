package linear

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/host/agent"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/test/writes"
)

// Where switches and hosts are, when controllers have networks of their own.
var (
	switchNetwork = netip.MustParsePrefix("10.84.0.0/16")
	hostAddress   = netip.MustParseAddr("10.85.0.1")
)

// elsewhere are the switches that nobody reaches.
var elsewhere = map[string]string{"N1": "127.0.0.1:1", "N2": "127.0.0.1:2"}

// Names of the resources that traffic needs: a group that S2 writes to, and the policy and the
// tenant of T1 and T2.
const (
	writesGroup  = "writes"
	tenantPolicy = "wan"
	tenantName   = "tenant"
)

// drainTime is how long what is under way may take to arrive.
const drainTime = 20 * time.Second

// Rules of the fabric.
const (
	ruleConverges = "switches and hosts hold what they are to when nothing is wrong any more"
	ruleUnwritten = "no switch that agrees is written to"
	ruleGoesOn    = "traffic goes on whatever becomes of controllers"
	ruleWrites    = "a write is acknowledged when all receivers have it, and each packet crosses " +
		"each link once"
	ruleMRC    = "hosts of MRC have what was written"
	ruleTenant = "a tenant's packets arrive as they were sent"
)

// fabric is the network of the controllers. Clients change groups from N1 to N2, which nobody
// reaches. N3 and N4 run in this process: S2 writes to a group of theirs all the time, H1 and H2
// write to each other by MRC, a tenant's T1 sends to T2 over SRv6, and nothing of theirs changes.
type fabric struct {
	live      *lab.Live
	inventory inventory.Inventory
	group     *writes.Group
	mesh      *lab.Mesh
	stream    *lab.Stream
	complete  atomic.Uint64     // writes to the group
	written   map[string]uint64 // to the switches so far
}

// newFabric starts the network.
func newFabric(t *testing.T) *fabric {
	t.Helper()
	f := &fabric{}
	o := lab.LiveOptions{
		Network: lab.Network{
			Switches: []lab.Switch{{Name: "N1"}, {Name: "N2"}, {Name: "N3"}, {Name: "N4"}},
			Hosts: []lab.Host{
				{Name: "S1"}, {Name: "R1"}, {Name: "S2"}, {Name: "R2"}, {Name: "R3"},
				{Name: "H1", Transport: lab.MRC}, {Name: "H2", Transport: lab.MRC},
				{Name: "T1"}, {Name: "T2"},
			},
			Links: []lab.Link{
				{A: "S1", B: "N1"}, {A: "N1", B: "N2"}, {A: "N2", B: "R1"},
				{A: "S2", B: "N3"}, {A: "R2", B: "N3"}, {A: "N3", B: "N4"}, {A: "N4", B: "R3"},
				{A: "H1", B: "N3"}, {A: "H2", B: "N4"},
				{A: "T1", B: "N3"}, {A: "T2", B: "N4"},
			},
		},
		Elsewhere: elsewhere,
		Controller: func(inv inventory.Inventory) error {
			f.inventory = inv
			return nil
		},
	}
	if isolated() {
		o.Sessions = switchNetwork
	}
	o.Network.MRC = lab.MRCSettings(&o.Network, ev.ModeECMP) // it has no leaves and spines
	var err error
	if f.live, err = lab.StartLive(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.live.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// connect has the hosts of MRC connect to one controller after the other.
func (b *bed) connect() {
	b.t.Helper()
	var dialer net.Dialer
	if isolated() {
		dialer.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(hostAddress, 0))
	}
	var next atomic.Int64
	cfg := agent.DefaultConfig()
	cfg.Controller = "127.0.0.1:1" // of the dialer's choice
	cfg.DialOptions = []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context,
		_ string) (net.Conn, error) {
		return dialer.DialContext(ctx, "tcp", b.nodes[int(next.Add(1))%len(b.nodes)].hosts)
	})}
	hosts, err := b.fabric.live.World.Subscribe(b.t.Context(), b.fabric.live.Clock, cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(hosts.Close)
}

// begin makes the resources that traffic needs, waits until they are programmed, and has all hosts
// send until ctx ends; traffic returns then.
func (l *load) begin(ctx context.Context) (traffic func(), err error) {
	f := l.b.fabric
	var tenant api.TenantSpec
	if err := f.live.Do(ctx, func(w *lab.World) (err error) {
		if f.group, err = writes.New(w, "S2", "R2", "R3"); err != nil {
			return err
		}
		tenant = api.TenantSpec{Slice: 1, Priority: 2, Policies: []string{tenantPolicy}}
		for _, host := range []string{"T1", "T2"} {
			sw, port := w.Network.Uplink(host)
			tenant.Sites = append(tenant.Sites, api.TenantSite{Switch: sw, Port: port})
		}
		f.stream, err = w.NewStream(lab.StreamConfig{
			From: "T1", To: "T2", QPN: 0x7000, Payload: 1024, Rate: 1_000_000,
		})
		return err
	}); err != nil {
		return nil, err
	}
	for _, r := range []struct {
		path string
		body any
	}{
		{groups + client.Path(writesGroup), api.Request[api.MulticastGroupSpec]{Spec: f.group.Spec()}},
		{"/v1/srv6-policies/" + tenantPolicy, api.Request[api.SRv6PolicySpec]{Spec: api.SRv6PolicySpec{
			Headend: "N3", Endpoint: "N4", Segments: []api.PolicySegment{{Node: "N4"}},
		}}},
		{"/v1/tenants/" + tenantName, api.Request[api.TenantSpec]{Spec: tenant}},
	} {
		if err := l.until(ctx, func(c *client.Client) error {
			_, err := c.Do(ctx, http.MethodPut, r.path, nil, r.body)
			return err
		}); err != nil {
			return nil, fmt.Errorf("%s: %w", r.path, err)
		}
	}
	if err = l.converged(ctx); err == nil {
		err = f.live.Do(ctx, func(w *lab.World) error {
			if f.mesh, err = w.NewMesh(lab.MeshConfig{
				Flows: lab.AllToAll([]string{"H1", "H2"}, 64<<10), Message: 16 << 10, Repeat: true,
			}); err != nil {
				return err
			}
			f.stream.Start()
			return f.mesh.Start()
		})
	}
	f.written = f.live.Written()
	return func() { l.traffic(ctx) }, err
}

// traffic sends until ctx ends, and fails where something did not arrive as it was sent.
func (l *load) traffic(ctx context.Context) {
	f := l.b.fabric
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	done, deadline := false, time.Time{}
	for !done {
		err := f.live.Do(context.WithoutCancel(ctx), func(*lab.World) error {
			n, err := f.group.Step()
			f.complete.Store(n)
			if err != nil {
				return err
			}
			if err := f.mesh.Pump(); err != nil {
				return broken{ruleMRC, err}
			}
			if ctx.Err() == nil {
				return nil
			}
			done, err = f.drained()
			return err
		})
		if ctx.Err() != nil && deadline.IsZero() {
			deadline = time.Now().Add(drainTime)
		}
		if err == nil && !done && !deadline.IsZero() && time.Now().After(deadline) {
			err = fmt.Errorf("not all that was sent has arrived after %v: %s", drainTime, f.state())
		}
		if err != nil {
			rule := ruleWrites
			if b := (broken{}); errors.As(err, &b) {
				rule = b.rule
			}
			l.fail(rule, "%v", err)
			return
		}
		<-tick.C
	}
}

// state describes the fate of all sent packets.
func (f *fabric) state() string {
	return fmt.Sprintf("%d writes to the group; MRC done %v, %.3f of it; "+
		"the tenant sent %d packets, %d of them did not arrive",
		f.complete.Load(), f.mesh.Done(), f.mesh.Progress(), f.stream.Sent, f.stream.Lost())
}

// broken is a rule that traffic breaks.
type broken struct {
	rule string
	error
}

// drained has nothing more sent, and reports whether all has arrived. It returns an error when
// something did not arrive as it was sent.
func (f *fabric) drained() (bool, error) {
	f.mesh.Finish()
	f.stream.Stop()
	if done, err := f.group.Drain(); !done || err != nil || !f.mesh.Done() || f.stream.Lost() > 0 {
		return false, err
	}
	if n := f.mesh.Corrupt(); n > 0 {
		return false, broken{ruleMRC, fmt.Errorf("%d flows have not what was written", n)}
	}
	if s := f.stream; s.Corrupt+s.Reordered > 0 || s.Sent == 0 {
		return false, broken{ruleTenant, fmt.Errorf(
			"of %d packets %d are not what was sent, and %d came after a later one",
			s.Sent, s.Corrupt, s.Reordered)}
	}
	return true, f.group.Check()
}

// unwritten fails when a switch was written to since it was called last.
func (l *load) unwritten(when string) {
	f := l.b.fabric
	if now := f.live.Written(); !maps.Equal(now, f.written) {
		l.fail(ruleUnwritten, "%s: %v, were %v", when, now, f.written)
		f.written = now
	}
}

// until asks the controller that decides, until it answers without an error.
func (l *load) until(ctx context.Context, ask func(c *client.Client) error) error {
	for end := time.Now().Add(patience); ; wait(ctx, 50*time.Millisecond) {
		c, err := client.New(client.Config{Server: "http://" + l.b.decider(ctx).api, Timeout: answerTime})
		if err != nil {
			return err
		}
		err = ask(c)
		c.Close()
		switch {
		case err == nil || ctx.Err() != nil:
			return ctx.Err()
		case time.Now().After(end):
			return fmt.Errorf("after %v: %w", patience, err)
		}
	}
}

// converged waits until the group is programmed, and switches and hosts hold their intended states.
func (l *load) converged(ctx context.Context) error {
	return l.until(ctx, func(c *client.Client) error {
		g, err := c.Groups().Get(ctx, writesGroup)
		if err == nil && !g.Status.Is(api.Programmed) {
			err = errors.New("the group is not programmed")
		}
		if err != nil {
			return err
		}
		t, err := c.Tenants().Get(ctx, tenantName)
		if err == nil && !t.Status.Conditions.Is(api.Programmed) {
			err = fmt.Errorf("the tenant is not programmed: %v", t.Status.Conditions)
		}
		if err != nil {
			return err
		}
		switches, err := c.Switches().List(ctx, nil)
		if err != nil {
			return err
		}
		for i := range switches {
			s := &switches[i]
			if _, elsewhere := elsewhere[s.Name]; !elsewhere && (!s.Synced || s.Settling) {
				return fmt.Errorf("switch %s: synced %v, settling %v", s.Name, s.Synced, s.Settling)
			}
		}
		for _, name := range []string{"H1", "H2"} {
			h, err := c.Hosts().Get(ctx, name)
			if err != nil {
				return err
			}
			if !h.Connected || !h.Versions.Current {
				return fmt.Errorf("host %s: connected %v, versions %+v", name, h.Connected, h.Versions)
			}
		}
		return nil
	})
}
