package faults

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/host/nic"
	"github.com/weft-sdn/weft/lab"
)

// planesStory is a fabric of planes with MRC hosts that write to each other, plus the faults during
// the writes.
type planesStory struct {
	scenario
	mesh    *lab.Mesh
	trimmed uint64 // packets that came without their payload
}

// planeFormats are how packets say their path; a seed has one.
var planeFormats = []struct{ mode, hops string }{
	{"ecmp", "links"}, {"stev", "links"}, {"usid-f3216", "links"}, {"usid-f1616", "links"},
	{"usid-srh", "links"}, {"usid-f3216", "nodes"}, {"usid-srh", "nodes"},
	{"usid-structured", "links"},
}

// newPlanes builds the fabric of a seed, programs it, and waits until all hold what they should.
func newPlanes(seed uint64, cache *p4rt.Cache) (*planesStory, error) {
	s := &planesStory{scenario: scenario{rng: rand.New(rand.NewPCG(seed, 2))}}
	network := lab.Clos(lab.ClosConfig{
		Planes: 2, T0: 2, T1: 2, Hosts: 4, Delay: time.Duration(1+s.rng.IntN(10)) * time.Microsecond,
		Rate: 1e9 * uint64(1+s.rng.IntN(25)),
	})
	var err error
	if s.world, err = lab.NewWorld(network,
		lab.Options{Seed: seed, Cache: cache, Managed: true}); err != nil {
		return nil, err
	}
	if s.control, err = lab.NewControl(s.world, lab.DefaultLatencies()); err != nil {
		return nil, err
	}
	f := planeFormats[seed/planeKinds%uint64(len(planeFormats))]
	mrc := inventory.Default().MRC
	mrc.Mode, mrc.Hops = f.mode, f.hops
	// Short queues, so that packets are trimmed at every tier.
	mrc.Classes.DataPackets = uint32(3 + s.rng.IntN(8))
	mrc.Classes.ECNMin, mrc.Classes.ECNMax = mrc.Classes.DataPackets/5, mrc.Classes.DataPackets*4/5
	s.control.MRC = &mrc
	s.tell("%s, %s, links of %d Gb/s", f.mode, f.hops, network.Links[0].Rate/1e9)
	if err := s.control.Start(); err != nil {
		return nil, err
	}
	if !s.world.Run(time.Second, func() bool { return s.connected() && s.control.Instructed() }) {
		return s, fmt.Errorf("switches and hosts do not hold what they are to hold within a second: %v",
			s.control.Err())
	}
	if seed/planeKinds%3 > 0 {
		s.runPrograms()
	}
	return s, nil
}

// connect has hosts ready to send to each other.
func (s *planesStory) connect() (err error) {
	network := &s.world.Network
	const pmtu = 1024
	cfg := lab.MeshConfig{
		Message: pmtu * (1 + s.rng.IntN(8)), Immediate: s.rng.IntN(4), QP: nic.DefaultQPConfig(),
	}
	cfg.QP.PMTU = pmtu
	incast := s.rng.IntN(2) == 0 // all to one
	sink := s.rng.IntN(4)
	for range 3 + s.rng.IntN(3) {
		from := s.rng.IntN(4)
		to := (from + 1 + s.rng.IntN(3)) % 4
		if incast {
			from, to = (sink+1+s.rng.IntN(3))%4, sink
		}
		cfg.Flows = append(cfg.Flows, lab.FlowConfig{From: network.Hosts[from].Name,
			To: network.Hosts[to].Name, Bytes: pmtu*(100+s.rng.IntN(150)) - s.rng.IntN(pmtu)})
	}
	if s.mesh, err = s.world.NewMesh(cfg); err != nil {
		return err
	}
	s.progress = s.mesh.Progress
	return nil
}

// planeKinds is the number of kinds of trouble; the remainder of a seed chooses its kind.
const planeKinds = 7

// planesOf is the story of a seed, ready to run.
func planesOf(seed uint64, cache *p4rt.Cache) (*planesStory, error) {
	s, err := newPlanes(seed, cache)
	if err == nil {
		err = s.connect()
	}
	if err != nil {
		return s, err
	}
	s.noise(0.01)
	off := func() time.Duration {
		if s.rng.IntN(3) == 0 {
			return 0
		}
		return s.between(100*time.Microsecond, 50*time.Millisecond)
	}
	when, p := 0.05+0.6*s.rng.Float64(), 1+s.rng.IntN(2)
	switch seed % planeKinds {
	case 1:
		s.when(when, func() {
			s.link(fmt.Sprintf("P%d-T0-%d", p, 1+s.rng.IntN(2)),
				fmt.Sprintf("P%d-T1-%d", p, 1+s.rng.IntN(2)), off())
		})
	case 2:
		s.when(when, func() { s.power(fmt.Sprintf("P%d-T1-%d", p, 1+s.rng.IntN(2)), off()) })
	case 3:
		s.when(when, func() { s.power(fmt.Sprintf("P%d-T0-%d", p, 1+s.rng.IntN(2)), off()) })
	case 4: // a whole plane
		s.when(when, func() {
			d := off()
			for _, tier := range []int{0, 1} {
				for i := range 2 {
					s.power(fmt.Sprintf("P%d-T%d-%d", p, tier, i+1), d)
				}
			}
		})
	case 5: // a host's port
		s.when(when, func() {
			i := s.rng.IntN(4)
			s.link(fmt.Sprintf("P%d-T0-%d", p, 1+i/2), s.world.Network.Hosts[i].Name, off())
		})
	case 6: // a flapping link, and the controller restarts
		s.when(when, func() {
			for i := range 5 {
				s.world.After(time.Duration(i)*4*time.Millisecond, func() {
					s.link(fmt.Sprintf("P%d-T0-1", p), fmt.Sprintf("P%d-T1-1", p), 2*time.Millisecond)
				})
			}
		})
		s.restartController(when, s.between(time.Millisecond, 20*time.Millisecond))
	}
	return s, nil
}

// stuck describes the flows that are not done.
func (s *planesStory) stuck() (text string) {
	for _, f := range s.mesh.Flows {
		if f.Ended == 0 {
			text += fmt.Sprintf("\n  %s to %s: %v, %d octets in flight, next PSN %#x, acknowledged %#x\n  "+
				"  %+v\n    peer %+v",
				f.From, f.To, f.QP.Schedule(), f.QP.InFlight(), f.QP.NextPSN(), f.QP.UnackPSN(),
				f.QP.Counters(), f.SinkQP.Counters())
		}
	}
	return text
}

// run lets the transfer come to its end.
func (s *planesStory) run() error {
	if err := s.mesh.Start(); err != nil {
		return err
	}
	var failed error
	done := s.world.Run(limit, func() bool {
		failed = s.mesh.Pump()
		s.strike()
		return failed != nil || s.broken != nil || s.mesh.Done()
	})
	switch {
	case failed != nil:
		return failed
	case s.broken != nil:
		return s.broken
	case s.control.Err() != nil:
		return fmt.Errorf("controller: %w", s.control.Err())
	case !done:
		return fmt.Errorf("not done after %v of virtual time: %.0f %%%s", s.world.Now(),
			100*s.mesh.Progress(), s.stuck())
	case s.mesh.Corrupt() > 0:
		return fmt.Errorf("%d flows are corrupt", s.mesh.Corrupt())
	}
	for _, f := range s.mesh.Flows {
		if f.QP.Failed() || f.SinkQP.Failed() {
			return fmt.Errorf("queue pair of %s to %s in error", f.From, f.To)
		}
		s.trimmed += f.SinkQP.Counters().Trimmed
	}
	return nil
}

// TestPlanes: in whatever way packets say their path, whatever a link, a switch, a plane or the
// wires do, all that MRC hosts write arrives, immediate data in order, and no queue pair fails.
func TestPlanes(t *testing.T) {
	var trimming atomic.Uint64
	n := sweep(t, planeSeeds, func(seed uint64, cache *p4rt.Cache) ([]string, error) {
		s, err := planesOf(seed, cache)
		if err == nil {
			err = s.run()
		}
		if err == nil && s.trimmed > 0 {
			trimming.Add(1)
		}
		return s.story, err
	})
	t.Logf("packets were trimmed in %d of %d seeds", trimming.Load(), n)
	if n >= 20 && trimming.Load() < n/4 {
		t.Errorf("packets were trimmed in %d of %d seeds only", trimming.Load(), n)
	}
}
