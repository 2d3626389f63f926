package tunnel

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/topology"
)

// A Node is what a node should hold for tenants and PFC policies. Everything is
// in order, and each thing is there once.
type Node struct {
	// Lists are SRv6 segment lists by number.
	Lists []List
	// Services lists the End.DT6 SIDs of tenants. Ports lists the ports that face tenants. Routes lead
	// to prefixes behind these ports, Steers to other sites of the tenants.
	Services []Service
	Ports    []EdgePort
	Routes   []Route
	Steers   []Steer
	// Slices lists the slices of all tenants whose traffic crosses the node.
	Slices []Slice
	// Queues lists the queues that send pauses. Accepts lists who may pause which queue by a tunnel.
	// Links lists the ports that take PFC frames from their links.
	Queues  []QueueState
	Accepts []Accept
	Links   []LinkPause
	// Probes: probes start here, and come back.
	Probes bool
	// Learn are the End.X.PFC SIDs to be looked for in segment lists (scenario 2).
	Learn []netip.Addr
}

// Empty reports whether there is nothing to hold.
func (n *Node) Empty() bool {
	return len(n.Lists)+len(n.Services)+len(n.Ports)+len(n.Routes)+len(n.Steers)+len(n.Slices)+
		len(n.Queues)+len(n.Accepts)+len(n.Links)+len(n.Learn) == 0 && !n.Probes
}

// A List is a segment list without the last SID, which is given elsewhere.
type List struct {
	ID     uint16
	Source netip.Addr
	SIDs   []netip.Addr
	// Port: the first SID is the node's own and leads out of this port; 0: it is
	// not.
	Port uint32
}

// A Service is a SID of a tenant: End.DT6, End.DT4 or End.DT46, as it takes IPv6, IPv4 or both out
// of a tunnel.
type Service struct {
	SID        netip.Addr
	VRF        uint16
	IPv6, IPv4 bool
}

// An EdgePort faces a tenant.
type EdgePort struct {
	Port uint32
	VRF  uint16
}

// A Route leads to what is behind a port.
type Route struct {
	VRF    uint16
	Prefix netip.Prefix
	Port   uint32
}

// A Steer leads into a list.
type Steer struct {
	VRF      uint16
	Prefix   netip.Prefix
	List     uint16
	SID      netip.Addr
	Slice    uint32
	Priority uint8
}

// A Slice has a queue of its own.
type Slice struct {
	ID       uint32
	Priority uint8
}

// A QueueState is how a queue pauses others.
type QueueState struct {
	Queue
	Marks     Marks
	Quanta    uint16
	Refresh   time.Duration
	Upstreams []Upstream
	Rate      uint64 // bit/s, 0: no limit
	MaxPause  time.Duration
	// RTT, the longest round trip of the upstreams, and Fill, the rate of all upstreams in bit/s, are
	// the inputs of the headroom. Measured: every round trip was measured.
	RTT      time.Duration
	Fill     uint64
	Measured bool
}

// An Upstream is paused by a tunnel (List, SID, Slice), or by a PFC frame out of
// Port when List is 0.
type Upstream struct {
	List  uint16
	SID   netip.Addr
	Slice uint32
	Port  uint32
}

// An Accept lets frames in a tunnel pause a priority of a port.
type Accept struct {
	SID, Source netip.Addr
	Slice       uint32
	Priority    uint8
	Port        uint32
	ByNode      bool // SID is an End.PFC
}

// A LinkPause lets PFC frames of a link pause priorities of its port: bit n is
// priority n.
type LinkPause struct {
	Port    uint32
	Classes uint8
}

func sortQueues(qs []Queue) { slices.SortFunc(qs, Queue.compare) }

// feed is one upstream of a queue, with the demands of a PFC policy and a tenant on the queue.
type feed struct {
	Feed
	Upstream
	speed uint64
	*PFCPolicy
	rate  uint64 // of the tenant
	limit time.Duration
}

// Node returns what a node should hold.
func (c *Core) Node(id topology.NodeID) *Node {
	w := nodeWork{c: c, id: id, n: &Node{}, feeds: make(map[Queue][]feed),
		slices: make(map[uint32]uint8), lists: make(map[uint16]List), links: make(map[uint32]uint8),
		accepts: make(map[Accept]bool)}
	for _, name := range slices.Sorted(maps.Keys(c.sites[id])) {
		w.tenant(c.tenants[name])
	}
	for _, name := range slices.Sorted(maps.Keys(c.holding[id])) {
		w.policy(c.policies[name])
	}
	return w.finish()
}

type nodeWork struct {
	c  *Core
	id topology.NodeID
	n  *Node

	feeds   map[Queue][]feed
	slices  map[uint32]uint8
	lists   map[uint16]List
	links   map[uint32]uint8
	accepts map[Accept]bool
}

func (w *nodeWork) list(l List) {
	if l.ID != 0 {
		w.lists[l.ID] = l
	}
}

func (w *nodeWork) tenant(t *Tenant) {
	w.slices[t.Slice] = t.Priority
	capable := w.c.cfg.Behaviors.Capable(w.c.snap, w.id)
	seen := make(map[netip.Addr]bool)
	for i := range t.Sites {
		s := &t.Sites[i]
		if s.Node != w.id {
			continue
		}
		if !seen[s.SID] {
			seen[s.SID] = true
			w.n.Services = append(w.n.Services, w.service(t, s.SID))
		}
		w.n.Ports = append(w.n.Ports, EdgePort{s.Port, t.VRF})
		for _, p := range s.Prefixes {
			w.n.Routes = append(w.n.Routes, Route{t.VRF, p, s.Port})
		}
		if capable {
			w.links[s.Port] |= 1 << t.Priority
		}
	}
	for i := range t.Sites {
		if s := &t.Sites[i]; s.Node != w.id {
			w.steer(t, s)
		}
	}
}

// service returns the SID of a tenant at the node, for the address families of the tenant's
// prefixes at the node.
func (w *nodeWork) service(t *Tenant, sid netip.Addr) Service {
	x := Service{SID: sid, VRF: t.VRF}
	for i := range t.Sites {
		if t.Sites[i].SID != sid {
			continue
		}
		for _, p := range t.Sites[i].Prefixes {
			x.IPv4, x.IPv6 = x.IPv4 || p.Addr().Is4(), x.IPv6 || p.Addr().Is6()
		}
	}
	return x
}

// steer leads to another site: by the SRv6 policy that carries the tenant there,
// or by the shortest path.
func (w *nodeWork) steer(t *Tenant, to *Site) {
	id := w.c.listNumber(w.id, listKey(w.id, nil))
	for _, name := range t.Policies {
		p := w.c.policies[name]
		if p != nil && p.Headend == w.id && p.Endpoint == to.Node && p.data() != nil {
			id = w.c.listNumber(w.id, policyKey(name))
		}
	}
	for _, prefix := range to.Prefixes {
		w.n.Steers = append(w.n.Steers, Steer{t.VRF, prefix, id, to.SID, t.Slice, t.Priority})
	}
	for i := range t.Sites {
		if s := &t.Sites[i]; s.Node == w.id {
			w.list(List{ID: w.c.listNumber(w.id, listKey(w.id, nil)), Source: s.Address})
		}
	}
}

func (w *nodeWork) policy(p *policy) {
	if b := p.data(); b != nil && p.Headend == w.id {
		w.list(p.list(b, w.c.listNumber(w.id, policyKey(p.Name))))
	}
	for _, t := range w.c.tenants {
		if slices.Contains(t.Policies, p.Name) {
			w.slices[t.Slice] = t.Priority
		}
	}
	for _, b := range p.held() {
		for _, name := range b.names() {
			if r := w.c.requests[name]; r != nil {
				w.deployment(b, b.deployments[name], r)
			}
		}
	}
}

// list returns the segment list of the policy's packets.
func (p *policy) list(b *bundle, id uint16) List {
	head := &b.path.Hops[0]
	l := List{ID: id, Source: head.Address}
	if p.BestEffort {
		return l
	}
	for _, s := range b.path.Segments {
		l.SIDs = append(l.SIDs, s.SID)
	}
	if b.path.Segments[0].Hop == 0 {
		l.Port = head.Port
	}
	return l
}

func (w *nodeWork) deployment(b *bundle, d *Deployment, r *pfcPolicy) {
	t := w.c.tenants[r.Tenant]
	if t == nil {
		return
	}
	for i := range d.Tunnels {
		x := &d.Tunnels[i]
		if x.From == w.id {
			w.n.Probes = true
			w.list(List{ID: w.c.listNumber(w.id, x.list()), Source: x.Source, SIDs: x.List})
		}
		if x.To == w.id {
			w.accepts[Accept{x.SID, x.Source, t.Slice, t.Priority, x.Port, x.ByNode}] = true
		}
	}
	if r.Scenario == 2 && b.path.Hops[len(b.path.Hops)-1].Node == w.id {
		w.n.Learn = append(w.n.Learn, b.path.Hops[0].PFC)
	}
	for i := range d.Stages {
		s := &d.Stages[i]
		if s.Node != w.id {
			continue
		}
		var feeds []feed
		if i == 0 {
			for _, port := range s.Ports {
				feeds = append(feeds, feed{
					Feed: Feed{RTT: w.c.cfg.Sizing.HostRTT, Rate: s.Rate}, Upstream: Upstream{Port: port},
					speed: s.Speed, PFCPolicy: &r.PFCPolicy, rate: t.Rate,
				})
			}
		} else if len(d.Tunnels) > 0 {
			x := &d.Tunnels[2*(i-1)]
			rtt, measured := w.c.monitors[x.measured()].planned(w.c.cfg.Sizing.RTT)
			feeds = append(feeds, feed{
				Feed:     Feed{RTT: rtt, Measured: measured, Rate: s.Rate, Nodes: x.Nodes},
				Upstream: Upstream{List: w.c.listNumber(w.id, x.list()), SID: x.SID, Slice: t.Slice},
				speed:    s.Speed, PFCPolicy: &r.PFCPolicy, rate: t.Rate,
			})
		}
		limit := w.c.cfg.Sizing.MaxPause(d, i, &r.PFCPolicy)
		for j := range feeds {
			feeds[j].limit = limit
		}
		for _, q := range s.Queues {
			w.feeds[q] = append(w.feeds[q], feeds...)
		}
	}
}

func (w *nodeWork) finish() *Node {
	n := w.n
	for _, id := range slices.Sorted(maps.Keys(w.lists)) {
		n.Lists = append(n.Lists, w.lists[id])
	}
	for _, id := range slices.Sorted(maps.Keys(w.slices)) {
		n.Slices = append(n.Slices, Slice{id, w.slices[id]})
	}
	for _, port := range slices.Sorted(maps.Keys(w.links)) {
		n.Links = append(n.Links, LinkPause{port, w.links[port]})
	}
	n.Accepts = slices.SortedFunc(maps.Keys(w.accepts), func(a, b Accept) int {
		return cmp.Or(a.SID.Compare(b.SID), a.Source.Compare(b.Source), cmp.Compare(a.Slice, b.Slice))
	})
	queues := slices.Collect(maps.Keys(w.feeds))
	sortQueues(queues)
	for _, q := range queues {
		n.Queues = append(n.Queues, w.c.cfg.Sizing.queue(q, w.feeds[q]))
	}
	slices.SortFunc(n.Learn, netip.Addr.Compare)
	n.Learn = slices.Compact(n.Learn)
	return n
}

// queue puts the feeds of a queue together: all of them can arrive at once, and
// all are stopped.
func (s *Sizing) queue(q Queue, feeds []feed) QueueState {
	out := QueueState{Queue: q, Quanta: s.Quanta, Measured: len(feeds) > 0}
	var headroom, xoff, xon uint64
	for _, f := range feeds {
		if out.Rate = max(out.Rate, f.rate); slices.Contains(out.Upstreams, f.Upstream) {
			continue
		}
		refresh := packet.PauseTime(s.Quanta, f.speed) / 2
		f.Refresh = refresh
		headroom = sum(headroom, s.Headroom(f.Feed))
		out.RTT, out.Fill, out.Measured = max(out.RTT, f.RTT), sum(out.Fill, f.Feed.Rate), out.Measured &&
			f.Measured
		out.Upstreams = append(out.Upstreams, f.Upstream)
		if out.Refresh == 0 || refresh < out.Refresh {
			out.Refresh = refresh
		}
		out.Marks.Buffer = max(out.Marks.Buffer, f.Buffer)
		if f.XOFF != 0 && (xoff == 0 || f.XOFF < xoff) {
			xoff = f.XOFF
		}
		if f.XON != 0 && (xon == 0 || f.XON < xon) {
			xon = f.XON
		}
		if out.MaxPause == 0 || f.limit < out.MaxPause {
			out.MaxPause = f.limit
		}
	}
	out.Marks = s.Marks(out.Marks.Buffer, headroom, xoff, xon)
	return out
}
