package lab

import (
	"context"
	"sync"
	"time"

	"github.com/weft-sdn/weft/endpoint/agent"
)

// Subscribers are the MRC hosts of a world at their ends of the streams from a controller.
type Subscribers struct {
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
func (w *World) Subscribe(ctx context.Context, clock *Clock, cfg agent.Config) (*Subscribers, error) {
	s := &Subscribers{hosts: map[string]*subscriber{}}
	for _, h := range w.Network.Hosts {
		n := w.mrc[h.Name]
		if n == nil {
			continue
		}
		running, stop := context.WithCancel(ctx)
		a, err := n.agent(running, clock, cfg)
		if err != nil {
			stop()
			s.Close()
			return nil, err
		}
		x := &subscriber{agent: a, stop: stop, done: make(chan struct{})}
		s.hosts[h.Name] = x
		go func() {
			defer close(x.done)
			_ = a.Run(running) // it has no error
		}()
	}
	return s, nil
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
	a, err := agent.New(cfg, agent.Owned(n, do))
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

// Stop ends the stream of a host, as if its agent had died, and waits for that.
func (s *Subscribers) Stop(host string) {
	if x := s.hosts[host]; x != nil {
		x.stop()
		<-x.done
	}
}

// Close ends all streams, and waits for that. It must be called before the clock is stopped.
func (s *Subscribers) Close() {
	var all sync.WaitGroup
	for name := range s.hosts {
		all.Go(func() { s.Stop(name) })
	}
	all.Wait()
}
