package nic_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/nic"
	"github.com/weft-sdn/weft/host/nic/nictest"
	"github.com/weft-sdn/weft/host/nscc"
	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// ccProfile is what a controller would send for a network.
func ccProfile(name string, n nscc.Network) *hostapi.CCProfile {
	return &hostapi.CCProfile{Name: name, Algorithm: hostapi.AlgorithmNSCC,
		NSCC: nscc.DefaultConfig(n).Profile()}
}

// TestCapabilities: a NIC holds a state at its announced limits, and refuses a state beyond a limit
// with the name of the limit.
func TestCapabilities(t *testing.T) {
	f := nictest.New(t, 1, 3, 1, nil)
	n := f.NICs[0]
	c := n.Capabilities()
	if c.Ports != hostapi.Ports(1, 2, 3) || c.EVFreeCount != c.EVMaxCount {
		t.Errorf("%+v", c)
	}
	full := hostapi.State{Profiles: []*hostapi.Profile{nictest.Profile("a", c.EVMaxCountProfile, 3,
		1)}}
	for i := range c.CCMaxProfiles {
		full.CC = append(full.CC, ccProfile(strings.Repeat("c", i%100+1)+string(rune('a'+i/100)),
			nscc.Network{Rate: 1e9, RTT: time.Millisecond, MTU: 4096}))
	}
	f.Hold(0, full)
	if got := n.Capabilities().EVFreeCount; got != c.EVMaxCount-c.EVMaxCountProfile {
		t.Errorf("%d values free", got)
	}
	held := n.State()
	for field, s := range map[string]hostapi.State{
		"set_profiles[a].count": {Profiles: []*hostapi.Profile{nictest.Profile("a",
			c.EVMaxCountProfile+1, 3, 1)}},
		"set_profiles[a].evs[3].port": {Profiles: []*hostapi.Profile{nictest.Profile("a", 4, 4, 1)}},
	} {
		err := f.Apply(0, s)
		if e := (*hostapi.FieldError)(nil); !errors.As(err, &e) || e.Field != field ||
			e.Code != hostapi.CodeUnsupported {
			t.Errorf("%v, want %s", err, field)
		}
	}
	for field, edit := range map[string]func(*hostapi.NSCC){
		"max_cwnd": func(c *hostapi.NSCC) { c.MaxCwnd = 1 << 31 },
		"fi":       func(c *hostapi.NSCC) { c.FI = 1e20 },
		"alpha":    func(c *hostapi.NSCC) { c.Alpha = 1e20 },
	} {
		cc := ccProfile("x", nscc.Network{Rate: 1e9, RTT: time.Millisecond, MTU: 4096})
		edit(&cc.NSCC)
		err := f.Apply(0, hostapi.State{CC: []*hostapi.CCProfile{cc}})
		if e := (*hostapi.FieldError)(nil); !errors.As(err, &e) || e.Field != "set_cc_profiles[x].nscc."+
			field || !strings.Contains(e.Reason, "want ") {
			t.Errorf("%v, want %s", err, field)
		}
	}
	if n.State() != held {
		t.Error("a state that was refused has changed what is held")
	}
	// All that a controller requires of a profile suffices.
	least := &hostapi.CCProfile{Name: "least", Algorithm: hostapi.AlgorithmNSCC,
		NSCC: hostapi.NSCC{Gamma: 0.8, MaxMDJump: 0.5, MaxCwnd: 1 << 20, TargetDelay: 1}}
	if err := errors.Join(least.Validate(), f.Apply(0, hostapi.State{
		CC: []*hostapi.CCProfile{least}})); err != nil {
		t.Error(err)
	}
}

// TestLesserDevice: a device that modifies nothing ONLINE is busy while queue pairs use what is to
// change; denials are no modification.
func TestLesserDevice(t *testing.T) {
	f := nictest.New(t, 2, 2, 1, func(i int, c *nic.Config) {
		if i == 0 {
			own := nictest.New(t, 1, 2, 1, nil).NICs[0].Capabilities()
			own.OptAttr &^= hostapi.OptEVProfileModifyOnline | hostapi.OptCCProfileModifyOnline
			own.EVMaxCountProfile = 16
			c.Device = &own
		}
	})
	network := nscc.Network{Rate: 2e11, RTT: 10 * time.Microsecond, MTU: 4096}
	state := func(count int, network nscc.Network, denied ...hostapi.EV) hostapi.State {
		p := nictest.Profile("p", count, 2, 1).WithDenied(denied)
		p.CC = "cc"
		return hostapi.State{Profiles: []*hostapi.Profile{p},
			CC: []*hostapi.CCProfile{ccProfile("cc", network)}}
	}
	f.Hold(0, state(4, network))
	f.Hold(0, state(8, network))
	f.Pair(0, 1, 100)
	busy := func(s hostapi.State, field string) {
		t.Helper()
		err := f.Apply(0, s)
		if e := (*hostapi.FieldError)(nil); !errors.As(err, &e) || e.Code != hostapi.CodeBusy ||
			e.Field != field {
			t.Errorf("%v, want that %s is busy", err, field)
		}
	}
	busy(state(4, network), "set_profiles[p]")
	busy(hostapi.State{}, "remove_profiles[p]")
	faster := network
	faster.Rate *= 2
	busy(state(8, faster), "set_cc_profiles[cc]")
	f.Hold(0, state(8, network, nictest.EV(1, 2)))
	if err := f.Apply(0, state(17, network)); err == nil ||
		!strings.Contains(err.Error(), "ev_max_count_profile") {
		t.Error(err)
	}
	if err := f.NICs[0].DestroyQP(100); err != nil {
		t.Fatal(err)
	}
	f.Hold(0, state(4, faster))
	f.Hold(0, hostapi.State{})
	// a queue pair that was there before the profile uses it too
	f.Pair(0, 1, 101)
	f.Hold(0, state(4, network))
	busy(state(8, network), "set_profiles[p]")

	_, err := nic.New(nic.Config{})
	if !errors.Is(err, verbs.ErrConfig) {
		t.Error(err)
	}
	for want, edit := range map[string]func(*nic.Config){
		"Network.RTT": func(c *nic.Config) { c.Network.RTT = 0 },
		"Network":     func(c *nic.Config) { c.Network.RTT, c.Network.Rate = time.Minute, 1e15 },
		"AutoEVs":     func(c *nic.Config) { c.AutoEVs = 1025 },
		"Spray":       func(c *nic.Config) { c.Spray.MaxSkips = 0 },
		"Device: Ports": func(c *nic.Config) {
			c.Device = &hostapi.Capabilities{Ports: hostapi.Ports(9)}
		},
	} {
		cfg := nic.DefaultConfig()
		cfg.Host = f.NICs[0].Config()
		edit(&cfg)
		if _, err := nic.New(cfg); !errors.Is(err, verbs.ErrConfig) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestLongRoundTrips: with a round trip of milliseconds, which timestamps do not hold, nothing is
// lost, sent again or probed, and the window is that of the CC profile: nobody has to set anything
// by hand.
func TestLongRoundTrips(t *testing.T) {
	const rtt = 20 * time.Millisecond
	f := nictest.New(t, 2, 2, 1, nil)
	f.Delay = rtt / 2
	network := nscc.Network{Rate: 2e8, RTT: rtt + rtt/10, MTU: 4096, Trimming: true}
	both(f, 8, 2)
	qp, _ := f.Pair(0, 1, 100)
	p := nictest.Profile("p", 8, 2, 1)
	p.CC = "slow"
	f.Hold(0, hostapi.State{Profiles: []*hostapi.Profile{p},
		CC: []*hostapi.CCProfile{ccProfile("slow", network)}})
	x := write(t, f, 0, 1, qp, 3<<20)
	began := f.Now()
	x.finish(t)
	c := qp.Counters()
	if c.RequestsResent != 0 || c.Timeouts != 0 || c.ProbesSent != 0 || c.AckProbes != 0 {
		t.Errorf("%+v", c)
	}
	// 1.5 bandwidth-delay products are 825,000 octets: 4 windows, and an acknowledgement.
	if took := f.Now() - began; took > 6*rtt {
		t.Errorf("took %v", took)
	}
	// Losses are found by SACKs and probes, not by the Local ACK Timeout of 100 round trips.
	lost := 0
	f.Drop = func(_ time.Duration, from int, p *packet.MRC, _ int) bool {
		lose := from == 0 && p.Headers.Is(packet.ExtMETH) && !p.BTH.Retransmission && p.BTH.PSN%50 == 0
		if lose {
			lost++
		}
		return lose
	}
	began = f.Now()
	write(t, f, 0, 1, qp, 3<<20).finish(t)
	if took := f.Now() - began; took > 40*rtt || lost == 0 {
		t.Errorf("with %d packets lost took %v: %+v", lost, took, qp.Counters())
	}
}
