package pfc

import (
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/pfc/tunnel"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/topology"
)

const (
	// class is the counter cell for PFC frames in tunnels and for probes, and the priority of these
	// frames.
	class = 7
	// returnVRF routes probes that have come back to the controller.
	returnVRF = math.MaxUint16
)

// entities returns the entities that a switch holds for tenants and PFC policies, each once.
// The ports of the node are the ports of its advertised links.
func entities(n *plan.Network, sw *inventory.Switch, s *tunnel.Node) []entry.Entity {
	if s.Empty() || n.Node(sw.Name) == nil {
		return nil
	}
	w := work{n: n, sw: sw, node: n.Node(sw.Name), s: s, mac: entry.MAC(packet.MAC(sw.MAC))}
	w.slices()
	w.lists()
	w.services()
	w.queues()
	w.accepts()
	w.learning()
	w.probes()
	return w.out
}

type work struct {
	n    *plan.Network
	sw   *inventory.Switch
	node *topology.Node
	s    *tunnel.Node
	mac  entry.Value
	out  []entry.Entity
}

func (w *work) add(e ...entry.Entity) { w.out = append(w.out, e...) }

// port returns the device port of a port as advertised.
func (w *work) port(p uint32) uint32 { return w.sw.Port(p, p) }

// slices emits the queues of slices, and the queue for the control frames of slices.
func (w *work) slices() {
	settings := &w.n.Inventory.PFC
	if m := &w.n.Inventory.MRC; !m.On() {
		w.add(plan.ICMPErrors(m.ICMP)...) // what the lines S05 to S10 of End.X.PFC send
	}
	w.add(entry.DefaultOf(p4.TableSliceField,
		entry.Do(p4.ActionSetSliceField, entry.Number("mask", settings.MaxSlice()))))
	for _, x := range w.s.Slices {
		w.add(entry.In(p4.TableSlice, entry.Do(p4.ActionSetSlice, entry.Number("class", x.Priority),
			entry.Number("priority", x.Priority)), entry.Exact("slice", entry.Uint(uint64(x.ID)))))
	}
	w.add(entry.In(p4.TableTrafficClass,
		entry.Do(p4.ActionSetClass, entry.Number("class", uint8(class)),
			entry.Number("priority", uint8(class))),
		entry.Exact("dscp", entry.Uint(uint64(settings.DSCP)))))
}

// lacks reports whether entities leaves something out: the network has no such node now, or does
// not say where a port leads.
func lacks(n *plan.Network, sw *inventory.Switch, s *tunnel.Node) bool {
	w := work{n: n, sw: sw, node: n.Node(sw.Name)}
	return !s.Empty() && (w.node == nil ||
		slices.ContainsFunc(s.Lists, func(l tunnel.List) bool {
			_, ok := n.HopAt(sw, w.port(l.Port))
			return l.Port != 0 && !ok
		}) ||
		slices.ContainsFunc(s.Routes, func(r tunnel.Route) bool {
			_, ok := n.Behind(sw.Name, w.port(r.Port), r.Prefix)
			return !ok
		}))
}

var (
	viaActions = [...]string{
		p4.ActionVia0, p4.ActionVia1, p4.ActionVia2, p4.ActionVia3, p4.ActionVia4, p4.ActionVia5,
		p4.ActionVia6, p4.ActionVia7,
	}
	adjacencyActions = [...]string{
		"", p4.ActionViaAdjacency1, p4.ActionViaAdjacency2, p4.ActionViaAdjacency3,
		p4.ActionViaAdjacency4, p4.ActionViaAdjacency5, p4.ActionViaAdjacency6, p4.ActionViaAdjacency7,
	}
)

// lists emits segment lists. One whose way out is not known is left out: packets
// are dropped and counted rather than sent astray.
func (w *work) lists() {
	for _, l := range w.s.Lists {
		if len(l.SIDs) > plan.ListSIDs {
			continue // refused before: tunnel.Config.MaxSegments
		}
		params := []entry.Param{entry.Address("source", l.Source)}
		action := viaActions[len(l.SIDs)]
		if l.Port != 0 {
			h, ok := w.n.HopAt(w.sw, w.port(l.Port))
			if !ok {
				continue
			}
			action = adjacencyActions[len(l.SIDs)]
			params = append(params, entry.Number("port", h.Port), entry.Number("neighbor", h.Neighbor))
		}
		for i, s := range l.SIDs {
			params = append(params, entry.Address(fmt.Sprintf("s%d", i+1), s))
		}
		w.add(entry.In(p4.TableSrPolicy, entry.Do(action, params...),
			entry.Exact("policy", entry.Uint(uint64(l.ID)))))
	}
}

// services emits the VRFs of tenants: the SIDs, the prefixes behind the ports, and the prefixes at
// other sites.
func (w *work) services() {
	for _, x := range w.s.Services {
		end, service := p4.ActionEndDt6, p4.ActionServiceDt6
		switch {
		case x.IPv4 && x.IPv6:
			end, service = p4.ActionEndDt46, p4.ActionServiceDt46
		case x.IPv4:
			end, service = p4.ActionEndDt4, p4.ActionServiceDt4
		}
		w.add(entry.In(p4.TableLocalSid, entry.Do(end, entry.Number("vrf", x.VRF)),
			entry.LPMHost("dst_addr", x.SID)),
			entry.In(p4.TableServiceSid, entry.Do(service, entry.Number("vrf", x.VRF)),
				entry.Exact("dst_addr", entry.Addr(x.SID))))
	}
	for _, r := range w.s.Routes {
		if request, ok := w.n.Behind(w.sw.Name, w.port(r.Port), r.Prefix); ok {
			w.add(entry.In(p4.TableIpv6Route, plan.Forward(request),
				entry.Exact("vrf", entry.Uint(uint64(r.VRF))), entry.LPM("dst_addr", r.Prefix)))
		}
	}
	for _, x := range w.s.Steers {
		w.add(entry.In(p4.TableSrv6Policy, entry.Do(p4.ActionVpnSteer, entry.Number("policy", x.List),
			entry.Address("sid", x.SID), entry.Number("slice", x.Slice),
			entry.Number("dscp", x.Priority<<3), entry.Number("class", x.Priority),
			entry.Number("priority", x.Priority)),
			entry.Exact("vrf", entry.Uint(uint64(x.VRF))), entry.LPM("dst_addr", x.Prefix)))
	}
}

var watchdogActions = map[string]p4.WatchdogAction{
	inventory.WatchdogRelease: p4.WatchdogActionRelease, inventory.WatchdogDrop: p4.WatchdogActionDrop,
	inventory.WatchdogReport: p4.WatchdogActionReport,
}

// queues emits the upstreams of a queue that fills, and before them the queue's marks.
func (w *work) queues() {
	action := watchdogActions[w.n.Inventory.PFC.Watchdog]
	for _, q := range w.s.Queues {
		match := []entry.Match{
			entry.Exact("direction", entry.Uint(uint64(p4.PfcDirectionEgress))),
			entry.Exact("port", entry.Uint(uint64(w.port(q.Port)))),
			entry.Exact("priority", entry.Uint(uint64(q.Priority))),
		}
		for i, u := range q.Upstreams {
			to := entry.Do(p4.ActionPfcToLink, entry.Number("port", w.port(u.Port)),
				entry.Number("priority", uint8(class)), entry.With("src_mac", w.mac))
			if u.List != 0 {
				to = entry.Do(p4.ActionPfcToTunnel, entry.Number("policy", u.List), entry.Address("sid", u.SID),
					entry.Number("slice", u.Slice),
					entry.Number("dscp", w.n.Inventory.PFC.DSCP), entry.Number("class", uint8(class)),
					entry.Number("priority", uint8(class)), entry.With("src_mac", w.mac))
			}
			w.add(entry.In(p4.TablePfcUpstream, to,
				append(slices.Clone(match), entry.Exact("upstream", entry.Uint(uint64(i))))...))
		}
		w.add(entry.In(p4.TablePfcQueue, entry.Do(p4.ActionSetPfcQueue,
			entry.Number("buffer", q.Marks.Buffer), entry.Number("xoff", q.Marks.XOFF),
			entry.Number("xon", q.Marks.XON), entry.Number("quanta", q.Quanta),
			entry.Number("refresh", bounded(q.Refresh/time.Nanosecond)),
			entry.Number("upstreams", uint8(len(q.Upstreams))),
			entry.Number("rate", uint32(min(q.Rate/1000, math.MaxUint32))),
			entry.Number("watchdog", bounded(q.MaxPause/time.Microsecond)),
			entry.Number("watchdog_action", action)), match...))
	}
}

// bounded returns a number that 32 bits hold.
func bounded(d time.Duration) uint32 { return uint32(min(max(d, 0), math.MaxUint32)) }

// accepts emits who may pause what.
func (w *work) accepts() {
	for _, l := range w.s.Links {
		w.add(entry.In(p4.TablePfcPort,
			entry.Do(p4.ActionAcceptLinkPfc, entry.Number("classes", l.Classes)),
			entry.Exact("port", entry.Uint(uint64(w.port(l.Port))))))
	}
	type from struct {
		sid, source netip.Addr
		slice       uint32
	}
	classes, ports := make(map[from]uint8), make(map[from]uint32)
	for _, a := range w.s.Accepts {
		k := from{a.SID, a.Source, a.Slice}
		classes[k] |= 1 << a.Priority
		if a.ByNode {
			ports[k] = a.Port
		}
	}
	keys := slices.SortedFunc(maps.Keys(classes), func(a, b from) int {
		if c := a.sid.Compare(b.sid); c != 0 {
			return c
		}
		if c := a.source.Compare(b.source); c != 0 {
			return c
		}
		return int(a.slice) - int(b.slice)
	})
	for _, k := range keys {
		accept := entry.Do(p4.ActionAcceptPfc, entry.Number("classes", classes[k]))
		if p, ok := ports[k]; ok {
			accept = entry.Do(p4.ActionAcceptPfcPort, entry.Number("classes", classes[k]),
				entry.Number("port", w.port(p)))
		}
		w.add(entry.In(p4.TablePfcTunnel, accept, entry.Exact("sid", entry.Addr(k.sid)),
			entry.Exact("src_addr", entry.Addr(k.source)),
			entry.Exact("slice", entry.Uint(uint64(k.slice)))))
	}
}

var sidTables = [...]string{
	p4.TablePfcSid1, p4.TablePfcSid2, p4.TablePfcSid3, p4.TablePfcSid4, p4.TablePfcSid5,
	p4.TablePfcSid6, p4.TablePfcSid7,
}

// learning emits the SIDs that are looked for in segment lists.
func (w *work) learning() {
	if len(w.s.Learn) == 0 {
		return
	}
	lifetime := max(1, w.n.Inventory.PFC.Learn.D()/time.Microsecond)
	w.add(entry.Reports{Digest: p4.DigestPfcPolicyT, Wait: time.Millisecond, List: 64,
		Again: time.Second})
	w.add(entry.DefaultOf(p4.TablePfcLearning,
		entry.Do(p4.ActionSetLearning, entry.Number("lifetime", uint64(lifetime)))))
	for _, sid := range w.s.Learn {
		for _, t := range sidTables {
			w.add(entry.In(t, entry.Do(p4.ActionUpstreamPfc), entry.Exact("sid", entry.Addr(sid))))
		}
	}
}

// probes emits where probes end that have come back: at the controller.
func (w *work) probes() {
	if !w.s.Probes || !w.node.Loopback.IsValid() {
		return
	}
	sid, err := w.n.ReturnSID(w.node)
	if err != nil {
		return
	}
	w.add(entry.In(p4.TableLocalSid, entry.Do(p4.ActionEndDt6, entry.Number("vrf", uint16(returnVRF))),
		entry.LPMHost("dst_addr", sid)),
		entry.In(p4.TableIpv6Route, plan.Forward(plan.Hop{Port: p4.CpuPort}),
			entry.Exact("vrf", entry.Uint(returnVRF)), entry.LPMHost("dst_addr", w.node.Loopback)))
}
