package cm

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/host/rc"
	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/internal/rdmacm"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/packet/cm"
)

// Config is how a host connects. The zero value but for Seed will do.
type Config struct {
	rdmacm.Config
	// Seed draws the random first PSNs and queue pair numbers.
	Seed uint64
	// GUID identifies the adapter; default: the EUI-64 of the host's MAC.
	GUID uint64
	// QP configures queue pairs, except numbers, PSNs and addresses; default rc.DefaultQPConfig.
	QP *rc.QPConfig
}

// Request is a REQ for a listener to answer.
type Request struct {
	Peer    netip.Addr
	PeerQPN uint32
	Private []byte // without zeros at its end
}

// Reply is what a listener answers. Private are at most packet/cm.PrivateREP octets.
type Reply struct {
	Refuse  cm.Reason // not 0: REJ
	Private []byte
}

// Event is what happened to a connection.
type Event struct {
	rdmacm.Event
	// QP is the queue pair of the connection; nil before the queue pair exists and after its end.
	QP *rc.QP
}

// Counters counts frames to queue pair 1.
type Counters struct {
	Received, Sent, Refused uint64
}

// CM connects queue pairs of a host. It is not safe for concurrent use.
type CM struct {
	host     *rc.Host
	cfg      Config
	rng      *rand.Rand
	manager  *rdmacm.Manager
	listen   map[uint16]func(Request) Reply
	first    map[uint32]uint32 // by connection: the first PSN that this end expects
	events   []Event
	psn      uint32
	counters Counters
}

// New returns the CM of a host.
func New(host *rc.Host, cfg Config) *CM {
	if cfg.GUID == 0 {
		m := host.Config().MAC
		for _, b := range []byte{m[0] ^ 2, m[1], m[2], 0xFF, 0xFE, m[3], m[4], m[5]} {
			cfg.GUID = cfg.GUID<<8 | uint64(b)
		}
	}
	if cfg.QP == nil {
		qp := rc.DefaultQPConfig()
		cfg.QP = &qp
	}
	return &CM{host: host, cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, cfg.GUID)),
		manager: rdmacm.New(cfg.Config), listen: make(map[uint16]func(Request) Reply),
		first: make(map[uint32]uint32)}
}

// Counters returns the frames so far.
func (c *CM) Counters() Counters { return c.counters }

// Listen answers requests to a port from now on; answer nil ends that.
func (c *CM) Listen(port uint16, answer func(Request) Reply) {
	if answer == nil {
		delete(c.listen, port)
	} else {
		c.listen[port] = answer
	}
}

// Connect asks for a connection, and returns its id. private are at most packet/cm.ConsumerREQ
// octets. Responded and Up are one event: Up, when the queue pair can be used.
func (c *CM) Connect(now time.Duration, to netip.Addr, port uint16, private []byte) (id uint32,
	err error) {
	if len(private) > cm.ConsumerREQ {
		return 0, fmt.Errorf("private data of %d octets, want at most %d: %w", len(private),
			cm.ConsumerREQ, verbs.ErrConfig)
	}
	r := cm.REQ{CAGUID: c.cfg.GUID, QPN: c.freeQPN(), StartingPSN: c.freePSN(),
		RemoteTimeout: rdmacm.ResponseExponent, LocalTimeout: rdmacm.ResponseExponent,
		RetryCount: c.cfg.QP.RetryCnt, RNRRetryCount: c.cfg.QP.RNRRetry,
		PKey: c.host.Config().PKey, PathMTU: mtu(c.cfg.QP.PMTU), MaxCMRetries: 15,
		LocalLID: cm.NoLID, RemoteLID: cm.NoLID, LocalGID: c.host.Config().Addr, RemoteGID: to,
		HopLimit: c.host.Config().HopLimit, ACKTimeout: c.cfg.QP.LocalAckTimeout}
	ip := cm.IP{SrcPort: uint16(0xC000 | c.rng.IntN(0x4000)), Src: c.host.Config().Addr, Dst: to}
	copy(r.Private[:], append(ip.Append(nil), private...))
	id = c.manager.Request(now, to, port, r)
	c.first[id] = r.StartingPSN
	c.flush(now)
	return id, nil
}

// mtu returns the code of a path MTU.
func mtu(octets int) cm.MTU {
	for m := cm.MTU256; m <= cm.MTU4096; m++ {
		if m.Octets() == octets {
			return m
		}
	}
	return 0
}

// Disconnect ends a connection, or gives up a request. The queue pair is destroyed.
func (c *CM) Disconnect(now time.Duration, id uint32) {
	if conn, ok := c.manager.Conn(id); ok && c.manager.Disconnect(now, id) {
		c.host.DestroyQP(conn.LocalQPN)
		delete(c.first, id)
	}
	c.flush(now)
}

// Events returns and forgets what has happened.
func (c *CM) Events() []Event {
	out := c.events
	c.events = nil
	return out
}

// Receive takes a frame to queue pair 1. Receive counts and drops corrupt frames and frames for
// another host.
func (c *CM) Receive(now time.Duration, frame []byte) {
	c.counters.Received++
	f, _, err := cm.ParseFrame(frame)
	if err != nil || f.IPv6.Dst != c.host.Config().Addr || f.Ethernet.Dst != c.host.Config().MAC {
		c.counters.Refused++
		return
	}
	c.manager.Receive(now, f.IPv6.Src, f.MAD)
	c.flush(now)
}

// Advance repeats what is not answered, and returns when it has something to do again.
func (c *CM) Advance(now time.Duration) (next time.Duration, pending bool) {
	c.manager.Tick(now)
	c.flush(now)
	return c.manager.Next()
}

// flush carries out what the manager wants.
func (c *CM) flush(now time.Duration) {
	for {
		packets, events := c.manager.Take()
		for _, p := range packets {
			c.send(now, p)
		}
		if len(events) == 0 {
			return
		}
		for _, e := range events {
			c.handle(now, e)
		}
	}
}

func (c *CM) send(now time.Duration, p rdmacm.Packet) {
	h := c.host.Config()
	f := cm.Frame{Ethernet: packet.Ethernet{Dst: h.GatewayMAC, Src: h.MAC},
		IPv6:    packet.IPv6{HopLimit: h.HopLimit, Src: h.Addr, Dst: p.To},
		SrcPort: 0xC001, PKey: h.PKey, PSN: c.psn, SourceQPN: cm.GSI, MAD: p.MAD}
	c.psn = (c.psn + 1) & packet.PSNMask
	c.counters.Sent++
	h.Output(now, f.Append(nil))
}

func (c *CM) handle(now time.Duration, e rdmacm.Event) {
	id := e.Conn.LocalID
	switch e.Kind {
	case rdmacm.Requested:
		c.answer(now, e.Conn)
		return
	case rdmacm.Responded:
		qp, err := c.create(e.Conn, e.Conn.LocalQPN)
		if err != nil {
			c.manager.Reject(id, cm.REJ{Reason: cm.NoResources})
			e.Kind, e.Reason = rdmacm.Refused, cm.NoResources
			c.events = append(c.events, Event{Event: e})
			return
		}
		c.manager.Confirm(id)
		e.Kind = rdmacm.Up
		e.Conn, _ = c.manager.Conn(id)
		c.events = append(c.events, Event{e, qp})
		return
	case rdmacm.Up:
		qp, _ := c.host.QP(e.Conn.LocalQPN)
		c.events = append(c.events, Event{e, qp})
		return
	}
	c.host.DestroyQP(e.Conn.LocalQPN)
	delete(c.first, id)
	c.events = append(c.events, Event{Event: e})
}

// answer has a listener answer a request.
func (c *CM) answer(now time.Duration, conn rdmacm.Conn) {
	reject := func(reason cm.Reason) { c.manager.Reject(conn.LocalID, cm.REJ{Reason: reason}) }
	listener := c.listen[conn.Port]
	if listener == nil {
		reject(cm.InvalidServiceID)
		return
	}
	if conn.MTU.Octets() == 0 {
		reject(cm.InvalidMTU)
		return
	}
	reply := listener(Request{conn.Peer, conn.PeerQPN, conn.Private})
	if reply.Refuse != 0 {
		reject(reply.Refuse)
		return
	}
	qpn := c.freeQPN()
	c.first[conn.LocalID] = c.freePSN()
	if _, err := c.create(conn, qpn); err != nil {
		delete(c.first, conn.LocalID)
		reject(cm.NoResources)
		return
	}
	r := cm.REP{QPN: qpn, StartingPSN: c.first[conn.LocalID], CAGUID: c.cfg.GUID,
		Failover: cm.FailoverUnsupported, RNRRetryCount: c.cfg.QP.RNRRetry}
	copy(r.Private[:], reply.Private)
	c.manager.Accept(now, conn.LocalID, r)
}

// create creates the queue pair of a connection to a known other end.
func (c *CM) create(conn rdmacm.Conn, qpn uint32) (*rc.QP, error) {
	cfg := *c.cfg.QP
	cfg.QPN, cfg.RemoteQPN, cfg.RemoteAddr = qpn, conn.PeerQPN, conn.Peer
	cfg.SQPSN, cfg.RQPSN = conn.PeerPSN, c.first[conn.LocalID]
	if n := conn.MTU.Octets(); n != 0 {
		cfg.PMTU = min(cfg.PMTU, n)
	}
	return c.host.CreateQP(cfg)
}

// freeQPN returns the number of a queue pair that the host does not have.
func (c *CM) freeQPN() uint32 {
	for {
		qpn := 0x100 + c.rng.Uint32N(packet.PSNMask-0x100)
		if _, err := c.host.QP(qpn); err != nil {
			return qpn
		}
	}
}

func (c *CM) freePSN() uint32 { return c.rng.Uint32() & packet.PSNMask }
