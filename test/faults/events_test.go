package faults

import (
	"slices"
	"time"

	"github.com/weft-sdn/weft/controller/intent"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/packet"
)

// between is a random time of the first milliseconds of the transfer.
func (s *scenario) between(lo, hi time.Duration) time.Duration {
	return lo + time.Duration(s.rng.Int64N(int64(hi-lo)))
}

// restart turns a switch off and, a while later, on again, empty.
func (s *scenario) restart(name string, at, off time.Duration) {
	s.world.At(at, func() {
		node, _ := s.world.Switch(name)
		if node.Down() {
			return
		}
		s.tell("%s goes off for %v", name, off)
		node.Stop()
		s.control.SwitchChanged(name)
		s.control.NetworkChanged()
		s.world.After(off, func() {
			s.tell("%s is back, empty", name)
			s.must(node.Start())
			s.control.SwitchChanged(name)
			s.control.NetworkChanged()
		})
	})
}

// cut takes a link down; a positive off brings it back.
func (s *scenario) cut(a, b string, at, off time.Duration) {
	s.world.At(at, func() {
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
	})
}

// die turns a switch off for good.
func (s *scenario) die(name string, at time.Duration) {
	s.world.At(at, func() {
		node, _ := s.world.Switch(name)
		s.tell("%s dies", name)
		node.Stop()
		s.control.SwitchChanged(name)
		s.control.NetworkChanged()
	})
}

// restartController stops the controller and starts another on the same store.
func (s *scenario) restartController(at, off time.Duration) {
	s.world.At(at, func() {
		s.tell("the controller stops for %v", off)
		s.control.Stop()
		s.world.After(off, func() {
			s.tell("a new controller starts")
			s.must(s.control.Start())
		})
	})
}

// A change of membership takes several steps and must not meet another.
type change func(done func())

// inTurn makes changes of membership one after the other.
func (s *scenario) inTurn(at time.Duration, changes ...change) {
	if len(changes) == 0 {
		return
	}
	s.changes += len(changes)
	var next func(i int)
	next = func(i int) {
		if i == len(changes) {
			return
		}
		changes[i](func() {
			s.changes--
			s.world.After(time.Millisecond, func() { next(i + 1) })
		})
	}
	s.world.At(at, func() { next(0) })
}

// whenProgrammed waits until the controller reports the group of the latest spec Programmed.
func (s *scenario) whenProgrammed(f func()) {
	if s.programmed() {
		f()
		return
	}
	s.world.After(time.Millisecond, func() { s.whenProgrammed(f) })
}

// request puts the spec as soon as there is a controller to take it: one that is up and has
// learned that the hosts concerned can be reached.
func (s *scenario) request(f func()) {
	if err := s.put(); err != nil {
		s.world.After(time.Millisecond, func() { s.request(f) })
		return
	}
	s.whenProgrammed(f)
}

// place is where a receiver can join: the first PSN of a message that has not begun, the
// messages before it, and its offset in the data.
func (s *scenario) place() (psn uint32, messages int, offset int) {
	psn = s.group.SourceQP.NextMessagePSN()
	messages = packet.PSNDiff(psn, s.group.Config.InitialPSN) / (s.message / pmtu)
	return psn, messages, messages * s.message
}

// join adds a receiver to the running transfer.
func (s *scenario) join(host string) change {
	return func(done func()) {
		psn, messages, offset := s.place()
		s.tell("%s joins at PSN %#06x", host, psn)
		s.must(s.group.SourceQP.HoldAt(psn))
		r, err := s.group.Join(host, psn, offset)
		s.must(err)
		s.spec.Receivers = append(s.spec.Receivers, intent.Receiver{
			Address: r.Host.Config().Addr, QPN: r.QP.Config().QPN, StartPSN: &psn, StartMSN: uint32(messages),
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
		s.spec.Receivers[i].QPN, s.spec.Receivers[i].StartPSN, s.spec.Receivers[i].StartMSN = r.QP.Config().QPN, &psn, uint32(messages)
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

func (s *scenario) receiver(host string) int {
	h, err := s.world.Host(host)
	s.must(err)
	return slices.IndexFunc(s.spec.Receivers, func(r intent.Receiver) bool { return r.Address == h.Config().Addr })
}

// release lets the source go on, in in-band mode with the receivers there are now.
func (s *scenario) release() {
	if s.spec.Mode == intent.Inband {
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
