package rc

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/packet"
)

// solo is a host with the test as its peer: the test receives the packets of the host, and sends
// any packets.
type solo struct {
	t    testing.TB
	now  time.Duration
	host *Host
	qp   *QP
	out  [][]byte
}

func newSolo(t testing.TB, edit func(*QPConfig)) *solo {
	s := &solo{t: t}
	cfg := DefaultConfig()
	cfg.Name, cfg.Addr, cfg.MAC, cfg.GatewayMAC = "S", testAddr[0], testMAC[0], testMAC[1]
	cfg.Output = func(_ time.Duration, frame []byte) { s.out = append(s.out, slices.Clone(frame)) }
	var err error
	if s.host, err = NewHost(cfg); err != nil {
		t.Fatal(err)
	}
	c := DefaultQPConfig()
	c.QPN, c.RemoteQPN, c.RemoteAddr, c.PMTU = testQPN0, testQPN1, testAddr[1], 256
	if edit != nil {
		edit(&c)
	}
	if s.qp, err = s.host.CreateQP(c); err != nil {
		t.Fatal(err)
	}
	return s
}

// settle advances until nothing is due before limit, and returns the packets sent meanwhile.
func (s *solo) settle(limit time.Duration) []packet.RoCE {
	for {
		next, pending := s.host.Advance(s.now)
		if !pending || next > limit {
			break
		}
		s.now = max(s.now, next)
	}
	s.now = max(s.now, limit)
	return s.taken()
}

// taken is what was sent since the last call.
func (s *solo) taken() []packet.RoCE {
	var all []packet.RoCE
	for _, f := range s.out {
		all = append(all, parse(s.t, f))
	}
	s.out = nil
	return all
}

// from is a packet of the peer to the queue pair, without extension headers and payload.
func (s *solo) from(op packet.Opcode, psn uint32) *packet.RoCE {
	return &packet.RoCE{
		Ethernet: packet.Ethernet{Dst: s.host.cfg.MAC, Src: s.host.cfg.GatewayMAC},
		IPv6: packet.IPv6{HopLimit: 64, Src: s.qp.cfg.RemoteAddr, Dst: s.host.cfg.Addr,
			TrafficClass: packet.ECT0},
		UDP: packet.UDP{SrcPort: 0xC000, DstPort: packet.RoCEPort},
		BTH: packet.BTH{Opcode: op, PKey: packet.DefaultPKey, DestQPN: s.qp.cfg.QPN, PSN: psn},
	}
}

// give delivers a packet and returns what the host answered at once.
func (s *solo) give(p *packet.RoCE) []packet.RoCE {
	s.host.Receive(s.now, p.Append(nil))
	return s.taken()
}

func (s *solo) ack(psn uint32) { s.respond(psn, packet.ACKSyndrome(packet.CreditInvalid)) }

func (s *solo) respond(psn uint32, syndrome packet.Syndrome) {
	p := s.from(packet.OpAcknowledge, psn)
	p.AETH.Syndrome = syndrome
	if out := s.give(p); len(out) != 0 {
		s.t.Errorf("a response was answered by %v", out[0].BTH.Opcode)
	}
}

// write is an RDMA WRITE Only of the payload to the start of region 1.
func (s *solo) write(psn uint32, payload []byte) *packet.RoCE {
	p := s.from(packet.OpWriteOnly, psn)
	p.RETH = packet.RETH{RKey: 1, DMALength: uint32(len(payload))}
	p.Payload = payload
	return p
}

func psns(all []packet.RoCE) []uint32 {
	var p []uint32
	for _, r := range all {
		p = append(p, r.BTH.PSN)
	}
	return p
}

func wantPSNs(t *testing.T, what string, got []packet.RoCE, want ...uint32) {
	t.Helper()
	if !slices.Equal(psns(got), want) {
		t.Fatalf("%s: sent PSNs %x, want %x", what, psns(got), want)
	}
}

// wantReply checks that the host answered with one acknowledgement.
func wantReply(t *testing.T, what string, got []packet.RoCE, psn uint32, syndrome packet.Syndrome,
	msn uint32) {
	t.Helper()
	if len(got) != 1 {
		t.Fatalf("%s: %d answers, want one", what, len(got))
	}
	g := got[0]
	if g.BTH.Opcode != packet.OpAcknowledge || g.BTH.PSN != psn || g.AETH.Syndrome != syndrome ||
		g.AETH.MSN != msn {
		t.Fatalf("%s: %v PSN %#x %v MSN %d, want PSN %#x %v MSN %d", what, g.BTH.Opcode, g.BTH.PSN,
			g.AETH.Syndrome, g.AETH.MSN, psn, syndrome, msn)
	}
}

func wantNone(t *testing.T, what string, got []packet.RoCE) {
	t.Helper()
	if len(got) != 0 {
		t.Fatalf("%s: answered by %v PSN %#x, want silence", what, got[0].BTH.Opcode, got[0].BTH.PSN)
	}
}
