package connect

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/controller/multicast/member"
	"github.com/weft-sdn/weft/controller/multicast/tree"
	"github.com/weft-sdn/weft/internal/rdmacm"
)

// A lateJoin is a receiver that joins while the group has a source. The fabric does not hold
// packets, so the receiver begins at a pause of the source. The controller adds the receiver to the
// tree when all packets are acknowledged, and answers the receiver if the source has sent nothing
// since. Otherwise the controller removes the receiver from the tree and tries again.
type lateJoin struct {
	conn  uint32
	psn   uint32
	taken bool          // it is in the tree
	asked bool          // the group is being asked where it is
	wait  time.Duration // when it is asked to wait for longer
}

// Pauses between two attempts of a late receiver, and between two messages that ask it to wait.
const (
	lateGap  = 100 * time.Millisecond
	lateWait = 10 * time.Second
)

// joinLate has a receiver wait for a pause of the source.
func (s *session) joinLate(c *rdmacm.Conn) {
	first := len(s.late) == 0
	s.late[c.Peer] = &lateJoin{conn: c.LocalID, wait: s.env.Now + lateWait}
	if first {
		s.after(s.env.Now, s.tryLate)
	}
}

// tryLate goes on with the late receivers of a group.
func (s *session) tryLate() {
	if len(s.late) == 0 {
		return
	}
	_, installed, settled := s.Now()
	for _, a := range slices.SortedFunc(maps.Keys(s.late), netip.Addr.Compare) {
		l := s.late[a]
		if _, ok := s.cm.Conn(l.conn); !ok {
			delete(s.late, a)
			continue
		}
		if l.wait <= s.env.Now {
			s.cm.Wait(l.conn, waitExponent)
			l.wait = s.env.Now + lateWait
		}
		if l.asked || !settled || l.taken && !s.in(installed, a) {
			continue
		}
		l.asked = true
		s.where(func(psn, msn uint32, idle bool) { s.foundLate(a, l, psn, msn, idle) })
	}
	s.settle()
	s.after(s.env.Now+lateGap, s.tryLate)
}

// in reports whether a tree contains a receiver with the queue pair and PSN of the connection.
func (s *session) in(t *tree.Placement, a netip.Addr) bool {
	_, b := t.FindReceiver(a)
	c, ok := s.cm.Conn(s.Receivers[a].Conn)
	return b != nil && ok && b.Receiver.QPN == c.PeerQPN && b.Receiver.StartPSN == s.Receivers[a].PSN
}

// foundLate takes the answer where a group is, for a late receiver.
func (s *session) foundLate(a netip.Addr, l *lateJoin, psn, msn uint32, idle bool) {
	l.asked = false
	if s.late[a] != l {
		return
	}
	switch {
	case l.taken && psn == l.psn:
		delete(s.late, a)
		s.accept(l.conn)
		return
	case l.taken: // it has missed something
		delete(s.Receivers, a)
		l.taken = false
	case !idle:
		return
	default:
		s.Receivers[a] = member.Joined{Conn: l.conn, PSN: psn, MSN: msn}
		delete(s.Evicted, a)
		l.taken, l.psn = true, psn
	}
	s.moved = true
	s.Changed(true)
}

// alive reports whether a session has not ended.
func (s *session) alive() bool { return s.sessions[s.Index] == s }

// after calls a function of a session at a time, unless the session has ended.
func (s *session) after(at time.Duration, do func()) {
	s.timers.Set(at, func() {
		if s.alive() {
			do()
		}
	})
}
