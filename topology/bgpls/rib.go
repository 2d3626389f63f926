package bgpls

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/topology"
	"github.com/weft-sdn/weft/topology/bgpls/wire"
)

// A peerKey names a peer: its address, and its port or, if it connects to us, 0.
type peerKey = netip.AddrPort

// A rib holds what the peers said, and builds snapshots of it. It is pure: time
// comes in as a parameter, and events in the order of the sessions.
type rib struct {
	grace   time.Duration // how long a peer's first End-of-RIB is waited for
	peers   map[peerKey]*ribPeer
	objects map[string]*object // by the octets of the NLRI
	nodes   map[topology.NodeID]*group
	links   map[topology.LinkID]*group
	pfxs    map[topology.PrefixKey]*group
	builder *topology.Builder
	stats   Stats
	// unnumbered are the nodes that SIDs name without an autonomous system, and adopted those of them
	// that are another node, by that.
	unnumbered map[topology.NodeID]bool
	adopted    map[topology.NodeID][]topology.NodeID
	// touched reports that there is something to publish, refused that only counters have changed.
	touched, refused bool
}

// A group is the NLRIs that together make one object of the topology.
type group struct {
	members map[*object]bool
	dirty   bool
	// owner is the node whose parts the group is too, as [rib.adopt] has found it; "": none.
	owner topology.NodeID
}

// An object is an NLRI and who says it.
type object struct {
	nlri wire.NLRI
	raw  string
	says map[peerKey]statement
}

// A statement is what a peer said of an NLRI, in its session of that number.
type statement struct {
	session    int
	attributes *wire.Attributes
}

type ribPeer struct {
	scope  topology.Scope
	limits Limits
	// said are the objects of the peer, with the octets of each.
	said    map[*object]int
	octets  int    // of said
	refused uint64 // NLRIs outside of the scope
	faults  faults // all that there were
	cut     bool   // the session has exceeded a limit; nothing of it is taken any more
	session int    // counts the sessions; what was said in an earlier one is unconfirmed
	up      bool
	synced  bool // the present session's End-of-RIB was seen
	ever    bool // some session's End-of-RIB was seen
	late    bool // no session's End-of-RIB was seen, and it is no longer waited for
	since   time.Time
	reason  string
	updates uint64
	nlris   topology.PeerNLRIs // of said
}

// count adds n to the NLRIs of an object's type.
func (p *ribPeer) count(o *object, n int) {
	switch o.nlri.Type {
	case wire.NLRINode:
		p.nlris.Nodes += n
	case wire.NLRILink:
		p.nlris.Links += n
	case wire.NLRIPrefix4, wire.NLRIPrefix6:
		p.nlris.Prefixes += n
	case wire.NLRISRv6SID:
		p.nlris.SIDs += n
	}
}

func newRIB(grace time.Duration, ports topology.PortMap) *rib {
	r := &rib{
		grace:   grace,
		peers:   make(map[peerKey]*ribPeer),
		objects: make(map[string]*object),
		nodes:   make(map[topology.NodeID]*group),
		links:   make(map[topology.LinkID]*group),
		pfxs:    make(map[topology.PrefixKey]*group),
		builder: topology.NewBuilder(),

		unnumbered: make(map[topology.NodeID]bool),
		adopted:    make(map[topology.NodeID][]topology.NodeID),
	}
	r.builder.SetPorts(ports)
	return r
}

// addPeer makes a peer known, whose first session is waited for. It may describe the nodes of a
// scope, within limits.
func (r *rib) addPeer(a peerKey, scope topology.Scope, limits Limits, now time.Time) {
	if r.peers[a] == nil {
		r.peers[a] = &ribPeer{scope: scope, limits: limits, said: make(map[*object]int), since: now,
			reason: "no session yet"}
		r.touched = true
	}
}

// removePeer forgets a peer and what it said.
func (r *rib) removePeer(a peerKey) {
	p := r.peers[a]
	if p == nil {
		return
	}
	for o := range p.said {
		r.retract(a, p, o)
	}
	delete(r.peers, a)
	r.touched = true
}

// peerUp begins a session: what the peer said before is to be confirmed.
func (r *rib) peerUp(a peerKey, now time.Time) {
	if p := r.peers[a]; p != nil {
		p.session++
		p.up, p.synced, p.late, p.cut = true, false, false, false
		p.since, p.reason = now, "session not yet synchronized"
		r.markAll(p)
	}
}

// peerDown ends a session: what the peer said stays.
func (r *rib) peerDown(a peerKey, reason string, now time.Time) {
	if p := r.peers[a]; p != nil && p.up {
		p.up, p.synced = false, false
		p.since, p.reason = now, reason
		r.markAll(p)
	}
}

// peerFailed notes why there is no session with a peer that never said everything.
func (r *rib) peerFailed(a peerKey, reason string) {
	if p := r.peers[a]; p != nil && !p.up && !p.ever && p.reason != reason {
		p.reason, r.touched = reason, true
	}
}

// endOfRIB ends the synchronization of a session: what the peer did not say
// again is withdrawn.
func (r *rib) endOfRIB(a peerKey) {
	p := r.peers[a]
	if p == nil || !p.up || p.synced {
		return
	}
	for o := range p.said {
		if o.says[a].session != p.session {
			r.retract(a, p, o)
		}
	}
	p.synced, p.ever = true, true
	r.touched = true
}

// update takes in an UPDATE message of a peer. The error is why its session must end.
func (r *rib) update(a peerKey, u *wire.Update) error {
	p := r.peers[a]
	if p == nil || !p.up || p.cut {
		return nil
	}
	r.stats.Updates++
	p.updates++
	r.stats.UnknownNLRIs += uint64(u.Skipped.UnknownNLRIs)
	if n := u.Skipped.MalformedNLRIs; n > 0 {
		r.stats.MalformedNLRIs += uint64(n)
		p.faults.nlris += uint64(n)
		p.faults.note(topology.FaultNLRI, u.Skipped.Fault)
		r.refused = true
	}
	r.stats.UnknownTLVs += uint64(u.Skipped.UnknownTLVs)
	for i := range u.Unreachable {
		if o := r.objects[string(u.Unreachable[i].Raw)]; o != nil && p.said[o] > 0 {
			r.retract(a, p, o)
		}
	}
	if len(u.Reachable) == 0 {
		return nil
	}
	var attributes *wire.Attributes
	if u.Attribute != nil {
		var unknown int
		var err error
		attributes, unknown, err = wire.ParseAttributes(u.Attribute)
		r.stats.UnknownTLVs += uint64(unknown)
		if err != nil {
			r.stats.DiscardedAttributes++
			p.faults.attributes++
			p.faults.note(topology.FaultAttribute, wire.NewFault(u.Attribute, err))
			r.refused = true
		}
	}
	for i := range u.Reachable {
		n := &u.Reachable[i]
		id := nodeID(n.NLRI.Identifier, &n.NLRI.Local)
		// Whose an unnumbered SID is shows later: see [rib.adopt].
		if !p.scope.Has(id) && !(unnumbered(&n.NLRI) && p.scope.HasInAny(id)) {
			p.refused++
			r.refused = true
			continue
		}
		o := r.object(n)
		o.says[a] = statement{p.session, attributes}
		if p.said[o] == 0 {
			p.count(o, 1)
		}
		octets := len(n.Raw) + len(u.Attribute)
		p.octets += octets - p.said[o]
		p.said[o] = octets
		r.mark(o)
		if err := p.limits.exceeded(p.nlris, p.octets); err != nil {
			p.cut = true
			return err
		}
	}
	return nil
}

// object returns the object of an NLRI, which is new or not.
func (r *rib) object(n *wire.Received) *object {
	o := r.objects[string(n.Raw)]
	if o == nil {
		o = &object{nlri: n.NLRI, raw: string(n.Raw), says: make(map[peerKey]statement, 1)}
		r.objects[o.raw] = o
		if unnumbered(&n.NLRI) {
			r.unnumbered[nodeID(n.NLRI.Identifier, &n.NLRI.Local)] = true
		}
		r.eachGroup(o, func(g *group) { g.members[o] = true })
	}
	return o
}

// retract removes what a peer said of an object, and the object with the last.
func (r *rib) retract(a peerKey, p *ribPeer, o *object) {
	delete(o.says, a)
	p.octets -= p.said[o]
	delete(p.said, o)
	p.count(o, -1)
	r.mark(o)
	if len(o.says) == 0 {
		delete(r.objects, o.raw)
		r.eachGroup(o, func(g *group) { delete(g.members, o) })
	}
}

func (r *rib) mark(o *object) {
	r.eachGroup(o, func(g *group) { g.dirty = true })
	r.touched = true
}

func (r *rib) markAll(p *ribPeer) {
	for o := range p.said {
		r.mark(o)
	}
	r.touched = true
}

// eachGroup calls f for the groups that an object belongs to.
func (r *rib) eachGroup(o *object, f func(*group)) {
	switch n := &o.nlri; n.Type {
	case wire.NLRILink:
		f(groupOf(r.links, namedLink(n).ID))
	case wire.NLRIPrefix4, wire.NLRIPrefix6:
		id := nodeID(n.Identifier, &n.Local)
		f(groupOf(r.nodes, id))
		f(groupOf(r.pfxs, topology.PrefixKey{Node: id, Prefix: n.Prefix.Prefix}))
	default:
		f(groupOf(r.nodes, nodeID(n.Identifier, &n.Local)))
	}
}

func groupOf[K comparable](groups map[K]*group, k K) *group {
	g := groups[k]
	if g == nil {
		g = &group{members: make(map[*object]bool, 1)}
		groups[k] = g
	}
	return g
}

// parts returns the parts of a group, in an order that depends on the NLRIs
// alone.
func (r *rib) parts(g *group) []part { return r.partsBy(g, func(*ribPeer) bool { return true }) }

// partsBy returns the parts of a group that some of the peers have said.
func (r *rib) partsBy(g *group, may func(*ribPeer) bool) (parts []part) {
	for _, o := range slices.SortedFunc(maps.Keys(g.members), func(a, b *object) int {
		return cmp.Compare(a.raw, b.raw)
	}) {
		if s, ok := r.believed(o, may); ok {
			parts = append(parts, part{&o.nlri, s.attributes})
		}
	}
	return parts
}

// partsOf returns the parts of a node: its own, and those that name it without its autonomous
// system, as far as who has said them may describe it.
func (r *rib) partsOf(id topology.NodeID, g *group) []part {
	parts := r.parts(g)
	for _, name := range r.adopted[id] {
		parts = append(parts, r.partsBy(r.nodes[name], func(p *ribPeer) bool {
			return p.scope.Has(id)
		})...)
	}
	return parts
}

// unnumbered reports whether a SID names its node without an autonomous system, as FRR 10.7 does
// for static SIDs: by the BGP router-id alone (RFC 9086).
func unnumbered(n *wire.NLRI) bool { return n.Type == wire.NLRISRv6SID && n.Local.ASN == 0 }

// adopt finds out which nodes the unnumbered SIDs are of: of the one with the same router-id,
// unless there are several.
func (r *rib) adopt() {
	clear(r.adopted)
	if len(r.unnumbered) == 0 {
		return
	}
	routers := make(map[string][]topology.NodeID)
	for id, g := range r.nodes {
		if as, router, _ := strings.Cut(string(id), ":"); as != "0" && g.isNode() {
			routers[router] = append(routers[router], id)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.unnumbered)) {
		g := r.nodes[name]
		if g == nil {
			delete(r.unnumbered, name)
			continue
		}
		var owner topology.NodeID
		_, router, _ := strings.Cut(string(name), ":")
		if all := routers[router]; len(all) == 1 && len(g.members) > 0 && !g.isNode() {
			owner = all[0]
		}
		if owner != "" {
			r.adopted[owner] = append(r.adopted[owner], name)
		}
		if owner == g.owner && !g.dirty {
			continue
		}
		for _, id := range []topology.NodeID{g.owner, owner} {
			if of := r.nodes[id]; of != nil {
				of.dirty = true
			}
		}
		g.owner = owner
	}
}

// isNode reports whether a node NLRI is in a group.
func (g *group) isNode() bool {
	for o := range g.members {
		if o.nlri.Type == wire.NLRINode {
			return true
		}
	}
	return false
}

// believed returns the statement of some of the peers that counts: a confirmed one before an
// unconfirmed one, and then that of the peer with the lowest address. ok is false when there is
// none.
func (r *rib) believed(o *object, may func(*ribPeer) bool) (s statement, ok bool) {
	var from peerKey
	confirmed := false
	for a, t := range o.says {
		if !may(r.peers[a]) {
			continue
		}
		c := r.confirmed(a, t)
		if !from.IsValid() || c && !confirmed || c == confirmed && a.Compare(from) < 0 {
			from, confirmed, s = a, c, t
		}
	}
	return s, from.IsValid()
}

// confirmed reports whether a peer has said something in the session it has now.
func (r *rib) confirmed(a peerKey, s statement) bool {
	p := r.peers[a]
	return p.up && s.session == p.session
}

// snapshot builds the present topology.
func (r *rib) snapshot() *topology.Snapshot {
	r.adopt()
	refresh(r.nodes, func(id topology.NodeID, g *group) {
		if n, ok := makeNode(id, r.partsOf(id, g)); ok {
			r.builder.SetNode(n)
		} else {
			r.builder.RemoveNode(id)
		}
	}, r.builder.RemoveNode)
	refresh(r.links, func(_ topology.LinkID, g *group) { r.builder.SetLink(makeLink(r.parts(g))) },
		r.builder.RemoveLink)
	refresh(r.pfxs, func(k topology.PrefixKey, g *group) {
		r.builder.SetPrefix(makePrefix(k, r.parts(g)))
	}, r.builder.RemovePrefix)
	r.builder.SetStale(r.staleness())
	r.touched = false
	return r.builder.Build()
}

// refresh sets the dirty groups, and removes those that are empty.
func refresh[K comparable](groups map[K]*group, set func(K, *group), remove func(K)) {
	for k, g := range groups {
		switch {
		case len(g.members) == 0:
			remove(k)
			delete(groups, k)
		case g.dirty:
			g.dirty = false
			set(k, g)
		}
	}
}

// staleness is not nil while a peer has never said everything, or there are
// objects that no peer has confirmed in a session that lasts.
func (r *rib) staleness() *topology.Staleness {
	var s *topology.Staleness
	var reasons []string
	for _, a := range slices.SortedFunc(maps.Keys(r.peers), peerKey.Compare) {
		p := r.peers[a]
		if p.synced || !r.missed(p) {
			continue
		}
		if s == nil {
			s = &topology.Staleness{Since: p.since}
		}
		if p.since.Before(s.Since) {
			s.Since = p.since
		}
		s.Sources = append(s.Sources, topology.PeerName(a))
		s.Incomplete = s.Incomplete || p.awaited()
		reasons = append(reasons, topology.PeerName(a)+": "+p.reason)
	}
	if s != nil {
		s.Reason = strings.Join(reasons, "; ")
	}
	return s
}

// awaited reports whether a peer has never said everything, and still may. What a peer said stays
// when its session ends, until it says something else: from others nothing is lacking.
func (p *ribPeer) awaited() bool { return !p.ever && !p.late }

// missed reports whether the topology may lack something while a peer is not in sync.
func (r *rib) missed(p *ribPeer) bool {
	if !p.ever {
		return true
	}
	for o := range p.said {
		if !r.confirmedByAny(o) {
			return true
		}
	}
	return false
}

func (r *rib) confirmedByAny(o *object) bool {
	for a, s := range o.says {
		if r.confirmed(a, s) {
			return true
		}
	}
	return false
}

// tick ends the waiting for peers whose time is over, and returns when it has
// to be called again.
func (r *rib) tick(now time.Time) (next time.Time, ok bool) {
	for _, p := range r.peers {
		end := p.since.Add(r.grace)
		switch {
		case p.ever || p.late:
		case !now.Before(end):
			p.late, r.touched = true, true
		case !ok || end.Before(next):
			next, ok = end, true
		}
	}
	return next, ok
}
