package gnmi

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"github.com/weft-sdn/weft/internal/natural"
)

// Bounds of the stored counters of a switch.
const (
	maxQueues    = 16384 // of all its ports
	maxQueueName = 63
	maxSIDs      = 16384
)

// noInterface is the key for the sample of the SIDs, which belong to no interface.
const noInterface = ""

// counters gather the counts of a switch until they make samples. A sample of a port is complete
// when the switch begins to send the next one, or gatherTime after its first count.
type counters struct {
	sw      string
	tree    *node
	ports   map[string]*gathering // by interface
	queues  int
	pending []string // interfaces with counts since the last flush, in the order of their first
	ignored uint64
	// keeps reports that the switch sends only changed counts, so a missing count is unchanged.
	keeps bool
}

// gathering is an incomplete sample of a port.
type gathering struct {
	sample  Sample
	byName  map[string]int // place in sample.Queues
	sids    map[netip.Prefix]*SID
	set     map[*Count]struct{}
	pending bool
}

// gatherTime is the maximum time between the counts of one sample.
const gatherTime = 100 * time.Millisecond

// take reads the counts of a notification. Before take reads a count that shows earlier samples to
// be complete, take calls complete.
func (c *counters) take(n *gpb.Notification, complete func()) error {
	at := time.Time{}
	if ns := n.GetTimestamp(); ns > 0 {
		at = time.Unix(0, ns).UTC()
	}
	var failed error
	for _, u := range n.GetUpdate() {
		found := false
		w := walk{take: func(l leaf, v vars, text string) {
			if failed == nil {
				var ok bool
				ok, failed = c.set(l, v, text, at, complete)
				found = found || ok
			}
		}}
		w.update(c.tree, n.GetPrefix(), u)
		if failed != nil {
			return failed
		}
		if !found {
			c.ignored++
		}
	}
	return nil
}

// set takes a count. ok is false for a senseless counter.
func (c *counters) set(l leaf, v vars, text string, at time.Time, complete func()) (ok bool,
	err error) {
	value, err := strconv.ParseUint(text, 10, 64)
	if err != nil || (v.iface == noInterface) != (sidLeaves[l] != nil) {
		return false, nil
	}
	g, err := c.gathering(v.iface)
	if err != nil {
		return false, err
	}
	count, err := c.count(g, l, v)
	if err != nil || count == nil {
		return false, err
	}
	if _, again := g.set[count]; again {
		complete()
	}
	if !g.pending {
		g.pending = true
		c.pending = append(c.pending, v.iface)
	}
	*count = Count{Value: value, OK: true}
	g.set[count] = struct{}{}
	if at.After(g.sample.Time) {
		g.sample.Time = at
	}
	return true, nil
}

func (c *counters) gathering(iface string) (*gathering, error) {
	if g := c.ports[iface]; g != nil {
		return g, nil
	}
	if len(iface) > maxInterfaceName {
		return nil, fmt.Errorf("%w: name of an interface of %d octets; want at most %d", ErrMalformed,
			len(iface), maxInterfaceName)
	}
	if len(c.ports) == maxInterfaces {
		return nil, fmt.Errorf("%w: counters of more than %d interfaces", ErrMalformed, maxInterfaces)
	}
	if c.ports == nil {
		c.ports = make(map[string]*gathering)
	}
	g := &gathering{sample: Sample{Switch: c.sw, Interface: iface}, byName: make(map[string]int),
		set: make(map[*Count]struct{})}
	c.ports[iface] = g
	return g, nil
}

// count returns a pointer to a count; nil if the count belongs to no port.
func (c *counters) count(g *gathering, l leaf, v vars) (*Count, error) {
	if of := counterLeaves[l]; of != nil {
		return of(&g.sample), nil
	}
	if of := pfcLeaves[l]; of != nil {
		n, err := strconv.ParseUint(v.priority, 10, 8)
		if err != nil || n >= Priorities {
			return nil, nil
		}
		return of(&g.sample.PFC[n]), nil
	}
	if of := sidLeaves[l]; of != nil {
		s, err := g.sid(v.sid)
		if s == nil {
			return nil, err
		}
		return of(s), nil
	}
	of := queueLeaves[l]
	if of == nil || v.queue == "" || len(v.queue) > maxQueueName {
		return nil, nil
	}
	i, ok := g.byName[v.queue]
	if !ok {
		if c.queues == maxQueues {
			return nil, fmt.Errorf("%w: more than %d queues", ErrMalformed, maxQueues)
		}
		c.queues++
		g.addQueue(v.queue)
		i = g.byName[v.queue]
	}
	return of(&g.sample.Queues[i]), nil
}

// sid returns a local SID, nil for one that is no IPv6 prefix.
func (g *gathering) sid(name string) (*SID, error) {
	p, err := netip.ParsePrefix(name)
	if err != nil || !p.Addr().Is6() {
		return nil, nil
	}
	p = p.Masked()
	if s := g.sids[p]; s != nil {
		return s, nil
	}
	if len(g.sids) == maxSIDs {
		return nil, fmt.Errorf("%w: more than %d SIDs", ErrMalformed, maxSIDs)
	}
	if g.sids == nil {
		g.sids = make(map[netip.Prefix]*SID)
	}
	g.sids[p] = &SID{Prefix: p}
	return g.sids[p], nil
}

// counts returns the local SIDs with counts, by prefix.
func (g *gathering) counts() (out []SID) {
	for _, s := range g.sids {
		if s.Packets.OK || s.Octets.OK {
			out = append(out, *s)
		}
	}
	slices.SortFunc(out, func(a, b SID) int {
		return cmp.Or(a.Prefix.Addr().Compare(b.Prefix.Addr()), cmp.Compare(a.Prefix.Bits(),
			b.Prefix.Bits()))
	})
	return out
}

// addQueue adds a queue in the order of names. Counts that have been set stay so.
func (g *gathering) addQueue(name string) {
	old := g.sample.Queues
	queues := append(slices.Clone(old), Queue{Name: name})
	slices.SortFunc(queues, func(a, b Queue) int { return natural.Compare(a.Name, b.Name) })
	set := make(map[*Count]struct{}, len(g.set))
	moved := make(map[*Count]*Count)
	for i := range old {
		to, _ := slices.BinarySearchFunc(queues, old[i].Name, func(q Queue, name string) int {
			return natural.Compare(q.Name, name)
		})
		for _, of := range queueLeaves {
			moved[of(&old[i])] = of(&queues[to])
		}
	}
	for count := range g.set {
		set[cmp.Or(moved[count], count)] = struct{}{}
	}
	g.sample.Queues, g.set = queues, set
	for i := range queues {
		g.byName[queues[i].Name] = i
	}
}

// flush returns the samples of all interfaces with new counts whose port is known, and begins the
// next ones.
func (c *counters) flush(port func(iface string) uint32, now time.Time) []Sample {
	out := make([]Sample, 0, len(c.pending))
	for _, name := range c.pending {
		g := c.ports[name]
		if n := port(name); n != 0 || name == noInterface {
			s := g.sample
			s.Port, s.Arrived = n, now
			s.Queues, s.SIDs = slices.Clone(s.Queues), g.counts()
			s.In.complete()
			s.Out.complete()
			out = append(out, s)
		}
		g.next(c.keeps)
	}
	c.pending = c.pending[:0]
	return out
}

// complete adds up the packets of all kinds where the switch does not.
func (t *Traffic) complete() {
	if !t.Packets.OK && t.Unicast.OK && t.Multicast.OK && t.Broadcast.OK {
		t.Packets = Count{Value: t.Unicast.Value + t.Multicast.Value + t.Broadcast.Value, OK: true}
	}
}

// next begins the next sample. keep leaves the counts of the present sample in it.
func (g *gathering) next(keep bool) {
	g.pending = false
	clear(g.set)
	if keep {
		return
	}
	s := &g.sample
	s.In, s.Out, s.PFC, s.Time = Traffic{}, Traffic{}, [Priorities]PFC{}, time.Time{}
	for i := range s.Queues {
		s.Queues[i] = Queue{Name: s.Queues[i].Name}
	}
	clear(g.sids)
}
