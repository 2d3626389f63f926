package nic

import (
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/packet"
)

// Port Status Updates are best effort (OCP MRC 1.0, sections 7.3 and 7.4.8): the NIC repeats an
// unanswered update as a new request, after a pause that doubles from Config.Host.EndpointTimeout
// on, at most maxPortUpdates times.
const maxPortUpdates = 6

// An update is a port status that the host still has to deliver to a peer of queue pairs. Requests
// carry no order, and the network may reorder requests. So an update is delivered when the newest
// request is answered and no older request is in progress.
type update struct {
	peer     netip.Addr
	sent     int      // since the ports changed
	open     []uint16 // requests under way
	newest   uint16   // of them, while waiting
	waiting  bool     // for the newest
	answered bool     // the newest was, while older ones were under way
	due      time.Duration
}

// tellPeers schedules an update on the ports for every peer of queue pairs.
func (n *NIC) tellPeers() {
	if !n.cfg.PortUpdates {
		return
	}
	for _, f := range n.flows {
		n.tellPeer(f.peer)
	}
}

// tellPeer has a peer hear it.
func (n *NIC) tellPeer(peer netip.Addr) {
	i := slices.IndexFunc(n.updates, func(u *update) bool { return u.peer == peer })
	if i < 0 {
		i = len(n.updates)
		n.updates = append(n.updates, &update{peer: peer})
	}
	n.updates[i].again()
}

// again has the update sent at once, whatever is under way.
func (u *update) again() { u.sent, u.due, u.waiting, u.answered = 0, 0, false, false }

// ready reports whether the update must be sent when its time has come.
func (u *update) ready() bool { return !u.waiting && !u.answered && u.sent < maxPortUpdates }

// sendUpdates sends the due updates, and reports whether any update left. An update without a path
// now waits for a port.
func (n *NIC) sendUpdates(now time.Duration) (sent bool) {
	if len(n.updates) == 0 || n.Waiting() { // the values that there are may lead nowhere
		return false
	}
	n.updates = slices.DeleteFunc(n.updates, func(u *update) bool {
		return len(u.open) == 0 && (!u.ready() || n.flowTo(u.peer) == nil)
	})
	for _, u := range n.updates {
		f := n.flowTo(u.peer)
		if f == nil || !u.ready() || u.due > now {
			continue
		}
		ports := n.usable(u.peer)
		path, ok := f.Next(now, mrc.UseControl, ports)
		if !ok || !ports.Has(path.Port) {
			continue
		}
		timeout := n.cfg.Host.EndpointTimeout
		id, err := n.SendPortStatus(now, u.peer, path)
		if err != nil {
			u.due = now + timeout // too many endpoint operations are under way
			continue
		}
		u.open, u.newest, u.waiting, u.due = append(u.open, id), id, true, now+timeout<<u.sent
		u.sent++
		sent = true
	}
	return sent
}

// flowTo is a flow to a peer whose paths are the NIC's to choose; nil when there is none.
func (n *NIC) flowTo(peer netip.Addr) *flow {
	if i := slices.IndexFunc(n.flows,
		func(f *flow) bool { return f.peer == peer && f.set != nil }); i >= 0 {
		return n.flows[i]
	}
	return nil
}

// updated takes the result of an update; false: it is of none.
func (n *NIC) updated(r mrc.EndpointResult) bool {
	i := slices.IndexFunc(n.updates, func(u *update) bool { return slices.Contains(u.open, r.ID) })
	if i < 0 || r.Op != packet.EndpointPortStatus {
		return false
	}
	u := n.updates[i]
	u.open = slices.DeleteFunc(u.open, func(id uint16) bool { return id == r.ID })
	if u.waiting && r.ID == u.newest {
		u.waiting, u.answered = false, r.Answered
		if r.Answered && len(u.open) == 0 {
			n.updates = slices.Delete(n.updates, i, i+1)
		}
	} else if u.answered && len(u.open) == 0 { // an older one may have come after the newest
		u.again()
	}
	return true
}

// nextUpdate is when an update is due.
func (n *NIC) nextUpdate(now time.Duration) (at time.Duration, ok bool) {
	for _, u := range n.updates {
		if u.ready() && u.due > now && (!ok || u.due < at) {
			at, ok = u.due, true
		}
	}
	return at, ok
}
