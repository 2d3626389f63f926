package lab

import (
	"context"
	"time"

	"github.com/weft-sdn/weft/host/agent"
)

// Subscribers are the MRC hosts of a world at their ends of the streams from a controller. Its
// methods must not run at the same time.
type Subscribers struct {
	ctx   context.Context // of all streams
	world *World
	clock *Clock
	cfg   agent.Config // without the name
	hosts map[string]*subscriber
}

type subscriber struct {
	agent *agent.Agent
	stop  context.CancelFunc
	done  chan struct{}
}

// Subscribe connects the MRC hosts of a world whose clock runs to a controller, each by a stream of
// its own, until Stop or Close, or ctx ends. cfg lacks the name. While the stream is gone a host
// keeps what it holds.
func (w *World) Subscribe(ctx context.Context, clock *Clock, cfg agent.Config) (*Subscribers,
	error) {
	s := &Subscribers{ctx: ctx, world: w, clock: clock, cfg: cfg, hosts: map[string]*subscriber{}}
	for _, h := range w.Network.Hosts {
		if err := s.Start(h.Name); err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

// Start connects an MRC host again that was stopped. It does nothing for any other.
func (s *Subscribers) Start(host string) error {
	n := s.world.mrc[host]
	if n == nil || s.hosts[host] != nil {
		return nil
	}
	running, stop := context.WithCancel(s.ctx)
	a, err := n.agent(running, s.clock, s.cfg)
	if err != nil {
		stop()
		return err
	}
	x := &subscriber{agent: a, stop: stop, done: make(chan struct{})}
	s.hosts[host] = x
	go func() {
		defer close(x.done)
		_ = a.Run(running) // it has no error
	}()
	return nil
}

// agent is the host's end of a stream.
func (n *MRCNode) agent(ctx context.Context, clock *Clock, cfg agent.Config) (*agent.Agent, error) {
	cfg.Name = n.Name
	do := func(f func(now time.Duration)) error {
		return clock.Do(ctx, func(now time.Duration) {
			f(now)
			n.Wake()
		})
	}
	a, err := agent.New(cfg, agent.Serialized(n, do))
	if err != nil {
		return nil, err
	}
	return a, clock.Do(ctx, func(time.Duration) { n.Report(a) })
}

// Status is how a host's stream is; zero for a host without one.
func (s *Subscribers) Status(host string) agent.Status {
	if x := s.hosts[host]; x != nil {
		return x.agent.Status()
	}
	return agent.Status{}
}

// Stop ends the stream of a host, as if the host's agent had died, and waits for the end.
func (s *Subscribers) Stop(host string) {
	if x := s.hosts[host]; x != nil {
		x.stop()
		<-x.done
		delete(s.hosts, host)
	}
}

// Close ends all streams, and waits for that. It must be called before the clock is stopped.
func (s *Subscribers) Close() {
	for _, x := range s.hosts {
		x.stop()
	}
	for host := range s.hosts {
		s.Stop(host)
	}
}
