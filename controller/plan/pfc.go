package plan

import (
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/pfc/tunnel"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/topology"
)

const (
	// pfcClass is the cell that PFC frames in tunnels and probes are counted in,
	// and the priority they have.
	pfcClass = 7
	// returnVRF routes probes that have come back to the controller.
	returnVRF = math.MaxUint16
	// MaxVRF is the highest that a tenant can have.
	MaxVRF = 4095
)

// serviceBase is the first function of a locator behind those of groups: of the
// SID that ends probes, and behind it those of tenants by VRF.
func (n *Network) serviceBase() uint32 {
	return n.Inventory.SIDs.FunctionBase + functionsPerGroup*p4.MtGroups
}

// ServiceSID returns the End.DT6 SID of a VRF at a node. The error reports why there
// can be none.
func (n *Network) ServiceSID(node *topology.Node, vrf uint16) (netip.Addr, error) {
	return functionSID(node, n.serviceBase()+uint32(vrf))
}

// ReturnSID returns the SID that ends probes at the node they came from.
func (n *Network) ReturnSID(node *topology.Node) (netip.Addr, error) {
	return functionSID(node, n.serviceBase())
}

// Edges are the ports that face tenants, and their VRFs, by switch.
type Edges map[string]map[uint32]uint16

// WithEdges returns the network with ports that face tenants: what comes from
// them is outside of the SR domain, and looked up in the tenant's VRF alone.
func (n *Network) WithEdges(e Edges) *Network {
	with := *n
	with.edges = e
	return &with
}

// Edges returns what WithEdges has set.
func (n *Network) Edges() Edges { return n.edges }

// hopAt returns the way out of a switch by a port to a neighboring switch.
func (n *Network) hopAt(sw *inventory.Switch, p uint32) (hop, bool) {
	node := n.nodes[sw.Name]
	if node == nil {
		return hop{}, false
	}
	for _, l := range n.Snapshot.LinksFrom(node.ID) {
		if h, ok := n.hop(sw, l); ok && h.port == p {
			return h, true
		}
	}
	return hop{}, false
}

// PFC returns what a switch holds for tenants and PFC policies, each thing once.
// Ports of the node are those of its links as advertised.
func (n *Network) PFC(sw *inventory.Switch, s *tunnel.Node) []entry.Entity {
	if s.Empty() || n.nodes[sw.Name] == nil {
		return nil
	}
	w := pfcWork{n: n, sw: sw, node: n.nodes[sw.Name], s: s, mac: entry.MAC(packet.MAC(sw.MAC))}
	w.slices()
	w.lists()
	w.services()
	w.queues()
	w.accepts()
	w.learning()
	w.probes()
	return w.out
}

type pfcWork struct {
	n    *Network
	sw   *inventory.Switch
	node *topology.Node
	s    *tunnel.Node
	mac  entry.Value
	out  []entry.Entity
}

func (w *pfcWork) add(e ...entry.Entity) { w.out = append(w.out, e...) }

// port returns the device port of a port as advertised.
func (w *pfcWork) port(p uint32) uint32 { return w.sw.Port(p, p) }

func number[T ~uint8 | ~uint16 | ~uint32 | ~uint64](name string, v T) entry.Param {
	return entry.With(name, entry.Uint(uint64(v)))
}

func defaultAction(table string, a entry.Action) entry.Entity {
	e := entry.In(table, a)
	e.Default = true
	return e
}

// slices emits the queues of slices, and that of the frames which control them.
func (w *pfcWork) slices() {
	settings := &w.n.Inventory.PFC
	if m := &w.n.Inventory.MRC; !m.On() {
		w.add(w.n.ICMPErrors(m.ICMP)...) // what the lines S05 to S10 of End.X.PFC send
	}
	w.add(defaultAction(p4.TableSliceField, entry.Do(p4.ActionSetSliceField, number("mask", settings.MaxSlice()))))
	for _, x := range w.s.Slices {
		w.add(entry.In(p4.TableSlice, entry.Do(p4.ActionSetSlice, number("class", x.Priority), number("priority", x.Priority)), entry.Exact("slice", entry.Uint(uint64(x.ID)))))
	}
	w.add(entry.In(p4.TableTrafficClass, entry.Do(p4.ActionSetClass, number("class", uint8(pfcClass)), number("priority", uint8(pfcClass))),
		entry.Exact("dscp", entry.Uint(uint64(settings.DSCP)))))
}

var (
	viaActions = [...]string{
		p4.ActionVia0, p4.ActionVia1, p4.ActionVia2, p4.ActionVia3, p4.ActionVia4, p4.ActionVia5, p4.ActionVia6, p4.ActionVia7,
	}
	adjacencyActions = [...]string{
		"", p4.ActionViaAdjacency1, p4.ActionViaAdjacency2, p4.ActionViaAdjacency3, p4.ActionViaAdjacency4, p4.ActionViaAdjacency5, p4.ActionViaAdjacency6, p4.ActionViaAdjacency7,
	}
)

// lists emits segment lists. One whose way out is not known is left out: packets
// are dropped and counted rather than sent astray.
func (w *pfcWork) lists() {
	for _, l := range w.s.Lists {
		if len(l.SIDs) >= len(viaActions) {
			continue // refused before: tunnel.Config.MaxSegments
		}
		params := []entry.Param{addr("source", l.Source)}
		action := viaActions[len(l.SIDs)]
		if l.Port != 0 {
			h, ok := w.n.hopAt(w.sw, w.port(l.Port))
			if !ok {
				continue
			}
			action = adjacencyActions[len(l.SIDs)]
			params = append(params, number("port", h.port), number("neighbor", h.neighbor))
		}
		for i, s := range l.SIDs {
			params = append(params, addr(fmt.Sprintf("s%d", i+1), s))
		}
		w.add(entry.In(p4.TableSrPolicy, entry.Do(action, params...), entry.Exact("policy", entry.Uint(uint64(l.ID)))))
	}
}

// services emits the tenants' VRFs: their SIDs, what is behind their ports, and
// what is at their other sites.
func (w *pfcWork) services() {
	for _, x := range w.s.Services {
		w.add(entry.In(p4.TableLocalSid, entry.Do(p4.ActionEndDt6, number("vrf", x.VRF)), prefix("dst_addr", host(x.SID))),
			entry.In(p4.TableServiceSid, entry.Do(p4.ActionServiceDt6, number("vrf", x.VRF)), entry.Exact("dst_addr", entry.Addr(x.SID))))
	}
	for _, r := range w.s.Routes {
		if way, ok := w.n.behind(w.sw.Name, w.port(r.Port), r.Prefix); ok {
			w.add(entry.In(p4.TableIpv6Route, forward(way), entry.Exact("vrf", entry.Uint(uint64(r.VRF))), prefix("dst_addr", r.Prefix)))
		}
	}
	for _, x := range w.s.Steers {
		w.add(entry.In(p4.TableSrv6Policy, entry.Do(p4.ActionVpnSteer, number("policy", x.List), addr("sid", x.SID), number("slice", x.Slice),
			number("dscp", x.Priority<<3), number("class", x.Priority), number("priority", x.Priority)),
			entry.Exact("vrf", entry.Uint(uint64(x.VRF))), prefix("dst_addr", x.Prefix)))
	}
}

// behind returns the way to the host at a port that has a prefix.
func (n *Network) behind(sw string, port uint32, p netip.Prefix) (hop, bool) {
	for _, h := range n.hostsOf[sw] {
		if !slices.Contains(h.ports, port) {
			continue
		}
		for _, q := range append([]netip.Prefix{host(h.Address)}, h.Prefixes...) {
			if q.Bits() <= p.Bits() && q.Contains(p.Addr()) {
				return hop{port: port, neighbor: h.way.neighbor}, true
			}
		}
	}
	return hop{}, false
}

// Attached returns what hosts at a port may use as source; ok is false for a port
// without any.
func (n *Network) Attached(sw string, port uint32) (prefixes []netip.Prefix, ok bool) {
	for _, h := range n.hostsOf[sw] {
		if slices.Contains(h.ports, port) {
			prefixes, ok = append(append(prefixes, host(h.Address)), h.Prefixes...), true
		}
	}
	return prefixes, ok
}

var watchdogActions = map[string]p4.WatchdogAction{
	inventory.WatchdogRelease: p4.WatchdogActionRelease, inventory.WatchdogDrop: p4.WatchdogActionDrop, inventory.WatchdogReport: p4.WatchdogActionReport,
}

// queues emits the upstreams of a queue that fills, and before them the queue's marks.
func (w *pfcWork) queues() {
	action := watchdogActions[w.n.Inventory.PFC.Watchdog]
	for _, q := range w.s.Queues {
		match := []entry.Match{
			entry.Exact("direction", entry.Uint(uint64(p4.PfcDirectionEgress))), entry.Exact("port", port(w.port(q.Port))), entry.Exact("priority", entry.Uint(uint64(q.Priority))),
		}
		for i, u := range q.Upstreams {
			to := entry.Do(p4.ActionPfcToLink, number("port", w.port(u.Port)), number("priority", uint8(pfcClass)), entry.With("src_mac", w.mac))
			if u.List != 0 {
				to = entry.Do(p4.ActionPfcToTunnel, number("policy", u.List), addr("sid", u.SID), number("slice", u.Slice),
					number("dscp", w.n.Inventory.PFC.DSCP), number("class", uint8(pfcClass)), number("priority", uint8(pfcClass)), entry.With("src_mac", w.mac))
			}
			w.add(entry.In(p4.TablePfcUpstream, to, append(slices.Clone(match), entry.Exact("upstream", entry.Uint(uint64(i))))...))
		}
		w.add(entry.In(p4.TablePfcQueue, entry.Do(p4.ActionSetPfcQueue,
			number("buffer", q.Marks.Buffer), number("xoff", q.Marks.XOFF), number("xon", q.Marks.XON), number("quanta", q.Quanta),
			number("refresh", bounded(q.Refresh/time.Nanosecond)), number("upstreams", uint8(len(q.Upstreams))),
			number("rate", uint32(min(q.Rate/1000, math.MaxUint32))), number("watchdog", bounded(q.MaxPause/time.Microsecond)),
			number("watchdog_action", action)), match...))
	}
}

// bounded returns a number that 32 bits hold.
func bounded(d time.Duration) uint32 { return uint32(min(max(d, 0), math.MaxUint32)) }

// accepts emits who may pause what.
func (w *pfcWork) accepts() {
	for _, l := range w.s.Links {
		w.add(entry.In(p4.TablePfcPort, entry.Do(p4.ActionAcceptLinkPfc, number("classes", l.Classes)), entry.Exact("port", port(w.port(l.Port)))))
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
		accept := entry.Do(p4.ActionAcceptPfc, number("classes", classes[k]))
		if p, ok := ports[k]; ok {
			accept = entry.Do(p4.ActionAcceptPfcPort, number("classes", classes[k]), number("port", w.port(p)))
		}
		w.add(entry.In(p4.TablePfcTunnel, accept, entry.Exact("sid", entry.Addr(k.sid)), entry.Exact("src_addr", entry.Addr(k.source)), entry.Exact("slice", entry.Uint(uint64(k.slice)))))
	}
}

var pfcSIDTables = [...]string{
	p4.TablePfcSid1, p4.TablePfcSid2, p4.TablePfcSid3, p4.TablePfcSid4, p4.TablePfcSid5, p4.TablePfcSid6, p4.TablePfcSid7,
}

// learning emits the SIDs that are looked for in segment lists.
func (w *pfcWork) learning() {
	if len(w.s.Learn) == 0 {
		return
	}
	lifetime := max(1, w.n.Inventory.PFC.Learn.D()/time.Microsecond)
	w.add(entry.Reports{Digest: p4.DigestPfcPolicyT, Wait: time.Millisecond, List: 64, Again: time.Second})
	w.add(defaultAction(p4.TablePfcLearning, entry.Do(p4.ActionSetLearning, number("lifetime", uint64(lifetime)))))
	for _, sid := range w.s.Learn {
		for _, t := range pfcSIDTables {
			w.add(entry.In(t, entry.Do(p4.ActionUpstreamPfc), entry.Exact("sid", entry.Addr(sid))))
		}
	}
}

// probes emits where probes end that have come back: at the controller.
func (w *pfcWork) probes() {
	if !w.s.Probes || !w.node.Loopback.IsValid() {
		return
	}
	sid, err := w.n.ReturnSID(w.node)
	if err != nil {
		return
	}
	w.add(entry.In(p4.TableLocalSid, entry.Do(p4.ActionEndDt6, number("vrf", uint16(returnVRF))), prefix("dst_addr", host(sid))),
		entry.In(p4.TableIpv6Route, forward(hop{port: p4.CpuPort}), entry.Exact("vrf", entry.Uint(returnVRF)), prefix("dst_addr", host(w.node.Loopback))))
}
