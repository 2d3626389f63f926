package rc

import (
	"time"

	"github.com/weft-sdn/weft/host/internal/ibta"
	"github.com/weft-sdn/weft/packet"
)

// Receive handles a frame, which it does not keep. Acknowledgements and CNPs leave during the call;
// call Advance afterwards for what the frame made possible. A frame that is not accepted counts
// under one Refusal.
func (h *Host) Receive(now time.Duration, frame []byte) {
	h.counters.FramesReceived++
	h.counters.OctetsReceived += uint64(len(frame))
	if r, ok := h.receive(now, frame); !ok {
		h.refuse(r)
	}
}

func (h *Host) receive(now time.Duration, frame []byte) (Refusal, bool) {
	eth, n, err := packet.ParseEthernet(frame)
	switch {
	case err != nil:
		return RefusedEthernet, false
	case eth.Dst != h.cfg.MAC:
		return RefusedMAC, false
	case eth.EtherType != h.etherType:
		return RefusedEtherType, false
	}
	p := frame[n:]
	ip, n, err := h.parseIP(p)
	switch {
	case err != nil || len(p)-n < int(ip.PayloadLength):
		return RefusedIPv6, false
	case ip.Dst != h.cfg.Addr:
		return RefusedDestination, false
	case ip.NextHeader != packet.NextHeaderUDP:
		return RefusedNextHeader, false
	}
	p = p[:n+int(ip.PayloadLength)] // the rest is Ethernet padding
	datagram := p[n:]
	udp, n, err := packet.ParseUDP(datagram)
	switch {
	case err != nil || int(udp.Length) != len(datagram):
		return RefusedUDPLength, false
	case udp.DstPort != packet.RoCEPort:
		return RefusedUDPPort, false
	case udp.Checksum != 0 && packet.CheckUDPChecksum(ip.Src, ip.Dst, datagram) != nil:
		return RefusedUDPChecksum, false
	}
	if len(datagram) < n+packet.BTHLen+packet.ICRCLen {
		return RefusedTruncated, false
	}
	if packet.CheckICRC(p) != nil {
		return RefusedICRC, false
	}
	return h.receiveTransport(now, ip, datagram[n:len(datagram)-packet.ICRCLen])
}

// parseIP reads a header of the host's family.
func (h *Host) parseIP(b []byte) (packet.IPv6, int, error) {
	if h.cfg.Addr.Is4() {
		return packet.ParseIP(b)
	}
	return packet.ParseIPv6(b)
}

// receiveTransport handles what is between UDP header and ICRC, a BTH at least.
func (h *Host) receiveTransport(now time.Duration, ip packet.IPv6, b []byte) (Refusal, bool) {
	bth, n, _ := packet.ParseBTH(b)
	b = b[n:]
	ext, decoded := bth.Opcode.Extensions()
	switch {
	case bth.TVer != 0:
		return RefusedTVer, false
	case !decoded && !unsupportedRequest(bth.Opcode):
		return RefusedOpcode, false
	case len(b) < ext.Len():
		return RefusedTruncated, false
	}
	r := request{bth: bth}
	var aeth packet.AETH
	if ext.Is(packet.ExtRETH) {
		r.reth, n, _ = packet.ParseRETH(b)
		b = b[n:]
	}
	if ext.Is(packet.ExtAETH) {
		aeth, n, _ = packet.ParseAETH(b)
		b = b[n:]
	}
	if ext.Is(packet.ExtImmDt) {
		imm, n, _ := packet.ParseImmDt(b)
		r.imm = uint32(imm)
		b = b[n:]
	}
	if ext.Is(packet.ExtCNP) {
		b = b[packet.CNPLen:]
	}
	if int(bth.PadCount) > len(b) || len(b)%4 != 0 {
		return RefusedPadCount, false
	}
	r.payload = b[:len(b)-int(bth.PadCount)]

	if !ibta.SamePartition(bth.PKey, h.cfg.PKey) {
		return RefusedPKey, false
	}
	q, ok := h.qps[bth.DestQPN]
	switch {
	case !ok:
		return RefusedQPN, false
	case ip.Src != q.peer:
		return RefusedAddressPair, false
	case q.state != qpReady:
		return RefusedQPState, false
	}

	switch bth.Opcode {
	case packet.OpCongestionNotification:
		q.counters.CNPsReceived++
		q.rate.cnp(now)
		return 0, true
	case packet.OpAcknowledge:
		if len(r.payload) != 0 {
			return RefusedResponse, false
		}
		return q.receiveResponse(now, bth.PSN, aeth)
	case packet.OpReadResponseFirst, packet.OpReadResponseMiddle, packet.OpReadResponseLast,
		packet.OpReadResponseOnly:
		return RefusedResponse, false
	}
	if packet.ECN(ip.TrafficClass) == packet.CE {
		q.noteCongestion(now)
	}
	return q.receiveRequest(now, &r)
}

// unsupportedRequest reports whether an opcode is a reliable connection request whose headers this
// package does not decode. The responder answers such a request with NAK Invalid Request if its PSN
// is the expected PSN.
func unsupportedRequest(o packet.Opcode) bool {
	switch o {
	case packet.OpCompareSwap, packet.OpFetchAdd, packet.OpSendLastInvalidate,
		packet.OpSendOnlyInvalidate:
		return true
	}
	return false
}
