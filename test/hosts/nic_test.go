package hosts_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/nic"
	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/southbound/hosts"
)

// fabric is two MRC hosts of a Clos with two planes, whose clock runs in a bubble, and the stream
// to each of them.
type fabric struct {
	*bed
	lab   *lab.World
	clock *lab.Clock
	hosts *lab.Subscribers

	mu     sync.Mutex
	denied map[string]map[hostapi.EV]bool // by host, what it has applied
	sent   map[string]map[hostapi.EV]bool // by host, data and answers
}

const (
	key      = 7
	profiled = "there" // name of each host's one profile
	values   = 8
)

var compiled p4rt.Cache // one program for all tests

func newFabric(t *testing.T, change func(*hosts.Config)) *fabric {
	w, err := lab.NewWorld(lab.Clos(lab.ClosConfig{Planes: 2, T0: 2, T1: 2, Hosts: 2, Rate: 10e9,
		Delay: 5 * time.Microsecond}),
		lab.Options{Seed: 1, Cache: &compiled, Managed: true})
	if err != nil {
		t.Fatal(err)
	}
	control, err := lab.NewControl(w, lab.DefaultLatencies())
	if err == nil {
		err = control.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	synced := func() bool {
		for _, s := range control.Core().Switches() {
			if !s.Synced {
				return false
			}
		}
		return true
	}
	if !w.Run(time.Second, synced) {
		t.Fatal("the switches are not programmed within a second")
	}
	control.Stop()
	f := &fabric{
		bed: newBed(t, change), lab: w, denied: make(map[string]map[hostapi.EV]bool),
		sent: map[string]map[hostapi.EV]bool{"H1": {}, "H2": {}},
	}
	f.observer.OnApplied = func(host string, _ hostapi.Version) { f.applied(host) }
	w.AddTap(f)
	f.clock = w.StartClock()
	t.Cleanup(f.clock.Stop)
	return f
}

// subscribe connects the hosts.
func (f *fabric) subscribe() {
	f.t.Helper()
	var err error
	if f.hosts, err = f.lab.Subscribe(context.Background(), f.clock, f.config(nil)); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(f.hosts.Close)
}

// do runs something on the world's goroutine.
func (f *fabric) do(what func(now time.Duration)) {
	f.t.Helper()
	if err := f.clock.Do(context.Background(), what); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fabric) node(name string) *lab.MRCNode {
	n, err := f.lab.MRCHost(name)
	if err != nil {
		f.t.Fatal(err)
	}
	return n
}

// peer is the other host.
func peer(name string) string { return map[string]string{"H1": "H2", "H2": "H1"}[name] }

// Sent checks every packet from a host: the profile must contain the packet's EV, and the host must
// not have told the controller that the host does not use the EV.
func (f *fabric) Sent(now time.Duration, w *lab.Wire, frame []byte) {
	if w.From != "H1" && w.From != "H2" {
		return
	}
	p, _, err := packet.ParseMRC(frame, packet.DefaultMRCSettings())
	if err != nil {
		f.t.Errorf("%s sends what cannot be read: %v", w.From, err)
		return
	}
	v := hostapi.NewEV(uint32(p.EV()), uint8(w.FromPort))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent[w.From][v] = true
	if f.denied[w.From][v] && p.BTH.Opcode != packet.OpMRCEndpointRequest {
		f.t.Errorf("%v: %s sends %v with %v, which it has denied", now, w.From, p.BTH.Opcode, v)
	}
}

// used returns the number of EVs that a host has sent with since the previous call.
func (f *fabric) used(host string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.sent[host])
	clear(f.sent[host])
	return n
}

// Arrived does nothing.
func (f *fabric) Arrived(time.Duration, *lab.Wire, []byte) {}

// state returns the state for a host: a profile to the other host, with some denied values.
func (f *fabric) state(host string, denied ...int) *hostapi.State {
	f.t.Helper()
	p := &hostapi.Profile{
		Name: profiled, Format: hostapi.Format{Mode: hostapi.FormatSTEV, Widths: []uint8{16, 16}},
		Mode: hostapi.ModeExplicit, Count: values, MinActive: 2,
		Events: true, Destinations: []netip.Prefix{netip.PrefixFrom(f.node(peer(host)).Config().Addr,
			128)},
	}
	var list []hostapi.EV
	for i := range values {
		p.EVs = append(p.EVs, hostapi.NewEV(0xC0000000+uint32(i)*0x01010101, uint8(i%2+1)))
	}
	for _, i := range denied {
		list = append(list, p.EVs[i])
	}
	s, err := hostapi.NewState(hostapi.State{Profiles: []*hostapi.Profile{p.WithDenied(list)}})
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

// set sets what a host should hold.
func (f *fabric) set(host string, s *hostapi.State) {
	f.t.Helper()
	if err := f.server.Set(host, s); err != nil {
		f.t.Fatal(err)
	}
}

// applied notes what a host that has just answered denies: from now on that is not to be seen.
func (f *fabric) applied(host string) {
	n := f.node(host)
	denied := make(map[hostapi.EV]bool)
	f.do(func(time.Duration) {
		p := n.State().Profile(profiled)
		for _, v := range p.EVs {
			denied[v] = p.IsDenied(v) || n.State().DeniedPorts.Has(int(v.Port))
		}
	})
	f.mu.Lock()
	f.denied[host] = denied
	f.mu.Unlock()
}

// pair connects the two hosts.
func (f *fabric) pair() (there, back *mrc.QP) {
	f.t.Helper()
	qps := map[string]*mrc.QP{}
	f.do(func(time.Duration) {
		for _, name := range []string{"H1", "H2"} {
			c := nic.DefaultQPConfig()
			c.QPN, c.RemoteQPN, c.RemoteAddr = 0x100, 0x100, f.node(peer(name)).Config().Addr
			var err error
			if qps[name], err = f.node(name).CreateQP(c); err != nil {
				f.t.Fatal(err)
			}
		}
	})
	return qps["H1"], qps["H2"]
}

// transfer is a WRITE.
type transfer struct {
	f            *fabric
	qp           *mrc.QP
	data, memory []byte
}

// write begins a WRITE from a host to the other.
func (f *fabric) write(from string, qp *mrc.QP, octets int) *transfer {
	f.t.Helper()
	x := &transfer{f: f, qp: qp, data: make([]byte, octets), memory: make([]byte, octets)}
	rng := rand.New(rand.NewPCG(uint64(octets), 1))
	for i := range x.data {
		x.data[i] = byte(rng.Uint32())
	}
	f.do(func(now time.Duration) {
		to := f.node(peer(from))
		to.DeregisterMR(key)
		if _, err := to.RegisterMR(0, key, x.memory, verbs.AccessRemoteWrite); err != nil {
			f.t.Fatal(err)
		}
		if err := qp.PostSend(now, verbs.WorkRequest{Op: verbs.OpWrite, Data: x.data,
			RKey: key}); err != nil {
			f.t.Fatal(err)
		}
		f.node(from).Wake()
	})
	return x
}

// done reports whether the WRITE is complete, and has arrived.
func (x *transfer) done() (ok bool) {
	x.f.t.Helper()
	x.f.do(func(time.Duration) {
		var c verbs.Completion
		if c, ok = x.qp.Poll(); ok && (c.Status != verbs.StatusOK || !bytes.Equal(x.memory, x.data)) {
			x.f.t.Errorf("completion %+v, or other octets", c)
		}
	})
	return ok
}

// finish waits until the WRITE is complete.
func (x *transfer) finish() {
	x.f.t.Helper()
	for range 10_000 {
		if x.done() {
			return
		}
		settle(100 * time.Microsecond)
	}
	x.f.t.Fatalf("not complete after a second: %+v", x.qp.Counters())
}

// TestNIC: hosts wait for their first state, then spray over it; denials in flight hold from the
// moment they are acknowledged, streams that are cut resume, and without a controller everything
// goes on.
func TestNIC(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFabric(t, nil)
		there, _ := f.pair()
		x := f.write("H1", there, 200_000)
		settle(time.Millisecond)
		if f.used("H1")+f.used("H2") != 0 || x.done() {
			t.Fatal("data before there was a state")
		}
		for _, h := range []string{"H1", "H2"} {
			f.set(h, f.state(h))
		}
		f.subscribe()
		x.finish()
		for _, h := range []string{"H1", "H2"} {
			want := values
			if h == "H2" {
				want = 2 // it has only answers to send, which are few
			}
			if n := f.used(h); n < want {
				t.Errorf("%s sent with %d values, want %d", h, n, want)
			}
			said := f.observer.Said(h)
			slices.Sort(said)
			check(t, said, "applied 1", "hello none", "ports 0x6")
		}

		rng := rand.New(rand.NewPCG(1, 2))
		for range 6 {
			x := f.write("H1", there, 200_000)
			for !x.done() {
				h := []string{"H1", "H2"}[rng.IntN(2)]
				f.set(h, f.state(h, rng.Perm(values - 1)[:rng.IntN(values-1)]...)) // the last one is left
				if rng.IntN(4) == 0 {
					f.cut()
				}
				settle(time.Duration(rng.IntN(200)) * time.Microsecond)
			}
		}
		settle(time.Minute) // for the streams that were cut
		for _, h := range []string{"H1", "H2"} {
			if s, _ := f.server.Status(h); !s.Connected || !s.Current {
				t.Errorf("%s: %+v", h, s)
			}
		}
		if c := f.server.Counters(); c.Snapshots != 2 {
			t.Errorf("%d snapshots, want the first of each host", c.Snapshots)
		}

		f.set("H1", f.state("H1", 0, 2, 4))
		settle(time.Second)
		f.stop()
		settle(time.Hour)
		f.used("H1")
		f.write("H1", there, 100_000).finish()
		if n := f.used("H1"); n != values-3 {
			t.Errorf("without a controller sent with %d values, want %d", n, values-3)
		}
	})
}

// TestNICReports: what a host says of its paths and ports, over the stream.
func TestNICReports(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFabric(t, func(c *hosts.Config) { c.CountsInterval = time.Second })
		s := f.state("H1")
		p := s.Profile(profiled)
		f.set("H1", s)
		f.set("H2", f.state("H2"))
		f.subscribe()
		settle(time.Second)
		there, _ := f.pair()
		f.write("H1", there, 500_000).finish()
		settle(2 * time.Second)
		sent := uint64(0)
		for _, c := range f.observer.Counts("H1") {
			sent += c.Sent
		}
		if want := there.Counters().RequestsSent; sent != want {
			t.Errorf("%d packets counted, %d sent", sent, want)
		}

		probe := &hostapi.Probe{
			ID: 5, Source: f.node("H1").Config().Addr, Destination: f.node("H2").Config().Addr,
			Format: p.Format, EV: p.EVs[1], DSCP: 46, Count: 3,
			Interval: time.Millisecond, Timeout: 10 * time.Millisecond,
		}
		ask := func(id uint32, change func(*hostapi.Probe)) string {
			t.Helper()
			q := *probe
			q.ID = id
			change(&q)
			if err := f.server.Probe("H1", &q); err != nil {
				t.Fatal(err)
			}
			settle(time.Second)
			return f.last("H1", "probe")
		}
		if got := ask(5, func(*hostapi.Probe) {}); got != "probe 5: 3 of 3 " {
			t.Errorf("said %q", got)
		}
		if r := f.observer.Result("H1"); r.RTTMin < 40*time.Microsecond || r.RTTMin > r.RTTMean ||
			r.RTTMean > r.RTTMax || r.RTTMax > 80*time.Microsecond || r.Port != 2 {
			t.Errorf("%+v", r)
		}
		want := fmt.Sprintf("probe 6: 0 of 0 source: %v, want %v, the host's", probe.Destination,
			probe.Source)
		if got := ask(6, func(q *hostapi.Probe) { q.Source = q.Destination }); got != want {
			t.Errorf("said %q", got)
		}

		// A plane that loses everything on its way: values by port 2 go bad, and are told.
		lose := func(share float64) {
			f.do(func(time.Duration) {
				for _, w := range f.lab.Wires() {
					if w.From == "P2-T0-1" && w.To != "H1" {
						w.Faults.Loss = share
					}
				}
			})
		}
		lose(1)
		if got := ask(7, func(*hostapi.Probe) {}); got != "probe 7: 0 of 3 " {
			t.Errorf("said %q", got)
		}
		f.write("H1", there, 500_000).finish()
		settle(0)
		bad := map[hostapi.EV]int{}
		for _, e := range f.observer.Events("H1") {
			bad[e.EV]++
			if e.State != hostapi.EVAssumedBad || e.EV.Port != 2 {
				t.Errorf("%+v", e)
			}
		}
		if len(bad) != values/2 {
			t.Errorf("%v", bad)
		}
		lose(0)
		f.write("H1", there, 500_000).finish()
		f.write("H1", there, 500_000).finish()
		settle(0)
		for _, e := range f.observer.Events("H1")[len(bad):] {
			bad[e.EV]--
		}
		for v, n := range bad {
			if n != 0 {
				t.Errorf("%v is still bad", v)
			}
		}

		f.do(func(time.Duration) {
			if err := f.lab.SetLink("P2-T0-1", "H1", false); err != nil {
				t.Error(err)
			}
		})
		settle(0)
		if got := f.last("H1", "ports"); got != "ports 0x2" {
			t.Errorf("said %q", got)
		}
		if got := ask(8, func(*hostapi.Probe) {}); got != "probe 8: 0 of 0 ev.port: 2, want one that "+
			"is up and not denied (0x2)" {
			t.Errorf("said %q", got)
		}
	})
}

// last is the last that a host said of something.
func (f *fabric) last(host, what string) (line string) {
	for _, said := range f.observer.Said(host) {
		if strings.HasPrefix(said, what) {
			line = said
		}
	}
	return line
}

// TestNICRefuses: the NIC refuses unsupported values, naming the field, and holds everything else.
func TestNICRefuses(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		f := newFabric(t, nil)
		s := *f.state("H1")
		p := *s.Profiles[0]
		p.Name, p.EVs, p.Count, p.Destinations = "wide", make([]hostapi.EV, 2000), 2000, nil
		for i := range p.EVs {
			p.EVs[i] = hostapi.NewEV(uint32(i+1), 1)
		}
		routed := *s.Profiles[0]
		routed.Name, routed.Destinations = "nowhere", nil
		routed.Format = hostapi.Format{Mode: hostapi.FormatSRv6, Widths: []uint8{128}}
		routed.EVs, routed.Count, routed.MinActive = []hostapi.EV{{Port: 1}}, 1, 1
		s.Profiles = append(s.Profiles, &p, &routed)
		s.CC = []*hostapi.CCProfile{{Name: "cc", Algorithm: hostapi.AlgorithmNSCC,
			NSCC: hostapi.NSCC{Gamma: 1, MaxMDJump: 1, MaxCwnd: 1 << 31, TargetDelay: 1000}}}
		made, err := hostapi.NewState(s)
		if err != nil {
			t.Fatal(err)
		}
		f.set("H1", made)
		f.subscribe()
		settle(time.Second)
		st, _ := f.server.Status("H1")
		reasons := map[string]string{}
		for _, r := range st.Refusals {
			reasons[r.Field] = r.Reason
		}
		for field, reason := range map[string]string{
			"set_profiles[wide].count":          "2000, want at most 1024 (ev_max_count_profile)",
			"set_profiles[nowhere]":             "EVs[0]: SRv6 EV: no first uSID container: invalid EV profile",
			"set_cc_profiles[cc].nscc.max_cwnd": "2147483648, want MinCwnd (128) to 1073741823 octets",
		} {
			if reasons[field] != reason {
				t.Errorf("%s: %q, want %q", field, reasons[field], reason)
			}
		}
		var held *hostapi.State
		f.do(func(time.Duration) { held = f.node("H1").State() })
		if len(held.Profiles) != 1 || held.Profiles[0].Name != profiled || len(held.CC) != 0 {
			t.Errorf("holds %+v; refusals %v", held, reasons)
		}
	})
}
