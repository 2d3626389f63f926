package nic

import (
	"net/netip"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/nscc"
	"github.com/weft-sdn/weft/packet"
)

// TestProbeResults: the result of a request has how many probes were sent and answered, the least,
// the greatest and the mean round trip, the port of the last answer, and whether a service time was
// taken off any.
func TestProbeResults(t *testing.T) {
	x := &probing{waiting: 5, result: hostapi.ProbeResult{ID: 9, Sent: 5}}
	for _, r := range []mrc.EndpointResult{
		{}, {Answered: true, RTT: 30, Port: 2, ServiceTimeAdjusted: true},
		{Answered: true, RTT: 20, Port: 1}, {}, {Answered: true, RTT: 45, Port: 3},
	} {
		if x.over() {
			t.Error("over while probes are under way")
		}
		x.take(r)
	}
	want := hostapi.ProbeResult{ID: 9, Sent: 5, Received: 3, RTTMin: 20, RTTMax: 45, RTTMean: 31,
		ServiceTimeAdjusted: true, Port: 3}
	if x.result != want || x.waiting != 0 {
		t.Errorf("%+v, want %+v; %d under way", x.result, want, x.waiting)
	}
	if x.over() {
		t.Error("over before the last one was sent")
	}
	if x.finished = true; !x.over() {
		t.Error("not over")
	}
}

// TestNextProbe: the NIC is woken for the probe that is due first, of requests not finished.
func TestNextProbe(t *testing.T) {
	n := &NIC{}
	if at, ok := n.nextProbe(); ok {
		t.Errorf("%v without a request", at)
	}
	n.probing = []*probing{{due: 1, finished: true}, {due: 7}, {due: 5}, {due: 6}}
	if at, ok := n.nextProbe(); !ok || at != 5 {
		t.Errorf("%v, %v, want 5", at, ok)
	}
}

// TestProbing: probes of a request leave at its interval, the result comes once, when the last was
// answered or given up, and nothing of it stays. Announcements are requests of another operation.
func TestProbing(t *testing.T) {
	for _, announced := range []bool{false, true} {
		n := alone(t, 2, nil)
		got := []hostapi.ProbeResult(nil)
		done := func(r hostapi.ProbeResult) { got = append(got, r) }
		request := &hostapi.Probe{ID: 3, Destination: peer(0), Count: 3, Interval: 10, Timeout: 25,
			EV: hostapi.NewEV(1<<16, 2)}
		if announced {
			n.Announce(5, request, ports(1, 2), done)
		} else {
			n.Probe(5, request, done)
		}
		var at []time.Duration
		for now, pending := time.Duration(5), true; pending; {
			at = append(at, now)
			var next time.Duration
			if next, pending = n.Advance(now); pending && next <= now {
				t.Fatalf("at %v: due at %v", now, next)
			}
			now = next
		}
		if len(at) != 6 || at[1] != 15 || at[2] != 25 || at[3] != 30 || at[5] != 50 {
			t.Errorf("announced %v: looked at %v", announced, at)
		}
		if len(got) != 1 || got[0] != (hostapi.ProbeResult{ID: 3, Sent: 3}) || len(n.probing) != 0 ||
			len(n.asked) != 0 {
			t.Errorf("announced %v: %+v; %d requests, %d probes left", announced, got, len(n.probing),
				len(n.asked))
		}
		if c := n.Host.Counters(); c.FramesSent != 3 {
			t.Errorf("%d frames", c.FramesSent)
		}
		// The owner gets the results of its own operations.
		id, err := n.SendEVProbe(60, mrc.EVProbe{Peer: peer(0), Path: mrc.Path{Port: 1}, Timeout: 1})
		if err != nil {
			t.Fatal(err)
		}
		n.Advance(61)
		if r, ok := n.PollEndpoint(); !ok || r.ID != id {
			t.Errorf("%+v, %v", r, ok)
		}
		if r, ok := n.PollEndpoint(); ok {
			t.Errorf("%+v once more", r)
		}
	}
}

// TestProbePaths: a probe uses the port named by its value, or the lowest port that is up and not
// denied if the value names no port. The NIC refuses a probe without such a port, or with the
// source of another host.
func TestProbePaths(t *testing.T) {
	own := netip.MustParseAddr("2001:db8:ffff::1")
	for _, c := range []struct {
		name   string
		down   int
		denied hostapi.PortMask
		source netip.Addr
		asked  uint8
		port   int // 0: refused
	}{
		{"named", 0, 0, netip.Addr{}, 2, 2}, {"the lowest", 0, 0, own, 0, 1},
		{"the lowest that is up", 1, 0, own, 0, 2},
		{"the lowest allowed", 0, hostapi.Ports(1, 2), own, 0, 3},
		{"the last", 1, hostapi.Ports(2), own, 0, 3}, {"none", 1, hostapi.Ports(2, 3), own, 0, 0},
		{"named, down", 2, 0, own, 2, 0}, {"named, denied", 0, hostapi.Ports(2), own, 2, 0},
		{"no such port", 0, 0, own, 4, 0}, {"another source", 0, 0, peer(0), 1, 0},
	} {
		n := alone(t, 3, nil)
		if err := n.Apply(&hostapi.State{DeniedPorts: c.denied}); err != nil {
			t.Fatal(err)
		}
		if c.down > 0 {
			if err := n.SetPort(c.down, false); err != nil {
				t.Fatal(err)
			}
		}
		path, err := n.probePath(&hostapi.Probe{Source: c.source, EV: hostapi.NewEV(7<<16|9, c.asked)})
		if (err == nil) != (c.port > 0) || err == nil && (path.Port != c.port || path.EV != 7<<16|9) {
			t.Errorf("%s: %+v, %v", c.name, path, err)
		}
	}
}

// TestManyProbes: the NIC runs probes up to the limit, and refuses a further probe at once.
func TestManyProbes(t *testing.T) {
	n := alone(t, 1, nil)
	n.probing = make([]*probing, maxProbing-1)
	refused := 0
	for range 2 {
		n.Probe(0, &hostapi.Probe{Destination: peer(0)}, func(r hostapi.ProbeResult) {
			if refused++; r.Err == "" {
				t.Errorf("%+v", r)
			}
		})
	}
	if len(n.probing) != 4096 || refused != 1 {
		t.Errorf("%d requests, %d refused", len(n.probing), refused)
	}
}

// TestUpdatesEnd: the NIC keeps an update while a request of the update is in progress, or while
// the update waits to be sent and a queue pair to the peer exists.
func TestUpdatesEnd(t *testing.T) {
	for _, c := range []struct {
		name string
		u    update
		flow bool
		kept bool
		sent bool
	}{
		{"to be sent", update{}, true, true, true},
		{"without a queue pair", update{}, false, false, false},
		{"under way", update{open: []uint16{1}, waiting: true}, true, true, false},
		{"under way, without a queue pair", update{open: []uint16{1}}, false, true, false},
		{"sent often enough", update{sent: maxPortUpdates}, true, false, false},
		{"once more", update{sent: maxPortUpdates - 1}, true, true, true},
		{"answered", update{answered: true}, true, false, false},
		{"later", update{due: 6}, true, true, false}, {"now", update{due: 5}, true, true, true},
	} {
		n := alone(t, 2, nil)
		if c.flow {
			flowOf(t, n, 100, peer(0), nil, Choice{})
		}
		c.u.peer = peer(0)
		u := c.u
		n.updates = []*update{&u}
		if sent := n.sendUpdates(5); sent != c.sent || (len(n.updates) == 1) != c.kept {
			t.Errorf("%s: sent %v, %d kept", c.name, sent, len(n.updates))
		}
		if pause := n.cfg.Host.EndpointTimeout << c.u.sent; c.sent && (u.due != 5+pause || !u.waiting ||
			u.sent != c.u.sent+1 || len(u.open) != 1 || u.newest != u.open[0]) {
			t.Errorf("%s: %+v, want the next one after %v", c.name, u, pause)
		}
	}
}

// TestUpdateWaitsForRoom: if too many endpoint operations are in progress, the NIC retries an
// update after the duration of an operation.
func TestUpdateWaitsForRoom(t *testing.T) {
	n := alone(t, 2, func(c *Config) { c.PortUpdates = true })
	for {
		_, err := n.SendEVProbe(0, mrc.EVProbe{Peer: peer(1), Path: mrc.Path{Port: 1}})
		if err != nil {
			break
		}
	}
	flowOf(t, n, 100, peer(0), nil, Choice{})
	if n.sendUpdates(7) {
		t.Error("sent without room")
	}
	if at, ok := n.nextUpdate(7); !ok || at != 7+n.cfg.Host.EndpointTimeout {
		t.Errorf("tried again at %v, %v", at, ok)
	}
}

// TestUpdateUnanswered: that an older request is given up says nothing of the newest; that the
// newest is has the update sent again.
func TestUpdateUnanswered(t *testing.T) {
	u := &update{open: []uint16{1, 2}, newest: 2, waiting: true, sent: 2}
	n := &NIC{updates: []*update{u}}
	for i, want := range []bool{false, true} {
		n.updated(mrc.EndpointResult{ID: uint16(i + 1), Op: packet.EndpointPortStatus})
		if u.ready() != want || len(u.open) != 1-i || len(n.updates) != 1 {
			t.Errorf("after %d were given up: to be sent %v, %d open", i+1, u.ready(), len(u.open))
		}
	}
	u.open = []uint16{3}
	for _, r := range []mrc.EndpointResult{{ID: 4, Op: packet.EndpointPortStatus},
		{ID: 3, Op: packet.EndpointEVProbe}} {
		if n.updated(r) {
			t.Errorf("%+v is of an update", r)
		}
	}
}

// TestRevive: Revive makes a bad value good for all queue pairs with the profile, and for no other
// queue pair; a denied value stays denied.
func TestRevive(t *testing.T) {
	n := alone(t, 2, func(c *Config) { c.Spray.BadAfter = 1 })
	p := explicit("p", 4, peer(0))
	hold(t, n, p, explicit("q", 4, peer(1)))
	var flows []*flow
	for i, to := range []netip.Addr{peer(0), peer(0), peer(1)} {
		f := flowOf(t, n, uint32(100+i), to, nil, Choice{})
		for range 64 {
			path, _ := f.Next(0, mrc.UseData, ports(1))
			signal := mrc.SignalArrived
			if path.EV == f.profile.made.EVs[0].Value {
				signal = mrc.SignalLost
			}
			f.Feedback(0, path.ID, signal)
		}
		flows = append(flows, f)
	}
	flowOf(t, n, 105, peer(0), func(c *mrc.QPConfig) { c.Sprayer = mrc.NewRoundRobin() }, Choice{})
	bad := func(want ...int) {
		t.Helper()
		for i, name := range []string{"p", "q"} {
			if got := n.profiles[name].bad[0]; got != want[i] {
				t.Errorf("%s: bad for %d queue pairs, want %d", name, got, want[i])
			}
		}
	}
	bad(2, 1)
	n.Revive("p", p.EVs[1])
	n.Revive("x", p.EVs[0])
	bad(2, 1)
	n.Revive("p", p.EVs[0])
	bad(0, 1)
	for i, f := range flows {
		if state, _ := f.set.State(0); (state.String() == "GOOD") != (i < 2) {
			t.Errorf("queue pair %d: %v", i, state)
		}
	}
}

// TestLocalOrder: local profiles are found by their names, in whatever order they are given.
func TestLocalOrder(t *testing.T) {
	n := alone(t, 2, nil)
	cc := func(id uint64, rtt time.Duration) *hostapi.CCProfile {
		return &hostapi.CCProfile{Name: LocalName(id), Algorithm: hostapi.AlgorithmNSCC,
			NSCC: nscc.DefaultConfig(nscc.Network{Rate: 1e11, RTT: rtt, MTU: 4096}).Profile()}
	}
	if err := n.ApplyLocal(&hostapi.State{
		Profiles: []*hostapi.Profile{explicit(LocalName(3), 2), explicit(LocalName(1), 2),
			explicit(LocalName(2), 2)},
		CC: []*hostapi.CCProfile{cc(3, 30*time.Microsecond), cc(1, 10*time.Microsecond),
			cc(2, 20*time.Microsecond)},
	}); err != nil {
		t.Fatal(err)
	}
	for id := uint64(1); id <= 3; id++ {
		f := flowOf(t, n, uint32(100+id), peer(0), nil, Choice{EV: LocalName(id), CC: LocalName(id)})
		if got := f.window.Config().BaseRTT; got != time.Duration(id)*10*time.Microsecond ||
			n.state.Profile(LocalName(id)) == nil || f.profile.is.Name != LocalName(id) {
			t.Errorf("profile %d: a base round trip of %v, %+v", id, got, f.profile)
		}
	}
	for _, g := range n.QueuePairs() {
		if g.Count != 1 || g.CC != g.Profile {
			t.Errorf("%+v", g)
		}
	}
	own := flowOf(t, n, 110, peer(0), func(c *mrc.QPConfig) { c.Congestion = mrc.FixedWindow(1) },
		Choice{EV: LocalName(1), CC: LocalName(1)})
	named := 0
	for _, g := range n.QueuePairs() {
		if g.Profile == LocalName(1) && g.CC == "" {
			named += g.Count
		}
	}
	if named != 1 || own.window != nil {
		t.Errorf("%+v", n.QueuePairs())
	}
}

// TestNetworkRate: parameters of congestion control follow the rate of all ports together, 100 Gb/s
// for a port without a rate, or the configured rate.
func TestNetworkRate(t *testing.T) {
	for _, c := range []struct{ first, told, want uint64 }{
		{0, 0, 2e11}, {3e9, 0, 1.03e11}, {3e9, 7e9, 7e9},
	} {
		n := alone(t, 2, func(cfg *Config) {
			cfg.Host.Ports[0].LineRate, cfg.Network.Rate = c.first, c.told
		})
		if n.cfg.Network.Rate != c.want {
			t.Errorf("%+v: %d", c, n.cfg.Network.Rate)
		}
	}
}

// TestLeavesBalance: packets of a destroyed queue pair do not count any more for the queue pairs
// that use the same profile.
func TestLeavesBalance(t *testing.T) {
	n := alone(t, 2, nil)
	if err := n.ApplyLocal(&hostapi.State{
		Profiles: []*hostapi.Profile{explicit(LocalName(1), 2)}}); err != nil {
		t.Fatal(err)
	}
	f := flowOf(t, n, 101, peer(0), nil, Choice{EV: LocalName(1)})
	stays := flowOf(t, n, 102, peer(0), nil, Choice{EV: LocalName(1)})
	shared := f.set.Balance()
	if shared != stays.set.Balance() {
		t.Fatal("the queue pairs share nothing")
	}
	if err := n.DestroyQP(101); err != nil {
		t.Fatal(err)
	}
	if f.set.Balance() == shared || stays.set.Balance() != shared {
		t.Error("the destroyed queue pair still shares, or the other one does not")
	}
}

// TestFailedOfGroup: a group counts its queue pairs in the error state apart.
func TestFailedOfGroup(t *testing.T) {
	n := alone(t, 2, nil)
	for qpn := uint32(101); qpn <= 103; qpn++ {
		f := flowOf(t, n, qpn, peer(0), nil, Choice{})
		if qpn == 102 {
			if err := f.qp.Abort(0); err != nil {
				t.Fatal(err)
			}
		}
	}
	if g := n.QueuePairs(); len(g) != 1 || g[0].Count != 3 || g[0].Failed != 1 {
		t.Errorf("%+v, want 3 with 1 failed", g)
	}
}
