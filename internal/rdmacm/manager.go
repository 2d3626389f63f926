package rdmacm

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/packet/cm"
)

// Config is how patient a manager is.
type Config struct {
	// First is the first communication id. A Manager that starts again from saved records takes a
	// number that the earlier Manager has not reached.
	First uint32
	// Response is how long an answer may take; default 2^20 times 4.096 us, as in Linux.
	Response time.Duration
	// Attempts are how often a message is sent; default 15.
	Attempts int
	// TimeWait is how long the Manager remembers a closed connection; default 1 s.
	TimeWait time.Duration
}

// ResponseExponent is the exponent of the default of Config.Response.
const ResponseExponent = 20

// Exponent returns the time that an exponent of IBTA stands for: 4.096 us times 2^n.
func Exponent(n uint8) time.Duration { return 4096 * time.Nanosecond << min(n, 31) }

// Manager has the connections of one address. It is not safe for concurrent use. Times are of any
// clock that does not go back, and above 0.
type Manager struct {
	cfg   Config
	next  uint32
	conns map[uint32]*Conn // by local id
	out   []Packet
	event []Event
	dirty map[uint32]bool
}

// New returns a manager without connections.
func New(cfg Config) *Manager {
	if cfg.Response == 0 {
		cfg.Response = Exponent(ResponseExponent)
	}
	if cfg.Attempts == 0 {
		cfg.Attempts = 15
	}
	if cfg.TimeWait == 0 {
		cfg.TimeWait = time.Second
	}
	return &Manager{cfg: cfg, next: max(cfg.First, 1), conns: make(map[uint32]*Conn),
		dirty: make(map[uint32]bool)}
}

// Load takes a connection that another manager had. Messages that wait for an answer are repeated
// with the next Tick.
func (m *Manager) Load(now time.Duration, c Conn) {
	c.attempts = 0
	c.due = 0
	switch c.State {
	case Replied, Asking, Leaving:
		c.due = now
	case TimeWait:
		c.due = now + m.cfg.TimeWait
	}
	m.conns[c.LocalID] = &c
	m.next = max(m.next, c.LocalID+1)
}

// Take returns and forgets the messages to send and the events, in order.
func (m *Manager) Take() ([]Packet, []Event) {
	out, events := m.out, m.event
	m.out, m.event = nil, nil
	return out, events
}

// Changed returns, in order, the ids of connections that were added, changed or removed since the
// last call. For each id, Conn returns the connection to save, or false if the saved connection is
// to be deleted.
func (m *Manager) Changed() []uint32 {
	ids := slices.Sorted(maps.Keys(m.dirty))
	clear(m.dirty)
	return ids
}

// Conn returns a copy of a connection.
func (m *Manager) Conn(id uint32) (Conn, bool) {
	if c := m.conns[id]; c != nil {
		return *c, true
	}
	return Conn{}, false
}

// Conns returns copies of the connections, by local id.
func (m *Manager) Conns() []Conn {
	out := make([]Conn, 0, len(m.conns))
	for _, id := range slices.Sorted(maps.Keys(m.conns)) {
		out = append(out, *m.conns[id])
	}
	return out
}

func (m *Manager) send(to netip.Addr, tid uint64, msg cm.Message) {
	m.out = append(m.out, Packet{to, cm.MAD{TID: tid, Message: msg}})
}

func (m *Manager) tell(k Kind, c *Conn, reason cm.Reason) {
	m.event = append(m.event, Event{k, *c, reason})
}

// keep sends a message, and repeats it until the peer answers.
func (m *Manager) keep(now time.Duration, c *Conn, tid uint64, msg cm.Message) {
	c.Sent = trim(cm.MAD{TID: tid, Message: msg}.Append(nil))
	c.attempts, c.due = 1, now+m.cfg.Response
	m.send(c.Peer, tid, msg)
}

func (m *Manager) set(c *Conn, s State) {
	c.State = s
	m.dirty[c.LocalID] = true
}

func (m *Manager) remove(c *Conn) {
	delete(m.conns, c.LocalID)
	m.dirty[c.LocalID] = true
}

// create adds a connection under a free id.
func (m *Manager) create(c Conn) *Conn {
	for m.next == 0 || m.conns[m.next] != nil {
		m.next++
	}
	c.LocalID = m.next
	m.next++
	m.conns[c.LocalID] = &c
	m.dirty[c.LocalID] = true
	return &c
}

// end has a connection wait until late packets are gone.
func (m *Manager) end(now time.Duration, c *Conn) {
	down := c.State != TimeWait
	m.set(c, TimeWait)
	c.Sent, c.attempts, c.due = nil, 0, now+m.cfg.TimeWait
	if down {
		m.tell(Down, c, 0)
	}
}

// Request asks a peer for a connection, and returns its local id. The manager fills in LocalID and
// the service id of the port; the rest is the owner's.
func (m *Manager) Request(now time.Duration, peer netip.Addr, port uint16, r cm.REQ) uint32 {
	c := m.create(Conn{Peer: peer, State: Asking, Active: true, Port: port, LocalQPN: r.QPN,
		MTU: r.PathMTU})
	c.TID = uint64(c.LocalID)<<32 | 1
	r.LocalID, r.ServiceID = c.LocalID, cm.ServiceID(port)
	m.keep(now, c, c.TID, r)
	return c.LocalID
}

// Accept answers a request. The manager fills in the communication ids. Accept reports false if no
// waiting request has this id.
func (m *Manager) Accept(now time.Duration, id uint32, r cm.REP) bool {
	c := m.conns[id]
	if c == nil || c.State != Asked {
		return false
	}
	r.LocalID, r.RemoteID = c.LocalID, c.RemoteID
	c.LocalQPN = r.QPN
	m.set(c, Replied)
	m.keep(now, c, c.TID, r)
	return true
}

// Wait asks the peer to wait for an answer, for 4.096 us times 2^timeout.
func (m *Manager) Wait(id uint32, timeout uint8) bool {
	c := m.conns[id]
	if c == nil || c.State != Asked && c.State != Answered {
		return false
	}
	of := cm.OfREQ
	if c.State == Answered {
		of = cm.OfREP
	}
	msg := cm.MRA{LocalID: c.LocalID, RemoteID: c.RemoteID, Of: of, ServiceTimeout: timeout}
	c.Sent = trim(cm.MAD{TID: c.TID, Message: msg}.Append(nil))
	m.dirty[c.LocalID] = true
	m.send(c.Peer, c.TID, msg)
	return true
}

// Reject refuses a request, or an answer to one. A refused connection is forgotten: the repetition
// of a REQ is a request again.
func (m *Manager) Reject(id uint32, r cm.REJ) bool {
	c := m.conns[id]
	if c == nil || c.State != Asked && c.State != Answered {
		return false
	}
	r.LocalID, r.RemoteID, r.Of = c.LocalID, c.RemoteID, cm.OfREQ
	if c.State == Answered {
		r.Of = cm.OfREP
	}
	m.send(c.Peer, c.TID, r)
	m.remove(c)
	return true
}

// Confirm ends the exchange that Request began.
func (m *Manager) Confirm(id uint32) bool {
	c := m.conns[id]
	if c == nil || c.State != Answered {
		return false
	}
	m.set(c, Established)
	msg := cm.RTU{LocalID: c.LocalID, RemoteID: c.RemoteID}
	c.Sent, c.attempts, c.due = trim(cm.MAD{TID: c.TID, Message: msg}.Append(nil)), 0, 0
	m.send(c.Peer, c.TID, msg)
	return true
}

// Disconnect ends a connection, or gives up a request.
func (m *Manager) Disconnect(now time.Duration, id uint32) bool {
	c := m.conns[id]
	if c == nil || c.over() {
		return false
	}
	switch c.State {
	case Asked, Answered:
		return m.Reject(id, cm.REJ{Reason: cm.ConsumerReject})
	case Asking:
		m.send(c.Peer, c.TID, cm.REJ{LocalID: c.LocalID, Of: cm.Timeout, Reason: cm.TimedOut})
		m.remove(c)
		return true
	}
	m.leave(now, c)
	return true
}

// leave sends DREQ.
func (m *Manager) leave(now time.Duration, c *Conn) {
	m.set(c, Leaving)
	m.keep(now, c, c.TID+1, cm.DREQ{LocalID: c.LocalID, RemoteID: c.RemoteID, QPN: c.PeerQPN})
}

// Tick repeats unanswered messages, and ends connections whose retries are used up.
func (m *Manager) Tick(now time.Duration) {
	if len(m.conns) == 0 {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(m.conns)) {
		c := m.conns[id]
		if c.due == 0 || c.due > now {
			continue
		}
		if c.State == TimeWait {
			m.remove(c)
			continue
		}
		if mad, ok := c.sent(); ok && c.attempts < m.cfg.Attempts {
			c.attempts++
			c.due = now + m.cfg.Response
			m.send(c.Peer, mad.TID, mad.Message)
			continue
		}
		if c.State == Leaving {
			m.end(now, c)
			continue
		}
		m.send(c.Peer, c.TID, cm.REJ{LocalID: c.LocalID, RemoteID: c.RemoteID, Of: cm.Timeout,
			Reason: cm.TimedOut})
		m.remove(c)
		m.tell(Failed, c, 0)
	}
}

// Next returns when Tick has something to do.
func (m *Manager) Next() (at time.Duration, ok bool) {
	for _, c := range m.conns {
		if c.due != 0 && (!ok || c.due < at) {
			at, ok = c.due, true
		}
	}
	return at, ok
}
