package tree

import (
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
)

// Class defines when, in a change of a tree, an entity changes.
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

// branchesATurn is the distance of the second turn's replicas.
const branchesATurn = p4.MtBranches

func (p *Placement) instance(b *PlacedBranch) uint32 {
	return branchesATurn*uint32(p.Turn) + uint32(b.Index) + 1
}

// Items returns what the placement needs of a switch, nothing when the switch
// is not in the tree, or the tree has no source yet.
func (p *Placement) Items(sw string) []Item {
	n := p.Node(sw)
	if n == nil || !p.Source.Address.IsValid() {
		return nil
	}
	w := itemWork{
		p: p, n: n, group: entry.Uint(uint64(p.Group)), epoch: entry.Uint(uint64(p.Epoch)),
		out:     make([]Item, 0, 6+2*len(n.Branches)),
		params:  make(slab[entry.Param], 0, 18+7*len(n.Branches)),
		matches: make(slab[entry.Match], 0, 4+5*len(n.Branches)),
	}
	w.responses()
	w.copies()
	w.start()
	return w.out
}

type itemWork struct {
	p       *Placement
	n       *PlacedNode
	group   entry.Value
	epoch   entry.Value
	out     []Item
	params  slab[entry.Param]
	matches slab[entry.Match]
}

// A slab holds the small slices of many entities in few allocations.
type slab[T any] []T

// keep returns a copy of values that nothing else changes.
func (s *slab[T]) keep(values []T) []T {
	at := len(*s)
	*s = append(*s, values...)
	return (*s)[at:len(*s):len(*s)]
}

func (w *itemWork) add(c Class, e entry.Entity) { w.out = append(w.out, Item{e, c}) }

// in adds an entry of a table. Matches are in order of their fields: [entry.In] would make sure.
func (w *itemWork) in(c Class, table string, a entry.Action, match ...entry.Match) {
	w.add(c, entry.Table{Name: table, Match: w.matches.keep(match), Action: a})
}

// do returns an action. Parameters are in order of their names: [entry.Do] would make sure.
func (w *itemWork) do(name string, params ...entry.Param) entry.Action {
	return entry.Action{Name: name, Params: w.params.keep(params)}
}

// ofGroup matches the group.
func (w *itemWork) ofGroup() entry.Match { return entry.Exact("group", w.group) }

func micros(d time.Duration) entry.Value { return entry.Uint(uint64(d / time.Microsecond)) }

// responses emits who may answer and where the answers go.
func (w *itemWork) responses() {
	p, n := w.p, w.n
	w.in(Data, p4.TableMtProxy, w.do(p4.ActionSetGroup, entry.With("group", w.group)),
		entry.Exact("dst_addr", entry.Addr(p.Proxy)))
	for i := range n.Branches {
		b := &n.Branches[i]
		from, offset := netip.Addr{}, uint32(0)
		if b.Receiver != nil {
			from, offset = b.Receiver.Address, b.Receiver.StartMSN
		} else {
			from = p.Nodes[b.Child].Address
		}
		act := w.branch(b, offset)
		source := entry.Exact("src_addr", entry.Addr(from))
		for _, in := range b.Ingress {
			w.in(Response, p4.TableMtBranch, act, w.ofGroup(), entry.Exact("port", entry.Uint(uint64(in))),
				source)
		}
	}
	w.in(Response, p4.TableMtUpstream, w.upstream(), w.ofGroup())
	w.in(Response, p4.TableMtGroup, w.do(p4.ActionSetGroupState,
		entry.Number("cnp_limit", p.CNPLimit), entry.Number("cnp_session", n.UpstreamPort+1),
		entry.With("cnp_window", micros(p.CNPWindow)),
		entry.Number("designated_qpn", p.DesignatedQPN), entry.With("epoch", w.epoch),
		entry.Number("live_mask", n.LiveMask()),
		entry.With("nack_holdoff", micros(p.NackHoldoff)), entry.Number("upstream_port", n.UpstreamPort)),
		w.ofGroup())
}

// branch returns the action for responses of a branch. Parameters are in order of their names.
func (w *itemWork) branch(b *PlacedBranch, msn uint32) entry.Action {
	index, epoch := entry.Number("branch", b.Index), entry.With("epoch", w.epoch)
	offset, receiver := entry.Number("msn_offset", msn),
		entry.With("receiver", entry.Bool(b.Receiver != nil))
	if b.Receiver == nil || b.Receiver.PSNOffset == 0 {
		return w.do(p4.ActionSetBranch, index, epoch, offset, receiver)
	}
	return w.do(p4.ActionSetBranchPsn, index, epoch, offset,
		entry.Number("psn_offset", b.Receiver.PSNOffset), receiver)
}

func (w *itemWork) upstream() entry.Action {
	p, n := w.p, w.n
	neighbor := entry.Number("neighbor", n.UpstreamNeighbor)
	if n.Parent < 0 {
		return w.do(p4.ActionToSource, entry.Address("address", p.Source.Address), neighbor,
			entry.Address("proxy", p.Proxy), entry.Number("qpn", p.Source.QPN))
	}
	qpn, epoch := entry.Number("designated_qpn", p.DesignatedQPN), entry.With("epoch", w.epoch)
	address, proxy := entry.Address("node_address", n.Address), entry.Address("proxy", p.Proxy)
	if n.ParentSID.IsValid() {
		return w.do(p4.ActionToParentEncaps, qpn, epoch, neighbor, address, proxy,
			entry.Address("sid", n.ParentSID))
	}
	return w.do(p4.ActionToParent, qpn, epoch, neighbor, address, proxy)
}

// copies emits what becomes of a packet of the tree.
func (w *itemWork) copies() {
	p, n := w.p, w.n
	replica := func(instance uint32, a entry.Action) {
		w.in(Data, p4.TableMtReplica, a, w.ofGroup(), entry.Exact("rid", entry.Uint(uint64(instance))))
	}
	rewrite := entry.With("proxy_source", entry.Bool(p.RewriteSource))
	var tree, local []entry.Replica
	for i := range n.Branches {
		b := &n.Branches[i]
		instance := p.instance(b)
		if b.Receiver == nil {
			tree = append(tree, entry.Replica{Port: b.Port, Instance: instance})
			replica(instance, w.do(p4.ActionToChild, entry.Number("neighbor", b.Neighbor),
				entry.Address("sid", p.Nodes[b.Child].SID)))
			continue
		}
		r := b.Receiver
		local = append(local, entry.Replica{Port: p4.RecirculationPort, Instance: instance})
		to, qpn := entry.Address("receiver", r.Address), entry.Number("receiver_qpn", r.QPN)
		replica(instance, w.deliver(r, rewrite, to, qpn))
		if p.Mode == api.ModeInband {
			w.in(Data, p4.TableMtTlvReceiver, w.do(p4.ActionAllowTlvReceiver, rewrite),
				entry.Exact("address", entry.Addr(r.Address)), w.ofGroup())
		}
	}
	switch {
	case len(local) == 0:
	case p.Mode == api.ModeInband:
		tree = append(tree, entry.Replica{Port: p4.RecirculationPort, Instance: p4.RidTlv})
		replica(p4.RidTlv, w.do(p4.ActionToTlvReceivers, entry.With("fallback", entry.Uint(1))))
		w.add(Data, entry.Copies(plan.LocalGroup(p.Group), local...))
	default:
		tree = append(tree, local...)
	}
	w.add(Data, entry.Copies(plan.TreeGroup(p.Group, p.Turn), tree...))
	if n.Parent >= 0 {
		w.sid(Data)
	}
}

// deliver returns what becomes of a copy for a receiver. Parameters are in order of their names.
func (w *itemWork) deliver(r *PlacedReceiver, rewrite, to, qpn entry.Param) entry.Action {
	psn := entry.Number("psn_offset", r.PSNOffset)
	if r.VA == nil {
		if r.PSNOffset == 0 {
			return w.do(p4.ActionToReceiver, rewrite, to, qpn)
		}
		return w.do(p4.ActionToReceiverPsn, rewrite, psn, to, qpn)
	}
	rkey, va := entry.Number("rkey", r.RKey), entry.With("va_offset", entry.Uint(*r.VA-w.p.BaseVA))
	if r.PSNOffset == 0 {
		return w.do(p4.ActionToReceiverReth, rewrite, to, qpn, rkey, va)
	}
	return w.do(p4.ActionToReceiverRethPsn, rewrite, psn, to, qpn, rkey, va)
}

// outerSource returns the source address of the encapsulation: whoever starts it.
func (p *Placement) outerSource() netip.Addr {
	if p.Mode == api.ModeInband {
		if p.Source.Outer.IsValid() {
			return p.Source.Outer
		}
		return p.Source.Address
	}
	return p.Nodes[0].Address
}

// Rate limit of RDMA CM messages to the controller of each port: a REQ every connectSpacing on
// average, connectBurst of them at once.
const (
	connectSpacing = 10 * time.Millisecond
	connectBurst   = 32
)

// Connect returns what has a switch hand messages of RDMA CM from hosts with addresses of a prefix
// to a group to the controller.
func Connect(group uint16, proxy netip.Addr, from netip.Prefix) entry.Entity {
	return entry.In(p4.TableMtConnect, entry.Do(p4.ActionSetConnect,
		entry.With("burst_time", micros(connectBurst*connectSpacing)), entry.Number("group", group),
		entry.With("spacing", micros(connectSpacing))),
		entry.Exact("dst_addr", entry.Addr(proxy)), entry.LPM("src_addr", from))
}

// sid emits the node's SID, which takes packets of the tree's own source alone.
func (w *itemWork) sid(c Class) {
	group, copies := entry.With("group", w.group),
		entry.With("mcast_group", entry.Uint(uint64(plan.TreeGroup(w.p.Group, w.p.Turn))))
	source := entry.Address("source", w.p.outerSource())
	var act entry.Action
	if w.n.HasChildren() {
		act = w.do(p4.ActionEndReplicate, group, entry.With("has_local", entry.Bool(w.n.HasReceivers())),
			copies, source)
	} else {
		act = w.do(p4.ActionEndMt, group, copies, source)
	}
	w.in(c, p4.TableLocalSid, act, entry.LPMHost("dst_addr", w.n.SID))
}

// start emits what leads packets into the tree, and who may send them.
func (w *itemWork) start() {
	p, n := w.p, w.n
	if n.Parent >= 0 || p.Source.QPN == 0 { // 0: the source is not connected
		return
	}
	from := p.Source.Address
	act := w.do(p4.ActionMtEncapsReplicate, entry.With("has_local", entry.Bool(n.HasReceivers())),
		entry.With("mcast_group", entry.Uint(uint64(plan.TreeGroup(p.Group, p.Turn)))),
		entry.Address("outer_source", n.Address), entry.Address("sid", n.SID))
	if p.Mode == api.ModeInband {
		w.sid(Start)
		from, act = p.outerSource(), w.do(p4.ActionMtInband)
		if p.Source.Outer.IsValid() {
			act = w.do(p4.ActionMtInbandIpv4,
				entry.With("address", entry.IPv4(p.Source.Address)))
		}
	}
	ports := slices.Clone(p.Source.Ports)
	slices.Sort(ports)
	for _, in := range slices.Compact(ports) {
		w.in(Start, p4.TableMtSource, act, w.ofGroup(), entry.Exact("port", entry.Uint(uint64(in))),
			entry.Exact("src_addr", entry.Addr(from)))
	}
}
