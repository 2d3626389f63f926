package tunnel

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/test/seeds"
	"github.com/weft-sdn/weft/topology"
)

// slow simulates switches that take entries late, each switch in a separate time, and entry by
// entry in the write order of a controller: new entries first, removals last.
type slow struct {
	*bed
	rng     *rand.Rand
	holds   map[topology.NodeID]*Node
	writing map[topology.NodeID]int // steps until it has the next
}

func (s *slow) step() {
	s.at += 5 * time.Millisecond
	s.Tick(s.at)
	r := s.Ready()
	for _, id := range r.Nodes {
		if s.writing[id] == 0 {
			s.writing[id] = 1 + s.rng.IntN(6)
		}
	}
	for _, p := range r.Probes {
		s.Answered(p.From, p.Cookie, p.Seq, 20*time.Millisecond)
	}
	for id, n := range s.writing {
		if n > 0 {
			s.writing[id] = n - 1
			if n == 1 {
				s.holds[id] = s.Node(id)
			}
		}
	}
	for _, name := range s.Moving() {
		if !slices.ContainsFunc(s.Holders(name),
			func(id topology.NodeID) bool {
				return s.writing[id] > 0 ||
					!reflect.DeepEqual(s.holds[id], s.Node(id))
			}) {
			s.Advance(name)
		}
	}
}

// covered reports faults in the pauses for the tenant's packets, which leave R1 by the port in R1's
// entry: R3 must have a tunnel to that very port, and R1 must take it.
func (s *slow) covered() error {
	r1, r3 := s.holds["R1"], s.holds["R3"]
	if r1 == nil || len(r1.Steers) == 0 {
		return nil
	}
	i := slices.IndexFunc(r1.Lists, func(l List) bool { return l.ID == r1.Steers[0].List })
	if i < 0 {
		return fmt.Errorf("packets are led into list %d, which R1 lacks", r1.Steers[0].List)
	}
	port := r1.Lists[i].Port
	if port == 0 {
		return nil // not by the policy yet
	}
	if r3 == nil || len(r3.Queues) == 0 {
		return errors.New("R3 has no queue that pauses")
	}
	for _, u := range r3.Queues[0].Upstreams {
		has := slices.ContainsFunc(r3.Lists, func(l List) bool { return l.ID == u.List })
		if has && slices.ContainsFunc(r1.Accepts,
			func(a Accept) bool { return a.SID == u.SID && a.Port == port && a.Slice == u.Slice }) {
			return nil
		}
	}
	return fmt.Errorf("packets leave by port %d, which nobody can pause: R3's upstreams %+v, R1 "+
		"accepts %+v", port, r3.Queues[0].Upstreams, r1.Accepts)
}

// TestMakeBeforeBreak: while links come and go and switches are slow, at no moment packets leave by
// an interface for which there is no whole tunnel.
func TestMakeBeforeBreak(t *testing.T) {
	first, count := seeds.Range(t, 1, 30)
	for seed := first; seed < first+count; seed++ {
		w := figure3()
		s := &slow{bed: newBed(t, w), rng: rand.New(rand.NewPCG(seed, 1)),
			holds: make(map[topology.NodeID]*Node), writing: make(map[topology.NodeID]int)}
		s.must(s.PutSRv6Policy(SRv6Policy{Name: "wan", PathRequest: PathRequest{Headend: "R1",
			Endpoint: "R3"}}))
		s.must(s.PutTenant(s.tenant("a", 1, 3, "wan")))
		s.must(s.PutPFCPolicy(lossless("pfc")))
		up, moved, port := true, 0, uint32(0)
		for i := range 1200 {
			if s.rng.IntN(40) == 0 && i < 1000 {
				if up = !up; up {
					w.b = figure3().b
				} else {
					w.cut("R1", "R2")
				}
				s.SetTopology(w.b.Build())
			}
			s.step()
			if err := s.covered(); err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, i, err)
			}
			if d := s.deployment("wan", "pfc"); d.Stages[0].Queues[0].Port != port {
				port = d.Stages[0].Queues[0].Port
				moved++
			}
		}
		p, _ := s.Present("wan")
		if !p.Settled || moved < 3 {
			t.Errorf("seed %d: settled: %v, moved %d times", seed, p.Settled, moved)
		}
		want := 1
		if !up {
			want = 2
		}
		if d := p.Deployments["pfc"]; int(d.Tunnels[0].Port) != want ||
			len(s.holds["R3"].Queues[0].Upstreams) != 1 || len(s.holds["R1"].Accepts) != 1 {
			t.Errorf("seed %d: in the end R3 pauses %+v, R1 accepts %+v", seed,
				s.holds["R3"].Queues[0].Upstreams, s.holds["R1"].Accepts)
		}
	}
}

// ring is four capable nodes in a ring, and one apart.
func ring() *wan {
	w := newWAN("A*", "B*", "C*", "D*", "E")
	w.link("A", "B", 10, 100)
	w.link("B", "C", 10, 100)
	w.link("C", "D", 10, 100)
	w.link("D", "A", 10, 100)
	return w
}

// around makes a policy from one node of the ring over the next two, a tenant, and a PFC policy of
// the same name.
func (b *bed) around(name string, slice uint32, allow bool, nodes ...string) error {
	b.must(b.PutSRv6Policy(SRv6Policy{Name: name,
		PathRequest: PathRequest{Headend: topology.NodeID(nodes[0]),
			Endpoint: topology.NodeID(nodes[len(nodes)-1]), Via: node(nodes...)}}))
	t := b.tenant(name, slice, 3, name)
	t.Sites[0].Node, t.Sites[1].Node = topology.NodeID(nodes[0]), topology.NodeID(nodes[len(nodes)-1])
	b.must(b.PutTenant(t))
	return b.PutPFCPolicy(PFCPolicy{Name: name, SRv6Policy: name, Tenant: name, Scenario: 1,
		Buffer: 1 << 24, MaxPause: time.Second, AllowCycle: allow})
}

// TestCycle: the policy that closes a ring is refused with the ring, unless it may; then those in
// it know.
func TestCycle(t *testing.T) {
	b := newBed(t, ring())
	b.must(b.around("one", 1, false, "A", "B", "C", "D"))
	b.must(b.around("two", 2, false, "C", "D", "A"))
	err := b.around("three", 3, false, "D", "A", "B")
	var cycle *CycleError
	if !errors.As(err, &cycle) || len(cycle.Cycle) != 4 {
		t.Fatalf("%v", err)
	}
	if got, want := err.Error(), "queues would wait for each other in a circle: A/1/3 -> B/2/3 -> "+
		"C/2/3 -> D/2/3 -> A/1/3"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if _, there := b.Present("three"); !there || b.requests["three"] != nil || b.Cycle("one") != nil {
		t.Errorf("the refused policy has left something: %v", b.Cycle("one"))
	}
	r := PFCPolicy{Name: "three", SRv6Policy: "three", Tenant: "three", Scenario: 1, Buffer: 1 << 24,
		AllowCycle: true}
	b.must(b.PutPFCPolicy(r))
	for _, name := range []string{"one", "two", "three"} {
		if len(b.Cycle(name)) != 4 {
			t.Errorf("%s is in the circle: %v", name, b.Cycle(name))
		}
	}
	b.DeletePFCPolicy("two")
	if b.Cycle("one") != nil || b.Cycle("three") != nil {
		t.Errorf("open again: %v", b.Cycle("one"))
	}
	b.step(time.Second)
}

// TestChangedPolicyStays: after a network change, the core plans a changed policy by the present
// spec.
func TestChangedPolicyStays(t *testing.T) {
	w := ring()
	b := newBed(t, w)
	p := SRv6Policy{Name: "wan", PathRequest: PathRequest{Headend: "A", Endpoint: "C", Via: node("B")}}
	b.must(b.PutSRv6Policy(p))
	p.Via = node("D")
	b.must(b.PutSRv6Policy(p))
	w.link("A", "C", 5, 100)
	b.SetTopology(w.b.Build())
	b.step(time.Second)
	is := b.policies["wan"]
	if !reflect.DeepEqual(is.SRv6Policy, p) || is.err != nil {
		t.Errorf("%+v, %v, want %+v", is.SRv6Policy, is.err, p)
	}
}

// TestPathFailsAgain: a policy recovers when the path comes back, and each loss of the path sends
// one event.
func TestPathFailsAgain(t *testing.T) {
	const failed = "srv6-policy.path-failed wan"
	b := newBed(t, figure3())
	b.must(b.PutSRv6Policy(SRv6Policy{Name: "wan", PathRequest: PathRequest{Headend: "R1",
		Endpoint: "R3"}}))
	for i := range 2 {
		w := figure3()
		w.cut("R2", "R3")
		w.cut("R5", "R3")
		for range 2 { // nothing is new the second time
			b.SetTopology(w.b.Build())
			b.step(time.Second)
		}
		if s, _ := b.Present("wan"); s.Err == nil || count(b.saw, failed) != i+1 {
			t.Errorf("without a path: %v, events %v", s.Err, b.saw)
		}
		b.SetTopology(figure3().b.Build())
		b.step(time.Second)
		if s, _ := b.Present("wan"); s.Err != nil || !s.Settled {
			t.Errorf("the path is back: %+v", s)
		}
	}
}

// TestChangedTenant: a changed tenant has the needed entities at the nodes of all present sites,
// both old and new, and nothing at nodes without a site any more.
func TestChangedTenant(t *testing.T) {
	b := newBed(t, ring())
	x := b.tenant("a", 1, 3)
	at := func(nodes ...topology.NodeID) {
		x.Sites = slices.Clone(x.Sites)
		for i, id := range nodes {
			x.Sites[i].Node = id
		}
		b.must(b.PutTenant(x))
		b.step(time.Second)
		for _, id := range []topology.NodeID{"A", "B", "C", "D"} {
			if n := b.Node(id); n.Empty() == slices.Contains(nodes, id) ||
				(len(n.Services) == 1) != slices.Contains(nodes, id) {
				t.Errorf("sites at %v: %s has %+v", nodes, id, n)
			}
		}
	}
	at("A", "C")
	at("A", "D")
	at("B", "D")
	x.Priority = 4
	at("B", "D")
}

// TestCycleByTopology: a policy that the network moves into a circle is taken off, said so, and
// comes back.
func TestCycleByTopology(t *testing.T) {
	w := ring()
	b := newBed(t, w)
	b.must(b.around("one", 1, false, "A", "B", "C", "D"))
	b.must(b.around("two", 2, false, "C", "D", "A"))
	b.must(b.PutSRv6Policy(SRv6Policy{Name: "three",
		PathRequest: PathRequest{Headend: "D", Endpoint: "B", Via: node("C")}}))
	tenant := b.tenant("three", 3, 3, "three")
	tenant.Sites[0].Node, tenant.Sites[1].Node = "D", "B"
	b.must(b.PutTenant(tenant))
	b.must(b.PutPFCPolicy(PFCPolicy{Name: "three", SRv6Policy: "three", Tenant: "three", Scenario: 1,
		Buffer: 1 << 24}))
	b.step(time.Second)
	if len(b.Node("D").Accepts) == 0 {
		t.Fatal("not deployed")
	}
	p := SRv6Policy{Name: "three", PathRequest: PathRequest{Headend: "D", Endpoint: "B",
		Via: node("A")}}
	var cycle *CycleError
	if err := b.PutSRv6Policy(p); !errors.As(err, &cycle) ||
		!strings.Contains(err.Error(), "PFC policy three: ") {
		t.Errorf("a change into the circle: %v, want it with the PFC policy that closes it", err)
	}
	b.policies["three"].SRv6Policy = p // as if computed
	for range 2 {                      // nothing is new the second time
		b.SetTopology(w.b.Build())
		b.step(time.Second)
		if !errors.As(b.PFCPolicyError("three"), &cycle) ||
			count(b.saw, "pfc.deadlock-risk three") != 1 {
			t.Errorf("%v; %v, want one event", b.PFCPolicyError("three"), b.saw)
		}
	}
	if b.Cycle("one") != nil {
		t.Error("the circle was closed all the same")
	}
	b.DeletePFCPolicy("two")
	b.step(time.Second)
	if err := b.PFCPolicyError("three"); err != nil || b.deployment("three", "three") == nil {
		t.Errorf("it should be back: %v", err)
	}
}

// TestRefusedTenantLeavesCircles: a tenant change that is refused for lack of room at a switch
// leaves the queue dependencies unchanged: the core still refuses the policy that closes the
// circle.
func TestRefusedTenantLeavesCircles(t *testing.T) {
	b := newBed(t, ring())
	b.must(b.around("one", 1, false, "A", "B", "C", "D"))
	full := make(map[uint16][]netip.Addr)
	for id := range Defaults().Lists {
		full[id+1] = []netip.Addr{b.w.sid("D", 9)}
	}
	b.SetForeign("E", full)
	other := *b.tenants["one"]
	other.Priority, other.Sites = 4, append(slices.Clone(other.Sites), Site{Node: "E", Port: 9})
	if err := b.PutTenant(other); !errors.Is(err, ErrNoRoom) {
		t.Fatalf("a tenant at a switch without room: %v", err)
	}
	b.must(b.around("two", 2, false, "C", "D", "A"))
	var cycle *CycleError
	if err := b.around("three", 3, false, "D", "A", "B"); !errors.As(err, &cycle) {
		t.Errorf("the policy that closes the circle: %v", err)
	}
}

// TestMoving: the core waits, by name, for the policies whose paths are being made or switched.
func TestMoving(t *testing.T) {
	c := &Core{policies: make(map[string]*policy)}
	var want []string
	for i := range 40 {
		name, phase := fmt.Sprintf("p%02d", i), phase(i%4)
		c.policies[name] = &policy{phase: phase}
		if phase == making || phase == switching {
			want = append(want, name)
		}
	}
	if got := c.Moving(); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestRestart: a core that starts again with the same intents gives switches the same numbers.
func TestRestart(t *testing.T) {
	make := func() *bed {
		b := newBed(t, figure3())
		b.figure3()
		b.must(b.PutPFCPolicy(lossless("pfc")))
		b.step(time.Second)
		return b
	}
	a, b := make(), make()
	for _, id := range []topology.NodeID{"R1", "R2", "R3"} {
		if !reflect.DeepEqual(a.Node(id), b.Node(id)) {
			t.Errorf("%s: %+v and %+v", id, a.Node(id), b.Node(id))
		}
	}
}

// TestEverythingGoes: what was put and deleted leaves nothing.
func TestEverythingGoes(t *testing.T) {
	b := newBed(t, figure3())
	b.figure3()
	b.must(b.PutPFCPolicy(lossless("pfc")))
	b.step(time.Second)
	b.DeletePFCPolicy("pfc")
	b.step(time.Second)
	b.must(b.DeleteTenant("a"))
	b.must(b.DeleteTenant("b"))
	b.must(b.DeleteSRv6Policy("wan"))
	b.step(time.Second)
	for _, id := range []topology.NodeID{"R1", "R2", "R3"} {
		if n := b.Node(id); !n.Empty() {
			t.Errorf("%s: %+v", id, n)
		}
	}
	if len(b.monitors) != 0 || b.deps.Len() != 0 ||
		len(b.numbers["R1"].given)+len(b.numbers["R3"].given) != 0 {
		t.Errorf("left: %d monitors, %d dependencies, lists %v %v", len(b.monitors), b.deps.Len(),
			b.numbers["R1"].given, b.numbers["R3"].given)
	}
}
