package plan

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
)

// Class says when, in a change of a tree, an entity changes.
type Class uint8

const (
	// Data entities carry packets down. New ones do nothing until something
	// leads to them.
	Data Class = iota
	// Response entities aggregate what comes up. They change with the epoch.
	Response
	// Start entities, at the switch of the source, lead packets into the tree.
	Start
)

// Item is an entity with its class.
type Item struct {
	Entity entry.Entity
	Class  Class
}

// Numbers of multicast groups and replicas.
const (
	groupsATurn   = 2 * p4.MtGroups // distance of the second turn's tree groups
	branchesATurn = p4.MtBranches   // distance of the second turn's replicas
	localOffset   = 1
)

func (p *Placement) treeGroup() uint32 {
	return p4.McastTree + groupsATurn*uint32(p.Turn) + 2*uint32(p.Group)
}

func (p *Placement) localGroup() uint32 { return p4.McastTree + localOffset + 2*uint32(p.Group) }

func (p *Placement) instance(b *PlacedBranch) uint32 {
	return branchesATurn*uint32(p.Turn) + uint32(b.Index) + 1
}

// GroupOf returns the index of the group that an entity belongs to, -1 when it
// belongs to none.
func GroupOf(e entry.Entity) int {
	number := func(v entry.Value) int {
		if n, ok := v.Uint64(); ok && n < p4.MtGroups {
			return int(n)
		}
		return -1
	}
	switch e := e.(type) {
	case entry.Multicast:
		if e.ID >= p4.McastTree && e.ID < p4.McastTree+2*groupsATurn {
			return int(e.ID-p4.McastTree) % groupsATurn / 2
		}
	case entry.Table:
		if e.Name == p4.TableMtProxy || e.Name == p4.TableLocalSid {
			return number(e.Action.Arg("group"))
		}
		if m, ok := e.Field("group"); ok && strings.HasPrefix(e.Name, "mt_") {
			return number(m.Value)
		}
	}
	return -1
}

// Owners of what belongs to no group.
const (
	OwnerLinks  = -1
	OwnerRoutes = -2
	OwnerPFC    = -3
)

// OwnerOf returns the group that an entity belongs to, or else OwnerPFC for what
// only [Network.PFC] has, OwnerRoutes for what [Network.Routes] has, and
// OwnerLinks for everything else.
func OwnerOf(e entry.Entity) int {
	switch e := e.(type) {
	case entry.Member, entry.Group:
		return OwnerRoutes
	case entry.Table:
		if ownedByPFC(e) {
			return OwnerPFC
		}
		if e.Name == p4.TableIpv6Route || e.Name == p4.TableEcmp {
			return OwnerRoutes
		}
	}
	return GroupOf(e)
}

// EpochOf returns the epoch that an entity holds; ok is false when it holds
// none.
func EpochOf(e entry.Entity) (epoch uint32, ok bool) {
	t, isTable := e.(entry.Table)
	if !isTable {
		return 0, false
	}
	n, ok := t.Action.Arg("epoch").Uint64()
	return uint32(n), ok
}

// ProxyOf returns the proxy address that an entity leads to its group.
func ProxyOf(e entry.Entity) (proxy netip.Addr, ok bool) {
	t, isTable := e.(entry.Table)
	if !isTable || t.Name != p4.TableMtProxy {
		return netip.Addr{}, false
	}
	m, ok := t.Field("dst_addr")
	if !ok {
		return netip.Addr{}, false
	}
	return m.Value.Addr6()
}

// TurnOf returns the turn of a tree group; ok is false for any other entity.
func TurnOf(e entry.Entity) (turn uint8, ok bool) {
	m, isMulticast := e.(entry.Multicast)
	if !isMulticast || GroupOf(e) < 0 || (m.ID-p4.McastTree)%2 == localOffset {
		return 0, false
	}
	return uint8((m.ID - p4.McastTree) / groupsATurn), true
}

// Items returns what the placement needs of a switch, nothing when the switch
// is not in the tree.
func (p *Placement) Items(sw string) []Item {
	n := p.Node(sw)
	if n == nil {
		return nil
	}
	w := itemWork{p: p, n: n, group: entry.Uint(uint64(p.Group)), out: make([]Item, 0, 6+3*len(n.Branches))}
	w.responses()
	w.copies()
	w.start()
	return w.out
}

type itemWork struct {
	p     *Placement
	n     *PlacedNode
	group entry.Value
	out   []Item
}

func (w *itemWork) add(c Class, e entry.Entity) { w.out = append(w.out, Item{e, c}) }

func (w *itemWork) byGroup(table string, a entry.Action, match ...entry.Match) entry.Entity {
	all := make([]entry.Match, 0, len(match)+1)
	return entry.In(table, a, append(append(all, match...), entry.Exact("group", w.group))...)
}

func micros(d time.Duration) entry.Value { return entry.Uint(uint64(d / time.Microsecond)) }

func psn(n uint32) entry.Value { return entry.Uint(uint64(n)) }

func addr(name string, a netip.Addr) entry.Param { return entry.With(name, entry.Addr(a)) }

// responses emits who may answer and where the answers go.
func (w *itemWork) responses() {
	p, n := w.p, w.n
	w.add(Data, entry.In(p4.TableMtProxy, entry.Do(p4.ActionSetGroup, entry.With("group", w.group)), entry.Exact("dst_addr", entry.Addr(p.Proxy))))
	for i := range n.Branches {
		b := &n.Branches[i]
		from, receiver, offset := netip.Addr{}, b.Receiver != nil, uint32(0)
		if receiver {
			from, offset = b.Receiver.Address, b.Receiver.StartMSN
		} else {
			from = p.Nodes[b.Child].Address
		}
		act := entry.Do(p4.ActionSetBranch, entry.With("branch", entry.Uint(uint64(b.Index))), entry.With("epoch", psn(p.Epoch)),
			entry.With("receiver", entry.Bool(receiver)), entry.With("msn_offset", psn(offset)))
		for _, in := range b.Ingress {
			w.add(Response, w.byGroup(p4.TableMtBranch, act, entry.Exact("port", port(in)), entry.Exact("src_addr", entry.Addr(from))))
		}
	}
	w.add(Response, w.byGroup(p4.TableMtUpstream, w.upstream()))
	w.add(Response, w.byGroup(p4.TableMtGroup, entry.Do(p4.ActionSetGroupState,
		entry.With("epoch", psn(p.Epoch)), entry.With("designated_qpn", psn(p.DesignatedQPN)), entry.With("live_mask", psn(n.LiveMask())),
		entry.With("nack_holdoff", micros(p.NackHoldoff)), entry.With("cnp_window", micros(p.CNPWindow)), entry.With("cnp_limit", psn(p.CNPLimit)),
		entry.With("upstream_port", port(n.UpstreamPort)), entry.With("cnp_session", port(n.UpstreamPort+1)))))
}

func (w *itemWork) upstream() entry.Action {
	p, n := w.p, w.n
	neighbor := entry.With("neighbor", entry.Uint(uint64(n.UpstreamNeighbor)))
	if n.Parent < 0 {
		return entry.Do(p4.ActionToSource, addr("proxy", p.Proxy), addr("address", p.Source.Address), entry.With("qpn", psn(p.Source.QPN)), neighbor)
	}
	params := []entry.Param{
		addr("proxy", p.Proxy), addr("node_address", n.Address), entry.With("epoch", psn(p.Epoch)), entry.With("designated_qpn", psn(p.DesignatedQPN)), neighbor,
	}
	if n.ParentSID.IsValid() {
		return entry.Do(p4.ActionToParentEncaps, append(params, addr("sid", n.ParentSID))...)
	}
	return entry.Do(p4.ActionToParent, params...)
}

// copies emits what becomes of a packet of the tree.
func (w *itemWork) copies() {
	p, n := w.p, w.n
	replica := func(instance uint32, a entry.Action) {
		w.add(Data, w.byGroup(p4.TableMtReplica, a, entry.Exact("rid", entry.Uint(uint64(instance)))))
	}
	rewrite := entry.With("proxy_source", entry.Bool(p.RewriteSource))
	var tree, local []entry.Replica
	for i := range n.Branches {
		b := &n.Branches[i]
		instance := p.instance(b)
		if b.Receiver == nil {
			tree = append(tree, entry.Replica{Port: b.Port, Instance: instance})
			replica(instance, entry.Do(p4.ActionToChild, addr("sid", p.Nodes[b.Child].SID), entry.With("neighbor", entry.Uint(uint64(b.Neighbor)))))
			continue
		}
		r := b.Receiver
		local = append(local, entry.Replica{Port: p4.RecirculationPort, Instance: instance})
		to := []entry.Param{addr("receiver", r.Address), entry.With("receiver_qpn", psn(r.QPN)), rewrite}
		if r.VA != nil {
			replica(instance, entry.Do(p4.ActionToReceiverReth, append(to,
				entry.With("va_offset", entry.Uint(*r.VA-p.BaseVA)), entry.With("rkey", psn(r.RKey)))...))
		} else {
			replica(instance, entry.Do(p4.ActionToReceiver, to...))
		}
		if p.Mode == api.Inband {
			w.add(Data, w.byGroup(p4.TableMtTlvReceiver, entry.Do(p4.ActionAllowTlvReceiver, rewrite), entry.Exact("address", entry.Addr(r.Address))))
		}
	}
	switch {
	case len(local) == 0:
	case p.Mode == api.Inband:
		tree = append(tree, entry.Replica{Port: p4.RecirculationPort, Instance: p4.RidTlv})
		replica(p4.RidTlv, entry.Do(p4.ActionToTlvReceivers, entry.With("fallback", entry.Uint(1))))
		w.add(Data, entry.Copies(p.localGroup(), local...))
	default:
		tree = append(tree, local...)
	}
	w.add(Data, entry.Copies(p.treeGroup(), tree...))
	if n.Parent >= 0 {
		w.add(Data, w.sid())
	}
}

// outerSource returns the source address of the encapsulation: whoever starts it.
func (p *Placement) outerSource() netip.Addr {
	if p.Mode == api.Inband {
		return p.Source.Address
	}
	return p.Nodes[0].Address
}

// sid returns the node's SID, which takes packets of the tree's own source alone.
func (w *itemWork) sid() entry.Entity {
	group := entry.With("mcast_group", entry.Uint(uint64(w.p.treeGroup())))
	source := addr("source", w.p.outerSource())
	act := entry.Do(p4.ActionEndMt, entry.With("group", w.group), group, source)
	if w.n.HasChildren() {
		act = entry.Do(p4.ActionEndReplicate, entry.With("group", w.group), group, entry.With("has_local", entry.Bool(w.n.HasReceivers())), source)
	}
	return entry.In(p4.TableLocalSid, act, prefix("dst_addr", host(w.n.SID)))
}

// start emits what leads packets into the tree, and who may send them.
func (w *itemWork) start() {
	p, n := w.p, w.n
	if n.Parent >= 0 {
		return
	}
	act := entry.Do(p4.ActionMtEncapsReplicate, addr("outer_source", n.Address), addr("sid", n.SID),
		entry.With("mcast_group", entry.Uint(uint64(p.treeGroup()))), entry.With("has_local", entry.Bool(n.HasReceivers())))
	if p.Mode == api.Inband {
		w.add(Start, w.sid())
		act = entry.Do(p4.ActionMtInband)
	}
	ports := slices.Clone(p.Source.Ports)
	slices.Sort(ports)
	for _, in := range slices.Compact(ports) {
		w.add(Start, w.byGroup(p4.TableMtSource, act, entry.Exact("port", port(in)), entry.Exact("src_addr", entry.Addr(p.Source.Address))))
	}
}
