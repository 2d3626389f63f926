package dataplane

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/dataplane/engine"
)

// load is packets for a switch, one after the other and then again from the first.
type load struct {
	r   *bed
	out *sink
	gap time.Duration // between packets
	in  []arrival
	at  int
}

func newLoad(r *bed, gap time.Duration, in ...arrival) *load {
	l := &load{r: r, out: &sink{}, gap: gap, in: in}
	r.s.out = l.out
	r.s.ctx.SetPaths(engine.PathsEarned)
	return l
}

func (l *load) step() {
	a := l.in[l.at]
	l.at = (l.at + 1) % len(l.in)
	l.r.now += l.gap
	l.r.s.Receive(l.r.now, a.port, a.frame)
	l.r.s.Advance(l.r.now)
}

// round runs every packet once.
func (l *load) round() {
	for range l.in {
		l.step()
	}
}

func arrivals(t testing.TB, port uint32, frames ...string) []arrival {
	var in []arrival
	for _, f := range frames {
		in = append(in, arrival{port, unhex(t, f)})
	}
	return in
}

func cnpPacket(t testing.TB, branch int) string {
	return macSwitch + macHost + "86dd" + roce(t, receiverAddr(branch), proxyAddr,
		"8100ffff40000077 00000000", strings.Repeat("00", 16))
}

// acks returns count acknowledgements from each of n branches, PSN after PSN. One round covers all
// PSNs, so every acknowledgement is new however often the frames are repeated.
func acks(t testing.TB, n, count int) []string {
	var frames []string
	for i := range uint32(count) {
		for b := range n {
			frames = append(frames, ackPacket(t, b, i*(1<<24/uint32(count))))
		}
	}
	return frames
}

func sessions(r *bed, ports map[uint16]uint32) {
	for id, port := range ports {
		if err := r.s.InsertCloneSession(CloneSession{ID: id,
			Replicas: []Replica{{Port: port}}}); err != nil {
			r.t.Fatal(err)
		}
	}
}

// nodeSID is a SID of the switch beside edgeSID.
const nodeSID = "20010db800020000000000000000e002"

// kind describes packets of one kind, and how many frames leave per round of packets.
type kind struct {
	name string
	load func(t testing.TB) *load
	out  int
}

// kinds are packets of every kind that fabric.p4 knows.
func kinds() []kind {
	payload := strings.Repeat("5a", 4096)
	ks := []kind{
		{"forward", func(t testing.TB) *load {
			return newLoad(forwardingRig(t), time.Microsecond, arrivals(t, 1, forward64)...)
		}, 1},
		{"forward at a queue's rate", func(t testing.TB) *load {
			r := forwardingRig(t)
			r.s.SetQueueRate(engine.NoPort, -1, 1e6)
			var in []arrival
			for range 50 { // all at once, then time for them to leave
				in = append(in, arrivals(t, 1, forward64)...)
			}
			return newLoad(r, time.Microsecond/2, append(in, make([]arrival, 200)...)...)
		}, 50},
		{"replicate to 2", func(t testing.TB) *load {
			r := edgeRig(t, 0)
			r.insert("local_sid", key(nodeSID+"/128"), 0, r.call("end_replicate", "0005", "004b", "00",
				parentAddr))
			children := MulticastGroup{ID: 75, Replicas: []Replica{{Port: 1, Instance: 17},
				{Port: 2, Instance: 18}}}
			if err := r.s.InsertMulticastGroup(children); err != nil {
				t.Fatal(err)
			}
			for _, rid := range []string{"0011", "0012"} {
				r.insert("mt_replica", key("0005", rid), 0, r.call("to_child", addrB, "0007"))
			}
			return newLoad(r, time.Microsecond,
				arrivals(t, 1, strings.Replace(treePacket(t, 42, payload), edgeSID, nodeSID, 1))...)
		}, 2},
		{"CNP cloned to the CPU and sent up", func(t testing.TB) *load {
			r := edgeRig(t, 2)
			sessions(r, map[uint16]uint32{511: 510, 2: 1})
			// The window is 100 us: every CNP finds it over, sends one, and opens the next.
			return newLoad(r, time.Millisecond, arrivals(t, 2, cnpPacket(t, 0), cnpPacket(t, 1))...)
		}, 4},
		{"CNP counted", func(t testing.TB) *load {
			r := edgeRig(t, 2)
			sessions(r, map[uint16]uint32{511: 510, 2: 1})
			return newLoad(r, 0, arrivals(t, 2, cnpPacket(t, 0), cnpPacket(t, 1))...)
		}, 0},
		{"ECMP", func(t testing.TB) *load {
			r := forwardingRig(t)
			for id := range uint32(2) {
				member := engine.Member{ID: id + 1, Action: r.call("forward", fmt.Sprintf("%04x", id+1),
					"0007")}
				if err := r.s.InsertMember(0, member); err != nil {
					t.Fatal(err)
				}
			}
			g := engine.Group{ID: 1, Members: []engine.GroupMember{{Member: 1, Weight: 1,
				WatchPort: engine.NoPort}, {Member: 2, Weight: 1, WatchPort: engine.NoPort}}}
			if err := r.s.InsertGroup(0, g); err != nil {
				t.Fatal(err)
			}
			e := r.entry(key("0001"), 0, engine.ActionCall{})
			e.Target = engine.Target{Kind: engine.TargetGroup, Group: 1}
			if err := r.s.InsertEntry(r.table("ecmp"), e); err != nil {
				t.Fatal(err)
			}
			r.insert("ipv6_route", key("0000", addrB+"/128"), 0, r.call("ecmp_group", "0001"))
			return newLoad(r, time.Microsecond, arrivals(t, 1, forward64)...)
		}, 1},
	}
	for _, n := range []int{2, 5} {
		ks = append(ks, kind{fmt.Sprintf("End.MT to %d", n), func(t testing.TB) *load {
			return newLoad(edgeRig(t, n), time.Microsecond, arrivals(t, 1, treePacket(t, 42, payload))...)
		}, n})
	}
	const rounds = 64
	for _, n := range []int{2, 5, 16, 32} {
		ks = append(ks, kind{fmt.Sprintf("aggregate %d", n), func(t testing.TB) *load {
			return newLoad(edgeRig(t, n), time.Microsecond, arrivals(t, 2, acks(t, n, rounds)...)...)
		}, rounds})
	}
	return ks
}

// warm runs packets of a kind until pools are full, and checks what leaves.
func (k kind) warm(t testing.TB) *load {
	l := k.load(t)
	l.round()
	before := l.out.frames
	if l.round(); l.out.frames-before != k.out {
		t.Fatalf("%d frames leave of a round, want %d: %+v", l.out.frames-before, k.out, l.r.s.Stats())
	}
	return l
}

// TestNoAllocations has packets of every kind processed without any
// allocation, once the switch has seen some.
func TestNoAllocations(t *testing.T) {
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) { k.warm(t).noAllocations(t) })
	}
}

// TestNoAllocationsOfExterns is the same for what fabric.p4 does not use: copies
// of all kinds and digests of copies.p4, registers, counters, meters, hashes and
// random numbers of state.p4.
func TestNoAllocationsOfExterns(t *testing.T) {
	var copies, state []arrival
	for ingress := range 10 {
		for egress := range 5 { // 5 would circulate for ever
			copies = append(copies, arrivals(t, 4, fmt.Sprintf("%02x%02x10aabbccdd", ingress, egress))...)
		}
	}
	r := newBed(t, "state")
	for i, m := range r.p.Meters() {
		if m.Table < 0 {
			if err := r.s.SetMeter(engine.Element(i, 2),
				&engine.MeterConfig{CIR: 1000, CBurst: 2, PIR: 2000, PBurst: 4}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for n := range 20 {
		for _, index := range []int{0, 2, 3, 1 << 20} {
			state = append(state, arrivals(t, 4, op(n, index, v128))...)
		}
	}
	for _, l := range []*load{newLoad(copiesRig(t), time.Microsecond, copies...),
		newLoad(r, time.Microsecond, state...)} {
		l.round()
		l.round()
		if l.out.frames < len(l.in) {
			t.Fatalf("%d frames left of %d", l.out.frames, 2*len(l.in))
		}
		l.noAllocations(t)
	}
}

// noAllocations runs about 100 packets a run, 10 runs. Less than one allocation a run, which
// AllocsPerRun rounds down, comes from the runtime itself. Before the runs, enough packets pass to
// record the first paths.
func (l *load) noAllocations(t *testing.T) {
	t.Helper()
	for range max(1, 20000/len(l.in)) {
		l.round()
	}
	if n := testing.AllocsPerRun(10, func() {
		for range max(1, 100/len(l.in)) {
			l.round()
		}
	}); n != 0 {
		t.Errorf("%v allocations in %d packets", n, len(l.in)*max(1, 100/len(l.in)))
	}
}

// TestNoAllocationsOfAny runs the same check for a mix of all packets, sound and broken, without
// paths: most packets have no path yet, and recording a path allocates (TestCredit bounds how many
// paths are recorded).
func TestNoAllocationsOfAny(t *testing.T) {
	o := &oracle{bed: newRigWith(t, loadFile(t, fabricJSON), Config{Seed: 1})}
	fabricOracle(o)
	in := fabricSeeds(t)
	const seed = 20260107
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, a := range in[:len(in):len(in)] {
		for range 10 {
			in = append(in, arrival{a.port, mutate(rng, a.frame)})
		}
	}
	l := newLoad(o.bed, time.Microsecond, in...)
	l.r.s.ctx.SetPaths(engine.PathsOff)
	l.round()
	l.round()
	if l.out.frames < 200 {
		t.Fatalf("%d frames left", l.out.frames)
	}
	l.noAllocations(t)
}
