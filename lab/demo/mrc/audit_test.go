package mrc

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/packet"
)

// What a mesh uses: the default of [lab.MeshConfig]'s Message, and the numbers of the first queue
// pair and its memory.
const (
	meshMessage = 1 << 20
	meshQPN     = 0x100
	meshRKey    = 0x1000
)

// An audit reads every frame on every wire in a mesh, octet by octet after the tables of OCP MRC
// 1.0 and without package packet, and keeps what has arrived at every queue pair: what hosts say in
// SACKs and NACKs must be so.
type audit struct {
	t      *testing.T
	w      *lab.World
	mode   ev.Mode
	tiers  map[string]int
	peers  map[peer]*arrivals
	wrong  map[string]string // rule to the first frame that breaks it
	counts map[string]int
}

// A peer is a queue pair at a host.
type peer struct {
	host string
	qpn  uint32
}

// arrivals are requests that came to a queue pair.
type arrivals struct {
	psns      map[uint32]bool
	cack, max uint32
	above     int // cack
	octets    uint64
	last      request
}

// A request is what the answer to a packet depends on.
type request struct {
	op, dscp   byte
	marked     bool
	retx       byte
	ev         uint32
	psn        uint32
	udp, stamp uint16
}

func newAudit(t *testing.T, w *lab.World, mode ev.Mode) *audit {
	return &audit{t: t, w: w, mode: mode, tiers: w.Network.Tiers(), peers: map[peer]*arrivals{},
		wrong: map[string]string{}, counts: map[string]int{}}
}

// done reports the faults found, and the expected packets that were not seen.
func (a *audit) done(seen ...string) {
	a.t.Helper()
	for _, rule := range slices.Sorted(maps.Keys(a.wrong)) {
		a.t.Errorf("%s: %s", rule, a.wrong[rule])
	}
	for _, what := range seen {
		if a.counts[what] == 0 {
			a.t.Errorf("no %s was seen: %v", what, a.counts)
		}
	}
}

func be16(b []byte) uint16 { return binary.BigEndian.Uint16(b) }
func be24(b []byte) uint32 { return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]) }
func be32(b []byte) uint32 { return binary.BigEndian.Uint32(b) }

// headers are the headers of a frame.
type headers struct {
	outer, srh, ip, udp, bth, rest []byte // rest: behind the BTH, with ICRC
}

func headersOf(f []byte) (l headers, ok bool) {
	b := f[14:]
	if be16(f[12:]) != 0x86dd {
		return l, false
	}
	if next := b[6]; next == 41 || next == 43 {
		l.outer, b = b[:40], b[40:]
		if next == 43 {
			n := 8 * (1 + int(b[1]))
			if b[0] != 41 || b[2] != 4 {
				return l, false
			}
			l.srh, b = b[:n], b[n:]
		}
	}
	l.ip, l.udp, l.bth, l.rest = b, b[40:], b[48:], b[60:]
	return l, b[0]>>4 == 6 && b[6] == 17
}

func (l *headers) class() byte { // of the outermost header
	h := l.ip
	if l.outer != nil {
		h = l.outer
	}
	return h[0]<<4 | h[1]>>4
}

// own reports whether a packet is of a host to itself.
func (l *headers) own() bool { return string(l.ip[8:24]) == string(l.ip[24:40]) }

func (l *headers) ev() uint32  { return uint32(be16(l.udp))<<16 | uint32(be16(l.ip[2:])) }
func (l *headers) psn() uint32 { return be24(l.bth[9:]) }
func (l *headers) qpn() uint32 { return be24(l.bth[5:]) }

// MRC's opcodes (table 6-2) and the codepoints of the lab.
const (
	opFirst, opLast, opOnly, opACK                        = 0xc6, 0xc8, 0xca, 0xd1
	opRequest, opResponse, opSACK, opNACK, opProbe        = 0xd8, 0xd9, 0xdc, 0xdd, 0xde
	trimmable, trimmableRetx, trimmed, trimmedLast, contr = 7, 11, 35, 39, 43
)

func (a *audit) want(ok bool, l *headers, wire *lab.Wire, rule string, args ...any) {
	if !ok && a.wrong[rule] == "" {
		a.wrong[rule] = fmt.Sprintf("%s, opcode %#x, PSN %#x, EV %#x, DSCP %d: %v", wire.Name(), l.bth[0],
			l.psn(), l.ev(), l.class()>>2, args)
	}
}

// Sent implements Tap.
func (a *audit) Sent(_ time.Duration, wire *lab.Wire, frame []byte) {
	l, ok := headersOf(frame)
	if !ok || len(l.rest) < 4 {
		a.wrong["a frame of MRC"] = fmt.Sprintf("%s: %x", wire.Name(), frame[:min(len(frame), 120)])
		return
	}
	a.common(wire, &l)
	if a.isMRC(wire.From) {
		a.host(wire, frame, &l)
	} else {
		a.hop(wire, &l)
	}
}

// common checks the parts in every frame on every wire (tables 6-3, 6-4, 7-9 to 7-11).
func (a *audit) common(wire *lab.Wire, l *headers) {
	op, dscp := l.bth[0], l.class()>>2
	cut := dscp == trimmed || dscp == trimmedLast
	a.want(be16(l.udp[2:]) == 4791 && be16(l.udp[6:]) == 0, l, wire, "UDP port 4791, checksum 0")
	a.want(l.bth[1]&0xcf == 0 && be16(l.bth[2:]) == 0xffff && l.bth[4] == 0 && l.bth[8]&0x4f == 0, l,
		wire, "BTH's reserved bits, TVer and P_Key", l.bth[:12])
	a.want(l.ip[1]&0xf == 0, l, wire, "EV in the low 16 bits of the flow label")
	data := op >= opFirst && op <= opOnly+1
	a.want(data || op == opACK || op == opRequest || op == opResponse || op == opSACK ||
		op == opNACK || op == opProbe, l, wire, "an opcode of table 6-2")
	a.want(cut || packet.CheckICRC(l.ip) == nil, l, wire, "ICRC")
	a.want(data || op == opProbe || !cut && (l.own() || l.class()&3 == 0), l, wire,
		"control packets are neither trimmed nor marked", l.class()&3)
	a.want(be16(l.ip[4:]) == be16(l.udp[4:]) || op == opNACK, l, wire,
		"IPv6 payload length, UDP length", be16(l.ip[4:]), be16(l.udp[4:]))
	if !cut {
		a.want(int(be16(l.ip[4:])) == len(l.udp), l, wire, "payload length of the whole packet",
			be16(l.ip[4:]), len(l.udp))
		return
	}
	a.counts["trimmed"]++
	if op == opProbe { // too short to be cut
		a.want(len(l.udp) == int(be16(l.udp[4:])), l, wire, "a probe is marked as trimmed, and whole",
			len(l.udp))
	} else {
		a.want(len(l.udp) < int(be16(l.udp[4:])) && len(l.rest) >= 8, l, wire,
			"a trimmed packet keeps its UDP length, METH and TSETH", len(l.udp), be16(l.udp[4:]))
	}
	a.want(dscp == trimmed || a.isMRC(wire.To), l, wire, "TRIMMED_LASTHOP on the way to a host only")
}

// host is what hosts send (tables 7-6 to 7-8).
func (a *audit) host(wire *lab.Wire, frame []byte, l *headers) {
	op, dscp, ecn := l.bth[0], l.class()>>2, l.class()&3
	a.want(l.ip[7] == 64 && (l.outer == nil || l.outer[7] == 64), l, wire, "hop limit 64")
	a.want((l.outer != nil) == a.mode.SRv6(), l, wire, "an outer header with SRv6, and no other mode")
	a.want(l.own() || (l.srh != nil) == (a.mode == ev.ModeSRH && !a.near(wire, l)), l, wire,
		"an SRH in mode usid-srh, but not to hosts of the same T0")
	if l.outer != nil {
		a.want(l.ip[0]<<4|l.ip[1]>>4 == l.class() && string(l.outer[8:24]) == string(l.ip[8:24]), l, wire,
			"class and source are copied outwards")
		a.want(int(be16(l.outer[4:])) == len(frame)-14-40, l, wire, "outer payload length")
	}
	if l.srh != nil {
		a.want(l.srh[3] == 1 && l.srh[4] == 0 && l.srh[5] == 0, l, wire,
			"reduced SRH: Segments Left 1, Last Entry 0", l.srh[:8])
	}
	retx := l.bth[8] >> 5 & 1
	switch op {
	case opSACK, opNACK, opACK:
		a.want(dscp == contr && ecn == 0 && l.bth[8]&0x90 == 0, l, wire,
			"class control, not ECT, no AckReq, no TSETH", l.bth[8])
		at := a.peers[peer{wire.From, l.qpn()}]
		if at == nil {
			a.wrong["answers follow requests"] = wire.Name()
			return
		}
		switch op {
		case opSACK:
			a.sack(wire, l, at, retx)
		case opNACK:
			a.nack(wire, l, at, retx)
		default:
			a.counts["ACK"]++
			a.want(l.rest[0] == 0x1f && l.psn() == at.cack, l, wire, "ACK of cack_psn, without credits",
				l.rest[:4], at.cack)
		}
	case opProbe:
		a.counts["probe"]++
		a.want(dscp == trimmable && ecn == 2 && l.psn() == 0, l, wire,
			"a probe is DSCP_TRIMMABLE, ECT, without a PSN")
		p := l.rest
		a.want(be32(p)&0xffffff00 == 0 && be16(p[6:]) == 0 && be16(p[8:]) == uint16(l.qpn()) &&
			be16(p[10:]) == uint16(l.qpn()) && p[14] == 0 && p[15] == 1, l, wire, "PETH (table 7-18)",
			p[:16])
	case opRequest, opResponse:
		a.counts["endpoint"]++
		if l.own() {
			a.counts["self-probe"]++
			a.want(op == opRequest && ecn == 2 && dscp == contr, l, wire,
				"a probe of the host to itself: control class, ECT", op, ecn, dscp)
			ecn = 0
		}
		a.want(l.qpn() == 2 && ecn == 0 && l.psn()>>16 == 0, l, wire,
			"endpoint operations are for queue pair 2, their identifier has 16 bits")
	default:
		want := byte(trimmable)
		if retx == 1 {
			want = trimmableRetx
			a.counts["retransmission"]++
		}
		a.want(dscp == want && ecn == 2, l, wire, "class of data (table 7-8), ECT", ecn)
		a.write(wire, l)
	}
}

// near reports whether a packet on its way to a T0 goes to another host at this T0.
func (a *audit) near(wire *lab.Wire, l *headers) bool {
	for _, h := range a.w.Network.Hosts {
		if addr := h.Address.As16(); string(addr[:]) == string(l.ip[24:40]) {
			_, err := a.w.Wire(wire.To, h.Name)
			return err == nil
		}
	}
	return false
}

// write checks a WRITE of a mesh, whose data at each address is known (tables 6-5 to 6-9).
func (a *audit) write(wire *lab.Wire, l *headers) {
	a.counts["data"]++
	meth, ts, reth := l.rest[:4], l.rest[4:8], l.rest[8:24]
	va, length := binary.BigEndian.Uint64(reth), be32(reth[12:])
	n := len(l.rest) - 24 - 4 - int(l.bth[1]>>4&3)
	offset := va % meshMessage
	op := byte(opFirst + 1)
	switch first, last := offset == 0, offset+uint64(n) == uint64(length); {
	case first && last:
		op = opOnly
	case first:
		op = opFirst
	case last:
		op = opLast
	}
	a.want(l.bth[0] == op, l, wire, "opcode of the packet's place", op)
	a.want(n == lab.MRCMTU || n < lab.MRCMTU && op >= opLast, l, wire, "PMTU of payload", n)
	// octets written before
	at, message := uint64((l.psn()-0xfffff0)&0xffffff)*lab.MRCMTU, uint64(meshMessage)
	// the flow writes the memory of one message over and over
	if at != va {
		message = uint64(length)
		at %= message
	}
	a.want(at == va, l, wire, "RETH's address is that of this packet", va)
	a.want(be32(reth[8:])-meshRKey == l.qpn()-meshQPN, l, wire, "R_Key")
	a.want(be16(meth[2:]) == uint16(uint64((l.psn()-0xfffff0)&0xffffff)*lab.MRCMTU/message+1) &&
		be16(meth) == 0, l, wire, "MSN", meth)
	a.want(l.bth[8]&0x10 != 0 && ts[2] == 0 && ts[3] == 1, l, wire, "TSETH", ts)
}

// sack is a SACK, of which all is known (tables 7-6, 7-13 and 7-15).
func (a *audit) sack(wire *lab.Wire, l *headers, at *arrivals, retx byte) {
	s, last := l.rest[:36], &at.last
	cack, probe := be24(s[13:]), s[1]&2 != 0
	a.counts["SACK"]++
	a.want(s[0] == 0 && s[1]&0x9d == 0 && s[12] == 0 && s[16] == 0, l, wire,
		"SETH's reserved bits, cc_type 0", s[:20])
	a.want(cack == at.cack && (l.psn() == cack || probe && l.psn() == 0), l, wire, "cack_psn", cack,
		at.cack, l.psn())
	a.want(probe == (last.op == opProbe) && (probe || l.psn() == cack) && retx == last.retx, l, wire,
		"pr, rtx: as the packet answered")
	if probe {
		a.counts["probe answered"]++
	}
	offset := int(int16(be16(s[2:])))
	a.want(probe && uint16(offset) == uint16(last.psn) || !probe &&
		packet.PSNAdd(cack, offset) == last.psn, l, wire, "ack_psn_offset", offset, last.psn)
	a.want(be32(s[4:]) == last.ev, l, wire, "entropy reflected", be32(s[4:]), last.ev)
	a.want(be16(s[8:]) == uint16(l.qpn()) && be16(s[10:]) == uint16(l.qpn()), l, wire,
		"spdcid, dpdcid")
	a.want((s[1]>>5 == 1) == last.marked, l, wire, "m of a marked packet", s[1], last.marked)
	if last.marked {
		a.counts["marked"]++
	}
	a.want(s[17] == 8, l, wire, "mpr", s[17])
	base := packet.PSNAdd(cack, int(int16(be16(s[18:]))))
	a.want(packet.PSNDiff(base, cack) >= 0, l, wire, "sack_base is not below cack_psn")
	bits := binary.BigEndian.Uint64(s[20:])
	for i := range 64 {
		psn := packet.PSNAdd(base, i)
		got := packet.PSNDiff(psn, at.cack) <= 0 || at.psns[psn]
		a.want(got == (bits>>i&1 != 0), l, wire, "a bit of the bitmap is what has arrived", i, psn, got)
	}
	cc := s[28:]
	a.want(int(be16(cc[2:])) == at.above, l, wire, "ooo_count", be16(cc[2:]), at.above)
	a.want(uint64(be24(cc[5:])) == (at.octets+255)/256&0xffffff, l, wire,
		"rcvd_bytes in 256 octets, rounded up", be24(cc[5:]), at.octets)
	a.want(be16(cc)-last.stamp < 1<<15, l, wire, "tx_timestamp, later by the service time", be16(cc),
		last.stamp)
}

// nack is a NACK of a trimmed packet (tables 7-3, 7-16 and 7-17).
func (a *audit) nack(wire *lab.Wire, l *headers, at *arrivals, retx byte) {
	n, last := l.rest[:20], &at.last
	a.counts["NACK"]++
	reason := map[byte]byte{trimmed: 1, trimmedLast: 2}[last.dscp]
	a.want(n[2] == reason && reason != 0, l, wire,
		"reason of the NACK: TRIMMED or TRIMMED_LASTHOP as received", n[2], last.dscp)
	a.want(n[0] == 0 && n[1] == 0 && n[3] == 0 && n[12] == 0 && n[16] == 2<<4 && n[17] == 0, l, wire,
		"NETH's reserved bits, cc_type 2", n)
	a.want(l.psn() == last.psn && be24(n[13:]) == last.psn && be32(n[4:]) == last.ev &&
		retx == last.retx, l, wire, "PSN, entropy and rtx of the packet", n)
	a.want(be16(n[8:]) == uint16(l.qpn()) && be16(n[10:]) == uint16(l.qpn()), l, wire,
		"spdcid, dpdcid of a NACK")
	a.want(be16(l.udp[4:]) == last.udp, l, wire, "UDP length of the trimmed packet", be16(l.udp[4:]),
		last.udp)
	a.want(be16(n[18:])-last.stamp < 1<<15, l, wire, "tx_timestamp of a NACK")
}

// hop is what switches send: one hop less than they got, by tiers up, and then down. When something
// has failed, packets that a switch cannot bring down any more climb again until the others have
// routed around.
func (a *audit) hop(wire *lab.Wire, l *headers) {
	from, to := a.tiers[wire.From], a.tiers[wire.To]
	limit := int(l.ip[7])
	if l.outer != nil {
		limit = int(l.outer[7])
	}
	top := 0
	for _, t := range a.tiers {
		top = max(top, t)
	}
	most := 2*top + 1
	if srv6 := l.outer != nil || !(a.mode == ev.ModeStructured || a.mode == ev.ModeECMP); !srv6 &&
		a.failed() {
		most = 64
	}
	switch host := a.isMRC(wire.To); {
	case host && l.outer == nil && a.mode != ev.ModeStructured && a.mode != ev.ModeECMP:
		a.counts["decapsulated"]++
		a.want(limit == 63, l, wire, "hop limit of the inner packet", limit)
	case host:
		hops := 64 - limit
		a.want(hops%2 == 1 && hops <= most, l, wire, "hop limit at the host", limit)
	case to > from:
		hops := 64 - limit
		a.want((hops+from)%2 == 1 && hops > from && hops <= max(from+1, most-2*(top-from)), l, wire,
			"hop limit on the way up", limit)
	default:
		hops := 64 - limit // up to a switch of some tier, and down from there
		a.want((hops+from)%2 == 1 && hops > from && hops <= most-from, l, wire,
			"hop limit on the way down", limit)
	}
	a.want(!(a.mode == ev.ModeStructured || a.mode == ev.ModeECMP) || l.outer == nil, l, wire,
		"no outer header without SRv6")
}

// isMRC reports whether a node is a host of MRC.
func (a *audit) isMRC(name string) bool {
	_, err := a.w.MRCHost(name)
	return err == nil
}

// failed reports whether some link or switch has.
func (a *audit) failed() bool {
	return slices.ContainsFunc(a.w.Wires(), func(w *lab.Wire) bool {
		sw, err := a.w.Switch(w.From)
		return !w.Up() || err == nil && sw.Down()
	})
}

// Arrived implements Tap.
func (a *audit) Arrived(_ time.Duration, wire *lab.Wire, frame []byte) {
	l, ok := headersOf(frame)
	n, err := a.w.MRCHost(wire.To)
	if !ok || err != nil || !n.Ports().Has(int(wire.ToPort)) {
		return
	}
	op := l.bth[0]
	if op != opProbe && (op < opFirst || op > opOnly+1) {
		return
	}
	if _, err := n.QP(l.qpn()); err != nil {
		return // of a mesh that is over
	}
	key := peer{wire.To, l.qpn()}
	at := a.peers[key]
	if at == nil {
		at = &arrivals{psns: map[uint32]bool{}, cack: 0xffffef, max: 0xffffef}
		a.peers[key] = at
	}
	class := l.class()
	at.last = request{op: op, dscp: class >> 2, marked: class&3 == 3 || l.ip[1]>>4&3 == 3,
		retx: l.bth[8] >> 5 & 1, ev: l.ev(), psn: l.psn(), udp: be16(l.udp[4:])}
	if op == opProbe {
		at.last.psn, at.last.stamp = uint32(be16(l.rest[4:])), be16(l.rest[12:])
		return
	}
	at.last.stamp = be16(l.rest[4:])
	if d := class >> 2; d == trimmed || d == trimmedLast || packet.PSNDiff(l.psn(), at.cack) <= 0 ||
		at.psns[l.psn()] {
		return
	}
	at.psns[l.psn()] = true
	at.above++
	at.octets += uint64(be16(l.udp[4:])) + 40 // nominal_pktsize, §8.3.1
	for at.psns[packet.PSNAdd(at.cack, 1)] {
		at.cack = packet.PSNAdd(at.cack, 1)
		delete(at.psns, at.cack)
		at.above--
	}
}

var _ lab.Tap = (*audit)(nil)
