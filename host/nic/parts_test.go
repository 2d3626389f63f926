package nic

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/nscc"
	"github.com/weft-sdn/weft/host/spray"
	"github.com/weft-sdn/weft/packet"
)

// alone returns a NIC with this number of ports; its frames go nowhere.
func alone(t *testing.T, ports int, edit func(*Config)) *NIC {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Host.Addr = netip.MustParseAddr("2001:db8:ffff::1")
	for i := range ports {
		cfg.Host.Ports = append(cfg.Host.Ports, mrc.Port{MAC: packet.MAC{2, 5: byte(i)}})
	}
	cfg.Host.Output = func(time.Duration, int, []byte) {}
	if edit != nil {
		edit(&cfg)
	}
	n, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// explicit is a profile of values 1 to count to some peers, by ports 1 and 2 in turn.
func explicit(name string, count int, to ...netip.Addr) *hostapi.Profile {
	p := &hostapi.Profile{Name: name, Format: hostapi.Format{Mode: hostapi.FormatSTEV,
		Widths: []uint8{16}}, Mode: hostapi.ModeExplicit, Count: count, MinActive: 1, Events: true}
	for i := range count {
		p.EVs = append(p.EVs, hostapi.NewEV(uint32(i+1)<<16, uint8(i%2+1)))
	}
	for _, a := range to {
		p.Destinations = append(p.Destinations, netip.PrefixFrom(a, 128))
	}
	return p
}

func hold(t *testing.T, n *NIC, profiles ...*hostapi.Profile) {
	t.Helper()
	if err := n.Apply(&hostapi.State{Profiles: profiles}); err != nil {
		t.Fatal(err)
	}
}

// flowOf makes a queue pair and returns what the NIC does for it; nil: nothing.
func flowOf(t *testing.T, n *NIC, qpn uint32, to netip.Addr, edit func(*mrc.QPConfig),
	c Choice) *flow {
	t.Helper()
	cfg := DefaultQPConfig()
	cfg.QPN, cfg.RemoteQPN, cfg.RemoteAddr = qpn, qpn, to
	if edit != nil {
		edit(&cfg)
	}
	if _, err := n.CreateChosen(cfg, c); err != nil {
		t.Fatal(err)
	}
	for _, f := range n.flows {
		if f.qpn == qpn {
			return f
		}
	}
	return nil
}

// TestConfigBounds: the NIC accepts the greatest and the least value of each setting, and refuses
// values beyond.
func TestConfigBounds(t *testing.T) {
	n := alone(t, 3, nil)
	for _, c := range []struct {
		rtt  time.Duration
		auto int
		want string // empty: it is valid
	}{
		{1, 3, ""}, {time.Minute, spray.MaxEVs, ""}, {0, 3, "Network.RTT"},
		{time.Minute + 1, 3, "Network.RTT"}, {1, 2, "AutoEVs 2"}, {1, spray.MaxEVs + 1, "AutoEVs"},
	} {
		cfg := DefaultConfig()
		cfg.Host = n.cfg.Host
		cfg.Network.RTT, cfg.AutoEVs = c.rtt, c.auto
		err := cfg.Validate()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, %d values: %v", c.rtt, c.auto, err)
		}
	}
	if d := DefaultConfig(); d.AutoEVs != 128 || d.Network.RTT != 10*time.Microsecond ||
		!d.Network.Trimming || d.Managed || d.PortUpdates || d.ShareCongestion {
		t.Errorf("%+v", d)
	}
	if d := DefaultQPConfig(); d.AckTimeout != 0 || d.ProbeTimeout != 0 {
		t.Errorf("timers %d, %v", d.AckTimeout, d.ProbeTimeout)
	}
	c := n.Capabilities()
	for what, is := range map[string]bool{
		"EVMaxCount": c.EVMaxCount == 1048576, "EVFreeCount": c.EVFreeCount == 1048576,
		"EVMaxCountProfile": c.EVMaxCountProfile == 1024, "EVMaxWidth": c.EVMaxWidth == 256,
		"EVCountAlign": c.EVCountAlign == 1, "Ports": c.Ports == 0b1110,
		"CCAlgorithms": slices.Equal(c.CCAlgorithms, []string{hostapi.AlgorithmNSCC}),
	} {
		if !is {
			t.Errorf("%s: %+v", what, c)
		}
	}
	for _, o := range []uint32{hostapi.OptEVProfileModifyOnline, hostapi.OptCCProfileModifyOnline,
		hostapi.OptEVEvent, hostapi.OptEVEventPreciseDropCount, hostapi.OptEVProbe} {
		if !n.has(o) {
			t.Errorf("lacks %#x", o)
		}
	}
	for _, o := range []uint32{hostapi.CapTrimNACK, hostapi.CapDynamicMPR, hostapi.CapServiceTime} {
		if c.DeviceCap&o == 0 {
			t.Errorf("lacks %#x", o)
		}
	}
}

// TestTimers: the Local ACK Timeout is the least of the transport's that has 100 base round trips,
// 1.05 ms at least and 17.2 s at most; probes follow after 4 round trips with the delay that is
// aimed at, and after a quarter of that timeout at most.
func TestTimers(t *testing.T) {
	const unit = 1024 * time.Nanosecond
	for _, c := range []struct {
		rtt, delay time.Duration
		ack        uint8
		probe      time.Duration
	}{
		{1, 1, 10, 8},
		{unit << 10 / 100, 1, 10, 4 * (unit<<10/100 + 1)},
		{unit<<10/100 + 1, 1, 11, 4 * (unit<<10/100 + 2)},
		{unit << 11 / 100, 0, 11, 4 * (unit << 11 / 100)},
		{unit<<11/100 + 1, 0, 12, 4 * (unit<<11/100 + 1)},
		{unit << 23 / 100, 0, 23, 4 * (unit << 23 / 100)},
		{unit<<23/100 + 1, 0, 24, 4 * (unit<<23/100 + 1)},
		{time.Minute, 0, 24, unit << 24 / 4}, {1, time.Second, 10, unit << 10 / 4},
		{1, unit<<10/16 - 1, 10, unit << 10 / 4}, {1, unit<<10/16 - 2, 10, unit<<10/4 - 4},
	} {
		ack, probe := timers(nscc.Config{BaseRTT: c.rtt, TargetDelay: c.delay})
		if ack != c.ack || probe != c.probe {
			t.Errorf("%v and %v: %d, %v; want %d, %v", c.rtt, c.delay, ack, probe, c.ack, c.probe)
		}
	}
}

// TestSetAckTimeout: a queue pair that is given a timeout keeps it when the parameters of
// congestion control change, and probes after a quarter of it at most; others follow these.
func TestSetAckTimeout(t *testing.T) {
	n := alone(t, 2, nil)
	to := peer(0)
	p := explicit("p", 4, to)
	p.CC = "cc"
	cc := func(rtt time.Duration) *hostapi.State {
		return &hostapi.State{Profiles: []*hostapi.Profile{p}, CC: []*hostapi.CCProfile{{Name: "cc",
			Algorithm: hostapi.AlgorithmNSCC, NSCC: nscc.DefaultConfig(nscc.Network{Rate: 1e11, RTT: rtt,
				MTU: 4096}).Profile()}}}
	}
	if err := n.Apply(cc(10 * time.Microsecond)); err != nil {
		t.Fatal(err)
	}
	set, follows := flowOf(t, n, 100, to, nil, Choice{}), flowOf(t, n, 101, to, nil, Choice{})
	before := set.qp.Config()
	for _, c := range []struct {
		ack uint8
		ok  bool
	}{{0, false}, {25, false}, {255, false}, {24, true}, {1, true}, {2, true}} {
		was := set.qp.Config()
		err := n.SetAckTimeout(100, c.ack)
		is := set.qp.Config()
		if (err == nil) != c.ok {
			t.Errorf("timeout %d: %v", c.ack, err)
		}
		if c.ok {
			was.AckTimeout = c.ack
			was.ProbeTimeout = min(was.ProbeTimeout, 1024*time.Nanosecond<<c.ack/4)
		}
		if is.AckTimeout != was.AckTimeout || is.ProbeTimeout != was.ProbeTimeout {
			t.Errorf("timeout %d: %d, %v; want %d, %v", c.ack, is.AckTimeout, is.ProbeTimeout,
				was.AckTimeout, was.ProbeTimeout)
		}
	}
	if got := set.qp.Config().ProbeTimeout; got != 512 { // of 1, and 2 has not made it longer
		t.Errorf("probes after %v", got)
	}
	own := flowOf(t, n, 103, to, func(c *mrc.QPConfig) {
		c.AckTimeout, c.ProbeTimeout = 20, 10*time.Second
	}, Choice{})
	if err := n.SetAckTimeout(103, 24); err != nil || own.qp.Config().ProbeTimeout != 1<<32 {
		t.Errorf("%v, probes after %v", err, own.qp.Config().ProbeTimeout)
	}
	if err := n.SetAckTimeout(102, 5); err == nil {
		t.Error("a queue pair that is not there has a timeout")
	}
	if err := n.Apply(cc(10 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if c := set.qp.Config(); c.AckTimeout != 2 || c.ProbeTimeout != 512 {
		t.Errorf("%d, %v: does not keep what it was given", c.AckTimeout, c.ProbeTimeout)
	}
	if c := follows.qp.Config(); c.AckTimeout != 20 || c.ProbeTimeout <= before.ProbeTimeout {
		t.Errorf("%d, %v: does not follow the round trip", c.AckTimeout, c.ProbeTimeout)
	}
}

// TestOwnParts: of sprayer, congestion control and timers a queue pair has the NIC's where its
// owner gives none; with all three the NIC does not know it.
func TestOwnParts(t *testing.T) {
	for parts := range 8 {
		sprayer, congestion, timer := parts&1 > 0, parts&2 > 0, parts&4 > 0
		n := alone(t, 2, nil)
		to := peer(0)
		hold(t, n, explicit("p", 4, to))
		f := flowOf(t, n, 100, to, func(c *mrc.QPConfig) {
			if sprayer {
				c.Sprayer = mrc.NewRoundRobin(mrc.Path{Port: 1})
			}
			if congestion {
				c.Congestion = mrc.FixedWindow(1 << 20)
			}
			if timer {
				c.AckTimeout, c.ProbeTimeout = 7, 9
			}
		}, Choice{})
		if parts == 7 {
			if f != nil {
				t.Error("the NIC knows a queue pair with everything of its own")
			}
			continue
		}
		c := f.qp.Config()
		_, own := c.Congestion.(mrc.FixedWindow)
		if (f.set == nil) != sprayer || (c.Sprayer == mrc.Sprayer(f)) == sprayer ||
			(f.window == nil) != congestion || (f.context == nil) != congestion || own != congestion ||
			f.timed == timer || (c.AckTimeout == 7 && c.ProbeTimeout == 9) != timer {
			t.Errorf("own sprayer %v, congestion %v, timers %v: %+v", sprayer, congestion, timer, f)
		}
		if f.profile == nil || f.profile.flows != 1 || n.usesCC("") == congestion {
			t.Errorf("own sprayer %v, congestion %v: %+v", sprayer, congestion, f.profile)
		}
		// The same when another version of the profile comes, when it goes, and in the end.
		hold(t, n, explicit("p", 6, to))
		if f.profile != n.profiles["p"] || f.profile.flows != 1 {
			t.Errorf("own sprayer %v: %+v", sprayer, f.profile)
		}
		last := f.profile
		if parts%2 == 0 {
			hold(t, n)
			if f.profile != nil || last.flows != 0 {
				t.Errorf("own sprayer %v: %+v of a profile that went", sprayer, f.profile)
			}
			continue
		}
		if err := n.DestroyQP(100); err != nil || last.flows != 0 || len(n.flows) != 0 {
			t.Errorf("own sprayer %v: %v, %d queue pairs", sprayer, err, last.flows)
		}
	}
}

// TestNoCC: a queue pair without congestion control has the greatest window that NSCC would allow,
// or the one of its owner.
func TestNoCC(t *testing.T) {
	n := alone(t, 2, nil)
	f := flowOf(t, n, 100, peer(0), nil, Choice{CC: NoCC})
	params, err := n.congestion(n.state, "", 4096)
	if err != nil || f.window != nil ||
		f.qp.Config().Congestion != mrc.Congestion(mrc.FixedWindow(params.MaxCwnd)) {
		t.Errorf("%+v, %v", f.qp.Config().Congestion, err)
	}
	own := flowOf(t, n, 101, peer(0), func(c *mrc.QPConfig) { c.Congestion = mrc.FixedWindow(77) },
		Choice{CC: NoCC})
	if got := own.qp.Config().Congestion; got != mrc.Congestion(mrc.FixedWindow(77)) {
		t.Errorf("%+v", got)
	}
}

// TestContexts: queue pairs share a context with ShareCongestion where peer, PMTU and choice are
// the same and the context is the NIC's.
func TestContexts(t *testing.T) {
	n := alone(t, 2, func(c *Config) { c.ShareCongestion = true })
	flowOf(t, n, 99, peer(0), func(c *mrc.QPConfig) { c.Congestion = mrc.FixedWindow(77) }, Choice{})
	first := flowOf(t, n, 100, peer(0), nil, Choice{})
	chosen := flowOf(t, n, 101, peer(0), nil, Choice{EV: "x"})
	for qpn, f := range map[uint32]*flow{
		102: first, 103: chosen,
	} {
		if got := flowOf(t, n, qpn, peer(0), nil, f.choice); got.context != f.context ||
			got.window != f.window || got.context == nil {
			t.Errorf("queue pair %d: %p, want %p", qpn, got.context, f.context)
		}
	}
	if first.context == nil || first.context == chosen.context {
		t.Error("queue pairs with other profiles share a context")
	}
}

// TestFlowTo: the paths to a peer come from a flow to the peer that the NIC sprays.
func TestFlowTo(t *testing.T) {
	a, b := netip.MustParseAddr("2001:db8::a"), netip.MustParseAddr("2001:db8::b")
	sprays := &flow{peer: b, set: new(spray.Set)}
	n := &NIC{flows: []*flow{{peer: a}, {peer: b}, sprays}}
	for peer, want := range map[netip.Addr]*flow{a: nil, b: sprays, netip.IPv6Loopback(): nil} {
		if got := n.flowTo(peer); got != want {
			t.Errorf("to %v: %+v, want %+v", peer, got, want)
		}
	}
}
