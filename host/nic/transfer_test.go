package nic_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
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

// transfer is a WRITE from one NIC to another.
type transfer struct {
	f            *nictest.Bed
	from         int
	qp           *mrc.QP
	data, memory []byte
	complete     bool
}

func write(t *testing.T, f *nictest.Bed, from, to int, qp *mrc.QP, octets int) *transfer {
	t.Helper()
	x := &transfer{f: f, from: from, qp: qp, data: make([]byte, octets), memory: make([]byte, octets)}
	rng := rand.New(rand.NewPCG(1, uint64(octets)))
	for i := range x.data {
		x.data[i] = byte(rng.Uint32())
	}
	key := qp.Config().QPN
	f.NICs[to].DeregisterMR(key)
	if _, err := f.NICs[to].RegisterMR(0, key, x.memory, verbs.AccessRemoteWrite); err != nil {
		t.Fatal(err)
	}
	if err := qp.PostSend(f.Now(), verbs.WorkRequest{Op: verbs.OpWrite, Data: x.data,
		RKey: key}); err != nil {
		t.Fatal(err)
	}
	f.Wake(from)
	return x
}

func (x *transfer) done() bool {
	if c, ok := x.qp.Poll(); ok {
		x.complete = c.Status == verbs.StatusOK
	}
	return x.complete
}

// finish runs until the WRITE is complete, and checks what arrived.
func (x *transfer) finish(t *testing.T) {
	t.Helper()
	if !x.f.Run(x.f.Now()+time.Second, x.done) {
		t.Fatalf("not complete after a second: %+v", x.qp.Counters())
	}
	if !bytes.Equal(x.memory, x.data) {
		t.Error("other octets arrived")
	}
}

// seen counts packets by sender, port and entropy value.
type seen map[string]int

func lane(from int, p *packet.MRC, port int) string {
	return fmt.Sprintf("%d %#08x@%d", from, uint32(p.EV()), port)
}

func (s seen) note(_ time.Duration, from int, p *packet.MRC, port int) bool {
	s[lane(from, p, port)]++
	return false
}

// TestProfiles: queue pairs send with the values of the profile that serves their peer, all of
// them, data and answers alike, and the counters say so.
func TestProfiles(t *testing.T) {
	f := nictest.New(t, 2, 2, 1, nil)
	a, b := nictest.Profile("to-b", 8, 2, 1), nictest.Profile("to-a", 4, 2, 0)
	f.Hold(0, hostapi.State{Profiles: []*hostapi.Profile{a}})
	f.Hold(1, hostapi.State{Profiles: []*hostapi.Profile{b}})
	qp, _ := f.Pair(0, 1, 100)
	packets := seen{}
	f.Drop = packets.note
	write(t, f, 0, 1, qp, 1<<20).finish(t)
	want := map[string]bool{}
	for i := range 8 {
		want[fmt.Sprintf("0 %#08x@%d", uint32(i+1)<<16, i%2+1)] = true
	}
	for i := range 4 {
		want[fmt.Sprintf("1 %#08x@%d", uint32(i+1)<<16, i%2+1)] = true
	}
	for lane := range want {
		if packets[lane] == 0 {
			t.Errorf("nothing sent by %s", lane)
		}
	}
	for lane, n := range packets {
		if !want[lane] {
			t.Errorf("%d packets by %s", n, lane)
		}
	}
	sum := uint64(0)
	f.NICs[0].Counts(func(c hostapi.EVCount) bool {
		if sum += c.Sent; c.Profile != "to-b" || c.Lost != 0 {
			t.Errorf("%+v", c)
		}
		return true
	})
	if sent := qp.Counters().RequestsSent; sum != sent {
		t.Errorf("%d packets counted, %d sent", sum, sent)
	}
}

// TestLongestPrefix: of the profiles whose destinations hold the peer, the one with the longest
// prefix gives the values, whatever the order they come in; when it goes, the next one does.
func TestLongestPrefix(t *testing.T) {
	f := nictest.New(t, 2, 2, 1, nil)
	peer := nictest.Address(1)
	var profiles []*hostapi.Profile
	for i, bits := range []int{32, 128, 16, 64} {
		p := nictest.Profile(fmt.Sprintf("bits-%d", bits), 2, 2)
		for j := range p.EVs {
			p.EVs[j] = nictest.EV(10*i+j, j+1)
		}
		p.Destinations = []netip.Prefix{netip.PrefixFrom(peer, bits).Masked()}
		profiles = append(profiles, p)
	}
	qp, _ := f.Pair(0, 1, 100)
	packets := seen{}
	f.Drop = packets.note
	for _, want := range []int{1, 3, 0, 2} { // 128, 64, 32, 16
		f.Hold(0, hostapi.State{Profiles: profiles})
		clear(packets)
		write(t, f, 0, 1, qp, 100_000).finish(t)
		for j := range 2 {
			if lane := fmt.Sprintf("0 %#08x@%d", uint32(10*want+j+1)<<16, j+1); packets[lane] == 0 {
				t.Errorf("nothing sent by %s of profile %d: %v", lane, want, packets)
			}
		}
		for i, p := range profiles {
			if p.EVs[0] == nictest.EV(10*want, 1) {
				profiles = slices.Delete(slices.Clone(profiles), i, i+1)
				break
			}
		}
	}
}

// TestOrdersDiffer: queue pairs that share a profile, of one host and of several with the same
// queue pair number, go through its values in orders of their own ("EV selection SHOULD be
// pseudo-random to avoid synchronization of paths between different QPs", OCP MRC 1.0, section
// 9.3.1, MRC-130).
func TestOrdersDiffer(t *testing.T) {
	f := nictest.New(t, 5, 1, 1, nil)
	for i := range 4 {
		f.Hold(i, hostapi.State{Profiles: []*hostapi.Profile{nictest.Profile("p", 16, 1, 4)}})
	}
	order := map[string][]packet.EV{}
	f.Drop = func(_ time.Duration, from int, p *packet.MRC, _ int) bool {
		if from < 4 && p.Headers.Is(packet.ExtMETH) {
			key := fmt.Sprintf("host %d, QP %d", from, p.BTH.DestQPN)
			order[key] = append(order[key], p.EV())
		}
		return false
	}
	send := func(host int, qpn uint32) {
		c := nic.DefaultQPConfig()
		c.QPN, c.RemoteQPN, c.RemoteAddr = qpn, 100*uint32(host)+qpn, nictest.Address(4)
		qp, err := f.NICs[host].CreateQP(c)
		if err != nil {
			t.Fatal(err)
		}
		c.QPN, c.RemoteQPN, c.RemoteAddr = c.RemoteQPN, qpn, nictest.Address(host)
		if _, err := f.NICs[4].CreateQP(c); err != nil {
			t.Fatal(err)
		}
		x := &transfer{f: f, from: host, qp: qp, data: make([]byte, 16*4096)}
		x.memory = x.data
		key := 1000*uint32(host) + qpn
		if _, err := f.NICs[4].RegisterMR(0, key, make([]byte, len(x.data)),
			verbs.AccessRemoteWrite); err != nil {
			t.Fatal(err)
		}
		if err := qp.PostSend(f.Now(), verbs.WorkRequest{Op: verbs.OpWrite, Data: x.data,
			RKey: key}); err != nil {
			t.Fatal(err)
		}
		f.Wake(host)
		x.finish(t)
	}
	for i := range 4 {
		send(0, uint32(10+i))
		if i > 0 {
			send(i, 10)
		}
	}
	seen := map[string]string{}
	for key, evs := range order {
		if len(evs) != 16 {
			t.Errorf("%s: %d packets", key, len(evs))
		}
		if other, same := seen[fmt.Sprint(evs)]; same {
			t.Errorf("%s and %s send in the same order, %x", key, other, evs)
		}
		seen[fmt.Sprint(evs)] = key
	}
	if len(order) != 7 {
		t.Errorf("%d queue pairs have sent, want 7", len(order))
	}
}

// TestDenial: from the moment a value or a port is denied nothing is sent by it, however much is in
// flight, and the writes complete.
func TestDenial(t *testing.T) {
	f := nictest.New(t, 2, 2, 1, nil)
	state := [2]hostapi.State{
		{Profiles: []*hostapi.Profile{nictest.Profile("p", 8, 2, 1)}},
		{Profiles: []*hostapi.Profile{nictest.Profile("p", 8, 2, 0)}},
	}
	for i, s := range state {
		f.Hold(i, s)
	}
	there, _ := f.Pair(0, 1, 100)
	_, back := f.Pair(0, 1, 101)
	rng := rand.New(rand.NewPCG(1, 2))
	var denied [2]map[string]bool
	f.Drop = func(_ time.Duration, from int, p *packet.MRC, port int) bool {
		if w := lane(from, p, port); denied[from][w] {
			t.Errorf("%v: %v sent by %s", f.Now(), p.BTH.Opcode, w)
		}
		return rng.IntN(100) == 0
	}
	for round := range 12 {
		x, y := write(t, f, 0, 1, there, 300_000), write(t, f, 1, 0, back, 200_000)
		for !x.complete || !y.complete {
			f.Run(f.Now()+time.Duration(rng.IntN(20_000)), func() bool { return x.done() && y.done() })
			if f.Now() > time.Duration(round+1)*time.Second {
				t.Fatalf("round %d: not complete: %+v, %+v", round, there.Counters(), back.Counters())
			}
			i := rng.IntN(2)
			s := state[i]
			p := s.Profiles[0]
			var list []hostapi.EV
			denied[i] = map[string]bool{}
			s.DeniedPorts = 0
			if rng.IntN(3) == 0 {
				s.DeniedPorts = hostapi.Ports(1 + rng.IntN(2))
			}
			for j, v := range p.EVs {
				no := rng.IntN(2) == 0 && j != 2 && j != 3 // one by each port is left
				if no {
					list = append(list, v)
				}
				if no || s.DeniedPorts.Has(int(v.Port)) {
					denied[i][fmt.Sprintf("%d %#08x@%d", i, uint32(j+1)<<16, v.Port)] = true
				}
			}
			s.Profiles = []*hostapi.Profile{p.WithDenied(list)}
			state[i] = s
			f.Hold(i, s)
		}
		if !bytes.Equal(x.memory, x.data) || !bytes.Equal(y.memory, y.data) {
			t.Fatal("other octets arrived")
		}
	}
}

// TestWaiting: a NIC whose queue pairs wait for a controller answers nevertheless, and begins to
// send with the first state.
func TestWaiting(t *testing.T) {
	f := nictest.New(t, 2, 2, 1, func(i int, c *nic.Config) { c.Managed = true })
	there, back := f.Pair(0, 1, 100)
	f.Hold(1, hostapi.State{})
	x, y := write(t, f, 0, 1, there, 10_000), write(t, f, 1, 0, back, 10_000)
	y.finish(t)
	if f.Run(f.Now()+time.Second, x.done) || there.Counters().RequestsSent != 0 ||
		!f.NICs[0].Waiting() {
		t.Errorf("sent %d packets before there was a state", there.Counters().RequestsSent)
	}
	packets := seen{}
	f.Drop = packets.note
	f.Hold(0, hostapi.State{Profiles: []*hostapi.Profile{nictest.Profile("p", 1, 1, 1)}})
	x.finish(t)
	if packets["0 0x00010000@1"] == 0 || f.NICs[0].Waiting() {
		t.Errorf("%v", packets)
	}
}
