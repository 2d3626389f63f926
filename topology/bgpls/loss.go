package bgpls

import (
	"fmt"
	"strings"
	"time"

	"github.com/weft-sdn/weft/topology"
	"github.com/weft-sdn/weft/topology/bgpls/wire"
)

// weighPause is the least time between two looks at whether nodes that a peer no longer describes
// are gone for certain.
const weighPause = time.Second

// A partKey identifies the objects of one NLRI type that belong to a node.
type partKey struct {
	node topology.NodeID
	typ  wire.NLRIType
}

// partsWith returns the parts that an object belongs to: a link belongs to both of its nodes.
func (r *rib) partsWith(o *object) [2]partKey {
	n := &o.nlri
	k := partKey{nodeID(n.Identifier, &n.Local), n.Type}
	if n.Type == wire.NLRILink {
		return [2]partKey{k, {nodeID(n.Identifier, &n.Remote), n.Type}}
	}
	if g := r.nodes[k.node]; unnumbered(n) && g != nil && g.owner != "" {
		k.node = g.owner
	}
	return [2]partKey{k, k}
}

// A loss describes an object that a peer no longer advertises.
type loss struct {
	since  time.Time // zero until the next tick
	octets int       // that are no longer counted of what the peer says
}

// lose records that a peer no longer advertises an object: the peer has withdrawn the object, or
// sent End-of-RIB without it. [rib.tick] removes the statement when its time is over. Until then, a
// withdrawn statement counts only while the peer's loss is implausible, and a missing statement
// always counts.
func (r *rib) lose(a peerKey, p *ribPeer, o *object, withdrawn bool) {
	s := o.says[a]
	s.gone, s.withdrawn, s.kept = true, withdrawn, !withdrawn
	o.says[a] = s
	l, ok := p.gone[o]
	if !ok {
		p.fresh = append(p.fresh, o)
	}
	if withdrawn {
		l.octets = p.said[o]
		p.goneOctets += l.octets
		p.unsay(o)
	}
	p.gone[o] = l
	r.mark(o)
	if p.goneOctets > p.limits.Octets {
		r.forget(a, p)
	}
}

// found ends the loss of an object that a peer says again.
func (p *ribPeer) found(o *object) {
	p.goneOctets -= p.gone[o].octets
	delete(p.gone, o)
}

// forget ends what is kept of a peer.
func (r *rib) forget(a peerKey, p *ribPeer) {
	for o := range p.gone {
		r.retract(a, p, o)
	}
}

// weigh decides which of the objects that peers no longer advertise still count.
func (r *rib) weigh() {
	for a, p := range r.peers {
		if len(p.gone) == 0 {
			p.kept, p.fresh = nil, nil
			continue
		}
		r.contradict(a, p)
		hurt := r.implausible(a, p)
		kept := topology.PeerKept{Implausible: hurt != nil}
		for o, l := range p.gone {
			s := o.says[a]
			was := s.doubted
			s.doubted = false
			for _, k := range r.partsWith(o) {
				s.doubted = s.doubted || hurt[k]
			}
			if keep := !s.withdrawn || s.doubted; keep != s.kept {
				s.kept = keep
				r.mark(o)
			}
			o.says[a], p.recheck = s, p.recheck || s.doubted != was
			if s.kept && !r.confirmedByAny(o) {
				count(&kept.NLRIs, o, 1)
				if kept.Since.IsZero() || l.since.Before(kept.Since) {
					kept.Since = l.since
				}
			}
		}
		p.kept = nil
		if kept.NLRIs != (topology.PeerNLRIs{}) {
			kept.Until = r.end(p, kept.Since, kept.Implausible)
			p.kept = &kept
		}
	}
}

// end returns when the objects that a peer no longer advertises stop to count: not before the peer
// has had time to say everything again.
func (r *rib) end(p *ribPeer, since time.Time, doubted bool) time.Time {
	if doubted {
		return since.Add(r.lossTime)
	}
	if since.Before(p.synchronized) {
		since = p.synchronized
	}
	return since.Add(r.stalePaths)
}

// contradict removes links kept from an earlier session if the present session has another link at
// the same port.
func (r *rib) contradict(a peerKey, p *ribPeer) {
	ends := make(map[string]*object)
	for o := range p.gone {
		if end := localEnd(o); end != "" && !o.says[a].withdrawn {
			ends[end] = o
		}
	}
	if len(ends) == 0 {
		return
	}
	for o := range p.said {
		if old := ends[localEnd(o)]; old != nil && r.confirmed(a, o.says[a]) {
			if namedLink(&old.nlri).ID != namedLink(&o.nlri).ID {
				r.retract(a, p, old)
			}
		}
	}
}

// localEnd names the port that a link is at, "" where the link does not say.
func localEnd(o *object) string {
	if o.nlri.Type != wire.NLRILink {
		return ""
	}
	l := namedLink(&o.nlri)
	if l.LocalID == 0 && len(l.LocalAddresses) == 0 {
		return ""
	}
	end, _, _ := strings.Cut(string(l.ID), "~")
	return end
}

// implausible returns the parts of the topology that would be gone if the collector believed a
// peer, if this loss is too large to believe a single peer; otherwise nil. The loss is too large if
// half of the nodes would lose all their objects of a type, and no single node explains the loss: a
// node that dies also removes the links of its neighbors. An object that another peer still
// advertises or has withdrawn too does not count, nor does an object of a departed node.
func (r *rib) implausible(a peerKey, p *ribPeer) map[partKey]bool {
	// Each node that is hurt has lost an object. Twice: r.nodes has unnumbered SIDs beside the nodes.
	if 4*len(p.gone) < len(r.nodes) {
		return nil
	}
	dead := map[topology.NodeID]bool(nil)
	if r.dead != nil {
		dead = r.dead()
	}
	left := make(map[partKey]int)
	explains := make(map[topology.NodeID]int) // of how many lost objects a node is
	lost := 0
	for _, o := range r.objects {
		keys := r.partsWith(o)
		if dead[keys[0].node] || dead[keys[1].node] {
			continue
		}
		switch r.lostBy(a, o) {
		case lostByOne:
			lost++
			left[keys[0]] += 0
			explains[keys[0].node]++
			if keys[1] != keys[0] {
				explains[keys[1].node]++
			}
		case lostByNobody:
			left[keys[0]]++
		}
	}
	for _, n := range explains {
		if n == lost {
			return nil
		}
	}
	all, gone := make(map[wire.NLRIType]int), make(map[wire.NLRIType]int)
	for k, n := range left {
		all[k.typ]++
		if n == 0 {
			gone[k.typ]++
		}
	}
	hurt := make(map[partKey]bool)
	for k, n := range left {
		if n == 0 && 2*gone[k.typ] >= all[k.typ] {
			hurt[k] = true
		}
	}
	if len(hurt) == 0 {
		return nil
	}
	return hurt
}

type lostBy int

const (
	lostByNobody lostBy = iota
	lostByOne           // by the peer that is asked about
	lostByOthers        // also, or only, by others
)

// lostBy returns who no longer says an object.
func (r *rib) lostBy(a peerKey, o *object) lostBy {
	by := lostByNobody
	if o.says[a].gone {
		by = lostByOne
	}
	for other, s := range o.says {
		switch {
		case other == a:
		case !s.gone:
			return lostByNobody
		case s.withdrawn:
			by = lostByOthers
		}
	}
	return by
}

// tickLosses removes kept objects whose time is over, and returns when it must be called again.
func (r *rib) tickLosses(now time.Time) (next time.Time, ok bool) {
	later := func(t time.Time) {
		if !ok || t.Before(next) {
			next, ok = t, true
		}
	}
	doubt := false
	for a, p := range r.peers {
		if p.synced && p.synchronized.IsZero() {
			p.synchronized, p.recheck = now, true
		}
		for _, o := range p.fresh {
			if l, ok := p.gone[o]; ok {
				l.since = now
				p.gone[o] = l
				if end := r.end(p, now, false); p.due.IsZero() || end.Before(p.due) {
					p.due = end
				}
			}
		}
		p.fresh = p.fresh[:0]
		if p.recheck || !p.due.IsZero() && !now.Before(p.due) {
			r.endLosses(a, p, now)
		}
		if !p.due.IsZero() {
			later(p.due)
		}
		doubt = doubt || p.kept != nil && p.kept.Implausible && len(p.gone) > 0
	}
	if doubt && r.dead != nil {
		if !now.Before(r.weighed.Add(weighPause)) {
			r.weighed = now
			r.weigh()
		}
		later(r.weighed.Add(weighPause))
	}
	return next, ok
}

// endLosses removes objects that a peer no longer advertises once their time is over, and computes
// when the next one is due.
func (r *rib) endLosses(a peerKey, p *ribPeer, now time.Time) {
	p.recheck, p.due = false, time.Time{}
	for o, l := range p.gone {
		s := o.says[a]
		if !s.withdrawn && !p.synced {
			continue // the next End-of-RIB counts
		}
		if end := r.end(p, l.since, s.doubted); !now.Before(end) {
			r.retract(a, p, o)
		} else if p.due.IsZero() || end.Before(p.due) {
			p.due = end
		}
	}
}

// keeps describes the objects that the topology keeps although the peer no longer advertises them;
// "": nothing.
func (p *ribPeer) keeps() string {
	if p.kept == nil {
		return ""
	}
	n := p.kept.NLRIs
	what := fmt.Sprintf("no longer says %d nodes, %d links, %d prefixes and %d SIDs that it said",
		n.Nodes, n.Links, n.Prefixes, n.SIDs)
	if p.kept.Implausible {
		return what + ": too many at once to be believed, they are kept"
	}
	return what + ": they are kept for now"
}
