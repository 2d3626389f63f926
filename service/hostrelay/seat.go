package hostrelay

import (
	"context"
	"sync"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/agent"
)

// A seat is a host's place at the decider, for one stream of the host. It is the endpoint of an
// agent.
type seat struct {
	a     *Relay
	host  string
	hello *hostapi.Hello
	agent *agent.Agent
	ctx   context.Context // ends with the host's stream
	end   context.CancelFunc
	done  chan struct{} // closed when the agent has ended

	// The state that the decider had given the host, and the version, at the end of the stream.
	version hostapi.Version
	held    *hostapi.State
	// decisions is the relay's count of decisions at the end of the stream.
	decisions uint64

	last *hostapi.State // what the host gets while the decider is silent; nil: nothing

	news chan struct{} // of capacity 1: the host has answered

	// mu guards the fields below it.
	mu      sync.Mutex
	decided bool             // the decider has sent a state on this stream
	refusal *hostapi.Refused // the last since it was looked at
	probe   uint32           // the number of the last request
	probes  map[uint32]func(hostapi.ProbeResult)
}

// Capabilities implements [agent.Endpoint].
func (s *seat) Capabilities() hostapi.Capabilities { return s.hello.Capabilities }

// Apply implements [agent.Endpoint]. It returns when the host has answered.
func (s *seat) Apply(c agent.Change) error {
	s.takeRefusal() // of an earlier state
	s.hear()
	if err := s.a.follower.Decide(s.ctx, s.host, c.To); err != nil {
		return err
	}
	for {
		if r := s.takeRefusal(); r != nil {
			return r.Error()
		}
		if st, ok := s.a.server.Status(s.host); ok && st.Obeys {
			if len(st.Refusals) > 0 {
				return st.Refusals[0].Error()
			}
			return nil
		}
		select {
		case <-s.news:
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
}

// hear notes that the decider has sent a state.
func (s *seat) hear() {
	s.mu.Lock()
	s.decided = true
	s.mu.Unlock()
	s.a.mu.Lock()
	s.a.decisions++
	s.a.mu.Unlock()
}

// standIn gives the host the state that the decider sent last for it, when the decider stays
// silent. The decider begins with a state of its own when it comes: it takes the host to hold
// nothing.
func (s *seat) standIn() {
	if s.last == nil {
		return
	}
	wait := time.NewTimer(decisionWait)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-s.ctx.Done():
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock() // a state of the decider comes after this one
	if !s.decided {
		_ = s.a.follower.Decide(s.ctx, s.host, s.last) // it fails with the stream
	}
}

// Probe implements [agent.Endpoint].
func (s *seat) Probe(p *hostapi.Probe, done func(hostapi.ProbeResult)) {
	q := *p
	s.mu.Lock()
	if s.probe++; s.probe == 0 {
		s.probe = 1
	}
	q.ID = s.probe
	s.probes[q.ID] = done
	s.mu.Unlock()
	if err := s.a.server.Probe(s.host, &q); err != nil {
		s.result(&hostapi.ProbeResult{ID: q.ID, Err: err.Error()})
	}
}

// SelfProbe implements [agent.SelfProber].
func (s *seat) SelfProbe(p *hostapi.SelfProbes) {
	_ = s.a.server.SetSelfProbes(s.host, p) // the plan is valid, and the host has its place
}

// Counts implements [agent.Endpoint]: the host reports its counters by itself.
func (s *seat) Counts(func(hostapi.EVCount) bool) {}

// result passes on the result of a probe. The result of a probe from before this stream has no
// recipient.
func (s *seat) result(r *hostapi.ProbeResult) {
	s.mu.Lock()
	done := s.probes[r.ID]
	delete(s.probes, r.ID)
	s.mu.Unlock()
	if done != nil {
		done(*r)
	}
}

func (s *seat) wake() {
	select {
	case s.news <- struct{}{}:
	default:
	}
}

func (s *seat) refused(r *hostapi.Refused) {
	s.mu.Lock()
	s.refusal = r
	s.mu.Unlock()
	s.wake()
}

func (s *seat) takeRefusal() *hostapi.Refused {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.refusal
	s.refusal = nil
	return r
}
