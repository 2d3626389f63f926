package mrc

import (
	"bytes"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// solo is a host with two ports and one queue pair; the test plays the peer.
type solo struct {
	t    testing.TB
	host *Host
	qp   *QP
	now  time.Duration
	out  []sentPacket
	wire packet.MRCSettings
}

type sentPacket struct {
	packet.MRC
	at   time.Duration
	port int
}

func newSolo(t testing.TB, edit func(*QPConfig)) *solo {
	s := &solo{t: t, wire: packet.DefaultMRCSettings()}
	s.host = newTestHost(t, 0, 2, func(now time.Duration, port int, frame []byte) {
		p, _, err := packet.ParseMRC(bytes.Clone(frame), s.wire)
		if err == nil {
			err = packet.CheckICRC(p.Datagram)
		}
		if err != nil {
			t.Fatalf("sent: %v", err)
		}
		s.out = append(s.out, sentPacket{p, now, port})
	})
	c := testQPConfig(0, 1, 2)
	c.PMTU, c.SQPSN, c.RQPSN, c.ProbeTimeout = 256, 100, 500, 0
	if edit != nil {
		edit(&c)
	}
	var err error
	if s.qp, err = s.host.CreateQP(c); err != nil {
		t.Fatal(err)
	}
	return s
}

// take is what was sent since the last call.
func (s *solo) take() []sentPacket {
	out := s.out
	s.out = nil
	return out
}

// settle sends what can be sent until now + d.
func (s *solo) settle(d time.Duration) []sentPacket {
	until := s.now + d
	for {
		next, pending := s.host.Advance(s.now)
		if pending && next <= s.now {
			s.t.Fatalf("wants to be advanced at %v, which is not after %v", next, s.now)
		}
		if !pending || next > until {
			break
		}
		s.now = next
	}
	s.now = until
	s.host.Advance(s.now)
	return s.take()
}

// give has the host receive a packet of the peer by port 1, and returns the answers.
func (s *solo) give(p packet.MRC) []sentPacket {
	s.t.Helper()
	s.host.Receive(s.now, 1, s.frame(p))
	return s.take()
}

// frame is a packet of the peer.
func (s *solo) frame(p packet.MRC) []byte {
	p.Ethernet = packet.Ethernet{Dst: testMAC(0, 1), Src: gatewayMAC}
	p.IPv6.Src, p.IPv6.Dst, p.IPv6.HopLimit = testAddr(1), testAddr(0), 60
	p.UDP.DstPort = s.wire.Port
	if p.BTH.DestQPN == 0 {
		p.BTH.DestQPN = s.qp.cfg.QPN
	}
	if p.BTH.PKey == 0 {
		p.BTH.PKey = packet.DefaultPKey
	}
	return p.Append(nil)
}

func (s *solo) post(wr verbs.WorkRequest) {
	s.t.Helper()
	if wr.Op == 0 {
		wr.Op = verbs.OpWrite
	}
	if err := s.qp.PostSend(s.now, wr); err != nil {
		s.t.Fatal(err)
	}
}

// write posts a WRITE of so many packets.
func (s *solo) write(packets int) {
	s.t.Helper()
	s.post(verbs.WorkRequest{Data: make([]byte, packets*s.qp.cfg.PMTU)})
}

func (s *solo) refused(r Refusal) uint64 { return s.host.Counters().Refused[r] }

const testEV packet.EV = 0xC1230456

// request is a WRITE request with a payload to virtual address 0, by itself.
func request(psn uint32, payload []byte) packet.MRC {
	p := packet.MRC{
		IPv6: packet.IPv6{TrafficClass: packet.TrafficClass(packet.DefaultDSCPClasses().Trimmable,
			packet.ECT0)},
		BTH:  packet.MRCBTH{Opcode: packet.OpMRCWriteOnly, PSN: psn},
		RETH: packet.RETH{RKey: testRKey, DMALength: uint32(len(payload))}, Payload: payload,
	}
	p.SetEV(testEV)
	return p
}

// part is packet i of a message of n octets in packets of 256, with first PSN psn.
func part(psn uint32, i, n int) packet.MRC {
	end := min(n, (i+1)*256)
	p := request(psn+uint32(i), make([]byte, end-i*256))
	p.RETH.VA, p.RETH.DMALength = uint64(i*256), uint32(n)
	p.BTH.Opcode = opcodeOf(i == 0, end == n, false)
	return p
}

// ackPacket is a transport ACK or NAK.
func ackPacket(psn uint32, syndrome packet.Syndrome) packet.MRC {
	return packet.MRC{BTH: packet.MRCBTH{Opcode: packet.OpMRCAcknowledge, PSN: psn},
		AETH: packet.AETH{Syndrome: syndrome}}
}

var plainACK = packet.ACKSyndrome(packet.CreditInvalid)

// sackPacket is a SACK that answers psn; above are the PSNs received beyond cack. rcvd is
// rx_rcvd_bytes.
func sackPacket(cack, psn uint32, ev packet.EV, rcvd int, above ...uint32) packet.MRC {
	p := packet.MRC{BTH: packet.MRCBTH{Opcode: packet.OpMRCSACK, PSN: cack}}
	h := &p.SETH
	h.CackPSN, h.Entropy = cack, ev
	h.AckPSNOffset = packet.PSNOffset(psn, cack)
	h.SACKBitmap = 1
	for _, a := range above {
		h.SACKBitmap |= 1 << packet.PSNDiff(a, cack)
	}
	h.SetNSCC(packet.NSCC{OOOCount: uint16(len(above)), RcvdBytes: packet.RcvdBytes(uint64(rcvd))})
	return p
}

// nackPacket refuses the packet psn, sent with ev.
func nackPacket(psn uint32, ev packet.EV, reason packet.NACKReason) packet.MRC {
	return packet.MRC{
		BTH:  packet.MRCBTH{Opcode: packet.OpMRCNACK, PSN: psn},
		NETH: packet.NETH{Reason: reason, PSN: psn, Entropy: ev, CCType: packet.CCTypeTimestamp},
	}
}

func opcodes(out []sentPacket) []packet.Opcode {
	var ops []packet.Opcode
	for _, p := range out {
		ops = append(ops, p.BTH.Opcode)
	}
	return ops
}

// only are the packets with an opcode.
func only(out []sentPacket, o packet.Opcode) []sentPacket {
	var kept []sentPacket
	for _, p := range out {
		if p.BTH.Opcode == o {
			kept = append(kept, p)
		}
	}
	return kept
}

func psns(out []sentPacket) []uint32 {
	var list []uint32
	for _, p := range out {
		list = append(list, p.BTH.PSN)
	}
	return list
}
