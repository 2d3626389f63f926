package tunnel

// Present is how things are with an SRv6 policy.
type Present struct {
	// Path and Deployments, by PFC policy, are those decided on last; nil for none.
	Path        *Path
	Deployments map[string]*Deployment
	// Settled: packets go by them, and nothing of another is left.
	Settled bool
	// Err reports why the present network has no path.
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

// PFCPolicyError returns why a PFC policy is not deployed, nil when it is.
func (c *Core) PFCPolicyError(name string) error {
	r := c.requests[name]
	if r == nil {
		return nil
	}
	if p := c.policies[r.SRv6Policy]; p != nil && p.err != nil && p.latest() == nil {
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
