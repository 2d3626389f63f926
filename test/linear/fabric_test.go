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
	"github.com/weft-sdn/weft/endpoint/agent"
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

// writesGroup is the name of the group that S2 writes to.
const writesGroup = "writes"

// Rules of the fabric.
const (
	ruleConverges = "switches and hosts hold what they are to when nothing is wrong any more"
	ruleUnwritten = "no switch that agrees is written to"
	ruleGoesOn    = "traffic goes on whatever becomes of controllers"
	ruleWrites    = "a write is acknowledged when all receivers have it, and each packet crosses each link once"
)

// fabric is the network of the controllers. Clients change groups from N1 to N2, which nobody
// reaches. N3 and N4 run in this process: S2 writes to a group of theirs all the time, and nothing
// else of theirs changes.
type fabric struct {
	live      *lab.Live
	inventory inventory.Inventory
	group     *writes.Group
	complete  atomic.Uint64     // writes
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
			},
			Links: []lab.Link{
				{A: "S1", B: "N1"}, {A: "N1", B: "N2"}, {A: "N2", B: "R1"},
				{A: "S2", B: "N3"}, {A: "R2", B: "N3"}, {A: "N3", B: "N4"}, {A: "N4", B: "R3"},
				{A: "H1", B: "N3"}, {A: "H2", B: "N4"},
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

// begin makes the group, waits until it is programmed, and has S2 write to it until ctx ends;
// traffic returns then.
func (l *load) begin(ctx context.Context) (traffic func(), err error) {
	f := l.b.fabric
	if err := f.live.Do(ctx, func(w *lab.World) (err error) {
		f.group, err = writes.New(w, "S2", "R2", "R3")
		return err
	}); err != nil {
		return nil, err
	}
	err = l.until(ctx, func(c *client.Client) error {
		_, err := c.Do(ctx, http.MethodPut, groups+client.Path(writesGroup), nil,
			api.Request[api.MulticastGroupSpec]{Spec: f.group.Spec()})
		return err
	})
	if err == nil {
		err = l.converged(ctx)
	}
	f.written = f.live.Written()
	return func() { l.traffic(ctx) }, err
}

// traffic writes until ctx ends, and fails where a write did not arrive as it was sent.
func (l *load) traffic(ctx context.Context) {
	f := l.b.fabric
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	done, deadline := false, time.Time{}
	for !done {
		err := f.live.Do(context.WithoutCancel(ctx), func(*lab.World) error {
			n, err := f.group.Step()
			f.complete.Store(n)
			if err != nil || ctx.Err() == nil {
				return err
			}
			if done, err = f.group.Drain(); done && err == nil {
				err = f.group.Check()
			}
			return err
		})
		if ctx.Err() != nil && deadline.IsZero() {
			deadline = time.Now().Add(patience)
		}
		if err == nil && !done && !deadline.IsZero() && time.Now().After(deadline) {
			err = fmt.Errorf("a write is not complete after %v", patience)
		}
		if err != nil {
			l.fail(ruleWrites, "%v", err)
			return
		}
		<-tick.C
	}
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

// converged waits until the group is programmed, and switches and hosts hold what they are to.
func (l *load) converged(ctx context.Context) error {
	return l.until(ctx, func(c *client.Client) error {
		g, err := c.Groups().Get(ctx, writesGroup)
		if err == nil && !g.Status.Is(api.Programmed) {
			err = errors.New("the group is not programmed")
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
