package figure

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/host/rc"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/packet"
)

const (
	treeName  = "figure"
	treeQPN   = 0x00d0d0
	treePMTU  = 1024
	treeBytes = 1 << 20          // memory of a receiver
	window    = time.Millisecond // T of section 5.3.3
	cnpLimit  = 8                // CNPs that a branch may report in a window
	// settle exceeds the sum of the windows at all nodes in the tree.
	settle   = 20 * window
	delay    = 5 * time.Microsecond
	patience = 30 * time.Second // of the world's time
)

var treeProxy = netip.MustParseAddr("2001:db8:ffff::1")

// A tree is Figure 1 of the multicast draft with a group whose source writes to R1 to R5.
type tree struct {
	*sight
	world   *lab.World
	control *lab.Control
	group   *lab.Group

	fromReceivers, toSource map[packet.Opcode]int // responses
	asked                   []uint32              // ePSNs of NAKs to the source
	askedByR                []uint32              // of those that receivers sent
	cnpAt                   []time.Duration       // when the source got a CNP
	strangeCNPs             int                   // to the source, not as RoCEv2 has them
}

// newTree programs Figure 1, perhaps with further hosts at some switches.
func newTree(s *sight, guests ...[2]string) (*tree, error) {
	network := lab.Figure1()
	for _, g := range guests {
		network.Hosts = append(network.Hosts, lab.Host{Name: g[0]})
		network.Links = append(network.Links, lab.Link{A: g[0], B: g[1]})
	}
	for i := range network.Links {
		network.Links[i].Delay = delay
		network.Links[i].Rate = 10e9
	}
	t := &tree{sight: s, fromReceivers: map[packet.Opcode]int{}, toSource: map[packet.Opcode]int{}}
	var err error
	if t.world, err = lab.NewWorld(network, lab.Options{Seed: 1, Cache: programs}); err != nil {
		return nil, err
	}
	if t.control, err = lab.NewControl(t.world, lab.DefaultLatencies()); err != nil {
		return nil, err
	}
	if err := t.control.Start(); err != nil {
		return nil, err
	}
	qp := rc.DefaultQPConfig()
	qp.PMTU, qp.AckEvery, qp.LocalAckTimeout = treePMTU, 4, 12 // 17 ms
	if t.group, err = t.world.NewGroup(lab.GroupConfig{
		Proxy: treeProxy, DesignatedQPN: treeQPN, Source: "S1",
		Receivers: []string{"R1", "R2", "R3", "R4", "R5"}, QP: qp, Memory: treeBytes,
	}); err != nil {
		return nil, err
	}
	spec := api.MulticastGroupSpec{
		ProxyAddress: treeProxy, DesignatedQPN: treeQPN, CNPWindow: api.Duration(window),
		CNPLimit: cnpLimit, Source: api.GroupSource{Address: t.group.Source.Config().Addr,
			QPN: t.group.SourceQP.Config().QPN},
	}
	for _, r := range t.group.Receivers {
		spec.Receivers = append(spec.Receivers, api.GroupReceiver{Address: r.Host.Config().Addr,
			QPN: r.QP.Config().QPN})
	}
	t.world.Run(time.Second, nil)
	if err := t.control.Change(func(core *controller.Core) error {
		_, _, err := core.Groups().Put(treeName, spec, resource.Precondition{})
		return err
	}); err != nil {
		return nil, err
	}
	if !t.world.Run(t.world.Now()+time.Second, t.programmed) {
		return nil, fmt.Errorf("the group is not programmed")
	}
	t.world.AddTap(t)
	return t, nil
}

func (t *tree) programmed() bool {
	g, err := t.control.Core().Groups().Get(treeName)
	return err == nil && g.Status.Is(api.Programmed)
}

// Sent implements lab.Tap.
func (t *tree) Sent(_ time.Duration, w *lab.Wire, frame []byte) {
	if r := t.group.Receiver(w.From); r != nil {
		if p, ok := response(frame); ok && p.UDP.SrcPort != forgedPort {
			t.fromReceivers[p.BTH.Opcode]++
			if p.AETH.Syndrome.Kind() == packet.SyndromeNAK {
				t.askedByR = append(t.askedByR, p.BTH.PSN)
			}
		}
	}
}

// Arrived implements lab.Tap.
func (t *tree) Arrived(now time.Duration, w *lab.Wire, frame []byte) {
	p, ok := response(frame)
	if w.To != "S1" || !ok {
		return
	}
	t.toSource[p.BTH.Opcode]++
	source := t.group.SourceQP.Config()
	switch {
	case p.BTH.Opcode == packet.OpCongestionNotification:
		t.cnpAt = append(t.cnpAt, now)
		if !p.BTH.BECN || p.BTH.DestQPN != source.QPN || p.IPv6.Src != source.RemoteAddr ||
			p.IPv6.Dst != t.group.Source.Config().Addr || packet.CheckICRC(p.Datagram) != nil {
			t.strangeCNPs++
		}
	case p.AETH.Syndrome.Kind() == packet.SyndromeNAK:
		t.asked = append(t.asked, p.BTH.PSN)
	}
}

// response reads an ACK, a NAK or a CNP.
func response(frame []byte) (packet.RoCE, bool) {
	p, _, err := packet.ParseRoCE(frame)
	return p, err == nil && (p.BTH.Opcode == packet.OpAcknowledge ||
		p.BTH.Opcode == packet.OpCongestionNotification)
}

// write writes to the receivers, and reports what every figure promises: all octets arrive, and no
// response says more than all receivers would.
func (t *tree) write(ctx context.Context) error {
	data := make([]byte, treeBytes)
	for i := range data {
		data[i] = byte(t.world.Rand().Uint32())
	}
	if err := t.group.Write(data, treeBytes/8); err != nil {
		return err
	}
	var failed error
	done := t.world.Run(t.world.Now()+patience, func() bool {
		if failed = ctx.Err(); failed == nil {
			failed = t.group.Pump()
		}
		return failed != nil || t.group.Done()
	})
	if failed == nil {
		failed = t.control.Err()
	}
	if failed != nil {
		return failed
	}
	t.see(done && len(t.group.Corrupt()) == 0, "receiversWithAllOctets",
		len(t.group.Receivers)-len(t.group.Corrupt()), "every receiver has the source's octets")
	early, _ := t.group.EarlyAcks()
	t.see(early == 0, "earlyAcks", early,
		"no response acknowledges what a receiver lacks, at the time it arrives")
	return nil
}

// lose loses the first packet of data with a PSN on a wire.
func (t *tree) lose(from, to string, psn uint32) error {
	w, err := t.world.Wire(from, to)
	if err != nil {
		return err
	}
	lost := false
	w.Lose = func(_ time.Duration, frame []byte) bool {
		p, _, err := packet.ParseRoCE(frame)
		if err != nil || p.BTH.PSN != psn || lost {
			return false
		}
		lost = true
		return true
	}
	return nil
}

func acks(ctx context.Context, s *sight) error {
	t, err := newTree(s)
	if err != nil {
		return err
	}
	slow, err := t.world.Wire("N3", "R5")
	if err != nil {
		return err
	}
	slow.Delay = 200 * time.Microsecond
	if err := t.write(ctx); err != nil {
		return err
	}
	sent, got := t.fromReceivers[packet.OpAcknowledge], t.toSource[packet.OpAcknowledge]
	s.see(sent > 0, "acksFromReceivers", sent, "all receivers acknowledge")
	s.see(got > 0 && got*len(t.group.Receivers) <= sent, "acksAtSource", got,
		"the source gets one answer for those of all receivers")
	return nil
}

func naks(ctx context.Context, s *sight) error {
	t, err := newTree(s)
	if err != nil {
		return err
	}
	const least, other = 40, 44 // lost one after the other, before any NAK is back
	if err := t.lose("N1", "R1", other); err != nil {
		return err
	}
	if err := t.lose("N3", "R4", least); err != nil {
		return err
	}
	if err := t.write(ctx); err != nil {
		return err
	}
	both := len(t.askedByR) == 2 && t.askedByR[0] == least && t.askedByR[1] == other
	s.see(both, "ePsnsFromReceivers", t.askedByR, "R4 asks for 40 and R1 for 44")
	s.see(len(t.asked) > 0 && t.asked[0] == least && slices.IsSorted(t.asked), "ePsnsAtSource",
		t.asked, "the source is asked for 40 first, and for 44 when all have what is before it")
	return nil
}

func cnps(ctx context.Context, s *sight) error {
	t, err := newTree(s)
	if err != nil {
		return err
	}
	for host, mark := range map[string]float64{"R1": 1, "R5": 0.02} { // congestion, much and little
		edge, _ := t.world.Network.Uplink(host)
		w, err := t.world.Wire(edge, host)
		if err != nil {
			return err
		}
		w.Faults.Mark = mark
	}
	slow, err := t.world.Wire("S1", "N6")
	if err != nil {
		return err
	}
	slow.Rate = 1e9 // for a transfer of many windows
	if err := t.write(ctx); err != nil {
		return err
	}
	t.world.Run(t.world.Now()+settle, nil)
	state, err := t.control.GroupState(treeName)
	if err != nil {
		return err
	}
	sent, got := t.fromReceivers[packet.OpCongestionNotification], len(t.cnpAt)
	s.see(sent > 0, "cnpsFromReceivers", sent, "congested receivers send CNPs")
	least := time.Hour
	for i := 1; i < got; i++ {
		least = min(least, t.cnpAt[i]-t.cnpAt[i-1])
	}
	s.see(got > 1 && least >= window-time.Microsecond, "leastGapUs", least.Microseconds(),
		"the source gets a single CNP in a window of 1 ms")
	s.see(got < sent, "cnpsAtSource", got, "there are fewer than receivers sent")
	s.see(t.strangeCNPs == 0, "strangeCnps", t.strangeCNPs,
		"each is a RoCEv2 CNP of the source's peer to its queue pair")
	worst := worstBranch(&state, "N1")
	s.see(worst == t.address("R1").String(), "mostCongestedAtN1", worst,
		"the state of the group names R1, by its CCount")

	// A receiver that floods.
	const flood = 500
	before, drops := len(t.cnpAt), t.dropped("N1", "MT_CNP_RATE")
	began := t.world.Now()
	if err := t.forge("R1", flood, time.Microsecond, func(p *packet.RoCE) {
		p.IPv6.Src, p.IPv6.Dst = t.address("R1"), treeProxy
		p.BTH = packet.CNPHeader(treeQPN)
	}); err != nil {
		return err
	}
	t.world.Run(began+settle, nil)
	dropped := t.dropped("N1", "MT_CNP_RATE") - drops
	s.see(dropped == flood-cnpLimit, "floodDropped", dropped,
		fmt.Sprintf("of %d CNPs that R1 sends in half a window all but %d are dropped", flood, cnpLimit))
	s.see(len(t.cnpAt)-before == 1, "cnpsAtSourceOfFlood", len(t.cnpAt)-before,
		"the source gets one CNP for all of them")
	return t.control.Err()
}

// worstBranch returns the receiver that has reported most CNPs to a node.
func worstBranch(state *api.GroupState, node string) (receiver string) {
	most := uint32(0)
	for _, n := range state.Nodes {
		for _, b := range n.Branches {
			if n.Switch == node && b.CNPCount > most {
				most, receiver = b.CNPCount, b.Receiver.String()
			}
		}
	}
	return receiver
}

func (t *tree) address(host string) netip.Addr {
	h, err := t.world.Host(host)
	if err != nil {
		return netip.Addr{}
	}
	return h.Config().Addr
}

// dropped returns how many packets a switch has dropped for a reason.
func (t *tree) dropped(sw, reason string) (n uint64) {
	node, err := t.world.Switch(sw)
	if err != nil {
		return 0
	}
	for r, count := range node.Drops() {
		if r.String() == reason {
			n += count
		}
	}
	return n
}

// forgedPort is the UDP source port in all forged packets, and in no honest packet.
const forgedPort = 0xbad1

// forge has a host send packets past its stack.
func (t *tree) forge(host string, count int, gap time.Duration, edit func(*packet.RoCE)) error {
	p, err := t.forged(host, edit)
	if err != nil {
		return err
	}
	return t.inject(host, count, gap, p.Append(nil))
}

func (t *tree) forged(host string, edit func(*packet.RoCE)) (packet.RoCE, error) {
	h, err := t.world.Host(host)
	if err != nil {
		return packet.RoCE{}, err
	}
	p := packet.RoCE{
		Ethernet: packet.Ethernet{Dst: h.Config().GatewayMAC, Src: h.Config().MAC},
		IPv6:     packet.IPv6{HopLimit: 64},
		UDP:      packet.UDP{SrcPort: forgedPort, DstPort: packet.RoCEPort},
		BTH:      packet.BTH{Opcode: packet.OpAcknowledge, PKey: packet.DefaultPKey, DestQPN: treeQPN},
	}
	edit(&p)
	return p, nil
}

func (t *tree) inject(host string, count int, gap time.Duration, frame []byte) error {
	sw, _ := t.world.Network.Uplink(host)
	w, err := t.world.Wire(host, sw)
	if err != nil {
		return err
	}
	for i := range count {
		t.world.After(time.Duration(i)*gap, func() { w.Inject(frame) })
	}
	return nil
}

func attacks(ctx context.Context, s *sight) error {
	// X1 is beside receivers at an edge, X6 beside the source.
	t, err := newTree(s, [2]string{"X1", "N1"}, [2]string{"X6", "N6"})
	if err != nil {
		return err
	}
	sentOn := 0 // forged frames that a switch sends
	t.world.AddTap(tap{sent: func(_ time.Duration, w *lab.Wire, frame []byte) {
		if w.From != "X1" && w.From != "X6" &&
			bytes.Contains(frame, []byte{forgedPort >> 8, forgedPort & 0xff, packet.RoCEPort >> 8,
				packet.RoCEPort & 0xff}) {
			sentOn++
		}
	}})
	g, err := t.control.Core().Groups().Get(treeName)
	if err != nil {
		return err
	}
	const each, gap = 50, 7 * time.Microsecond
	ahead := packet.AETH{Syndrome: packet.ACKSyndrome(packet.CreditInvalid)}
	again := packet.AETH{Syndrome: packet.NAKSyndrome(packet.NAKSequence)}
	forgeries := 0
	for _, x := range []string{"X1", "X6"} {
		own := t.address(x)
		for _, edit := range []func(*packet.RoCE){
			// An inflated AckPSN, in the name of a receiver and in its own.
			func(p *packet.RoCE) {
				p.IPv6.Src, p.IPv6.Dst, p.BTH.PSN, p.AETH = t.address("R1"), treeProxy, 900, ahead
			},
			func(p *packet.RoCE) { p.IPv6.Src, p.IPv6.Dst, p.BTH.PSN, p.AETH = own, treeProxy, 900, ahead },
			// NAKs.
			func(p *packet.RoCE) {
				p.IPv6.Src, p.IPv6.Dst, p.BTH.PSN, p.AETH = t.address("R1"), treeProxy, 1, again
			},
			func(p *packet.RoCE) { p.IPv6.Src, p.IPv6.Dst, p.BTH.PSN, p.AETH = own, treeProxy, 1, again },
			// Many CNPs, in the name of a receiver.
			func(p *packet.RoCE) {
				p.IPv6.Src, p.IPv6.Dst, p.BTH = t.address("R1"), treeProxy, packet.CNPHeader(treeQPN)
			},
			// An ACK and a CNP past the tree, in the name of the source's peer.
			func(p *packet.RoCE) {
				p.IPv6.Src, p.IPv6.Dst, p.BTH.PSN, p.AETH = treeProxy, t.address("S1"), 900, ahead
				p.BTH.DestQPN = t.group.SourceQP.Config().QPN
			},
			func(p *packet.RoCE) {
				p.IPv6.Src, p.IPv6.Dst = treeProxy, t.address("S1")
				p.BTH = packet.CNPHeader(t.group.SourceQP.Config().QPN)
			},
		} {
			forgeries += each
			if err := t.forge(x, each, gap, edit); err != nil {
				return err
			}
		}
		// Data with an End.MT TLV of its own, to every node of the tree.
		for _, node := range g.Status.Tree.Nodes {
			frame, err := t.tlv(x, node.SID, node.Address)
			if err != nil {
				return err
			}
			forgeries += each
			if err := t.inject(x, each, gap, frame); err != nil {
				return err
			}
		}
	}
	if err := t.write(ctx); err != nil {
		return err
	}
	t.world.Run(t.world.Now()+time.Millisecond, nil)
	dropped := map[string]uint64{}
	sum := uint64(0)
	for _, sw := range []string{"N1", "N6"} {
		for _, reason := range []string{"SOURCE_GUARD", "SID_FROM_OUTSIDE", "MT_NOT_BRANCH",
			"MT_NOT_SOURCE"} {
			if n := t.dropped(sw, reason); n > 0 {
				dropped[reason] += n
				sum += n
			}
		}
	}
	s.see(sum == uint64(forgeries), "dropped", dropped,
		fmt.Sprintf("the switches of the forgers drop all %d forged packets", forgeries))
	s.see(sentOn == 0, "sentOn", sentOn, "no switch sends a forged packet on")
	s.see(len(t.cnpAt) == 0, "cnpsAtSource", len(t.cnpAt), "no forged CNP slows the source")
	resent := t.group.SourceQP.Counters().RequestsResent
	s.see(resent == 0, "retransmissions", resent, "no forged NAK makes it send again")
	fmt.Fprintln(s.out, "  Nobody notices an End.MT TLV that is changed on its path: "+
		"docs/multicast.md, HMAC")
	return nil
}

// tlv makes a WRITE in a tunnel to a node's SID, whose End.MT TLV names R1.
func (t *tree) tlv(host string, sid, edge netip.Addr) ([]byte, error) {
	p, err := t.forged(host, func(p *packet.RoCE) {
		p.IPv6.Src, p.IPv6.Dst = t.address("S1"), treeProxy
		p.BTH.Opcode, p.Payload = packet.OpWriteOnly, make([]byte, treePMTU)
		p.RETH = packet.RETH{RKey: 0x5eed, DMALength: treePMTU}
	})
	if err != nil {
		return nil, err
	}
	list := []netip.Addr{sid, treeProxy}
	victim := packet.Receiver{Addr: t.address("R1"), QPN: t.group.Receivers[0].QP.Config().QPN}
	tlvs, err := packet.EndMTList(packet.TLVEndMTDefault, len(list),
		[]packet.EdgeReceivers{{Edge: edge, Receivers: []packet.Receiver{victim}}})
	if err != nil {
		return nil, err
	}
	p.Encapsulated, p.Routed = true, true
	p.Outer = packet.IPv6{Src: t.address(host), Dst: sid, HopLimit: 64}
	if p.SRH, err = packet.NewSRH(packet.NextHeaderIPv6, list, tlvs); err != nil {
		return nil, err
	}
	return p.Append(nil), nil
}
