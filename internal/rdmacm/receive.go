package rdmacm

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/packet/cm"
)

// Receive takes a message of a peer.
func (m *Manager) Receive(now time.Duration, peer netip.Addr, mad cm.MAD) {
	switch msg := mad.Message.(type) {
	case cm.REQ:
		m.request(now, peer, mad.TID, msg)
	case cm.REP:
		m.response(peer, mad.TID, msg)
	case cm.RTU:
		if c := m.of(peer, msg.RemoteID, msg.LocalID); c != nil && c.State == Replied {
			m.set(c, Established)
			c.Sent, c.attempts, c.due = nil, 0, 0
			m.tell(Up, c, 0)
		}
	case cm.MRA:
		m.wait(now, peer, msg)
	case cm.REJ:
		m.rejected(now, peer, msg)
	case cm.DREQ:
		m.disconnected(now, peer, mad.TID, msg)
	case cm.DREP:
		if c := m.of(peer, msg.RemoteID, msg.LocalID); c != nil && c.State == Leaving {
			m.end(now, c)
		}
	case cm.LAP:
		m.send(peer, mad.TID, cm.APR{LocalID: msg.RemoteID, RemoteID: msg.LocalID,
			Status: cm.APRUnsupported})
	case cm.SIDRREQ:
		m.send(peer, mad.TID, cm.SIDRREP{RequestID: msg.RequestID, Status: cm.SIDRUnsupported,
			ServiceID: msg.ServiceID})
	}
}

// of returns the connection with a peer by both ids, or nil.
func (m *Manager) of(peer netip.Addr, local, remote uint32) *Conn {
	c := m.conns[local]
	if c == nil || c.Peer != peer || c.RemoteID != remote {
		return nil
	}
	return c
}

// ordered returns the connections by id, so equal messages get equal answers.
func (m *Manager) ordered() []*Conn {
	out := make([]*Conn, 0, len(m.conns))
	for _, id := range slices.Sorted(maps.Keys(m.conns)) {
		out = append(out, m.conns[id])
	}
	return out
}

// request takes a REQ.
func (m *Manager) request(now time.Duration, peer netip.Addr, tid uint64, r cm.REQ) {
	refuse := func(reason cm.Reason) {
		m.send(peer, tid, cm.REJ{RemoteID: r.LocalID, Of: cm.OfREQ, Reason: reason})
	}
	for _, c := range m.ordered() {
		if c.Active || c.Peer != peer || c.RemoteID != r.LocalID {
			continue
		}
		if c.TID != tid { // the peer has begun anew, and counts from the same number
			if !c.over() {
				m.end(now, c)
			}
			refuse(cm.StaleConnection)
			return
		}
		if mad, ok := c.sent(); ok && (c.State == Asked || c.State == Replied) {
			m.send(peer, mad.TID, mad.Message)
		} else if c.over() {
			refuse(cm.StaleConnection)
		}
		return
	}
	port, ok := cm.Port(r.ServiceID)
	switch {
	case r.Service != cm.RC:
		refuse(cm.InvalidService)
		return
	case !ok:
		refuse(cm.InvalidServiceID)
		return
	}
	for _, c := range m.ordered() {
		if c.Peer == peer && c.PeerGUID == r.CAGUID && c.PeerQPN == r.QPN && !c.over() {
			refuse(cm.StaleConnection)
			if c.State == Established || c.State == Replied {
				m.leave(now, c)
			}
			return
		}
	}
	private := r.Private[:]
	if _, n, err := cm.ParseIP(private); err == nil {
		private = private[n:]
	}
	c := m.create(Conn{RemoteID: r.LocalID, Peer: peer, State: Asked, Port: port, TID: tid,
		PeerGUID: r.CAGUID, PeerQPN: r.QPN, PeerPSN: r.StartingPSN, MTU: r.PathMTU,
		Private: trim(private)})
	m.tell(Requested, c, 0)
}

// response takes a REP.
func (m *Manager) response(peer netip.Addr, tid uint64, r cm.REP) {
	c := m.conns[r.RemoteID]
	if c == nil || !c.Active || c.Peer != peer {
		m.send(peer, tid, cm.REJ{LocalID: r.RemoteID, RemoteID: r.LocalID, Of: cm.OfREP,
			Reason: cm.InvalidCommID})
		return
	}
	if c.State != Asking {
		if mad, ok := c.sent(); ok && (c.State == Established || c.State == Answered) &&
			c.RemoteID == r.LocalID {
			m.send(peer, mad.TID, mad.Message)
		}
		return
	}
	for _, o := range m.ordered() {
		if o != c && o.Peer == peer && o.PeerGUID == r.CAGUID && o.PeerQPN == r.QPN {
			m.send(peer, tid, cm.REJ{LocalID: c.LocalID, RemoteID: r.LocalID, Of: cm.OfREP,
				Reason: cm.StaleConnection})
			m.remove(c)
			m.tell(Refused, c, cm.StaleConnection)
			return
		}
	}
	c.RemoteID, c.PeerGUID, c.PeerQPN, c.PeerPSN = r.LocalID, r.CAGUID, r.QPN, r.StartingPSN
	c.Private = trim(r.Private[:])
	c.Sent, c.attempts, c.due = nil, 0, 0
	m.set(c, Answered)
	m.tell(Responded, c, 0)
}

// wait takes an MRA: what it answers is repeated later.
func (m *Manager) wait(now time.Duration, peer netip.Addr, r cm.MRA) {
	c := m.conns[r.RemoteID]
	if c == nil || c.Peer != peer {
		return
	}
	if c.State == Asking && r.Of == cm.OfREQ || c.State == Replied && r.Of == cm.OfREP {
		c.attempts, c.due = 1, now+m.cfg.Response+Exponent(r.ServiceTimeout)
	}
}

// rejected takes a REJ.
func (m *Manager) rejected(now time.Duration, peer netip.Addr, r cm.REJ) {
	c := m.conns[r.RemoteID]
	if c == nil || c.Peer != peer {
		// A peer whose REP has not arrived here knows only its own id.
		c = nil
		for _, o := range m.ordered() {
			if o.Peer == peer && r.RemoteID == 0 && !o.Active && o.RemoteID == r.LocalID {
				c = o
			}
		}
	}
	switch {
	case c == nil || c.over():
	case c.State == Established:
		if r.Reason == cm.StaleConnection || r.Reason == cm.TimedOut {
			m.end(now, c)
		}
	default:
		m.remove(c)
		m.tell(Refused, c, r.Reason)
	}
}

// disconnected takes a DREQ. A DREQ for an unknown connection is answered too, so that the peer
// forgets the connection.
func (m *Manager) disconnected(now time.Duration, peer netip.Addr, tid uint64, r cm.DREQ) {
	c := m.of(peer, r.RemoteID, r.LocalID)
	if c != nil && c.LocalQPN != r.QPN {
		return
	}
	m.send(peer, tid, cm.DREP{LocalID: r.RemoteID, RemoteID: r.LocalID})
	if c != nil && c.State != TimeWait {
		m.end(now, c)
	}
}
