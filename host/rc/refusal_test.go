package rc

import (
	"net/netip"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// TestRefusals makes a frame for every reason a frame is refused without an answer, by changing one
// thing in a frame that is accepted. Each counts once, under its reason, and changes nothing else.
// The other reasons have their own tests.
func TestRefusals(t *testing.T) {
	elsewhere := netip.MustParseAddr("2001:db8::77")
	const bth = packet.EthernetLen + packet.IPv6Len + packet.UDPLen
	const udp = packet.EthernetLen + packet.IPv6Len
	tests := []struct {
		name string
		want Refusal
		edit func(p *packet.RoCE)      // before the ICRC is made
		mend func(frame []byte) []byte // changes the frame, then its ICRC is made again
		raw  func(frame []byte) []byte // changes the frame only
		qp   func(q *QP)               // changes the queue pair
		host func(c *Config)           // changes the host's configuration
	}{
		{name: "empty frame", want: RefusedEthernet, raw: func(f []byte) []byte { return nil }},
		{name: "half an Ethernet header", want: RefusedEthernet, raw: func(f []byte) []byte {
			return f[:13]
		}},
		{name: "other MAC", want: RefusedMAC, edit: func(p *packet.RoCE) { p.Ethernet.Dst[5]++ }},
		{name: "broadcast", want: RefusedMAC, edit: func(p *packet.RoCE) {
			p.Ethernet.Dst = packet.MAC{255, 255, 255, 255, 255, 255}
		}},
		{name: "IPv4", want: RefusedEtherType, raw: func(f []byte) []byte {
			f[12], f[13] = 8, 0
			return f
		}},
		{name: "Ethernet only", want: RefusedIPv6, raw: func(f []byte) []byte {
			return f[:packet.EthernetLen]
		}},
		{name: "IP version", want: RefusedIPv6, raw: func(f []byte) []byte {
			f[packet.EthernetLen] = 0x40
			return f
		}},
		{name: "frame shorter than the packet", want: RefusedIPv6, raw: func(f []byte) []byte {
			return f[:len(f)-1]
		}},
		{name: "other address", want: RefusedDestination, edit: func(p *packet.RoCE) {
			p.IPv6.Dst = elsewhere
		}},
		{name: "ICMPv6", want: RefusedNextHeader, raw: func(f []byte) []byte {
			f[packet.EthernetLen+6] = packet.NextHeaderICMPv6
			return f
		}},
		{name: "encapsulated", want: RefusedNextHeader, edit: func(p *packet.RoCE) {
			p.Encapsulated, p.Outer = true, p.IPv6
		}},
		{name: "no room for UDP", want: RefusedUDPLength, raw: func(f []byte) []byte {
			f[packet.EthernetLen+4], f[packet.EthernetLen+5] = 0, 7
			return f
		}},
		{name: "UDP length too short", want: RefusedUDPLength, mend: func(f []byte) []byte {
			f[udp+5]--
			return f
		}},
		{name: "UDP length too long", want: RefusedUDPLength, mend: func(f []byte) []byte {
			f[udp+5]++
			return f
		}},
		{name: "UDP length below its header", want: RefusedUDPLength, mend: func(f []byte) []byte {
			f[udp+4], f[udp+5] = 0, 7
			return f
		}},
		{name: "other port", want: RefusedUDPPort, edit: func(p *packet.RoCE) { p.UDP.DstPort = 4790 }},
		{name: "wrong UDP checksum", want: RefusedUDPChecksum, edit: func(p *packet.RoCE) {
			p.Checksummed = true
		}, raw: func(f []byte) []byte { f[udp+7] ^= 1; return f }},
		{name: "no room for BTH and ICRC", want: RefusedTruncated, raw: func(f []byte) []byte {
			f[packet.EthernetLen+4], f[packet.EthernetLen+5], f[udp+4], f[udp+5] = 0, 23, 0, 23
			return f[:udp+23]
		}},
		{name: "RETH cut", want: RefusedTruncated, mend: func(f []byte) []byte {
			return cut(f, bth+packet.BTHLen+12+packet.ICRCLen)
		}},
		{name: "payload corrupted", want: RefusedICRC, raw: func(f []byte) []byte {
			f[len(f)-5] ^= 0x10
			return f
		}},
		{name: "ICRC corrupted", want: RefusedICRC, raw: func(f []byte) []byte {
			f[len(f)-1] ^= 1
			return f
		}},
		{name: "PSN corrupted", want: RefusedICRC, raw: func(f []byte) []byte {
			f[bth+11] ^= 1
			return f
		}},
		{name: "transport version", want: RefusedTVer, edit: func(p *packet.RoCE) { p.BTH.TVer = 1 }},
		{name: "reserved opcode", want: RefusedOpcode, edit: func(p *packet.RoCE) {
			p.BTH.Opcode = 0x15
		}},
		{name: "UD opcode", want: RefusedOpcode, edit: func(p *packet.RoCE) { p.BTH.Opcode = 0x64 }},
		{name: "ATOMIC acknowledgement", want: RefusedOpcode, edit: func(p *packet.RoCE) {
			p.BTH.Opcode = packet.OpAtomicAcknowledge
		}},
		{name: "padding without payload", want: RefusedPadCount, mend: func(f []byte) []byte {
			f[bth+1] |= 0x30
			return cut(f, bth+packet.BTHLen+packet.RETHLen+packet.ICRCLen)
		}},
		{name: "payload not a multiple of four", want: RefusedPadCount, mend: func(f []byte) []byte {
			return cut(f, len(f)-1)
		}},
		{name: "other partition", want: RefusedPKey, edit: func(p *packet.RoCE) { p.BTH.PKey = 0x8001 }},
		{name: "two limited members", want: RefusedPKey, edit: func(p *packet.RoCE) {
			p.BTH.PKey = 0x7FFF
		}, host: func(c *Config) { c.PKey = 0x7FFF }},
		{name: "other queue pair", want: RefusedQPN, edit: func(p *packet.RoCE) { p.BTH.DestQPN++ }},
		{name: "other peer", want: RefusedAddressPair, edit: func(p *packet.RoCE) {
			p.IPv6.Src = elsewhere
		}},
		{name: "queue pair failed", want: RefusedQPState, qp: func(q *QP) { q.state = qpError }},
		{name: "acknowledgement with payload", want: RefusedResponse, edit: func(p *packet.RoCE) {
			p.BTH.Opcode = packet.OpAcknowledge
		}},
		{name: "READ response", want: RefusedResponse, edit: func(p *packet.RoCE) {
			p.BTH.Opcode = packet.OpReadResponseMiddle
		}},
		{name: "syndrome", want: RefusedSyndrome, edit: func(p *packet.RoCE) {
			p.BTH.Opcode, p.Payload, p.AETH.Syndrome = packet.OpAcknowledge, nil, 0x9F
		}},
		{name: "ghost", want: RefusedGhost, edit: func(p *packet.RoCE) {
			p.BTH.Opcode, p.Payload, p.BTH.PSN = packet.OpAcknowledge, nil, 0x40
		}},
		{name: "stale", want: RefusedStale, edit: func(p *packet.RoCE) {
			p.BTH.Opcode, p.Payload, p.BTH.PSN = packet.OpAcknowledge, nil, 0x3F
		}},
	}
	answered := map[Refusal]string{
		RefusedDuplicate: "TestAcknowledgements", RefusedGap: "TestAcknowledgements",
		RefusedNotReady:       "TestRNRAtResponder",
		RefusedInvalidRequest: "TestRefusedRequests", RefusedRemoteAccess: "TestRefusedRequests",
		RefusedOperational: "TestRefusedRequests",
	}
	seen := make(map[Refusal]bool)
	for _, tt := range tests {
		h := newSolo(t, func(c *QPConfig) { c.SQPSN = 0x40 })
		r, err := h.host.RegisterMR(0, 1, make([]byte, 64), verbs.AccessRemoteWrite)
		if err != nil {
			t.Fatal(err)
		}
		if tt.host != nil {
			tt.host(&h.host.cfg)
		}
		if tt.qp != nil {
			tt.qp(h.qp)
		}
		good := h.write(0, []byte{1, 2, 3, 4})
		good.BTH.AckReq = true
		if tt.edit != nil {
			tt.edit(good)
		}
		f := good.Append(nil)
		if tt.mend != nil {
			f = mendICRC(tt.mend(f))
		}
		if tt.raw != nil {
			f = tt.raw(f)
		}
		h.host.Receive(0, f)
		c := h.host.Counters()
		if c.Refused[tt.want] != 1 || c.Refused.Total() != 1 {
			t.Errorf("%s: refused %v, want %v", tt.name, c.Refused.Map(), tt.want)
		}
		if len(h.out) != 0 || h.qp.ExpectedPSN() != 0 || r.Buf()[0] != 0 || h.qp.UnackedPSN() != 0x40 ||
			c.FramesReceived != 1 {
			t.Errorf("%s: %d answers, expected PSN %#x, memory %v", tt.name, len(h.out), h.qp.ExpectedPSN(),
				r.Buf()[:4])
		}
		seen[tt.want] = true
	}
	for r := range refusals {
		if !seen[r] && answered[r] == "" {
			t.Errorf("no case for %v", r)
		}
	}
}

// TestAccepted: what looks odd and must be accepted all the same.
func TestAccepted(t *testing.T) {
	tests := []struct {
		name string
		edit func(p *packet.RoCE)
		raw  func(f []byte) []byte
	}{
		{name: "plain"},
		{name: "Ethernet padding", raw: func(f []byte) []byte { return append(f, 0, 0, 0) }},
		{name: "UDP checksum", edit: func(p *packet.RoCE) { p.Checksummed = true }},
		{name: "variant fields changed on the way", raw: func(f []byte) []byte {
			// traffic class (but ECN), flow label
			f[packet.EthernetLen+1] |= 0xCF
			f[packet.EthernetLen+7] = 3                                         // hop limit
			f[packet.EthernetLen+packet.IPv6Len+packet.UDPLen+4] ^= 0xC0 | 1<<5 // FECN, BECN, reserved
			return f
		}},
		{name: "limited member", edit: func(p *packet.RoCE) { p.BTH.PKey = 0x7FFF }},
		{name: "reserved bits", edit: func(p *packet.RoCE) {
			p.BTH.Reserved7, p.BTH.Reserved6, p.BTH.MigReq = 0x7F, 0x3F, true
		}},
		{name: "odd length", edit: func(p *packet.RoCE) { p.Payload = []byte{5}; p.RETH.DMALength = 1 }},
	}
	for _, tt := range tests {
		h, _ := newResponder(t, 0)
		p := h.write(0, []byte{1, 2, 3, 4})
		p.BTH.AckReq = true
		if tt.edit != nil {
			tt.edit(p)
		}
		f := p.Append(nil)
		if tt.raw != nil {
			f = tt.raw(f)
		}
		h.host.Receive(0, f)
		wantReply(t, tt.name, h.taken(), 0, plainACK, 1)
	}
}

// TestPeer: a queue pair can be told to take packets from another source than it sends to.
func TestPeer(t *testing.T) {
	source := netip.MustParseAddr("2001:db8::77")
	h := newSolo(t, func(c *QPConfig) { c.Peer = source })
	mustRecv(t, h.qp, verbs.RecvRequest{})
	p := h.from(packet.OpSendOnly, 0)
	p.BTH.AckReq = true
	wantNone(t, "from RemoteAddr", h.give(p))
	p.IPv6.Src = source
	got := h.give(p)
	wantReply(t, "from Peer", got, 0, plainACK, 1)
	if got[0].IPv6.Dst != testAddr[1] {
		t.Errorf("answered to %v, want RemoteAddr", got[0].IPv6.Dst)
	}
}

// TestFailedQPIsSilent: nothing leaves a queue pair in the error state, whatever comes.
func TestFailedQPIsSilent(t *testing.T) {
	h, _ := newResponder(t, 0)
	mustPost(t, h.qp, verbs.WorkRequest{Op: verbs.OpWrite, Data: make([]byte, 10)})
	wantReply(t, "bad request", h.give(h.from(packet.OpWriteMiddle, 0)), 0,
		packet.NAKSyndrome(packet.NAKInvalidRequest), 0)
	p := h.write(1, []byte{1})
	p.IPv6.TrafficClass = packet.CE
	wantNone(t, "marked request", h.give(p))
	wantNone(t, "later", h.settle(time.Second))
}

// cut shortens a frame to n octets, the last four of which are for the ICRC, and sets its lengths.
func cut(f []byte, n int) []byte {
	f = f[:n]
	ip := n - packet.EthernetLen - packet.IPv6Len
	f[packet.EthernetLen+4], f[packet.EthernetLen+5] = byte(ip>>8), byte(ip)
	f[packet.EthernetLen+packet.IPv6Len+4], f[packet.EthernetLen+packet.IPv6Len+5] = byte(ip>>8),
		byte(ip)
	return f
}

// mendICRC writes the ICRC of a frame that may be anything.
func mendICRC(f []byte) []byte {
	if len(f) < packet.EthernetLen+packet.IPv6Len+packet.UDPLen+packet.BTHLen+packet.ICRCLen {
		return f
	}
	return append(f[:packet.EthernetLen],
		packet.AppendICRC(f[packet.EthernetLen:len(f)-packet.ICRCLen])...)
}
