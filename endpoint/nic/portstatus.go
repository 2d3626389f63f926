package nic

import (
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/endpoint/mrc"
	"github.com/weft-sdn/weft/packet"
)

// Port Status Updates are best effort (OCP MRC 1.0, sections 7.3 and 7.4.8): one that is not answered is sent again, as a request of
// its own, after a pause that doubles from Config.Host.EndpointTimeout on, maxPortUpdates times at most.
const maxPortUpdates = 6

// An update is what a peer of queue pairs has yet to hear of the host's ports. One at a time is under way to a peer: nothing says
// which of two was sent later.
type update struct {
	peer  netip.Addr
	sent  int  // since the ports changed
	open  bool // one is under way
	stale bool // the ports have changed since that was sent
	id    uint16
	due   time.Duration
}

// tellPeers has every peer of queue pairs hear which ports are up.
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
	i := slices.IndexFunc(n.updates, func(u update) bool { return u.peer == peer })
	if i < 0 {
		n.updates = append(n.updates, update{peer: peer})
		return
	}
	u := &n.updates[i]
	u.sent, u.due, u.stale = 0, 0, u.open
}

// sendUpdates sends the updates that are due, and says whether there were any. Those for which there is no path now wait for a port.
func (n *NIC) sendUpdates(now time.Duration) (sent bool) {
	if len(n.updates) == 0 {
		return false
	}
	n.updates = slices.DeleteFunc(n.updates, func(u update) bool { return !u.open && (u.sent == maxPortUpdates || n.flowTo(u.peer) == nil) })
	for i := range n.updates {
		u := &n.updates[i]
		if u.open || u.due > now {
			continue
		}
		ports := n.usable(u.peer)
		path, ok := n.flowTo(u.peer).Next(now, mrc.UseControl, ports)
		if !ok || !ports.Has(path.Port) {
			continue
		}
		timeout := n.cfg.Host.EndpointTimeout
		id, err := n.SendPortStatus(now, u.peer, path)
		if err != nil {
			u.due = now + timeout // too many endpoint operations are under way
			continue
		}
		u.id, u.open, u.due = id, true, now+timeout<<u.sent
		u.sent++
		sent = true
	}
	return sent
}

// flowTo is a flow to a peer whose paths are the NIC's to choose; nil when there is none.
func (n *NIC) flowTo(peer netip.Addr) *flow {
	if i := slices.IndexFunc(n.flows, func(f *flow) bool { return f.peer == peer && f.set != nil }); i >= 0 {
		return n.flows[i]
	}
	return nil
}

// updated takes the result of an update; false: it is of none.
func (n *NIC) updated(r mrc.EndpointResult) bool {
	i := slices.IndexFunc(n.updates, func(u update) bool { return u.open && u.id == r.ID })
	if i < 0 || r.Op != packet.EndpointPortStatus {
		return false
	}
	u := &n.updates[i]
	u.open = false
	switch {
	case u.stale:
		u.stale, u.due = false, 0
	case r.Answered:
		n.updates = slices.Delete(n.updates, i, i+1)
	}
	return true
}

// nextUpdate is when an update is due.
func (n *NIC) nextUpdate(now time.Duration) (at time.Duration, ok bool) {
	for i := range n.updates {
		u := &n.updates[i]
		if !u.open && u.sent < maxPortUpdates && u.due > now && (!ok || u.due < at) {
			at, ok = u.due, true
		}
	}
	return at, ok
}
