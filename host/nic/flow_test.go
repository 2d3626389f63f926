package nic_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/nic"
	"github.com/weft-sdn/weft/host/nic/nictest"
	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// reports is what a NIC says.
type reports struct {
	events []hostapi.EVEvent
	ports  []hostapi.PortMask
	self   []*hostapi.SelfProbeCounts
}

func (r *reports) EVEvent(e hostapi.EVEvent)      { r.events = append(r.events, e) }
func (r *reports) PortStatus(up hostapi.PortMask) { r.ports = append(r.ports, up) }
func (r *reports) SelfProbeCounts(c *hostapi.SelfProbeCounts) {
	r.self = append(r.self, c)
}

func both(f *nictest.Bed, count, ports int) {
	for i := range 2 {
		f.Hold(i, hostapi.State{Profiles: []*hostapi.Profile{nictest.Profile("p", count, ports, 1-i)}})
	}
}

// TestAnswersAvoidBadPaths: answers of a queue pair avoid a value that another queue pair of the
// host found bad, and use the value again after recovery. The controller gets both events.
func TestAnswersAvoidBadPaths(t *testing.T) {
	f := nictest.New(t, 2, 2, 1, nil)
	both(f, 8, 2)
	heard := &reports{}
	f.NICs[1].Report(heard)
	there, _ := f.Pair(0, 1, 100)
	_, back := f.Pair(0, 1, 101)
	broken := packet.NewEV(3, 0) // EV(2, 1)
	dead := true
	answers := 0
	f.Drop = func(_ time.Duration, from int, p *packet.MRC, _ int) bool {
		if from == 1 && p.EV() == broken {
			if !p.Headers.Is(packet.ExtMETH) && p.BTH.Opcode != packet.OpMRCProbe {
				answers++
			}
			return dead
		}
		return false
	}
	write(t, f, 1, 0, back, 1<<20).finish(t)
	if len(heard.events) != 1 ||
		heard.events[0] != (hostapi.EVEvent{Profile: "p", EV: nictest.EV(2, 1),
			State: hostapi.EVAssumedBad}) {
		t.Fatalf("heard of %+v", heard.events)
	}
	answers = 0
	write(t, f, 0, 1, there, 1<<20).finish(t)
	if answers != 0 {
		t.Errorf("%d answers over a path that is known to be bad", answers)
	}
	dead = false
	write(t, f, 1, 0, back, 4<<20).finish(t)
	if len(heard.events) != 2 || heard.events[1].State != hostapi.EVGood {
		t.Fatalf("heard of %+v", heard.events)
	}
	write(t, f, 0, 1, there, 1<<20).finish(t)
	if answers == 0 {
		t.Error("no answers over a path that is good again")
	}
}

// TestVersionsTell: after a new version of a profile, the NIC reports to the controller only values
// that the new version makes good or bad. The NIC does not report values that stay bad or stay
// good.
func TestVersionsTell(t *testing.T) {
	broken := nictest.EV(2, 1)
	event := func(s hostapi.EVState) []hostapi.EVEvent {
		return []hostapi.EVEvent{{Profile: "p", EV: broken, State: s}}
	}
	plain := func(int, *hostapi.Profile) {}
	silent := func(_ int, p *hostapi.Profile) { p.Events = false }
	for _, c := range []struct {
		name string
		was  func(int, *hostapi.Profile)
		is   func(int, *hostapi.Profile)
		want []hostapi.EVEvent
	}{
		{"stays", plain, plain, nil},
		{"begins to report", silent, plain, event(hostapi.EVAssumedBad)},
		{"reports no more", plain, silent, nil},
		{"is there no more", plain, func(_ int, p *hostapi.Profile) { p.EVs[2] = nictest.EV(99, 1) },
			nil},
	} {
		f := nictest.New(t, 2, 2, 1, nil)
		hold := func(value int, edit func(int, *hostapi.Profile)) {
			for i := range 2 {
				p := nictest.Profile("p", 8, 2, 1-i)
				p.EVs[7] = nictest.EV(value, 2)
				edit(i, p)
				f.Hold(i, hostapi.State{Profiles: []*hostapi.Profile{p}})
			}
		}
		hold(77, c.was)
		f.Drop = func(_ time.Duration, from int, p *packet.MRC, _ int) bool {
			return from == 1 && p.EV() == packet.NewEV(3, 0)
		}
		_, back := f.Pair(0, 1, 100)
		write(t, f, 1, 0, back, 1<<20).finish(t)
		heard := &reports{}
		f.NICs[1].Report(heard)
		hold(78, c.is)
		if !slices.Equal(heard.events, c.want) {
			t.Errorf("%s: heard of %+v, want %+v", c.name, heard.events, c.want)
		}
	}
}

// TestGeneratedVersionsTell: if a new version of a generated profile could contain a bad value but
// does not, the NIC reports the value good, because the controller cannot tell which values the NIC
// generates. The NIC reports nothing if the new version denies the value, wants no events, or has
// fields that cannot make the value.
func TestGeneratedVersionsTell(t *testing.T) {
	base := hostapi.Profile{Name: "p", Format: nictest.Format, Mode: hostapi.ModeGenerated, Count: 8,
		MinActive: 1, Events: true,
		Fields:       []hostapi.Field{{Width: 8, MinVal: 1, MaxVal: 8, Mask: 0x0F}, {Width: 16}},
		Destinations: nictest.Profile("p", 1, 1, 0).Destinations}
	evs := base.Generate(hostapi.Ports(1, 2))
	broken := evs[len(evs)-1]
	wire, err := base.Expand(broken)
	if err != nil {
		t.Fatal(err)
	}
	value := packet.EV(binary.BigEndian.Uint32(wire.Value[:]))
	for _, c := range []struct {
		name string
		edit func(p *hostapi.Profile) *hostapi.Profile
		want []hostapi.EVEvent
	}{
		{"as many", func(p *hostapi.Profile) *hostapi.Profile { p.MinActive = 2; return p }, nil},
		{"fewer", func(p *hostapi.Profile) *hostapi.Profile { p.Count = 6; return p },
			[]hostapi.EVEvent{{Profile: "p", EV: broken, State: hostapi.EVGood}}},
		{"fewer, it is denied", func(p *hostapi.Profile) *hostapi.Profile {
			p.Count = 6
			return p.WithDenied([]hostapi.EV{broken})
		}, nil},
		{"fewer, without events", func(p *hostapi.Profile) *hostapi.Profile {
			p.Count, p.Events = 6, false
			return p
		}, nil},
		{"another field", func(p *hostapi.Profile) *hostapi.Profile {
			p.Fields = []hostapi.Field{{Width: 8, MinVal: 9, MaxVal: 15, Mask: 0x0F}, {Width: 16}}
			return p
		}, nil},
	} {
		f := nictest.New(t, 2, 2, 1, nil)
		first, second := base, base
		f.Hold(1, hostapi.State{Profiles: []*hostapi.Profile{&first}})
		f.Drop = func(_ time.Duration, from int, p *packet.MRC, port int) bool {
			return from == 1 && port == int(broken.Port) && p.EV() == value
		}
		_, back := f.Pair(0, 1, 100)
		write(t, f, 1, 0, back, 1<<20).finish(t)
		if _, states, _ := f.NICs[1].EVs("p"); states[len(states)-1] != hostapi.EVAssumedBad {
			t.Fatalf("%s: states %v", c.name, states)
		}
		heard := &reports{}
		f.NICs[1].Report(heard)
		f.Hold(1, hostapi.State{Profiles: []*hostapi.Profile{c.edit(&second)}})
		if !slices.Equal(heard.events, c.want) {
			t.Errorf("%s: heard of %+v, want %+v", c.name, heard.events, c.want)
		}
	}
}

// TestDeniedAndAllowed: a value that is denied and allowed again begins anew for every queue pair:
// it is not bad any more, and the controller hears when it becomes so again. EVs says the same.
func TestDeniedAndAllowed(t *testing.T) {
	broken := nictest.EV(2, 1)
	for _, before := range []bool{false, true} { // whether it was found bad before it was denied
		f := nictest.New(t, 2, 2, 1, nil)
		hold := func(denied ...hostapi.EV) {
			f.Hold(1, hostapi.State{Profiles: []*hostapi.Profile{
				nictest.Profile("p", 8, 2, 0).WithDenied(denied)}})
		}
		is := func(when string, want hostapi.EVState) {
			t.Helper()
			evs, states, ok := f.NICs[1].EVs("p")
			if i := slices.Index(evs, broken); !ok || i < 0 || states[i] != want {
				t.Errorf("found bad before %v: %s: %v, %v of %v", before, when, ok, states, evs)
			}
		}
		f.Hold(0, hostapi.State{Profiles: []*hostapi.Profile{nictest.Profile("p", 8, 2, 1)}})
		hold()
		heard, dead := &reports{}, before
		f.NICs[1].Report(heard)
		f.Drop = func(_ time.Duration, from int, p *packet.MRC, _ int) bool {
			return dead && from == 1 && p.EV() == packet.NewEV(3, 0)
		}
		_, back := f.Pair(0, 1, 100)
		write(t, f, 1, 0, back, 1<<20).finish(t)
		if before {
			is("at first", hostapi.EVAssumedBad)
		} else {
			is("at first", hostapi.EVGood)
		}
		hold(broken)
		is("denied", hostapi.EVDenied)
		hold()
		is("allowed", hostapi.EVGood)
		heard.events, dead = nil, true
		write(t, f, 1, 0, back, 1<<20).finish(t)
		is("in the end", hostapi.EVAssumedBad)
		if want := []hostapi.EVEvent{{Profile: "p", EV: broken,
			State: hostapi.EVAssumedBad}}; !slices.Equal(heard.events, want) {
			t.Errorf("found bad before %v: heard of %+v, want %+v", before, heard.events, want)
		}
	}
}

// TestCountsStay: counters are those of all queue pairs that ever used the profile, and start again
// only with the value.
func TestCountsStay(t *testing.T) {
	f := nictest.New(t, 2, 2, 1, nil)
	both(f, 4, 2)
	count := func() map[hostapi.EV]uint64 {
		got := map[hostapi.EV]uint64{}
		f.NICs[0].Counts(func(c hostapi.EVCount) bool {
			got[c.EV] = c.Sent
			return true
		})
		return got
	}
	sum := func() (n uint64) {
		for _, c := range count() {
			n += c
		}
		return n
	}
	sent := uint64(0)
	for qpn := uint32(100); qpn < 104; qpn++ {
		qp, _ := f.Pair(0, 1, qpn)
		write(t, f, 0, 1, qp, 100_000).finish(t)
		sent += qp.Counters().RequestsSent
		if got := sum(); got != sent {
			t.Errorf("%d counted, want %d", got, sent)
		}
		if qpn%2 == 0 {
			for _, n := range f.NICs {
				if err := n.DestroyQP(qpn); err != nil {
					t.Fatal(err)
				}
			}
			if got := sum(); got != sent {
				t.Errorf("%d counted after a queue pair has gone, want %d", got, sent)
			}
		}
	}
	before := count()
	p := nictest.Profile("p", 4, 2, 1)
	p.EVs[1] = nictest.EV(77, 2)
	f.Hold(0, hostapi.State{Profiles: []*hostapi.Profile{p}})
	after := count()
	if len(after) != 3 || after[nictest.EV(0, 1)] != before[nictest.EV(0, 1)] ||
		after[nictest.EV(1, 2)] != 0 {
		t.Errorf("%v after %v", after, before)
	}
	stopped := 0
	f.NICs[0].Counts(func(hostapi.EVCount) bool {
		stopped++
		return false
	})
	if stopped != 1 {
		t.Errorf("yields %d after it was told to stop", stopped)
	}
}

// TestRemoval: a queue pair with work under way stays, with what the NIC does for it, until the
// work is complete (OCP MRC 1.0, section 8.3, MRC-121).
func TestRemoval(t *testing.T) {
	f := nictest.New(t, 2, 2, 1, nil)
	both(f, 4, 2)
	qp, _ := f.Pair(0, 1, 100)
	x := write(t, f, 0, 1, qp, 1<<20)
	if err := f.NICs[0].DestroyQP(100); !errors.Is(err, verbs.ErrBusy) {
		t.Errorf("with a WRITE under way: %v", err)
	}
	x.finish(t)
	used := 0
	f.NICs[0].Counts(func(hostapi.EVCount) bool { used++; return true })
	if used != 4 {
		t.Errorf("%d values used, want the profile's 4", used)
	}
	if err := f.NICs[0].DestroyQP(100); err != nil {
		t.Errorf("idle: %v", err)
	}
}

// TestOwnSprayer: a queue pair with everything of its own does not know of the controller, but for
// ports that are denied.
func TestOwnSprayer(t *testing.T) {
	f := nictest.New(t, 2, 2, 1, nil)
	both(f, 4, 2)
	c := mrc.DefaultQPConfig()
	c.QPN, c.RemoteQPN, c.RemoteAddr = 200, 200, nictest.Address(1)
	c.Sprayer, c.Congestion = mrc.NewRoundRobin(mrc.Path{EV: 9, Port: 1}, mrc.Path{EV: 9, Port: 2}),
		mrc.FixedWindow(1<<20)
	qp, err := f.NICs[0].CreateQP(c)
	if err != nil {
		t.Fatal(err)
	}
	c.RemoteAddr = nictest.Address(0)
	c.Sprayer = mrc.NewRoundRobin(mrc.Path{EV: 9, Port: 1}, mrc.Path{EV: 9, Port: 2})
	if _, err := f.NICs[1].CreateQP(c); err != nil {
		t.Fatal(err)
	}
	f.Hold(0, hostapi.State{DeniedPorts: hostapi.Ports(1)})
	packets := seen{}
	f.Drop = packets.note
	write(t, f, 0, 1, qp, 100_000).finish(t)
	if packets["0 0x00000009@1"] != 0 || packets["0 0x00000009@2"] == 0 {
		t.Errorf("%v", packets)
	}
}

// TestOwnCongestion: a queue pair with congestion control of its own keeps it when the controller
// changes parameters and profiles; only paths, and timers, follow these.
func TestOwnCongestion(t *testing.T) {
	f := nictest.New(t, 2, 2, 1, nil)
	c := nic.DefaultQPConfig()
	c.QPN, c.RemoteQPN, c.RemoteAddr = 200, 200, nictest.Address(1)
	c.Congestion = mrc.FixedWindow(1 << 20)
	qp, err := f.NICs[0].CreateQP(c)
	if err != nil {
		t.Fatal(err)
	}
	c.RemoteAddr = nictest.Address(0)
	if _, err := f.NICs[1].CreateQP(c); err != nil {
		t.Fatal(err)
	}
	both(f, 4, 2)
	write(t, f, 0, 1, qp, 100_000).finish(t)
	if got := qp.Config().Congestion.Window(); got != 1<<20 {
		t.Errorf("a window of %d octets, want its own", got)
	}
}

// TestPeerPorts: the NIC does not use ports that a peer lacks towards this peer, whether the
// controller or the peer reports the ports, but uses the ports towards other peers.
func TestPeerPorts(t *testing.T) {
	f := nictest.New(t, 3, 2, 1, nil)
	s := hostapi.State{
		Profiles: []*hostapi.Profile{nictest.Profile("p", 4, 2, 1, 2)},
		Peers:    []hostapi.PeerPorts{{Peer: nictest.Address(1), Ports: hostapi.Ports(2)}},
	}
	f.Hold(0, s)
	one, _ := f.Pair(0, 1, 100)
	two, _ := f.Pair(0, 2, 101)
	ports := map[int]int{}
	f.Drop = func(_ time.Duration, from int, p *packet.MRC, port int) bool {
		if from == 0 {
			ports[port]++
		}
		return false
	}
	write(t, f, 0, 1, one, 100_000).finish(t)
	if ports[1] != 0 || ports[2] == 0 {
		t.Errorf("by port %v", ports)
	}
	write(t, f, 0, 2, two, 100_000).finish(t)
	if ports[1] == 0 {
		t.Errorf("by port %v", ports)
	}
	clear(ports)
	if err := f.NICs[2].SetPort(1, false); err != nil {
		t.Fatal(err)
	}
	if _, err := f.NICs[2].SendPortStatus(f.Now(), nictest.Address(0), mrc.Path{Port: 2}); err != nil {
		t.Fatal(err)
	}
	f.Wake(2)
	f.Run(f.Now()+time.Millisecond, nil)
	clear(ports)
	write(t, f, 0, 2, two, 100_000).finish(t)
	if ports[1] != 0 || ports[2] == 0 {
		t.Errorf("by port %v after the peer has said that its port 1 is down", ports)
	}
	if r, ok := f.NICs[2].PollEndpoint(); !ok || !r.Answered || r.Op != packet.EndpointPortStatus {
		t.Errorf("%+v, %v", r, ok)
	}
}

// TestSteadyState: what the NIC adds to a queue pair allocates nothing when packets are sent and
// answered.
func TestSteadyState(t *testing.T) {
	f := nictest.New(t, 2, 2, 1, nil)
	both(f, 16, 2)
	qp, _ := f.Pair(0, 1, 100)
	s := qp.Config().Sprayer
	all := ^packet.PortMask(0)
	if n := testing.AllocsPerRun(1000, func() {
		p, ok := s.Next(f.Now(), mrc.UseData, all)
		s.Feedback(f.Now(), p.ID, mrc.SignalArrived)
		_, answer := s.Next(f.Now(), mrc.UseControl, all)
		if !ok || !answer {
			t.Fatal("no path")
		}
	}); n != 0 {
		t.Errorf("%v allocations a packet", n)
	}
}

// TestLostAnswers: paths that answers of a host are lost on, which it cannot know, cost a message a
// few waits for an answer at most, and never a timeout.
func TestLostAnswers(t *testing.T) {
	for seed := range uint64(4) {
		f := nictest.New(t, 2, 2, seed, nil)
		both(f, 16, 2)
		qp, _ := f.Pair(0, 1, 100)
		lost := 0
		f.Drop = func(_ time.Duration, from int, p *packet.MRC, _ int) bool {
			lose := from == 1 && p.EV() <= packet.NewEV(4, 0)
			if lose {
				lost++
			}
			return lose
		}
		const rtt = 10 * time.Microsecond // that is expected
		// an answer is asked for after 7 of these, and then after twice as long each
		const most = (7+2*7+4*7)*rtt + 2*rtt
		for range 50 {
			began := f.Now()
			write(t, f, 0, 1, qp, 64<<10).finish(t)
			if took := f.Now() - began; took > most {
				t.Errorf("seed %d: took %v", seed, took)
			}
		}
		if c := qp.Counters(); c.Timeouts != 0 || c.AckProbes == 0 || lost == 0 {
			t.Errorf("seed %d: %d answers lost: %+v", seed, lost, c)
		}
	}
}

// TestAlwaysSkip: a SACK with m ALWAYS_SKIP (0b10) makes the reflected value ASSUMED_BAD: the NIC
// reports the value to the controller, and data does not use the value until a probe is answered
// (OCP MRC 1.0, section 9.3.1 and table 7-15, MRC-135). A SACK with m SKIP (0b01) does not.
func TestAlwaysSkip(t *testing.T) {
	for _, c := range []struct {
		m   byte // as it lies in the second octet of the SETH
		bad bool
	}{{0b10 << 5, true}, {0b01 << 5, false}} {
		f := nictest.New(t, 2, 2, 1, nil)
		both(f, 8, 2)
		heard := &reports{}
		f.NICs[0].Report(heard)
		qp, _ := f.Pair(0, 1, 100)
		value := packet.NewEV(3, 0) // EV(2, 1)
		said, after := false, 0
		f.Edit = func(from int, p *packet.MRC, frame []byte) []byte {
			if from != 1 || p.BTH.Opcode != 0xDC || p.SETH.Entropy != value || said || p.SETH.Probe {
				return frame
			}
			said = true
			datagram := frame[packet.EthernetLen : len(frame)-packet.ICRCLen]
			seth := datagram[packet.IPv6Len+packet.UDPLen+packet.BTHLen:]
			seth[1] = seth[1]&^(0b11<<5) | c.m
			return append(frame[:packet.EthernetLen:packet.EthernetLen], packet.AppendICRC(datagram)...)
		}
		f.Drop = func(_ time.Duration, from int, p *packet.MRC, _ int) bool {
			if from == 0 && p.EV() == value && len(heard.events) > 0 {
				if p.Headers.Is(packet.ExtMETH) {
					after++
				}
				return true // probes too: the value does not recover
			}
			return false
		}
		write(t, f, 0, 1, qp, 2<<20).finish(t)
		if !said {
			t.Fatal("no SACK for the value")
		}
		if c.bad && (len(heard.events) != 1 ||
			heard.events[0] != (hostapi.EVEvent{Profile: "p", EV: nictest.EV(2, 1),
				State: hostapi.EVAssumedBad})) {
			t.Errorf("the controller hears %+v, want that the value is ASSUMED_BAD", heard.events)
		}
		if !c.bad && len(heard.events) != 0 {
			t.Errorf("m = SKIP: the controller hears %+v", heard.events)
		}
		if after != 0 {
			t.Errorf("%d data packets with a value that is ASSUMED_BAD", after)
		}
	}
}

// TestSharedCongestion: with ShareCongestion, queue pairs with the same peer and PMTU share a
// congestion context, until the last of these queue pairs ends; other queue pairs have their own
// context. Without ShareCongestion, each queue pair has its own context.
func TestSharedCongestion(t *testing.T) {
	for _, share := range []bool{true, false} {
		f := nictest.New(t, 3, 2, 1, func(_ int, c *nic.Config) { c.ShareCongestion = share })
		both(f, 8, 2)
		of := func(qp *mrc.QP) mrc.Congestion { return qp.Config().Congestion }
		first, _ := f.Pair(0, 1, 100)
		second, _ := f.Pair(0, 1, 101)
		elsewhere, _ := f.Pair(0, 2, 102)
		c := nic.DefaultQPConfig()
		c.QPN, c.RemoteQPN, c.RemoteAddr, c.PMTU = 103, 103, nictest.Address(1), 1024
		smaller, err := f.NICs[0].CreateQP(c)
		if err != nil {
			t.Fatal(err)
		}
		if got := of(first) == of(second); got != share {
			t.Errorf("ShareCongestion %v: the queue pairs to a peer share a context: %v", share, got)
		}
		if of(first) == of(elsewhere) || of(first) == of(smaller) || of(second) == of(smaller) {
			t.Errorf("ShareCongestion %v: queue pairs to another peer, or with another PMTU, have that "+
				"context too", share)
		}
		if !share {
			continue
		}
		shared := of(first).(*mrc.Context)
		x, y := write(t, f, 0, 1, first, 1<<20), write(t, f, 0, 1, second, 1<<20)
		most := 0
		f.Run(f.Now()+time.Second, func() bool {
			if n := first.InFlight() + second.InFlight(); n != shared.InFlight() {
				t.Fatalf("%d octets in flight by queue pair, %d together", n, shared.InFlight())
			}
			most = max(most, min(first.InFlight(), second.InFlight()))
			return first.SendQueueLen()+second.SendQueueLen() == 0
		})
		x.finish(t)
		y.finish(t)
		if most == 0 {
			t.Error("never had both something in flight")
		}
		if err := f.NICs[0].DestroyQP(100); err != nil {
			t.Fatal(err)
		}
		if third, _ := f.Pair(0, 1, 104); of(third) != of(second) {
			t.Error("the context went with the first queue pair")
		}
		for _, qpn := range []uint32{101, 104} {
			if err := f.NICs[0].DestroyQP(qpn); err != nil {
				t.Fatal(err)
			}
		}
		if last, _ := f.Pair(0, 1, 105); of(last) == mrc.Congestion(shared) {
			t.Error("the context outlived its queue pairs")
		}
	}
}
