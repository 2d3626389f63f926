package faults

import (
	"fmt"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/packet"
)

// between is a random duration.
func (s *scenario) between(lo, hi time.Duration) time.Duration {
	return lo + time.Duration(s.rng.Int64N(int64(hi-lo)))
}

// restart turns a switch off and, a while later, on again, empty.
func (s *scenario) restart(name string, at float64, off time.Duration) {
	s.when(at, func() { s.power(name, off) })
}

// power turns a switch off; a positive off turns it on again, empty, after so long.
func (s *scenario) power(name string, off time.Duration) {
	node, err := s.world.Switch(name)
	if s.must(err); err != nil || node.Down() {
		return
	}
	s.tell("%s goes off", name)
	node.Stop()
	s.control.SwitchChanged(name)
	s.control.NetworkChanged()
	if off > 0 {
		s.world.After(off, func() {
			s.tell("%s is back, empty", name)
			s.must(node.Start())
			s.control.SwitchChanged(name)
			s.control.NetworkChanged()
		})
	}
}

// cut takes the link down by which an edge gets the data; a positive off brings it back.
func (s *scenario) cut(b string, at float64, off time.Duration) {
	s.when(at, func() { s.link(s.parent(b), b, off) })
}

// link takes a link down; a positive off brings it back after so long.
func (s *scenario) link(a, b string, off time.Duration) {
	s.tell("link %s-%s goes down", a, b)
	s.must(s.world.SetLink(a, b, false))
	s.control.NetworkChanged()
	if off > 0 {
		s.world.After(off, func() {
			s.tell("link %s-%s is back", a, b)
			s.must(s.world.SetLink(a, b, true))
			s.control.NetworkChanged()
		})
	}
}

// parent is the switch of the tree that an edge hangs off.
func (s *scenario) parent(edge string) string {
	if status := s.status(); status != nil && status.Tree != nil {
		for _, n := range status.Tree.Nodes {
			if n.Switch == edge && n.Parent != "" {
				return n.Parent
			}
		}
	}
	return "N4" // between two controllers nobody knows: it may not be of the tree
}

// die turns the switch off for good that an edge hangs off.
func (s *scenario) die(edge string, at float64) {
	s.when(at, func() { s.power(s.parent(edge), 0) })
}

// restartController stops the controller and starts another on the same store.
func (s *scenario) restartController(at float64, off time.Duration) {
	s.when(at, func() { s.pauseController(off) })
}

// loseController stops the controller, starts another that knows nothing, and applies the group
// again.
func (s *scenario) loseController(off time.Duration) change {
	return func(done func()) {
		s.tell("the controller stops for %v and loses its store", off)
		s.holdLast()
		s.control.Stop()
		s.control.LoseStore()
		s.world.After(off, func() {
			s.tell("a new controller starts")
			s.must(s.control.Start())
			s.request(func() {
				s.tell("the group is programmed again")
				s.release()
				done()
			})
		})
	}
}

// kill has a receiver's host die for good: the group is to take it out by itself.
func (s *scenario) kill(host string, at float64) {
	s.when(at, func() {
		s.tell("%s dies", host)
		s.group.Receiver(host).Host.Stop()
		s.changes++
	})
}

// evicted notes the receivers that the controller has taken out.
func (s *scenario) evicted() {
	for _, a := range s.status().EvictedReceivers {
		for _, r := range s.group.Receivers {
			if r.Host.Config().Addr == a {
				s.tell("%s is evicted", r.Host.Name)
				s.group.Remove(r.Host.Name)
				s.changes--
				break
			}
		}
	}
}

// A change of membership takes several steps and must not meet another.
type change func(done func())

// inTurn makes changes of membership one after the other, spread over the transfer.
func (s *scenario) inTurn(changes ...change) {
	var next func(i int)
	next = func(i int) {
		if i == len(changes) {
			return
		}
		s.when(0.7*(float64(i)+s.rng.Float64())/float64(len(changes)), func() {
			s.changes++
			changes[i](func() {
				s.changes--
				next(i + 1)
			})
		})
	}
	next(0)
}

// whenProgrammed waits until the controller reports the group of the latest spec Programmed.
func (s *scenario) whenProgrammed(f func()) {
	if s.programmed() {
		f()
		return
	}
	s.world.After(time.Millisecond, func() { s.whenProgrammed(f) })
}

// request puts the spec as soon as a controller accepts the spec: the controller must be up and
// must have learned that the hosts in question can be reached.
func (s *scenario) request(f func()) {
	if err := s.put(); err != nil {
		s.world.After(time.Millisecond, func() { s.request(f) })
		return
	}
	s.whenProgrammed(f)
}

// place returns where a receiver can join: the first PSN of the next message, the number of
// preceding messages, and the offset of the message in the data.
func (s *scenario) place() (psn uint32, messages int, offset int) {
	psn = s.group.SourceQP.NextMessagePSN()
	messages = packet.PSNDiff(psn, s.group.Config.InitialPSN) / (s.message / pmtu)
	offset = messages * s.message
	if offset >= s.group.Size() {
		s.must(fmt.Errorf("a receiver at PSN %#06x would have nothing to receive", psn))
	}
	return psn, messages, offset
}

// join adds a receiver to the running transfer.
func (s *scenario) join(host string) change {
	return func(done func()) {
		psn, messages, offset := s.place()
		s.tell("%s joins at PSN %#06x", host, psn)
		s.must(s.group.SourceQP.HoldAt(psn))
		r, err := s.group.Join(host, psn, offset)
		s.must(err)
		s.spec.Receivers = append(s.spec.Receivers, api.GroupReceiver{
			Address: r.Host.Config().Addr, QPN: r.QP.Config().QPN, StartPSN: &psn,
			StartMSN: uint32(messages),
		})
		s.request(func() {
			s.tell("%s is programmed", host)
			s.release()
			done()
		})
	}
}

// recreate has a receiver lose its queue pair and make another.
func (s *scenario) recreate(host string) change {
	return func(done func()) {
		old := s.group.Receiver(host)
		psn, messages, offset := s.place()
		s.tell("%s makes its queue pair anew, from PSN %#06x", host, psn)
		s.must(s.group.SourceQP.HoldAt(psn))
		old.Host.DestroyQP(old.QP.Config().QPN)
		s.group.Remove(host)
		r, err := s.group.Rejoin(old, psn, offset)
		s.must(err)
		i := s.receiver(host)
		s.spec.Receivers = slices.Clone(s.spec.Receivers)
		s.spec.Receivers[i].QPN, s.spec.Receivers[i].StartPSN,
			s.spec.Receivers[i].StartMSN = r.QP.Config().QPN, &psn, uint32(messages)
		s.request(func() {
			s.tell("%s is programmed", host)
			s.release()
			done()
		})
	}
}

// remove takes a receiver out of the running transfer; when dead, it has stopped answering
// before.
func (s *scenario) remove(host string, dead bool) change {
	return func(done func()) {
		take := func() {
			s.tell("%s is removed", host)
			s.holdLast()
			i := s.receiver(host)
			s.group.Remove(host)
			s.spec.Receivers = slices.Delete(slices.Clone(s.spec.Receivers), i, i+1)
			s.request(func() {
				s.release()
				done()
			})
		}
		if !dead {
			take()
			return
		}
		s.tell("%s dies", host)
		s.group.Receiver(host).Host.Stop()
		s.world.After(s.between(time.Millisecond, 20*time.Millisecond), take)
	}
}

// holdLast keeps the source from ending the transfer during a change that does not block the
// source: the source continues to three fifths of the data, or to the end of the message begun.
func (s *scenario) holdLast() {
	psn := s.group.SourceQP.NextMessagePSN()
	messages := s.group.Size() / s.message
	if later := packet.PSNAdd(s.group.Config.InitialPSN,
		(messages*3/5)*(s.message/pmtu)); packet.PSNBefore(psn, later) {
		psn = later
	}
	s.must(s.group.SourceQP.HoldAt(psn))
}

func (s *scenario) receiver(host string) int {
	h, err := s.world.Host(host)
	s.must(err)
	return slices.IndexFunc(s.spec.Receivers, func(r api.GroupReceiver) bool {
		return r.Address == h.Config().Addr
	})
}

// release lets the source go on, in in-band mode with the receivers there are now.
func (s *scenario) release() {
	if s.spec.Mode == api.ModeInband {
		s.must(s.group.Encapsulate(s.status().Tree))
	}
	s.group.SourceQP.Release()
	s.group.Source.Wake()
}

// must records what cannot fail unless the test or the lab is wrong.
func (s *scenario) must(err error) {
	if err != nil && s.broken == nil {
		s.broken = err
	}
}

var _ lab.Tap = (*cnpSpacing)(nil)
