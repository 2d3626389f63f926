package multicast

import (
	"maps"
	"net/netip"
	"slices"
	"time"

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
func (f *Feature) joinLate(g *group, c *rdmacm.Conn) {
	first := len(g.late) == 0
	g.late[c.Peer] = &lateJoin{conn: c.LocalID, wait: f.env.Now + lateWait}
	if first {
		f.timers.Set(f.env.Now, func() { f.tryLate(g) })
	}
}

// tryLate goes on with the late receivers of a group.
func (f *Feature) tryLate(g *group) {
	if !f.connects(g) || len(g.late) == 0 {
		return
	}
	for _, a := range slices.SortedFunc(maps.Keys(g.late), netip.Addr.Compare) {
		l := g.late[a]
		if _, ok := g.cm.Conn(l.conn); !ok {
			delete(g.late, a)
			continue
		}
		if l.wait <= f.env.Now {
			g.cm.Wait(l.conn, waitExponent)
			l.wait = f.env.Now + lateWait
		}
		ready := g.phase == steady && f.complete(g) && (!l.taken || g.hasIn(a))
		if l.asked || !ready {
			continue
		}
		l.asked = true
		f.begin(g, func(psn, msn uint32, idle bool) { f.foundLate(g, a, l, psn, msn, idle) })
	}
	f.settleConnections(g)
	f.timers.Set(f.env.Now+lateGap, func() { f.tryLate(g) })
}

// hasIn reports whether the last complete tree contains a receiver with the queue pair and PSN of
// the connection.
func (g *group) hasIn(a netip.Addr) bool {
	_, b := g.installed.FindReceiver(a)
	c, ok := g.cm.Conn(g.receivers[a].Conn)
	return b != nil && ok && b.Receiver.QPN == c.PeerQPN && b.Receiver.StartPSN == g.receivers[a].PSN
}

// foundLate takes the answer where a group is, for a late receiver.
func (f *Feature) foundLate(g *group, a netip.Addr, l *lateJoin, psn, msn uint32, idle bool) {
	l.asked = false
	if g.late[a] != l {
		return
	}
	switch {
	case l.taken && psn == l.psn:
		delete(g.late, a)
		f.acceptReceiver(g, l.conn)
		return
	case l.taken: // it has missed something
		delete(g.receivers, a)
		l.taken = false
	case !idle:
		return
	default:
		g.receivers[a] = joined{Conn: l.conn, PSN: psn, MSN: msn}
		delete(g.evicted, a)
		l.taken, l.psn = true, psn
	}
	f.place(g, false)
	f.takePairs(g)
	f.save(g)
}
