package nic

import (
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/api/hostapi/hostapitest"
	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/spray"
	"github.com/weft-sdn/weft/packet"
)

// listener is a controller that stores the bad values.
type listener struct {
	bad   map[key]bool
	ports hostapi.PortMask
}

type key struct {
	profile string
	ev      hostapi.EV
}

func (l *listener) EVEvent(e hostapi.EVEvent) {
	l.bad[key{e.Profile, e.EV}] = e.State == hostapi.EVAssumedBad
}
func (l *listener) PortStatus(up hostapi.PortMask) { l.ports = up }

func (l *listener) SelfProbeCounts(*hostapi.SelfProbeCounts) {}

// hold forgets what a controller forgets by the state that it sends.
func (l *listener) hold(s *hostapi.State) {
	maps.DeleteFunc(l.bad, func(k key, _ bool) bool {
		p := s.Profile(k.profile)
		return p == nil || !p.Events || !p.Has(k.ev) || p.IsDenied(k.ev)
	})
}

// peer is an address that the profiles of hostapitest serve, or, from 4 on, none.
func peer(i int) netip.Addr {
	return netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, byte(i), 15: 1})
}

// TestRandomStates: after any sequence of states, with lost packets and recovering paths, every
// queue pair has the values of the profile for its peer, with the denials of the profile, on the
// allowed ports. The window has the parameters of the profile, and the controller knows the right
// bad values.
func TestRandomStates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := DefaultConfig()
		cfg.AutoEVs, cfg.Spray.BadAfter = 16, 1
		cfg.Host.Addr = netip.MustParseAddr("2001:db8:ffff::1")
		for i := range 4 {
			cfg.Host.Ports = append(cfg.Host.Ports, mrc.Port{MAC: packet.MAC{2, 5: byte(i)}})
		}
		cfg.Host.Output = func(time.Duration, int, []byte) {}
		n, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		heard := &listener{bad: make(map[key]bool)}
		n.Report(heard)
		next := uint32(100)
		create := func(t *rapid.T) {
			c := DefaultQPConfig()
			c.QPN, c.RemoteQPN, c.RemoteAddr = next, 5, peer(rapid.IntRange(0, 5).Draw(t, "peer"))
			c.PMTU = rapid.SampledFrom([]int{1024, 4096}).Draw(t, "PMTU")
			next++
			if _, err := n.CreateQP(c); err != nil {
				t.Fatal(err)
			}
		}
		now := time.Duration(0)
		t.Repeat(map[string]func(*rapid.T){
			"create": create,
			"destroy": func(t *rapid.T) {
				if err := n.DestroyQP(rapid.Uint32Range(100, next).Draw(t, "QPN")); err != nil {
					t.Fatal(err)
				}
			},
			"apply": func(t *rapid.T) {
				s := hostapitest.State().Draw(t, "state")
				if err := n.Apply(usable(t, s)); err != nil {
					t.Fatal(err)
				}
				heard.hold(n.State())
			},
			"deny": func(t *rapid.T) {
				s := *n.State()
				s.Profiles = slices.Clone(s.Profiles)
				for i, p := range s.Profiles {
					var list []hostapi.EV
					for _, v := range p.EVs {
						if rapid.Bool().Draw(t, "denied") && !slices.Contains(list, v) {
							list = append(list, v)
						}
					}
					s.Profiles[i] = p.WithDenied(list)
				}
				if err := n.Apply(&s); err != nil {
					t.Fatal(err)
				}
				heard.hold(n.State())
			},
			"send": func(t *rapid.T) {
				if len(n.flows) == 0 {
					return
				}
				now += time.Microsecond
				f := rapid.SampledFrom(n.flows).Draw(t, "flow")
				p, ok := f.Next(now, mrc.UseData, ^packet.PortMask(0))
				if !ok {
					return
				}
				f.Feedback(now, p.ID, rapid.SampledFrom([]mrc.Signal{mrc.SignalArrived, mrc.SignalLost,
					mrc.SignalMarked}).Draw(t, "signal"))
			},
			"probe": func(t *rapid.T) {
				now += time.Second
				for _, f := range n.flows {
					if p, ok := f.Probe(now, ^packet.PortMask(0)); ok {
						f.Feedback(now, p.ID, rapid.SampledFrom([]mrc.Signal{mrc.SignalProbeOK,
							mrc.SignalProbeLost}).Draw(t, "signal"))
					}
				}
			},
			"port": func(t *rapid.T) {
				if err := n.SetPort(rapid.IntRange(1, 4).Draw(t, "port"),
					rapid.Bool().Draw(t, "up")); err != nil {
					t.Fatal(err)
				}
			},
			"": func(t *rapid.T) { check(t, n, heard) },
		})
	})
}

// usable is a state of hostapitest whose CC profiles NSCC can use.
func usable(t *rapid.T, s *hostapi.State) *hostapi.State {
	made := *s
	made.CC = nil
	for _, c := range s.CC {
		q := *c
		q.NSCC.BaseRTT = rapid.SampledFrom([]time.Duration{10 * time.Microsecond,
			5 * time.Millisecond}).Draw(t, "base RTT")
		q.NSCC.AdjustPeriodThreshold, q.NSCC.QAThreshold = q.NSCC.BaseRTT, 4*q.NSCC.TargetDelay
		made.CC = append(made.CC, &q)
	}
	return &made
}

// check compares a NIC with what its state says, found out by looking at all of it.
func check(t *rapid.T, n *NIC, heard *listener) {
	s := n.State()
	if heard.ports != hostapi.PortMask(n.Ports()) {
		t.Fatalf("ports %#x, heard of %#x", n.Ports(), heard.ports)
	}
	bad := make(map[key]bool)
	for _, f := range n.flows {
		serving := s.ProfileTo(f.peer)
		if serving == nil != (f.profile == nil) || serving != nil && f.profile.is != serving {
			t.Fatalf("QP %d to %v has profile %+v, want %+v", f.qpn, f.peer, f.profile, serving)
		}
		ports := n.Ports() & packet.PortMask(s.PeerPorts(f.peer)&^s.DeniedPorts)
		if f.set.Ports() != ports {
			t.Fatalf("QP %d: ports %#x, want %#x", f.qpn, f.set.Ports(), ports)
		}
		if shared := f.profile.shared(); shared != nil && f.set.Balance() != shared {
			t.Fatalf("QP %d does not learn with the others of profile %s", f.qpn, serving.Name)
		}
		checkWindow(t, n, f, serving)
		if serving == nil || serving.Mode == hostapi.ModeAuto {
			want := 16
			if serving != nil && serving.Count > 0 {
				want = max(1, serving.Count/4) * 4
			}
			if f.set.Len() != want {
				t.Fatalf("QP %d: %d values of its own, want %d", f.qpn, f.set.Len(), want)
			}
			continue
		}
		evs := serving.EVs
		if serving.Mode == hostapi.ModeGenerated {
			evs = serving.Generate(hostapi.Ports(1, 2, 3, 4))
		}
		if f.set.Len() != len(evs) {
			t.Fatalf("QP %d: %d values, want %d", f.qpn, f.set.Len(), len(evs))
		}
		for i, v := range evs {
			wire, err := serving.Expand(v)
			if err != nil {
				t.Fatal(err)
			}
			has, _ := f.set.At(i)
			state, _ := f.set.State(i)
			if (hostapi.NewEV(uint32(has.Value), uint8(has.Port))) != wire {
				t.Fatalf("QP %d: value %d is %v@%d, want %v", f.qpn, i, has.Value, has.Port, wire)
			}
			if (state == spray.Denied) != serving.IsDenied(v) {
				t.Fatalf("QP %d: value %d is %v", f.qpn, i, state)
			}
			if state == spray.AssumedBad && serving.Events {
				bad[key{serving.Name, v}] = true
			}
		}
	}
	for k, is := range heard.bad {
		if is != bad[k] {
			t.Fatalf("%v: heard that bad is %v, is %v", k, is, bad[k])
		}
	}
	for k := range bad {
		if !heard.bad[k] {
			t.Fatalf("%v: not heard of", k)
		}
	}
}

func checkWindow(t *rapid.T, n *NIC, f *flow, serving *hostapi.Profile) {
	want, probe := 10*time.Microsecond, 70*time.Microsecond
	ack := uint8(10)
	if serving != nil && serving.CC != "" {
		c := n.State().CCProfile(serving.CC)
		want = c.NSCC.BaseRTT
		if probe = 4 * (want + c.NSCC.TargetDelay); want == 5*time.Millisecond {
			ack = 19
		}
		if got := f.window.Config().MaxCwnd; got != int(c.NSCC.MaxCwnd) {
			t.Fatalf("QP %d: window of at most %d, want %d", f.qpn, got, c.NSCC.MaxCwnd)
		}
	}
	if c := f.window.Config(); c.BaseRTT != want || c.MTU != f.mtu {
		t.Fatalf("QP %d: %+v", f.qpn, c)
	}
	if c := f.qp.Config(); c.AckTimeout != ack || c.ProbeTimeout != probe {
		t.Fatalf("QP %d: timers %d, %v, want %d, %v", f.qpn, c.AckTimeout, c.ProbeTimeout, ack, probe)
	}
}
