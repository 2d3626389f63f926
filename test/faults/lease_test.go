package faults

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/job/lease"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/topology"
)

const (
	leaseCalm = 2 * time.Second // after which every lease that can have paths has some
	leaseLook = 5 * time.Millisecond
	// leaseLost bounds the time that a lease stays on a denied or forgotten link.
	leaseLost = 300 * time.Millisecond
)

// leaseStory is a fabric with clients that lease paths during faults.
type leaseStory struct {
	*planesStory
	made int
	// lost maps a lease on a denied or forgotten link to the time of the loss.
	lost map[heldAt]time.Duration
	// broke and changed count events.
	broke, changed int
}

type heldAt struct {
	lease string
	link  topology.LinkID
}

// leases returns the leases and the network for leases, nil while the network is unknown.
func (s *leaseStory) leases() ([]api.PathLease, *lease.Network) {
	if s.control.Core() == nil {
		return nil, nil
	}
	return s.control.Core().Leases().List(), s.control.Paths.Core().View().Leases
}

// act requests a lease, or deletes or moves a present lease.
func (s *leaseStory) act() {
	all, _ := s.leases()
	name := ""
	if len(all) > 0 {
		name = all[s.rng.IntN(len(all))].Name
	}
	what := s.rng.IntN(6)
	if name == "" || what < 3 {
		what, name = 0, fmt.Sprint("l", s.made)
		s.made++
	}
	spec := s.wish()
	text := fmt.Sprintf("%d of lease %s %+v", what, name, spec)
	s.ask(text, func(core *controller.Core) (err error) {
		switch what {
		case 0:
			_, _, err = core.Leases().Put(name, spec, resource.Precondition{})
		case 3:
			err = core.Leases().Delete(name, resource.Precondition{})
		default:
			err = core.AskLease(name, api.MoveLease{}, resource.Precondition{})
		}
		return err
	})
}

// wish returns a random spec.
func (s *leaseStory) wish() api.PathLeaseSpec {
	hosts, rate := s.world.Network.Hosts, s.world.Network.Links[0].Rate
	from := s.rng.IntN(len(hosts))
	to := (from + 1 + s.rng.IntN(len(hosts)-1)) % len(hosts)
	spec := api.PathLeaseSpec{Pairs: []api.LeasePair{{From: hosts[from].Name, To: hosts[to].Name}},
		Paths: 1 + s.rng.IntN(2), Bandwidth: rate / 4 * uint64(s.rng.IntN(4)),
		Priority: s.rng.IntN(3), Sharing: api.LeaseShared}
	if s.rng.IntN(4) == 0 {
		spec.Sharing = api.LeaseExclusive
	}
	if s.rng.IntN(2) == 0 {
		spec.Duration = api.Duration(time.Second + time.Duration(s.rng.Int64N(int64(2*time.Second))))
	}
	return spec
}

// trouble breaks something for a while.
func (s *leaseStory) trouble() {
	off := s.between(time.Millisecond, 400*time.Millisecond)
	p, i := 1+s.rng.IntN(2), 1+s.rng.IntN(2)
	switch s.rng.IntN(4) {
	case 0:
		s.link(fmt.Sprintf("P%d-T0-%d", p, i), fmt.Sprintf("P%d-T1-%d", p, 1+s.rng.IntN(2)), off)
	case 1:
		s.power(fmt.Sprintf("P%d-T1-%d", p, i), off)
	case 2:
		h := s.rng.IntN(4)
		s.link(fmt.Sprintf("P%d-T0-%d", p, 1+h/2), s.world.Network.Hosts[h].Name, off)
	case 3:
		s.pauseController(off)
	}
}

// look checks the leases again and again. Reservations of a link fit its capacity. An exclusive
// lease shares no link. No lease stays on a denied link.
func (s *leaseStory) look() {
	s.world.After(leaseLook, s.look)
	all, network := s.leases()
	if network == nil {
		clear(s.lost)
		return
	}
	reserved, holders := make(map[topology.LinkID]uint64), make(map[topology.LinkID][]string)
	exclusive, lost := make(map[topology.LinkID]string), make(map[heldAt]time.Duration)
	for i := range all {
		l := &all[i]
		for id, n := range s.held(l) {
			reserved[id] += n
			holders[id] = append(holders[id], l.Name)
			if l.Spec.Sharing == api.LeaseExclusive {
				exclusive[id] = l.Name
			}
			if _, there := network.Links()[id]; there && !network.Down[id] {
				continue
			}
			on := heldAt{l.Name, id}
			since, ok := s.lost[on]
			if !ok {
				since = s.world.Now()
			}
			if lost[on] = since; s.world.Now()-since > leaseLost {
				s.fail("lease %s is on link %s since %v, which is denied", l.Name, id, since)
			}
		}
	}
	s.lost = lost
	for id, n := range reserved {
		if link, there := network.Links()[id]; there && n > link.Capacity {
			s.fail("link %s carries %d bit/s, and %v have %d", id, link.Capacity, holders[id], n)
		}
		if exclusive[id] != "" && len(holders[id]) > 1 {
			s.fail("lease %s shares link %s: %v", exclusive[id], id, holders[id])
		}
	}
}

// held returns the bit/s that a lease reserves on each link. A client sends on new or former paths:
// the larger sum counts.
func (s *leaseStory) held(l *api.PathLease) map[topology.LinkID]uint64 {
	out := make(map[topology.LinkID]uint64)
	for _, paths := range [][]api.LeasedPath{l.Status.Paths, l.Status.Former} {
		sum := make(map[topology.LinkID]uint64)
		for _, p := range paths {
			for _, id := range p.Links {
				sum[id] += l.Spec.Bandwidth
			}
		}
		for id, n := range sum {
			out[id] = max(out[id], n)
		}
	}
	return out
}

// settled checks the leases after a calm time. An active lease has the number of paths in the spec.
// A shared lease without bandwidth breaks only where no path remains.
func (s *leaseStory) settled() {
	all, network := s.leases()
	switch {
	case s.control.MRC.Mode == "ecmp":
		if network != nil || len(all) > 0 {
			s.fail("there are leases where nobody knows the paths: %+v", all)
		}
		return
	case network == nil:
		s.fail("the fabric is not known any more")
		return
	}
	down := func(id topology.LinkID) bool { return network.Down[id] }
	exclusive := make(map[topology.LinkID]bool)
	for i := range all {
		for id := range s.held(&all[i]) {
			exclusive[id] = exclusive[id] || all[i].Spec.Sharing == api.LeaseExclusive
		}
	}
	for i := range all {
		l := &all[i]
		switch l.Status.Phase {
		case api.LeaseActive, api.LeaseMoving:
			if len(l.Status.Paths) != l.Spec.Paths {
				s.fail("lease %s has %d paths, want %d", l.Name, len(l.Status.Paths), l.Spec.Paths)
			}
		case api.LeaseBroken:
			if l.Spec.Sharing == api.LeaseShared && l.Spec.Bandwidth == 0 {
				free := slices.DeleteFunc(network.Paths(l.Spec.Pairs[0].From, l.Spec.Pairs[0].To),
					func(p lease.Path) bool {
						return slices.ContainsFunc(p.Links, func(id topology.LinkID) bool {
							return exclusive[id] || down(id)
						}) || slices.ContainsFunc(p.Ends, down)
					})
				if len(free) >= l.Spec.Paths {
					s.fail("lease %s is broken, and has %d paths to choose from: %s", l.Name, len(free),
						l.Status.Reason)
				}
			}
		}
	}
}

// runLeases is the run of a seed.
func runLeases(seed uint64, cache *p4rt.Cache) (*leaseStory, error) {
	planes, err := newPlanes(seed, cache)
	s := &leaseStory{planesStory: planes, lost: make(map[heldAt]time.Duration)}
	if err != nil {
		return s, err
	}
	s.control.Events = func(e api.Event) {
		switch e.Type {
		case api.EventLeaseBroken:
			s.broke++
		case api.EventLeaseChanged:
			s.changed++
		}
		s.tell("%s %s: %s", e.Type, e.Object, e.Message)
	}
	s.look()
	s.play(clientTrouble, s.act, s.trouble, leaseCalm)
	for view := uint64(0); s.broken == nil && s.world.Now() < limit; {
		v := s.control.Paths.Core().View()
		if v.Revision == view { // leases have followed it by now
			s.settled()
			break
		}
		view = v.Revision
		s.world.Run(s.world.Now()+leaseLost, s.stopped)
	}
	return s, s.outcome()
}

// TestLeases: clients request, move and delete leases during failures of links, switches and ports,
// and restarts of controllers. Functions look and settled check the leases.
func TestLeases(t *testing.T) {
	var broken, moved atomic.Uint64
	n := sweep(t, clientSeeds, func(seed uint64, cache *p4rt.Cache) ([]string, error) {
		s, err := runLeases(seed, cache)
		broken.Add(uint64(s.broke))
		moved.Add(uint64(s.changed))
		return s.story, err
	})
	t.Logf("%d events of leases, of which %d broke, in %d seeds", moved.Load()+broken.Load(),
		broken.Load(), n)
	if n >= 8 && (broken.Load() < n/4 || moved.Load() < 4*n) {
		t.Errorf("%d leases broke and %d changed in %d seeds: too few", broken.Load(), moved.Load(), n)
	}
}
