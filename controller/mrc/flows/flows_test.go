package flows

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/job/layout"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/test/seeds"
	"github.com/weft-sdn/weft/topology"
)

const rate = 100e9

// network returns a fabric of two-tier planes with so many hosts a rack, called H0 and so on.
func network(t testing.TB, planes, leaves, spines, hosts int) *Network {
	t.Helper()
	b := topology.NewBuilder()
	id := func(plane, tier, n int) topology.NodeID {
		return topology.NodeID(fmt.Sprintf("P%d-T%d-%d", plane, tier, n))
	}
	for p := range planes {
		for tier, n := range []int{leaves, spines} {
			for i := range n {
				b.SetNode(topology.Node{ID: id(p, tier, i), Name: string(id(p, tier, i)),
					Loopback: netip.AddrFrom16([16]byte{0x20, 1, 2: byte(p), 3: byte(tier), 15: byte(i + 1)})})
			}
		}
		for l := range leaves {
			for s := range spines {
				for i, d := range [][2]topology.NodeID{{id(p, 0, l), id(p, 1, s)}, {id(p, 1, s), id(p, 0, l)}} {
					ports := [2]uint32{uint32(s + 1), uint32(l + 1)}
					b.SetLink(topology.Link{Local: d[0], Remote: d[1], LocalID: ports[i],
						RemoteID: ports[1-i], IGPMetric: 10, MaxBandwidth: rate})
				}
			}
		}
	}
	cfg := inventory.Default().MRC
	cfg.Mode = ev.ModeStructured.String()
	state := fabric.New(&cfg, fabric.Outside{Drains: none{},
		Event:   func(api.EventType, string, string, ...api.EventFields) {},
		Renewed: func(*fabric.Fabric) {}, Moved: func(topology.LinkID) {}, Synced: func() {}})
	at := map[string]ev.Attachment{}
	for h := range leaves * hosts {
		host := fabric.Host{Name: fmt.Sprintf("H%d", h),
			Address: netip.AddrFrom16([16]byte{0x20, 2, 14: byte(h >> 8), 15: byte(h)})}
		for p := range planes {
			host.At = append(host.At, id(p, 0, h/hosts))
		}
		at[host.Name] = host.At
		if _, err := state.PutHost(host); err != nil {
			t.Fatal(err)
		}
	}
	state.SetTopology(b.Build())
	state.InSync()
	state.Settle()
	if state.Fabric() == nil {
		t.Fatal(state.Failure())
	}
	return Of(state.Fabric(), at, &cfg)
}

// none is no drains.
type none struct{}

func (none) Planes() []int             { return nil }
func (none) Link(*fabric.Edge) bool    { return false }
func (none) Node(topology.NodeID) bool { return false }
func (none) Port(string, uint8) bool   { return false }

// TestAlike: steps take equally long whether similar NICs share a class or each NIC has a class,
// whether or not a view takes the parts untouched by a state from another view, and whether or not
// one port stands for those of similar planes.
func TestAlike(t *testing.T) {
	first, count := seeds.Range(t, 1, 40)
	for seed := first; seed < first+count; seed++ {
		r := rand.New(rand.NewPCG(seed, 0))
		n := network(t, 1+r.IntN(3), 2+r.IntN(3), 2+r.IntN(3), 1+r.IntN(4))
		all := Collectives()
		j := Job{Name: "a", Steps: 1}
		for i := range len(n.Hosts) / 2 * 2 {
			j.NICs = append(j.NICs, fmt.Sprintf("H%d", i))
		}
		ranks := make([]int, len(j.NICs))
		for i := range ranks {
			ranks[i] = i
		}
		j.Groups = []Group{{Ranks: ranks, Collective: all[r.IntN(len(all))], Octets: 1 << 22}}
		some, err := n.Compile(t.Context(), []Job{j})
		if err != nil {
			t.Fatal(err)
		}
		each, err := n.Compile(t.Context(), []Job{j}, j.NICs...)
		if err != nil {
			t.Fatal(err)
		}
		if len(each.classes) != len(j.NICs) {
			t.Fatalf("seed %d: %d classes of %d NICs apart", seed, len(each.classes), len(j.NICs))
		}
		s := State{}
		apart := State{Slower: map[topology.LinkID]float64{}} // planes differ, by next to nothing
		for _, l := range n.Fabric.Snapshot().Links {
			plane := n.Fabric.Clos().LinkPlane(l.ID)
			if r.IntN(6) == 0 && (plane == 1 || r.IntN(2) == 0) {
				s.Directed = append(s.Directed, l.ID)
			}
			apart.Slower[l.ID] = 1e-18 * float64(plane)
		}
		apart.Losses = s.Losses
		fresh := *some
		fresh.whole = nil
		took := func(m *Model, s *State) float64 {
			v, err := m.see(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			now := make(active, (len(m.entities)+7)/8)
			for e := range m.entities {
				now.put(e)
			}
			most := 0.0
			rates, err := v.rates(t.Context(), now)
			if err != nil {
				t.Fatal(err)
			}
			for _, t := range rates.took {
				most = max(most, t)
			}
			return most
		}
		a, b, c, d := took(some, &s), took(each, &s), took(&fresh, &s), took(some, &apart)
		same := func(x, y float64) bool { return x == y || math.Abs(x-y) < 1e-9*x }
		if !same(a, b) || !same(a, c) || !same(a, d) {
			t.Errorf("seed %d: %s takes %v s by classes, %v s by NICs, %v s by itself, %v s by planes",
				seed, j.Groups[0].Collective, a, b, c, d)
		}
		if ports := some.whole.alike; ports[0] != float64(len(ports)) {
			t.Errorf("seed %d: of similar planes ports stand for %v", seed, ports)
		}
	}
}

// TestBounded: jobs that are too large are refused before the work, and an ended ctx ends the work.
func TestBounded(t *testing.T) {
	n := network(t, 4, 2, 2, 800)
	j := Job{Name: "a", Steps: 1}
	var ranks []int
	for i := range 1600 {
		ranks = append(ranks, i)
		j.NICs = append(j.NICs, fmt.Sprintf("H%d", i))
	}
	j.Groups = []Group{{Ranks: ranks, Collective: AllToAll, Octets: 1 << 20}}
	if _, err := n.Compile(t.Context(), []Job{j}, j.NICs...); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%d kinds of messages: %v", len(ranks)*len(ranks), err)
	}
	m, err := n.Compile(t.Context(), []Job{j}) // those of a rack are alike
	if err != nil {
		t.Fatal(err)
	}
	j.Groups[0].Collective = AllReduceTree
	for range MaxMessages / 4 / (len(ranks) - 1) {
		j.Groups = append(j.Groups, j.Groups[0])
	}
	if _, err := n.Compile(t.Context(), []Job{j}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%d messages: %v", len(j.Groups)*j.Groups[0].count(), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := n.Compile(ctx, []Job{j}[:0]); !errors.Is(err, context.Canceled) {
		t.Errorf("compiled under an ended ctx: %v", err)
	}
	if _, err := m.see(ctx, &State{}); !errors.Is(err, context.Canceled) {
		t.Errorf("seen under an ended ctx: %v", err)
	}
	for _, c := range Collectives() {
		for n := 2; n < 9; n++ {
			g := Group{Ranks: ranks[:n], Collective: c, Octets: 1}
			if got, want := len(g.messages()), g.count(); got != want {
				t.Errorf("%s of %d has %d messages, and %d are counted", c, n, got, want)
			}
		}
	}
}

// TestTogether: when entities end together, as in a large model, no job's step takes 1 % more or
// less, nor do many steps of a small job, rates are computed for 20 sets of entities at most beside
// those steps, and links carry as much.
func TestTogether(t *testing.T) {
	first, count := seeds.Range(t, 1, 20)
	for seed := first; seed < first+count; seed++ {
		r := rand.New(rand.NewPCG(seed, 0))
		n := network(t, 1+r.IntN(3), 4, 2+r.IntN(2), 32)
		order := r.Perm(len(n.Hosts))
		var jobs []Job
		for i := range 16 {
			j := Job{Name: fmt.Sprint("j", i), Steps: 1, Groups: []Group{
				{Collective: AllReduceRing, Octets: 1 << 22}, {Collective: AllToAll, Octets: 1 << 22}}}
			for _, h := range order[i*8 : (i+1)*8] {
				for g := range j.Groups {
					j.Groups[g].Ranks = append(j.Groups[g].Ranks, len(j.NICs))
				}
				j.NICs = append(j.NICs, fmt.Sprintf("H%d", h))
			}
			jobs = append(jobs, j)
		}
		small := &jobs[15]
		small.Steps, small.Compute = 40, time.Microsecond
		small.Groups = small.Groups[:1]
		small.Groups[0].Octets = 1 << 17
		m, err := n.Compile(t.Context(), jobs)
		if err != nil {
			t.Fatal(err)
		}
		var took [2][16]float64
		var carried [2]float64
		var fills [2]int
		for i := range took {
			one := *m
			one.large = i == 1
			if one.whole, err = one.see(t.Context(), &State{}); err != nil {
				t.Fatal(err)
			}
			o, err := one.Run(t.Context(), nil, time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			for j := range o.Jobs {
				last := o.Jobs[j].Steps[jobs[j].Steps-1]
				took[i][j] = (last.Began + last.Took).Seconds()
			}
			for _, l := range o.Links {
				carried[i] += l.Used * l.Count * o.Ended.Seconds()
			}
			fills[i] = len(one.whole.memo)
		}
		for j := range jobs {
			if off := took[1][j]/took[0][j] - 1; math.Abs(off) > 0.01 {
				t.Errorf("seed %d: the steps of %s take %v s, and %+.1f %% together", seed, jobs[j].Name,
					took[0][j], 100*off)
			}
		}
		if off := carried[1]/carried[0] - 1; math.Abs(off) > 1e-6 {
			t.Errorf("seed %d: links carry for %v s, and %+.1f %% together", seed, carried[0], 100*off)
		}
		if fills[1] > 20 || fills[1] >= fills[0] {
			t.Errorf("seed %d: rates of %d sets of entities, and %d together", seed, fills[0], fills[1])
		}
	}
}

// TestMemo: a view remembers a bounded number of rates, and steps take as long as when it remembers
// all.
func TestMemo(t *testing.T) {
	n := network(t, 1, 2, 2, 16)
	var jobs []Job
	for i := range 12 { // computing for different times, so that ever other sets of them send
		jobs = append(jobs, Job{Name: fmt.Sprint("j", i), Steps: 20,
			Compute: time.Duration(100+7*i) * time.Microsecond,
			NICs:    []string{fmt.Sprintf("H%d", i), fmt.Sprintf("H%d", 16+i)},
			Groups:  []Group{{Ranks: []int{0, 1}, Collective: AllToAll, Octets: 1 << 20}}})
	}
	var outs []*Outcome
	var sets []int
	for _, parts := range []int{MostParts, 64} {
		m, err := n.Compile(t.Context(), jobs)
		if err != nil {
			t.Fatal(err)
		}
		few := *n
		few.Parts, m.net = parts, &few
		o, err := m.Run(t.Context(), nil, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		outs, sets = append(outs, o), append(sets, len(m.whole.memo))
	}
	if sets[0] < 20 || sets[1] > 8 || !reflect.DeepEqual(outs[0], outs[1]) {
		t.Errorf("%d and %d sets are remembered, and steps are as long: %v", sets[0], sets[1],
			reflect.DeepEqual(outs[0], outs[1]))
	}
}

// step returns how long a step of a job takes that has a network without losses to itself.
func step(t *testing.T, n *Network, j Job) time.Duration {
	t.Helper()
	m, err := n.Compile(t.Context(), []Job{j})
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.Compare(t.Context(), &State{}, &State{})
	if err != nil {
		t.Fatal(err)
	}
	return got[0].Before.Step.D()
}

// TestPipelineLatency: of a pipeline over two racks one hop each way crosses the spine, and the
// other hops do not take the time of that one.
func TestPipelineLatency(t *testing.T) {
	n := network(t, 1, 2, 1, 8)
	took := func(first int) time.Duration {
		j := Job{Name: "a", Steps: 1, Groups: []Group{{Collective: Pipeline, Octets: MicroBatches}}}
		for i := range 8 {
			j.NICs = append(j.NICs, fmt.Sprintf("H%d", first+i))
			j.Groups[0].Ranks = append(j.Groups[0].Ranks, i)
		}
		return step(t, n, j)
	}
	one, two := took(0), took(4)
	// Two of 14 messages cross two links more. A hop takes the mean of all messages, for 14 hops.
	bits := float64(usualFrame) * 8 * 1e9
	frame := time.Duration(bits / rate)
	want := one + 14*frame*2*2/14
	if d := two - want; max(d, -d) > 10*time.Nanosecond {
		t.Errorf("a pipeline over two racks takes %v, want %v; in one rack %v", two, want, one)
	}
}

// TestLostPlane: every collective's steps take equally long with one of two planes lost and on a
// fabric with one plane.
func TestLostPlane(t *testing.T) {
	one, two := network(t, 1, 3, 2, 4), network(t, 2, 3, 2, 4)
	lost := &State{}
	lost.Nodes = []topology.NodeID{"P0-T0-0", "P0-T0-1", "P0-T0-2", "P0-T1-0", "P0-T1-1"}
	for _, c := range Collectives() {
		j := Job{Name: "a", Steps: 1, Groups: []Group{{Collective: c, Octets: 1 << 22}}}
		for i := range one.Hosts {
			j.NICs = append(j.NICs, i)
		}
		slices.Sort(j.NICs)
		for i := range j.NICs {
			j.Groups[0].Ranks = append(j.Groups[0].Ranks, i)
		}
		var took []time.Duration
		for _, n := range []*Network{one, two} {
			m, err := n.Compile(t.Context(), []Job{j})
			if err != nil {
				t.Fatal(err)
			}
			after := &State{}
			if n == two {
				after = lost
			}
			got, err := m.Compare(t.Context(), &State{}, after)
			if err != nil {
				t.Fatal(err)
			}
			took = append(took, got[0].After.Step.D())
		}
		if d := took[1] - took[0]; max(d, -d) > 2 {
			t.Errorf("%s takes %v with one plane, and %v with one of two lost", c, took[0], took[1])
		}
	}
}

// BenchmarkCompare: a step of jobs of 8,192 NICs in 32 racks, before and after a T1 has failed.
func BenchmarkCompare(b *testing.B) {
	n := network(b, 8, 32, 64, 256)
	after := &State{}
	after.Nodes = []topology.NodeID{"P0-T1-0"}
	for name, x := range map[string]struct {
		jobs   int
		layout api.JobLayout
		mixed  bool
	}{
		"1 job":               {1, api.JobLayout{TP: 8, DP: 1024}, false},
		"64 jobs":             {64, api.JobLayout{TP: 8, DP: 16}, false},
		"1 job of MoE":        {1, api.JobLayout{TP: 8, EP: 64, DP: 128, PP: 8}, false},
		"1 job in no order":   {1, api.JobLayout{TP: 8, DP: 1024}, true},
		"64 jobs in no order": {64, api.JobLayout{TP: 8, DP: 16}, true}, // MoE is refused in no order
	} {
		b.Run(name, func(b *testing.B) {
			var jobs []Job
			each := len(n.Hosts) / x.jobs
			order := make([]int, len(n.Hosts))
			for i := range order {
				order[i] = i
			}
			if x.mixed {
				order = rand.New(rand.NewPCG(1, 0)).Perm(len(order))
			}
			for i := range x.jobs {
				j := Job{Name: fmt.Sprint("j", i), Steps: 1}
				for r := range each {
					j.NICs = append(j.NICs, fmt.Sprintf("H%d", order[i*each+r]))
				}
				all, err := layout.Communicators(&x.layout, each)
				if err != nil {
					b.Fatal(err)
				}
				for _, g := range all {
					j.Groups = append(j.Groups, Group{Ranks: g.Ranks,
						Collective: ByPattern(g.Pattern), Octets: 64 << 20})
				}
				jobs = append(jobs, j)
			}
			for b.Loop() {
				m, err := n.Compile(b.Context(), jobs)
				if err != nil {
					b.Fatal(err)
				}
				got, err := m.Compare(b.Context(), &State{}, after)
				if err != nil || len(got) != x.jobs || got[0].After.Step < got[0].Before.Step {
					b.Fatalf("%+v, %v", got, err)
				}
			}
		})
	}
}

// TestShares: one of two T1s dies, and a permutation that filled the uplinks gets half the
// capacity.
func TestShares(t *testing.T) {
	n := network(t, 1, 2, 2, 2)
	j := Job{Name: "a", Steps: 1, NICs: []string{"H0", "H1", "H2", "H3"}, Groups: []Group{
		{Ranks: []int{0, 2}, Collective: Pairwise, Octets: 1 << 24},
		{Ranks: []int{1, 3}, Collective: Pairwise, Octets: 1 << 24}}}
	m, err := n.Compile(t.Context(), []Job{j})
	if err != nil {
		t.Fatal(err)
	}
	after := &State{}
	after.Nodes = []topology.NodeID{"P0-T1-0"}
	got, err := m.Compare(t.Context(), &State{}, after)
	if err != nil {
		t.Fatal(err)
	}
	octets := float64(j.Groups[0].Octets)
	least := time.Duration(octets * 8 / rate / usualPayload * 1e9)
	if d := got[0].Before.Step.D() - least; d < 0 || d > 5*time.Microsecond {
		t.Errorf("a step takes %v, want %v and a little", got[0].Before.Step, least)
	}
	if s := got[0].After.Share; s < 0.49 || s > 0.5 {
		t.Errorf("without one of two T1s the share is %v, want 0.5", s)
	}
	if got[0].After.Bound == nil || got[0].After.CutOff != 0 {
		t.Errorf("%+v", got[0].After)
	}
}

// TestCutRing: a ring with a rank that is cut off takes nothing from a job that shares its links.
func TestCutRing(t *testing.T) {
	n := network(t, 1, 2, 1, 3)
	ring := Job{Name: "ring", Steps: 1, NICs: []string{"H0", "H1", "H3"},
		Groups: []Group{{Ranks: []int{0, 1, 2}, Collective: AllReduceRing, Octets: 1 << 24}}}
	other := Job{Name: "other", Steps: 1, NICs: []string{"H2", "H4"},
		Groups: []Group{{Ranks: []int{0, 1}, Collective: Pairwise, Octets: 1 << 24}}}
	took := func(jobs ...Job) time.Duration {
		m, err := n.Compile(t.Context(), jobs, "H0")
		if err != nil {
			t.Fatal(err)
		}
		after := &State{Ports: map[string]hostapi.PortMask{"H0": ^hostapi.PortMask(0)}}
		got, err := m.Compare(t.Context(), &State{}, after)
		if err != nil {
			t.Fatal(err)
		}
		if len(jobs) > 1 && (got[0].After.Step != 0 || got[0].After.CutOff != 1) {
			t.Errorf("the ring ends without H0: %+v", got[0].After)
		}
		return got[len(jobs)-1].After.Step.D()
	}
	if alone, beside := took(other), took(ring, other); beside != alone {
		t.Errorf("beside a ring that is cut off a job takes %v, and %v alone", beside, alone)
	}
}

// TestAsk: until NICs are told of a lost T1, senders wait for half of the acknowledgements of a NIC
// that only receives, and not for those of a NIC that sends to the same rack.
func TestAsk(t *testing.T) {
	n := network(t, 1, 2, 2, 2)
	for _, x := range []struct {
		collective Collective
		want       time.Duration
	}{{Broadcast, 50 * time.Microsecond}, {Pairwise, 0}} {
		j := Job{Name: "a", Steps: 8, NICs: []string{"H0", "H2"}, Compute: time.Millisecond,
			Groups: []Group{{Ranks: []int{0, 1}, Collective: x.collective, Octets: 1 << 20}}}
		m, err := n.Compile(t.Context(), []Job{j})
		if err != nil {
			t.Fatal(err)
		}
		c := Change{Ask: 100 * time.Microsecond}
		c.State.Nodes = []topology.NodeID{"P0-T1-0"}
		told := c
		told.At, c.Untold = 5*time.Millisecond, c.State.Losses
		o, err := m.Run(t.Context(), []Change{c, told}, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		steps := o.Jobs[0].Steps
		if d := steps[0].Took - steps[7].Took; d != x.want {
			t.Errorf("%s: a step takes %v longer until NICs are told, want %v", x.collective, d, x.want)
		}
	}
}

// TestIdleRing: ranks of a ring that wait for chunks leave their links to others. Four messages
// share an uplink: four long chunks bound a round; short chunks take the delay of the links, and
// less than four chunks.
func TestIdleRing(t *testing.T) {
	n := network(t, 1, 2, 1, 4)
	j := Job{Name: "a", Steps: 1, Latency: 100 * time.Microsecond,
		NICs:   []string{"H0", "H4", "H1", "H5", "H2", "H6", "H3", "H7"},
		Groups: []Group{{Ranks: []int{0, 1, 2, 3, 4, 5, 6, 7}, Collective: AllGather}}}
	for _, x := range []struct{ chunk, least, most float64 }{ // in delays
		{40, 160, 164}, {0.25, 1.25, 1.9},
	} {
		delay := j.Latency.Seconds()
		j.Groups[0].Octets = int(8 * x.chunk * delay * rate * usualPayload / 8)
		if r := step(t, n, j).Seconds() / delay / 7; r < x.least || r > x.most {
			t.Errorf("a round of chunks of %v delays takes %v, want %v to %v", x.chunk, r, x.least, x.most)
		}
	}
}

// TestPipelineMeets: the last batch of a pipeline comes back after the time of all hops and
// batches, and of the three batches that wait for others. Where seven messages share an uplink
// for a part of the time, a batch takes longer than their mean load says, and less than seven times
// as long.
func TestPipelineMeets(t *testing.T) {
	j := Job{Name: "a", Steps: 1, NICs: []string{"H0", "H4", "H1", "H5", "H2", "H6", "H3", "H7"},
		Groups: []Group{{Ranks: []int{0, 1, 2, 3, 4, 5, 6, 7}, Collective: Pipeline,
			Octets: MicroBatches << 24}}}
	for spines, want := range map[int][2]float64{8: {19.9, 20.1}, 1: {20 * 2.2, 20 * 4}} {
		batch := (1 << 24) * 8 / rate / usualPayload
		if n := step(t, network(t, 1, 2, spines, 4), j).Seconds() / batch; n < want[0] || n > want[1] {
			t.Errorf("with %d T1s a step takes %v batches, want %v", spines, n, want)
		}
	}
}
