package mrc

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/host/nscc"
	"github.com/weft-sdn/weft/topology"
)

// same reports whether hosts hold what they held.
func (f *bed) same(states map[string]*hostapi.State) bool {
	for name, s := range f.states() {
		if !s.Equal(states[name]) {
			return false
		}
	}
	return true
}

// TestControllerRestart: without a controller, hosts send on with their present states. The next
// controller sends hosts nothing before its topology is in sync. Drained parts stay drained all the
// time, and all other client settings are there again.
func TestControllerRestart(t *testing.T) {
	long(t)
	network := nscc.DefaultConfig(nscc.Network{Rate: 2e8, RTT: 200 * time.Microsecond, MTU: 1024})
	cc := api.CCProfileSpecOf(&hostapi.CCProfile{Name: "slow", Algorithm: hostapi.AlgorithmNSCC,
		NSCC: network.Profile()})
	run(t, func(m *inventory.MRC) { m.CCProfile = "slow" }, func(t *testing.T, f *bed) {
		link := f.linkBetween("P1-T0-1", "P1-T1-2")
		if err := f.admin(mrc.Target{Link: link.ID}, api.AdminDrained); err != nil {
			t.Fatal(err)
		}
		ccProfiles := kind.Of[api.CCProfileSpec, api.CCProfile](f.mrc.Kinds())
		_, _, err := ccProfiles.Put(t.Context(), "slow", cc, resource.Precondition{})
		if err != nil {
			t.Fatal(err)
		}
		evProfiles := func() kind.Handle[api.EVProfileSpec, api.EVProfile] {
			return kind.Of[api.EVProfileSpec, api.EVProfile](f.mrc.Kinds())
		}
		if _, _, err := evProfiles().Put(t.Context(), "P1-T0-1:P1-T0-2",
			api.EVProfileSpec{Mode: api.EVModeExplicit, MinActive: 2}, resource.Precondition{}); err != nil {
			t.Fatal(err)
		}
		wanted := func() bool {
			for _, s := range f.states() {
				p := s.Profile("P1-T0-1:P1-T0-2")
				if s.CCProfile("slow") == nil || p != nil && (p.Mode != hostapi.ModeExplicit ||
					p.MinActive != 2 || p.CC != "slow") {
					return false
				}
			}
			return f.denies("P1-T0-1", "P1-T1-2")
		}
		f.until(time.Second, "hosts hold what clients want", wanted)
		f.until(time.Second, "all is applied", f.ready)
		held := f.states()
		lost := f.lost()
		x := f.traffic(1 << 18)
		f.stop()
		f.until(time.Second, "half is done without a controller", func() bool {
			return x.progress() > 0.5
		})

		f.start()
		stale := topology.NewBuilder()
		stale.SetStale(&topology.Staleness{Reason: "a peer has not said all yet", Since: time.Now(),
			Incomplete: true})
		f.do(func() {
			for _, n := range f.world.Learned(f.learned).Nodes {
				stale.SetNode(*n)
			}
		})
		f.tell(stale.Build())
		for range 15 {
			time.Sleep(100 * time.Millisecond)
			if !f.same(held) {
				t.Fatal("hosts are told something before the topology is in sync")
			}
		}
		f.learn()
		f.until(20*time.Second, "hosts hold what the new controller says", func() bool {
			if crossing, denied, _ := f.crossing("P1-T0-1", "P1-T1-2"); denied != crossing {
				t.Fatal("the drained link is used")
			}
			return f.ready()
		})
		if !wanted() {
			t.Error("what clients wanted is lost")
		}
		if l := f.linkBetween("P1-T0-1", "P1-T1-2"); !l.Status.Drained || len(l.Status.Drains) != 1 {
			t.Errorf("the drained link is %+v", l)
		}
		f.until(time.Second, "the drain is over", func() bool {
			return f.linkBetween("P1-T0-1", "P1-T1-2").Status.Drains[0].Drained
		})
		if p, err := evProfiles().Get(t.Context(), "P1-T0-1:P1-T0-2"); err != nil ||
			p.Version == 0 || p.Spec.MinActive != 2 {
			t.Errorf("EV profile %+v, %v", p, err)
		}
		x.finish(10 * time.Second)
		if n := f.lost() - lost; n != 0 {
			t.Errorf("%d packets are lost, want none", n)
		}
		if err := f.admin(mrc.Target{Link: link.ID}, api.AdminUp); err != nil {
			t.Fatal(err)
		}
		f.until(5*time.Second, "the link is used again", f.deniesNothing)
	})
}

// TestLinkLostDuringRestart: if a link fails while no controller runs, hosts stop using the link
// when a controller runs again.
func TestLinkLostDuringRestart(t *testing.T) {
	long(t)
	run(t, nil, func(t *testing.T, f *bed) {
		f.stop()
		var err error
		f.do(func() { err = f.world.SetLink("P1-T0-1", "P1-T1-2", false) })
		if err != nil {
			t.Fatal(err)
		}
		f.start()
		f.learn()
		f.until(20*time.Second, "no host uses the link", func() bool {
			crossing, denied, _ := f.crossing("P1-T0-1", "P1-T1-2")
			return f.ready() && crossing == denied
		})
		lost := f.lost()
		f.traffic(20 << 10).finish(5 * time.Second)
		if n := f.lost() - lost; n != 0 {
			t.Errorf("%d packets are lost on the way round", n)
		}
		f.setLink("P1-T0-1", "P1-T1-2", true)
		f.until(10*time.Second, "the link is used", func() bool {
			crossing, denied, _ := f.crossing("P1-T0-1", "P1-T1-2")
			return crossing > 0 && denied == 0
		})
	})
}
