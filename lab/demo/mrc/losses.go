package mrc

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/lab/demo/flow"
)

// A setback is something that failed under traffic, and what it came to.
type setback struct {
	name string
	loss lab.Loss
	pod  int           // of what is lost, when that is in one
	port int           // of all hosts, that is lost; 0: none
	at   time.Duration // of the world's time
	real time.Duration // and of the real clock, if that is another
	// told is how many hosts applied a new state, last the time from the failure until the last of
	// them did, and denied the number of EVs that they deny since. missed are the hosts that needed a
	// new state and got none.
	told   int
	last   time.Duration
	denied int
	missed int
	// kept is the goodput from keptAfter after the last notified host, as a fraction of the max-min
	// fair shares over the remaining network; 0: it did not last that long.
	kept float64
}

// setbacks returns the failures of the demo in their order, without failures that would leave two
// hosts without a path.
func (d *demo) setbacks(n *lab.Network) ([]*setback, error) {
	plane, err := n.Plane(1)
	if err != nil {
		return nil, err
	}
	last := fmt.Sprintf("P1-T1-%d", d.Fabric.T1)
	all := []*setback{
		{name: "a link, P1-T0-1 - P1-T1-1", loss: lab.Loss{Links: [][2]string{{"P1-T0-1", "P1-T1-1"}}}},
		{name: "a T1, " + last, loss: lab.Loss{Switches: []string{last}}, pod: d.Fabric.Pod(d.Fabric.T1,
			d.Fabric.T1)},
		{name: fmt.Sprintf("plane 1, %d switches", len(plane.Switches)), loss: plane, port: 1},
	}
	var out []*setback
	var lost []lab.Loss
	for _, s := range all {
		if !n.LeavesPaths(append(lost, s.loss)...) {
			d.say("%s is not lost: there would be hosts without a path", s.name)
			continue
		}
		lost = append(lost, s.loss)
		out = append(out, s)
	}
	return out, nil
}

// Between failures: capacity is kept when goodput has its due value keptAfter after the last
// notified host; the measurement takes keptTrips round trips and the settle time at least.
const (
	keptAfter     = time.Second
	mostKeptTrips = 40 // of keptAfter: on fast links things are over sooner
	keptTrips     = 20
)

// wait is from the last host told, or the start, to what is measured, and measure how long that is.
func (d *demo) wait() (wait, measure time.Duration) {
	return min(keptAfter, mostKeptTrips*d.rtt), max(keptTrips*d.rtt, d.settle)
}

// fail breaks one part after the other while a mesh continues, and measures the remaining goodput.
func (d *demo) fail(ctx context.Context, m *lab.Mesh) error {
	for _, s := range d.losses {
		if err := flow.Until(ctx, d.stage, "it is time for a failure", d.calm(m), m); err != nil {
			return err
		}
		err := d.stage.Do(ctx, func(w *lab.World) error {
			s.at, s.real = w.Now(), w.Now()+w.Slipped()
			return nil
		})
		if err == nil {
			err = d.stage.Lose(ctx, s.loss)
		}
		if err != nil {
			return err
		}
		d.say("under traffic, fails %s", s.name)
	}
	return flow.Until(ctx, d.stage, "hosts are told", d.calm(m), m)
}

// tellTime is the time by the real clock in which the controller must report a failure to hosts.
const tellTime = 10 * time.Second

// heard reports whether all hosts that the last failure concerns have heard about the failure, or
// time has run out.
func (d *demo) heard(w *lab.World) bool {
	var last *setback
	for _, s := range d.losses {
		if s.failed() {
			last = s
		}
	}
	now := w.Now() + w.Slipped()
	return last == nil || now >= last.real+tellTime || d.unaware(w, last, now+1) == 0
}

// failed reports whether it has happened.
func (s *setback) failed() bool { return s.at > 0 }

// unaware counts the hosts that a failure concerns and that heard nothing about the failure before
// a time on the real clock.
func (d *demo) unaware(w *lab.World, s *setback, before time.Duration) (hosts int) {
	for i, h := range w.Network.Hosts {
		node, err := w.MRCHost(h.Name)
		if err != nil {
			continue // all hosts of the demo speak MRC
		}
		if _, _, ok := node.Changed(s.real, before); !ok && d.concerns(s, i) {
			hosts++
		}
	}
	return hosts
}

// concerns reports whether a failure takes entropy values from the h-th host, from 0. With
// structured values a T2 chooses among its links to the T1s of a pod, so the values remain good for
// hosts elsewhere while the T2 has such a link.
func (d *demo) concerns(s *setback, h int) bool {
	f := d.Fabric
	switch {
	case s.port > 0:
		return true
	case d.Mode == ev.ModeECMP, f.T0 == 1: // no value has a known path, or none crosses a T1
		return false
	case d.Mode != ev.ModeStructured, f.Tiers == 2:
		return true
	}
	t1 := 0 // of the pod
	for i := 1; i <= f.T1; i++ {
		if f.Pod(i, f.T1) == s.pod {
			t1++
		}
	}
	return t1 == 1 || f.Pod(f.Leaf(h), f.T0) == s.pod
}

// calm returns when the last failure was announced and its effect measured.
func (d *demo) calm(m *lab.Mesh) func() bool {
	since := time.Duration(-1) // the first time that it is so
	wait, measure := d.wait()
	return func() bool {
		if !d.heard(m.World()) {
			return false
		}
		if since < 0 {
			since = m.World().Now()
		}
		return m.World().Now() >= since+wait+measure
	}
}

// review reports what the setbacks came to, once the traffic is over.
func (d *demo) review(ctx context.Context, p *phase) error {
	wait, _ := d.wait()
	return d.stage.Do(ctx, func(w *lab.World) error {
		var lost []lab.Loss
		// The story leaves out failures that the demo did not reach.
		d.losses = slices.DeleteFunc(d.losses, func(s *setback) bool { return !s.failed() })
		for i, s := range d.losses {
			end, realEnd := p.finished, w.Now()+w.Slipped()
			if i+1 < len(d.losses) {
				end, realEnd = d.losses[i+1].at, d.losses[i+1].real
			}
			for _, h := range w.Network.Hosts {
				node, err := w.MRCHost(h.Name)
				if err != nil {
					return err
				}
				at, denied, ok := node.Changed(s.real, realEnd)
				if !ok {
					continue
				}
				s.told++
				s.denied += denied
				s.last = max(s.last, at-s.real)
			}
			s.missed = d.unaware(w, s, realEnd)
			lost = append(lost, s.loss)
			shares, err := w.Network.AllToAllShares(lost...)
			if err != nil {
				return err
			}
			if from := s.at + s.last + wait; from < end {
				s.kept = p.meter.Rate(from, end) * 8 / (shares.Total() * lab.PayloadShare)
			}
		}
		return nil
	})
}
