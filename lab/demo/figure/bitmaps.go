package figure

import (
	"context"
	"errors"
	"maps"
	"math/bits"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/nic"
	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/packet"
)

// requestorBitmap: what H1 knows of its packets by SACKs (OCP MRC 1.0, Figure 1 and 7.4.4).
func requestorBitmap(ctx context.Context, s *sight) error {
	f, err := newFabric(s, small, ev.ModeStructured)
	if err != nil {
		return err
	}
	m, err := f.world.NewMesh(lab.MeshConfig{Flows: []lab.FlowConfig{{From: "H1", To: "H2",
		Bytes: 1 << 20}}})
	if err != nil {
		return err
	}
	qp := m.Flows[0].QP
	first := qp.Config().SQPSN
	lose := map[uint32]bool{packet.PSNAdd(first, 10): true, packet.PSNAdd(first, 11): true,
		packet.PSNAdd(first, 30): true}
	lost := slices.Sorted(maps.Keys(lose))
	uplink, err := f.world.Wire("H1", "P1-T0-1")
	if err != nil {
		return err
	}
	uplink.Lose = func(_ time.Duration, frame []byte) bool {
		p, ok := mrcPacket(frame)
		if !ok || !isData(&p) || !lose[p.BTH.PSN] {
			return false
		}
		delete(lose, p.BTH.PSN)
		return true
	}
	received := map[uint32]bool{} // as SACKs told H1
	unack := packet.PSNAdd(first, -1)
	var again []uint32
	differs, beyond, needless, unmarked := 0, 0, 0, 0
	sent := map[uint32]bool{}
	f.world.AddTap(tap{
		arrived: func(_ time.Duration, w *lab.Wire, frame []byte) {
			p, ok := mrcPacket(frame)
			if w.To != "H1" || !ok {
				return
			}
			switch p.BTH.Opcode {
			case packet.OpMRCSACK:
				if packet.PSNBefore(unack, p.SETH.CackPSN) {
					unack = p.SETH.CackPSN
				}
				for _, psn := range inBitmap(&p.SETH) {
					received[psn] = true
				}
			case packet.OpMRCAcknowledge:
				if packet.PSNBefore(unack, p.BTH.PSN) {
					unack = p.BTH.PSN
				}
			}
		},
		sent: func(_ time.Duration, w *lab.Wire, frame []byte) {
			p, ok := mrcPacket(frame)
			if w.From != "H1" || !ok || !isData(&p) {
				return
			}
			psn := p.BTH.PSN
			if qp.UnackPSN() != unack {
				differs++
			}
			if packet.PSNDiff(psn, qp.UnackPSN()) > qp.SendWindow() {
				beyond++
			}
			if sent[psn] {
				again = append(again, psn)
				if received[psn] || !packet.PSNBefore(unack, psn) {
					needless++
				}
			}
			if sent[psn] != p.BTH.Retransmission {
				unmarked++
			}
			sent[psn] = true
		},
	})
	if err := f.transfer(ctx, m, nil); err != nil {
		return err
	}
	slices.Sort(again)
	f.see(slices.Equal(again, lost), "sentAgain", again,
		"the packets that were lost are sent again, each once")
	f.see(needless == 0, "sentAgainThoughReceived", needless, "none that a SACK has in its bitmap is")
	f.see(unmarked == 0, "wrongRtx", unmarked, "BTH.rtx is set in these and in no other packet")
	f.see(differs == 0, "unackDiffers", differs,
		"unack_psn is the left side of the window: all up to it is acknowledged")
	f.see(beyond == 0, "beyondWindow", beyond, "no packet is beyond unack_psn + max_psn_range")
	return nil
}

// inBitmap returns the PSNs that the bitmap of a SACK has as received, in their order.
func inBitmap(h *packet.SETH) (psns []uint32) {
	for x := h.SACKBitmap; x != 0; x &= x - 1 {
		psns = append(psns, packet.PSNAdd(h.SACKBase(), bits.TrailingZeros64(x)))
	}
	return psns
}

// ends are two hosts with a queue pair each, where H2 gets packets that are made by hand.
type ends struct {
	*fabric
	h1, h2  *lab.MRCNode
	qp      *mrc.QP // of H2
	answers []packet.MRC
	octets  []int // of the answers
}

const (
	endQPN, endRKey = 0x123100, 0x1000
	endPayload      = 64
)

func newEnds(s *sight) (*ends, error) {
	f, err := newFabric(s, small, ev.ModeStructured)
	if err != nil {
		return nil, err
	}
	e := &ends{fabric: f}
	if e.h1, err = f.world.MRCHost("H1"); err != nil {
		return nil, err
	}
	if e.h2, err = f.world.MRCHost("H2"); err != nil {
		return nil, err
	}
	memory := make([]byte, 1<<16)
	if _, err := e.h2.RegisterMR(0, endRKey, memory, verbs.AccessRemoteWrite); err != nil {
		return nil, err
	}
	qp := nic.DefaultQPConfig()
	qp.QPN, qp.RemoteQPN, qp.RemoteAddr = endQPN+2, endQPN+1, f.address("H1")
	if e.qp, err = e.h2.CreateQP(qp); err != nil {
		return nil, err
	}
	f.world.AddTap(tap{sent: func(_ time.Duration, w *lab.Wire, frame []byte) {
		// A frame is valid during the call only.
		if p, ok := mrcPacket(slices.Clone(frame)); ok && w.From == "H2" {
			e.answers, e.octets = append(e.answers, p), append(e.octets, len(frame))
		}
	}})
	return e, nil
}

// deliver has a packet of H1 come to H2.
func (e *ends) deliver(edit func(*packet.MRC)) error {
	last, err := e.world.Wire("P1-T0-2", "H2")
	if err != nil {
		return err
	}
	sw, err := e.world.Switch("P1-T0-2")
	if err != nil {
		return err
	}
	classes := packet.DefaultDSCPClasses()
	p := packet.MRC{
		Ethernet: packet.Ethernet{Dst: e.h2.Config().Ports[0].MAC, Src: sw.Switch.MAC},
		IPv6: packet.IPv6{TrafficClass: packet.TrafficClass(classes.Trimmable, packet.ECT0), HopLimit: 62,
			Src: e.address("H1"), Dst: e.address("H2")},
		UDP: packet.UDP{DstPort: packet.RoCEPort},
		BTH: packet.MRCBTH{Opcode: packet.OpMRCWriteOnly, PKey: packet.DefaultPKey, DestQPN: endQPN + 2,
			Timestamped: true},
		TSETH:   packet.TSETH{Type: packet.TSETHTimestamp, Timestamp: 0x1234},
		RETH:    packet.RETH{RKey: endRKey, DMALength: endPayload},
		Payload: make([]byte, endPayload),
	}
	p.SetEV(endEV)
	edit(&p)
	p.METH.MSN = uint16(p.BTH.PSN)
	frame := p.Append(nil)
	if packet.DSCP(p.IPv6.TrafficClass) == classes.Trimmed {
		frame = frame[:packet.MinTrimLen]
	}
	last.Inject(frame)
	e.world.Run(e.world.Now()+10*time.Microsecond, nil)
	return e.control.Err()
}

// endEV is the entropy value that made packets travel with.
const endEV packet.EV = 0xc1234567

// write delivers a WRITE with a PSN.
func (e *ends) write(psn uint32, ask bool) error {
	return e.deliver(func(p *packet.MRC) { p.BTH.PSN, p.BTH.AckReq = psn, ask })
}

// answered returns the answers of an opcode so far.
func (e *ends) answered(o packet.Opcode) (list []packet.MRC) {
	for _, p := range e.answers {
		if p.BTH.Opcode == o {
			list = append(list, p)
		}
	}
	return list
}

// responderBitmap is the example of OCP MRC 1.0, 7.5.2.2, below Figure 2.
func responderBitmap(_ context.Context, s *sight) error {
	e, err := newEnds(s)
	if err != nil {
		return err
	}
	const cack, highest = 405, 800
	for psn := range uint32(cack + 1) {
		if err := e.write(psn, false); err != nil {
			return err
		}
	}
	// Each packet that asks for a SACK moves the bitmap on by 64, until it is beyond 673.
	above := 0
	for base := uint32(0); base+packet.SACKBits <= 673; above++ {
		if err := e.write(uint32(highest-above), true); err != nil {
			return err
		}
		all := e.answered(packet.OpMRCSACK)
		if len(all) == 0 || above == packet.SACKBits {
			return errors.New("no SACK that moves the bitmap on")
		}
		base = all[len(all)-1].SETH.SACKBase()
	}
	before := len(e.answered(packet.OpMRCSACK))
	for _, psn := range []uint32{673, 704, 705} {
		if err := e.write(psn, false); err != nil {
			return err
		}
	}
	quiet := len(e.answered(packet.OpMRCSACK)) - before
	if err := e.write(680, true); err != nil {
		return err
	}
	all := e.answered(packet.OpMRCSACK)
	s.see(quiet == 0 && len(all) == before+1, "sacks", len(all)-before,
		"PSNs 673, 704, 705 and 680 arrive, and the last one causes a SACK")
	last := all[len(all)-1].SETH
	s.see(last.CackPSN == cack && e.qp.CackPSN() == cack, "cackPsn", last.CackPSN,
		"cack_psn is 405: there are no holes up to it")
	s.see(last.SACKOffset == 268, "sackOffset", last.SACKOffset, "sack_offset is 673 - 405 = 268")
	received := inBitmap(&last)
	s.see(slices.Equal(received, []uint32{673, 680, 704, 705}), "bitmap", received,
		"the bitmap has what has arrived from there on")
	s.see(last.AckPSN() == 680, "ackPsn", last.AckPSN(), "ack_psn is the packet that caused the SACK")
	state, err := last.NSCC()
	if err != nil {
		return err
	}
	s.see(int(state.OOOCount) == above+4 && e.qp.OutOfOrder() == above+4, "oooCount", state.OOOCount,
		"rx_ooo_count counts the packets above cack_psn")
	return nil
}

// packetStack has H2 and H1 send every packet of table 7-6 (OCP MRC 1.0, Figure 3).
func packetStack(ctx context.Context, s *sight) error {
	e, err := newEnds(s)
	if err != nil {
		return err
	}
	classes := packet.DefaultDSCPClasses()
	if err := e.write(0, true); err != nil { // a SACK, and the ACK of the message
		return err
	}
	if err := e.deliver(func(p *packet.MRC) {
		p.BTH.PSN = 3
		p.IPv6.TrafficClass = packet.TrafficClass(classes.Trimmed, packet.ECT0)
	}); err != nil {
		return err
	}
	const probeID = 0xbeef
	const near, far = uint16(endQPN&0xffff + 2), uint16(endQPN&0xffff + 1)
	if err := e.deliver(func(p *packet.MRC) {
		p.BTH.Opcode, p.BTH.Timestamped, p.BTH.PSN = packet.OpMRCProbe, false, 0
		p.PETH = packet.PETH{ProbeID: probeID, SPDCID: far, DPDCID: near,
			TSETH: packet.TSETH{Type: packet.TSETHTimestamp}}
	}); err != nil {
		return err
	}
	answers := 0
	asked := map[uint32]bool{} // identifiers
	e.world.AddTap(tap{sent: func(_ time.Duration, w *lab.Wire, frame []byte) {
		if p, ok := mrcPacket(slices.Clone(frame)); ok && w.From == "H1" &&
			p.BTH.Opcode == packet.OpMRCEndpointRequest && p.BTH.DestQPN == packet.EndpointQPN {
			asked[p.BTH.PSN] = true
		}
	}})
	err = e.probe(ctx, "H1", "H2", func(r hostapi.ProbeResult, _ ev.Value, _ int) {
		answers += r.Received
	})
	if err != nil {
		return err
	}

	const lower = packet.EthernetLen + packet.IPv6Len + packet.UDPLen + packet.BTHLen + packet.ICRCLen
	layered := func(o packet.Opcode, header int) int {
		for i, p := range e.answers {
			if p.BTH.Opcode == o && e.octets[i] == lower+header {
				return e.octets[i]
			}
		}
		return 0
	}
	stack := map[string]int{
		"SACK":             layered(packet.OpMRCSACK, packet.SETHLen),
		"NACK":             layered(packet.OpMRCNACK, packet.NETHLen),
		"ACK":              layered(packet.OpMRCAcknowledge, packet.AETHLen),
		"EndpointResponse": layered(packet.OpMRCEndpointResponse, packet.EETHLen),
	}
	whole := true
	for _, octets := range stack {
		whole = whole && octets > 0
	}
	s.see(whole, "octets", stack, "each is Ethernet, IPv6, UDP, BTH, its header and ICRC, and no more")
	control := true
	for _, p := range e.answers {
		control = control && packet.DSCP(p.IPv6.TrafficClass) == classes.Control &&
			packet.CheckICRC(p.Datagram) == nil
	}
	s.see(control, "controlClass", classes.Control, "all have the DSCP of control, and a valid ICRC")
	sacks, nacks := e.answered(packet.OpMRCSACK), e.answered(packet.OpMRCNACK)
	if len(sacks) != 2 || len(nacks) != 1 || len(e.answered(packet.OpMRCAcknowledge)) != 1 {
		s.see(false, "answers", len(e.answers), "there are two SACKs, a NACK and an ACK")
		return nil
	}
	sack, nack, probed := sacks[0], nacks[0], sacks[1].SETH
	s.see(sack.BTH.DestQPN == endQPN+1 && sack.BTH.PSN == 0 && sack.SETH.CackPSN == 0 &&
		sack.SETH.AckPSN() == 0 && sack.SETH.SPDCID == near && sack.SETH.DPDCID == far &&
		sack.SETH.Entropy == endEV, "sack", sack.SETH.Entropy,
		"a SACK has cack_psn, the PSN of the packet, both queue pairs and the entropy of the packet")
	s.see(nack.BTH.PSN == 3 && nack.NETH.PSN == 3 && nack.NETH.Reason == packet.NACKTrimmed &&
		nack.NETH.SPDCID == near && nack.NETH.DPDCID == far && nack.NETH.Entropy == endEV, "nack",
		nack.NETH.Reason.String(), "a NACK has the PSN of the packet, the reason, and the same")
	s.see(probed.Probe && probed.ProbeID() == probeID && probed.CackPSN == 0, "probeId",
		probed.ProbeID(), "a SACK with pr answers a reliability probe, with its identifier")
	named := 0
	for _, reply := range e.answered(packet.OpMRCEndpointResponse) {
		if asked[reply.BTH.PSN] && reply.BTH.DestQPN == packet.EndpointQPN && reply.BTH.PSN>>16 == 0 {
			named++
		}
	}
	s.see(answers == len(asked) && named == len(asked) && named > 0, "evProbes", answers,
		"EV probes and their responses are for queue pair 2, with one identifier of 16 bits")
	return nil
}
