package fabric

import (
	"fmt"
	"net/netip"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// watched is a queue that the target watches, with a number of nodes upstream.
func watched(direction p4.PfcDirection, port uint32, priority uint8, quanta uint16,
	upstreams int) *p4v1.Update {
	return entry(p4.TablePfcQueue, []any{uint8(direction), port, priority}, p4.ActionSetPfcQueue,
		1<<20, 1<<16, 1<<15, quanta, 100_000, upstreams, 0, 1000, uint8(p4.WatchdogActionDrop))
}

func upstream(direction p4.PfcDirection, port uint32, priority, upstream uint8, action string,
	params ...any) *p4v1.Update {
	return entry(p4.TablePfcUpstream, []any{uint8(direction), port, priority, upstream}, action,
		params...)
}

func made(counter, port uint32, priority int) counts { return paused(counter, port, priority) }

const (
	egress  = p4.PfcDirectionEgress
	ingress = p4.PfcDirectionIngress
)

// pfcMade: the target says what is due, and the program sends it.
func pfcMade() []scenario {
	own := packet.MAC{2, 0, 0, 0, 0, 0x77}
	queryReport := p4.QueueReport{Packets: 3, XONSent: p4.NeverYet}.Append(nil)
	reported := func(op p4.TargetOp) step {
		w := asked(op, egress, 8, 3, 0, queryReport...)
		return step{
			what: op.String() + " is for the controller", in: w,
			out: []wire{report{port: p4.PfcPort, reason: p4.PacketInReasonPfc}.wire(w.frame...)},
		}
	}
	query := asked(p4.TargetOpQuery, egress, 8, 3, 0)
	s := scenario{
		name: "pfc/made", entries: []*p4v1.Update{
			watched(egress, 8, 3, 0xabcd, 2), watched(ingress, 1, 3, 0x1111, 1),
			upstream(egress, 8, 3, 0, p4.ActionPfcToLink, 1, 0, own),
			upstream(egress, 8, 3, 1, p4.ActionPfcToTunnel, 9, sidBehind(4), 0, 48, 6, 0, own),
			upstream(ingress, 1, 3, 0, p4.ActionPfcToLink, 1, 0, own),
			upstream(egress, 7, 3, 0, p4.ActionPfcToLink, 1, 0, own),
			upstream(egress, 8, 3, 2, p4.ActionPfcToTunnel, 10, sidBehind(4), 0, 48, 6, 0, own),
			upstream(egress, 8, 3, 3, p4.ActionPfcToTunnel, 9, addr("fd00:dead::1"), 0, 48, 6, 0, own),
			entry(p4.TableSrPolicy, []any{9}, p4.ActionVia0, node),
		},
		steps: []step{
			{
				what: "XOFF to a link", in: asked(p4.TargetOpXoff, egress, 8, 3, 0),
				out: []wire{{1, pfcOf(0xabcd, 3).AppendFrame(nil, own)}}, pauses: made(p4.CounterPfcXoffTxID, 8,
					3),
			},
			{
				what: "XON", in: asked(p4.TargetOpXon, egress, 8, 3, 0),
				out: []wire{{1, pfcOf(0, 3).AppendFrame(nil, own)}}, pauses: made(p4.CounterPfcXonTxID, 8, 3),
			},
			{
				what: "XOFF into a tunnel", in: asked(p4.TargetOpXoff, egress, 8, 3, 1),
				out:    []wire{signalled(4, 0, 64, pfcOf(0xabcd, 3), own, nil, sidBehind(4))},
				pauses: made(p4.CounterPfcXoffTxID, 8, 3), classes: sent(4, 6),
			},
			{
				what: "of what came by a port", in: asked(p4.TargetOpXoff, ingress, 1, 3, 0),
				out: []wire{{1, pfcOf(0x1111, 3).AppendFrame(nil, own)}}, pauses: made(p4.CounterPfcXoffTxID, 1,
					3),
			},
			{what: "no such upstream", in: asked(p4.TargetOpXoff, egress, 8, 3, 4),
				ingress: drops{p4.DropReasonPfcUpstream: 1}},
			{what: "no such queue", in: asked(p4.TargetOpXoff, egress, 7, 3, 0),
				ingress: drops{p4.DropReasonPfcUpstream: 1}},
			{what: "a policy without segments", in: asked(p4.TargetOpXoff, egress, 8, 3, 2),
				pauses: made(p4.CounterPfcXoffTxID, 8, 3), ingress: drops{p4.DropReasonSrPolicy: 1}},
			{what: "a SID that no route leads to", in: asked(p4.TargetOpXoff, egress, 8, 3, 3),
				pauses: made(p4.CounterPfcXoffTxID, 8, 3), ingress: drops{p4.DropReasonNoRoute: 1}},
			reported(p4.TargetOpState), reported(p4.TargetOpStorm), reported(p4.TargetOpStormOver),
			{what: "the target does not pause", in: asked(p4.TargetOpPause, egress, 8, 3, 0),
				ingress: drops{p4.DropReasonTargetFrame: 1}},
			{what: "nor ask", in: query, ingress: drops{p4.DropReasonTargetFrame: 1}},
			{what: "unknown", in: asked(99, egress, 8, 3, 0), ingress: drops{p4.DropReasonTargetFrame: 1}},
			{what: "cut", in: cut(query, p4.TargetFrameLen-1),
				ingress: drops{p4.DropReasonParseTruncated: 1}},
			{what: "a controller asks", in: packetOut(p4.PacketOutOpSend, p4.PfcPort, 0, 0, query.frame...),
				out: []wire{query}},
		},
		classes: true,
	}
	for priority := range uint8(8) {
		s.entries = append(s.entries, watched(egress, 2, priority, uint16(priority)+1, 1),
			upstream(egress, 2, priority, 0, p4.ActionPfcToLink, 5, 0, own))
		s.steps = append(s.steps, step{
			what: fmt.Sprintf("priority %d", priority), in: asked(p4.TargetOpXoff, egress, 2, priority, 0),
			out:    []wire{{5, pfcOf(uint16(priority)+1, int(priority)).AppendFrame(nil, own)}},
			pauses: made(p4.CounterPfcXoffTxID, 2, int(priority)),
		})
	}
	return []scenario{s}
}

// signalled is a PFC frame as it leaves for a SID, by a list of segments or by best effort. visited
// is this switch's own segment before them.
func signalled(port, label uint32, hops uint8, p packet.PFC, src packet.MAC, visited []netip.Addr,
	visit ...netip.Addr) wire {
	f := packet.SRv6Frame{
		Ethernet: packet.Ethernet{Dst: macBehind(port), Src: macOf(port),
			EtherType: packet.EtherTypeIPv6},
		IPv6: packet.IPv6{TrafficClass: packet.TrafficClass(48, packet.NotECT), FlowLabel: label,
			HopLimit: hops, Src: node, Dst: visit[0]},
		Frame: p.AppendFrame(nil, src),
	}
	if list := append(append([]netip.Addr(nil), visited...), visit...); len(list) > 1 {
		srh, err := packet.NewSRH(packet.NextHeaderEthernet, list, nil)
		if err != nil {
			panic(err)
		}
		srh.SegmentsLeft -= uint8(len(visited))
		f.Routed, f.SRH = true, srh
	}
	return wire{port, f.Append(nil)}
}

var vias = []string{p4.ActionVia0, p4.ActionVia1, p4.ActionVia2, p4.ActionVia3, p4.ActionVia4,
	p4.ActionVia5, p4.ActionVia6, p4.ActionVia7}
var viaAdjacencies = []string{"", p4.ActionViaAdjacency1, p4.ActionViaAdjacency2,
	p4.ActionViaAdjacency3, p4.ActionViaAdjacency4, p4.ActionViaAdjacency5, p4.ActionViaAdjacency6,
	p4.ActionViaAdjacency7}

// somePolicy is a policy of n segments: all on the way, or the first one this switch's own.
type somePolicy struct {
	id       uint16
	segments []netip.Addr
	own      bool
}

func newPolicy(id uint16, n int, own bool) somePolicy {
	p := somePolicy{id: id, own: own}
	for i := range n {
		p.segments = append(p.segments, addr(fmt.Sprintf("fd00:b:4::%x%02x", id, i)))
	}
	if own {
		p.segments[0] = sidEndXPFC
	}
	return p
}

func (p somePolicy) entry() *p4v1.Update {
	params := []any{node}
	action := vias[len(p.segments)]
	if p.own {
		action = viaAdjacencies[len(p.segments)]
		params = append(params, 3, neighborOf(3))
	}
	for _, s := range p.segments {
		params = append(params, s)
	}
	return entry(p4.TableSrPolicy, []any{p.id}, action, params...)
}

// path returns the SIDs already visited, the SIDs still to visit before the service, and the port
// towards the service.
func (p somePolicy) path() (visited, visit []netip.Addr, port uint32) {
	if p.own {
		return p.segments[:1], p.segments[1:], 3
	}
	return nil, p.segments, 4
}

// policies are of all lengths.
func policies() []somePolicy {
	var list []somePolicy
	for n := range len(vias) {
		list = append(list, newPolicy(uint16(0x20+n), n, false))
		if n > 0 {
			list = append(list, newPolicy(uint16(0x30+n), n, true))
		}
	}
	return list
}

// pfcTunnels: tunnels of all lengths, with a slice. What steers IPv6 packets, all of them, is not
// for PFC frames: they have no address to steer by.
func pfcTunnels() []scenario {
	own := packet.MAC{2, 0, 0, 0, 0, 0x77}
	s := scenario{name: "pfc/tunnels", classes: true, entries: append(pfcSIDs(0),
		entry(p4.TableSliceField, nil, p4.ActionSetSliceField, 0xfff),
		entry(p4.TableSrv6Policy, []any{0, netip.MustParsePrefix("::/1")}, p4.ActionHEncaps3, node,
			sidBehind(5), sidBehind(4), sidBehind(6)),
		entry(p4.TableSrv6Policy, []any{0, netip.MustParsePrefix("8000::/1")}, p4.ActionHEncaps3, node,
			sidBehind(5), sidBehind(4), sidBehind(6)),
		watched(egress, 8, 3, 500, 15))}
	for i, p := range policies() {
		slice := uint32(0x100 + i)
		visited, visit, port := p.path()
		s.entries = append(s.entries, p.entry(), upstream(egress, 8, 3, uint8(i), p4.ActionPfcToTunnel,
			p.id, sidBehind(4), slice, 48, 6, 0, own))
		s.steps = append(s.steps, step{
			what: fmt.Sprintf("policy %#x of %d segments", p.id, len(p.segments)),
			in:   asked(p4.TargetOpXoff, egress, 8, 3, uint8(i)),
			out: []wire{signalled(port, slice, 64, pfcOf(500, 3), own, visited,
				append(append([]netip.Addr(nil), visit...), sidBehind(4))...)},
			classes: sent(port, 6), pauses: made(p4.CounterPfcXoffTxID, 8, 3),
		})
	}
	s.steps = append(s.steps, step{
		what: "a slice does not reach into the other bits",
		write: modify(upstream(egress, 8, 3, 0, p4.ActionPfcToTunnel, 0x20, sidBehind(4), 0xff123, 48,
			6, 0, own)),
		in:      asked(p4.TargetOpXoff, egress, 8, 3, 0),
		out:     []wire{signalled(4, 0x123, 64, pfcOf(500, 3), own, nil, sidBehind(4))},
		classes: sent(4, 6), pauses: made(p4.CounterPfcXoffTxID, 8, 3),
	})
	return []scenario{s}
}
