package pfc

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/weft-sdn/weft/topology"
)

// Seen takes what a switch reports of the first packet with a new segment list
// (draft section 3, scenario 2). It returns the PFC policies whose tunnels are
// made now: those of the slice's tenant for which the list names the upstream's
// End.X.PFC.
func (c *Core) Seen(at topology.NodeID, source netip.Addr, slice uint32, segments []netip.Addr) (learned []string) {
	for _, name := range sortedNames(c.requests) {
		r := c.requests[name]
		t, p := c.tenants[r.Tenant], c.policies[r.Policy]
		if r.Scenario != 2 || r.Learned || t == nil || p == nil || t.Slice != slice || p.latest() == nil {
			continue
		}
		hops := p.latest().path.Hops
		if hops[0].Address != source || !slices.Contains(segments, hops[0].PFC) || hops[len(hops)-1].Node != at {
			continue
		}
		r.Learned = true
		c.event(TunnelLearned, name, fmt.Sprintf("%s has seen a packet of slice %d with %v in its segment list", c.name(at), slice, hops[0].PFC))
		c.replan(p)
		learned = append(learned, name)
	}
	return learned
}

func sortedNames(m map[string]*request) []string {
	out := make([]string, 0, len(m))
	for name := range m {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Present is how things are with an SRv6 policy.
type Present struct {
	// Path and Deployments, by PFC policy, are those decided on last; nil for none.
	Path        *Path
	Deployments map[string]*Deployment
	// Settled: packets go by them, and nothing of another is left.
	Settled bool
	// Err says why the present network has no path.
	Err error
}

// Present returns how things are with an SRv6 policy; ok is false when there is
// none.
func (c *Core) Present(name string) (s Present, ok bool) {
	p := c.policies[name]
	if p == nil {
		return Present{}, false
	}
	s.Err = p.err
	if b := p.latest(); b != nil {
		s.Path, s.Deployments = b.path, b.deployments
		s.Settled = p.phase == steady && p.queued == nil
	}
	return s, true
}

// RequestError returns why a PFC policy is not deployed, nil when it is.
func (c *Core) RequestError(name string) error {
	r := c.requests[name]
	if r == nil {
		return nil
	}
	if p := c.policies[r.Policy]; p != nil && p.err != nil && p.latest() == nil {
		return p.err
	}
	return r.err
}

// QueueState returns how a queue pauses others; ok is false when it does not.
func (c *Core) QueueState(q Queue) (s QueueState, ok bool) {
	for _, s := range c.Node(q.Node).Queues {
		if s.Queue == q {
			return s, true
		}
	}
	return QueueState{}, false
}

// ListNumber returns the number of a tunnel's list at the switch it starts from.
func (c *Core) ListNumber(t *Tunnel) uint16 { return c.listNumber(t.From, t.list()) }
