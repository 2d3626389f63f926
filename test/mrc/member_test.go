package mrc

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/host/agent"
	"github.com/weft-sdn/weft/service"
	"github.com/weft-sdn/weft/service/hostrelay"
	"github.com/weft-sdn/weft/topology"
)

// members are controllers that serve hosts and do not decide, in the bubble of a fabric whose own
// controller does.
type members struct {
	f        *bed
	all      []*hostrelay.Relay
	streams  []*bufconn.Listener
	accepted atomic.Int64 // connections of hosts
	stop     func()
}

// startMembers starts members. Hosts take turns among them.
func startMembers(f *bed, n int) *members {
	t := f.t
	m := &members{f: f}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	var conns []*grpc.ClientConn
	for i := range n {
		cc, err := grpc.NewClient("passthrough:///decider",
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
				return f.dial(ctx)
			}),
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff: backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2,
					MaxDelay: time.Second}, MinConnectTimeout: time.Second,
			}))
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, cc)
		cfg := service.HostsConfig(&f.inv.MRC)
		cfg.Epoch = uint64(1000 + i)
		a, err := hostrelay.New(hostrelay.Config{
			Inventory: &f.inv, Hosts: cfg, Connect: func(context.Context) (agent.Conn, error) {
				return cc, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		l := bufconn.Listen(1 << 20)
		running.Go(func() {
			if err := a.Run(ctx, l); err != nil {
				t.Errorf("member %d: %v", i, err)
			}
		})
		m.all, m.streams = append(m.all, a), append(m.streams, l)
	}
	m.stop = func() {
		cancel()
		running.Wait()
		for _, cc := range conns {
			_ = cc.Close()
		}
	}
	return m
}

// dial is how a host reaches the next member.
func (m *members) dial(ctx context.Context) (net.Conn, error) {
	n := int(m.accepted.Add(1))
	return m.streams[n%len(m.streams)].DialContext(ctx)
}

// tell has the members learn a network.
func (m *members) tell(s *topology.Snapshot) {
	for _, a := range m.all {
		if err := a.SetTopology(m.f.t.Context(), s); err != nil {
			m.f.t.Fatal(err)
		}
	}
}

// setLink takes a link down or up, which the members learn, and the decider does not.
func (m *members) setLink(a, b string, up bool) {
	m.f.t.Helper()
	var err error
	var s *topology.Snapshot
	m.f.do(func() {
		err = m.f.world.SetLink(a, b, up)
		s = m.f.world.Learned(m.f.learned)
	})
	if err != nil {
		m.f.t.Fatal(err)
	}
	m.tell(s)
}

// denial is the time that hosts may take to deny a failed link, whichever controller asks: the
// controller sends one message over a connection without delay.
const denial = 10 * time.Millisecond

// runMembers runs a test on a fabric with four hosts connected to three controllers without a
// decider.
func runMembers(t *testing.T, test func(*testing.T, *bed)) {
	withMembers(t, 3, func(m *inventory.MRC) { m.Restore.Hold = api.Duration(time.Second) }, test)
}

// TestMembersDeny: without a decider, or while the decider learns nothing, hosts at every
// controller deny a failed link as fast as with a decider, and use the link again after the link
// was up for long enough. Hosts stay connected, and hold the states of the next decider as soon as
// a decider exists.
func TestMembersDeny(t *testing.T) {
	runMembers(t, func(t *testing.T, f *bed) {
		connections := f.members.accepted.Load()
		f.setLink("P1-T0-1", "P1-T1-1", false)
		f.until(denial, "hosts deny the link that the decider sees fail too", func() bool {
			return f.denies("P1-T0-1", "P1-T1-1")
		})
		f.until(time.Second, "the decider knows that they do", f.ready)
		f.setLink("P1-T0-1", "P1-T1-1", true)
		f.until(5*time.Second, "hosts use the link again", f.deniesNothing)
		f.until(time.Second, "the decider knows that they do", f.ready)

		f.members.setLink("P1-T0-2", "P1-T1-1", false)
		f.until(denial, "hosts deny the link that the decider does not see fail", func() bool {
			return f.denies("P1-T0-2", "P1-T1-1")
		})
		f.members.setLink("P1-T0-2", "P1-T1-1", true)
		took := f.until(5*time.Second, "hosts use that link again", f.deniesNothing)
		if took < time.Second {
			t.Errorf("a link that failed is used again after %v, want a second or more", took)
		}

		held := f.states()
		f.stop()
		f.until(3*time.Second, "nothing changes without a decider", func() bool { return f.same(held) })
		f.members.setLink("P2-T0-1", "P2-T1-2", false)
		f.until(denial, "hosts deny a link without a decider", func() bool {
			return f.denies("P2-T0-1", "P2-T1-2")
		})
		f.members.setLink("P2-T0-1", "P2-T1-2", true)
		f.until(10*time.Second, "hosts use that link again without a decider", f.deniesNothing)
		f.members.setLink("P2-T0-2", "P2-T1-1", false)
		f.until(denial, "hosts deny another link", func() bool { return f.denies("P2-T0-2", "P2-T1-1") })

		f.start()
		f.learn()
		f.until(20*time.Second, "hosts hold what the next decider says", func() bool {
			if crossing, denied, _ := f.crossing("P2-T0-2", "P2-T1-1"); denied != crossing {
				t.Fatal("hosts use the link that is down")
			}
			return f.ready()
		})
		if now := f.members.accepted.Load(); now != connections {
			t.Errorf("hosts connected %d times more when the decider changed", now-connections)
		}
	})
}

// TestMembersKeep: what the decider denies stays denied when it goes, until another one decides.
func TestMembersKeep(t *testing.T) {
	runMembers(t, func(t *testing.T, f *bed) {
		link := f.linkBetween("P1-T0-1", "P1-T1-2")
		if err := f.admin(mrc.Target{Link: link.ID}, api.AdminDrained); err != nil {
			t.Fatal(err)
		}
		f.until(time.Second, "hosts deny the drained link", func() bool {
			return f.denies("P1-T0-1", "P1-T1-2")
		})
		f.until(time.Second, "the decider knows that they do", f.ready)
		f.stop()
		// The drained link fails and returns: that it works is no reason to use it.
		f.members.setLink("P1-T0-1", "P1-T1-2", false)
		f.members.setLink("P1-T0-1", "P1-T1-2", true)
		for range 50 {
			time.Sleep(100 * time.Millisecond)
			if !f.denies("P1-T0-1", "P1-T1-2") {
				t.Fatal("hosts use the drained link without a decider")
			}
		}
		f.start()
		f.learn()
		f.until(20*time.Second, "hosts hold what the next decider says", f.ready)
		if !f.denies("P1-T0-1", "P1-T1-2") {
			t.Error("hosts use the drained link")
		}
	})
}

// TestMembersPorts: members deny the ports of hosts and switches that gNMI reports down.
func TestMembersPorts(t *testing.T) {
	runMembers(t, func(t *testing.T, f *bed) {
		var port uint32
		for _, l := range f.world.Network.Links {
			if l.A == "P1-T0-1" && l.B == "P1-T1-1" {
				port = l.PortA
			} else if l.B == "P1-T0-1" && l.A == "P1-T1-1" {
				port = l.PortB
			}
		}
		f.denies("P1-T0-1", "P1-T1-1") // learns what EVs mean
		f.stop()
		report := func(sw string, port uint32, up bool) {
			for _, a := range f.members.all {
				a.SetPorts(t.Context(), sw, controller.PortStates{Up: map[uint32]bool{port: up}})
			}
		}
		report("P1-T0-1", port, false)
		f.until(denial, "hosts deny the link of the port", func() bool {
			return f.denies("P1-T0-1", "P1-T1-1")
		})
		report("P1-T0-1", port, true)
		f.until(10*time.Second, "hosts use it again", f.deniesNothing)

		host := f.world.Network.Hosts[0].Name
		for leaf, port := range f.world.Network.Uplinks(host) {
			report(leaf, port, false)
			break
		}
		f.until(denial, "the host and its peers leave the port", func() bool {
			for name, s := range f.states() {
				address := f.world.Network.Hosts[0].Address
				if name == host && s.DeniedPorts == 0 || name != host &&
					s.PeerPorts(address) == ^hostapi.PortMask(1) {
					return false
				}
			}
			return true
		})
	})
}
