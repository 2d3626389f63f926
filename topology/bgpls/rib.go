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
	// peerings are the links of protocol BGP between two nodes, by these.
	peerings map[[2]topology.NodeID]*group
	// homeless holds the names of nodes with SIDs that no peer describes.
	homeless map[topology.NodeID]bool
	builder  *topology.Builder
	stats    Stats
	// unnumbered holds the node names that SIDs give without an autonomous system. adopted maps a node
	// to its unnumbered names.
	unnumbered map[topology.NodeID]bool
	adopted    map[topology.NodeID][]topology.NodeID
	// stalePaths is how long objects that a peer has not repeated still count after the peer's
	// End-of-RIB. lossTime is how long an implausible loss does not count as true.
	stalePaths, lossTime time.Duration
	// dead, when not nil, returns the nodes that are known to be gone without any peer.
	dead    func() map[topology.NodeID]bool
	weighed time.Time // when tick has weighed losses last
	// touched reports changes to be published, refused that only counters have changed.
	touched, refused bool
}

// A group is the NLRIs that together make one object of the topology.
type group struct {
	members map[*object]bool
	dirty   bool
	// owner is the node that also gets the parts of the group, found by [rib.adopt]; "": no node.
	owner topology.NodeID
}

// An object is an NLRI and the peers that advertise it.
type object struct {
	nlri wire.NLRI
	raw  string
	says map[peerKey]statement
}

// A statement is a peer's advertisement of an NLRI in the session with that number.
type statement struct {
	session    int
	attributes *wire.Attributes
	// gone: the peer no longer advertises the object; withdrawn: the peer withdrew it, otherwise it
	// sent End-of-RIB without it; kept: the object still counts; doubted: its loss is implausible. See
	// [rib.lose].
	gone, withdrawn, kept, doubted bool
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
	// homeless are SIDs of nodes that nobody describes.
	homeless int

	losses
}

// losses holds the objects that a peer no longer advertises and that may still count: gone has all
// of them, fresh the objects since the last tick. Withdrawn objects are not in said, and goneOctets
// counts their octets.
type losses struct {
	gone         map[*object]loss
	fresh        []*object
	goneOctets   int
	synchronized time.Time          // when synced became true, as of the tick after it
	due          time.Time          // when the time of one of gone is over; zero: of none
	recheck      bool               // due is to be found anew
	kept         *topology.PeerKept // of gone, what counts
}

// count adds n to the NLRIs of an object's type.
func count(of *topology.PeerNLRIs, o *object, n int) {
	switch o.nlri.Type {
	case wire.NLRINode:
		of.Nodes += n
	case wire.NLRILink:
		of.Links += n
	case wire.NLRIPrefix4, wire.NLRIPrefix6:
		of.Prefixes += n
	case wire.NLRISRv6SID:
		of.SIDs += n
	}
}

// unsay stops counting an object among those that the peer advertises.
func (p *ribPeer) unsay(o *object) {
	if octets, ok := p.said[o]; ok {
		p.octets -= octets
		delete(p.said, o)
		count(&p.nlris, o, -1)
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

		peerings: make(map[[2]topology.NodeID]*group),
		homeless: make(map[topology.NodeID]bool),

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
		r.peers[a] = &ribPeer{scope: scope, limits: limits, said: make(map[*object]int),
			losses: losses{gone: make(map[*object]loss)}, since: now, reason: "no session yet"}
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
	r.forget(a, p)
	delete(r.peers, a)
	r.touched = true
}

// peerUp begins a session: what the peer said before is to be confirmed.
func (r *rib) peerUp(a peerKey, now time.Time) {
	if p := r.peers[a]; p != nil {
		p.session++
		p.up, p.synced, p.late, p.cut = true, false, false, false
		p.since, p.reason, p.synchronized = now, "session not yet synchronized", time.Time{}
		r.markAll(p)
	}
}

// peerDown ends a session: what the peer said stays.
func (r *rib) peerDown(a peerKey, reason string, now time.Time) {
	if p := r.peers[a]; p != nil && p.up {
		p.up, p.synced = false, false
		p.since, p.reason, p.synchronized = now, reason, time.Time{}
		r.markAll(p)
	}
}

// peerFailed notes why there is no session with a peer that never said everything.
func (r *rib) peerFailed(a peerKey, reason string) {
	if p := r.peers[a]; p != nil && !p.up && !p.ever && p.reason != reason {
		p.reason, r.touched = reason, true
	}
}

// endOfRIB ends the synchronization of a session: what the peer did not say again counts for a
// while. Speakers that restart say End-of-RIB before they have routes (RFC 4724, section 4.1).
func (r *rib) endOfRIB(a peerKey) {
	p := r.peers[a]
	if p == nil || !p.up || p.synced {
		return
	}
	for o := range p.said {
		if o.says[a].session != p.session {
			r.lose(a, p, o, false)
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
			r.lose(a, p, o, true)
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
		p.found(o)
		o.says[a] = statement{session: p.session, attributes: attributes}
		if p.said[o] == 0 {
			count(&p.nlris, o, 1)
		}
		octets := len(n.Raw) + len(u.Attribute)
		p.octets += octets - p.said[o]
		p.said[o] = octets
		r.mark(o)
		err := p.limits.exceeded(p.nlris, p.octets)
		if err != nil && len(p.gone) > 0 {
			r.forget(a, p) // what is said now comes first
			err = p.limits.exceeded(p.nlris, p.octets)
		}
		if err != nil {
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
	p.unsay(o)
	p.found(o)
	r.mark(o)
	if len(o.says) == 0 {
		delete(r.objects, o.raw)
		r.eachGroup(o, func(g *group) { delete(g.members, o) })
	}
}

func (r *rib) mark(o *object) {
	r.eachGroup(o, func(g *group) { g.dirty = true })
	if n := &o.nlri; peering(n) && !peerNode(n) {
		for other := range groupOf(r.peerings, endsOf(n)).members {
			groupOf(r.links, namedLink(&other.nlri).ID).dirty = true
		}
	}
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
		if peering(n) {
			f(groupOf(r.peerings, endsOf(n)))
		}
	case wire.NLRIPrefix4, wire.NLRIPrefix6:
		id := nodeID(n.Identifier, &n.Local)
		f(groupOf(r.nodes, id))
		f(groupOf(r.pfxs, topology.PrefixKey{Node: id, Prefix: n.Prefix.Prefix}))
	default:
		f(groupOf(r.nodes, nodeID(n.Identifier, &n.Local)))
	}
}

// endsOf returns the nodes of a link.
func endsOf(n *wire.NLRI) [2]topology.NodeID {
	return [2]topology.NodeID{nodeID(n.Identifier, &n.Local), nodeID(n.Identifier, &n.Remote)}
}

// linkParts returns the parts of a link. A BGP session is no link beside the cables that it is
// over.
func (r *rib) linkParts(g *group) []part {
	parts := r.parts(g)
	if len(parts) == 0 || slices.ContainsFunc(parts, func(p part) bool { return !peerNode(p.nlri) }) {
		return parts
	}
	for o := range groupOf(r.peerings, endsOf(parts[0].nlri)).members {
		if _, ok := r.believed(o, anyPeer); ok && !peerNode(&o.nlri) {
			return nil
		}
	}
	return parts
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
func (r *rib) parts(g *group) []part { return r.partsBy(g, anyPeer) }

// partsBy returns the parts of a group that some of the peers advertise.
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

// partsOf returns the parts of a node: parts under the node's own name, and parts under its name
// without an autonomous system from peers whose scope includes the node.
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

// adopt finds the node of each unnumbered SID: the node with the same router-id, unless several
// nodes have that router-id.
func (r *rib) adopt() {
	clear(r.adopted)
	if len(r.unnumbered) == 0 {
		return
	}
	routers := make(map[string][]topology.NodeID)
	for id, g := range r.nodes {
		if as, router, _ := strings.Cut(string(id), ":"); as != "0" && r.isNode(g) {
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
		if all := routers[router]; len(all) == 1 && len(g.members) > 0 && !r.isNode(g) {
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

// isNode reports whether a node NLRI is in a group, and counts.
func (r *rib) isNode(g *group) bool {
	for o := range g.members {
		if o.nlri.Type == wire.NLRINode {
			if _, ok := r.believed(o, anyPeer); ok {
				return true
			}
		}
	}
	return false
}

func anyPeer(*ribPeer) bool { return true }

// believed returns the statement of some of the peers that counts: a confirmed one before an
// unconfirmed one, and then that of the peer with the lowest address. ok is false when there is
// none.
func (r *rib) believed(o *object, may func(*ribPeer) bool) (s statement, ok bool) {
	var from peerKey
	confirmed := false
	for a, t := range o.says {
		if t.gone && !t.kept || !may(r.peers[a]) {
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
	return p.up && s.session == p.session && !s.gone
}

// snapshot builds the present topology.
func (r *rib) snapshot() *topology.Snapshot {
	r.weigh()
	r.adopt()
	refresh(r.nodes, func(id topology.NodeID, g *group) {
		n, ok := makeNode(id, r.partsOf(id, g))
		if ok {
			r.builder.SetNode(n)
			delete(r.homeless, id)
		} else {
			r.builder.RemoveNode(id)
			r.homeless[id] = true
		}
	}, func(id topology.NodeID) {
		r.builder.RemoveNode(id)
		delete(r.homeless, id)
	})
	refresh(r.links, func(id topology.LinkID, g *group) {
		if parts := r.linkParts(g); len(parts) > 0 {
			r.builder.SetLink(makeLink(parts))
		} else {
			r.builder.RemoveLink(id)
		}
	}, r.builder.RemoveLink)
	refresh(r.pfxs, func(k topology.PrefixKey, g *group) {
		if parts := r.parts(g); len(parts) > 0 {
			r.builder.SetPrefix(makePrefix(k, parts))
		} else {
			r.builder.RemovePrefix(k)
		}
	}, r.builder.RemovePrefix)
	refresh(r.peerings, func([2]topology.NodeID, *group) {}, func([2]topology.NodeID) {})
	r.countHomeless()
	r.builder.SetStale(r.staleness())
	r.touched = false
	return r.builder.Build()
}

// countHomeless counts each peer's SIDs of nodes that nobody describes, for example nodes of
// another routing instance: no topology contains these SIDs.
func (r *rib) countHomeless() {
	for _, p := range r.peers {
		p.homeless = 0
	}
	for id := range r.homeless {
		g := r.nodes[id]
		if g == nil || g.owner != "" {
			continue
		}
		for o := range g.members {
			if o.nlri.Type != wire.NLRISRv6SID {
				continue
			}
			for a, s := range o.says {
				if !s.gone || s.kept {
					r.peers[a].homeless++
				}
			}
		}
	}
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

// staleness returns a reason while a peer has never sent everything, or while no peer has confirmed
// some object in a living session; otherwise nil.
func (r *rib) staleness() *topology.Staleness {
	var s *topology.Staleness
	var reasons []string
	for _, a := range slices.SortedFunc(maps.Keys(r.peers), peerKey.Compare) {
		p := r.peers[a]
		reason, since := p.reason, p.since
		if keeps := p.keeps(); keeps != "" && (p.synced || p.kept.Implausible) {
			reason, since = keeps, p.kept.Since
		} else if p.synced || !r.missed(p) {
			continue
		}
		if s == nil {
			s = &topology.Staleness{Since: since}
		}
		if since.Before(s.Since) {
			s.Since = since
		}
		s.Sources = append(s.Sources, topology.PeerName(a))
		s.Incomplete = s.Incomplete || p.awaited()
		reasons = append(reasons, topology.PeerName(a)+": "+reason)
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

// tick ends expired waits for peers and for objects that peers no longer advertise, and returns the
// time of the next call.
func (r *rib) tick(now time.Time) (next time.Time, ok bool) {
	next, ok = r.tickLosses(now)
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
