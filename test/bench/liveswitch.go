package main

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/weft-sdn/weft/dataplane/live"
	"github.com/weft-sdn/weft/dataplane/live/livetest"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/southbound/entry"
)

// A liveSwitch is an embedded switch in real time, with its P4Runtime server on loopback and the
// far ends of its cables.
type liveSwitch struct {
	address string
	runner  *live.Runner
	far     map[uint32]live.Port
	stop    func() error
}

func serveSwitch(ctx context.Context) (*liveSwitch, error) {
	s := &liveSwitch{far: make(map[uint32]live.Port)}
	ports := make(map[uint32]live.Port)
	for _, n := range []uint32{upPort, downPort} {
		c := livetest.NewCable()
		ports[n], s.far[n] = c.A, c.B
	}
	var err error
	if s.runner, err = live.Start(live.Config{Device: p4rt.Config{ID: deviceID, Cache: &cache},
		Ports: ports}); err != nil {
		return nil, err
	}
	server := p4rt.NewServer(p4rt.ServerConfig{})
	if err := server.Add(s.runner.Sessions(), s.runner); err != nil {
		return nil, errors.Join(err, s.runner.Close())
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, s.runner.Close())
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	s.address = listener.Addr().String()
	s.stop = func() error {
		server.Close(ctx)
		return errors.Join(<-served, s.runner.Close())
	}
	return s, nil
}

// at is the transport to an embedded switch at a moment of its clock.
func at(d *p4rt.Device, now time.Duration) southbound.Direct {
	return southbound.Direct{Device: d, Now: func() time.Duration { return now }}
}

// install loads a program and writes entries, without a session.
func (s *liveSwitch) install(ctx context.Context, p *southbound.Pipeline,
	updates []entry.Update) error {
	var failed error
	err := s.runner.WithDevice(ctx, func(now time.Duration, d *p4rt.Device) {
		client := southbound.Client{Transport: at(d, now), DeviceID: deviceID, Pipeline: p}
		if failed = client.Install(ctx); failed == nil {
			failed = accepted(client.Write(ctx, updates))
		}
	})
	return errors.Join(err, failed)
}

// probeGap is the time between two packets of a probe.
const probeGap = time.Millisecond

// A probe sends packets through a switch and times each packet until stopped.
type probe struct {
	halt, done chan struct{}
	delays     delays
}

// probe sends the first packet of a role over and over, one at a time.
func (s *liveSwitch) probe(r role) *probe {
	p := &probe{halt: make(chan struct{}), done: make(chan struct{})}
	came := make(chan struct{}, 1)
	var expected atomic.Bool
	s.far[r.out[0].port].Attach(func([][]byte) {
		if expected.CompareAndSwap(true, false) {
			came <- struct{}{}
		}
	}, func(bool) {})
	go func() {
		defer close(p.done)
		tick := time.NewTicker(probeGap)
		defer tick.Stop()
		for {
			select {
			case <-p.halt:
				return
			case <-tick.C:
			}
			start := time.Now()
			expected.Store(true)
			s.far[r.in[0].port].Send([][]byte{r.in[0].frame})
			<-came
			p.delays = append(p.delays, time.Since(start))
		}
	}()
	return p
}

// stop returns how long the packets took.
func (p *probe) stop() delays {
	close(p.halt)
	<-p.done
	return p.delays
}

// delays are how long packets took through a switch.
type delays []time.Duration

// fields are those that a person who waits notices.
func (d delays) fields() []field {
	if len(d) == 0 {
		return nil
	}
	slices.Sort(d)
	micros := func(t time.Duration) float64 { return float64(t.Nanoseconds()) / 1e3 }
	return []field{
		{"packets", len(d)}, {"packetMicros", micros(d[len(d)/2])},
		{"packetP99Micros", micros(d[len(d)*99/100])}, {"packetMaxMicros", micros(d[len(d)-1])},
	}
}

// processorTime returns the processor time of all threads in this process so far.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0 // there is no other error than a wrong argument
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
