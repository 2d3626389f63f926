package queues

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/endpoint"
	"github.com/weft-sdn/weft/endpoint/mrc"
	"github.com/weft-sdn/weft/endpoint/nscc"
	"github.com/weft-sdn/weft/endpoint/spray"
	"github.com/weft-sdn/weft/packet"
)

const (
	payload = 4096 // PMTU
	rkey    = 9
)

// dataFrame is the octets of a full packet.
var dataFrame = FullFrame(payload)

// large skips a test of many packets where it would take long: "make test" runs it without the race detector.
func large(t *testing.T) {
	t.Helper()
	if raced {
		t.Skip("many packets on one goroutine: run without the race detector")
	}
}

// network is what congestion control is told of a fabric.
func network(c Config) nscc.Network {
	return nscc.Network{Rate: uint64(c.Planes) * c.Rate, RTT: c.RTT(dataFrame), MTU: payload, Trimming: c.TrimSize > 0}
}

// experiment is hosts of package mrc on a fabric, that write to each other.
type experiment struct {
	t      testing.TB
	fabric *Fabric
	hosts  []*host
	flows  []*flow
	left   int
	data   []byte // of one WRITE
	sink   []byte // where it goes, on any host
}

// host notes when its flows are complete.
type host struct {
	*mrc.Host
	flows []*flow // sent, and not complete
}

// flow is a WRITE over a connection of its own.
type flow struct {
	from     int
	qp, peer *mrc.QP
	cc       *nscc.QPCC
	left     int           // WRITEs to complete
	octets   int           // of all of them
	first    time.Duration // when it was posted, at the time its first packet leaves
	last     time.Duration // when it was complete: its last acknowledgement
	done     func()
	t        testing.TB
}

func (h *host) Advance(now time.Duration) (next time.Duration, pending bool) {
	next, pending = h.Host.Advance(now)
	for i := 0; i < len(h.flows); {
		x := h.flows[i]
		for c, ok := x.qp.Poll(); ok; c, ok = x.qp.Poll() {
			if c.Status != endpoint.StatusOK {
				x.t.Errorf("flow of host %d: %v", x.from, c.Status)
			}
			x.left--
		}
		if x.left > 0 {
			i++
			continue
		}
		x.last = now
		h.flows[i] = h.flows[len(h.flows)-1]
		h.flows = h.flows[:len(h.flows)-1]
		x.done()
	}
	return next, pending
}

// newExperiment has flows write so many octets at a time.
func newExperiment(t testing.TB, c Config, octets int) *experiment {
	t.Helper()
	f, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	e := &experiment{t: t, fabric: f, data: make([]byte, octets), sink: make([]byte, octets)}
	for i := range c.Hosts() {
		cfg := mrc.DefaultConfig()
		cfg.Addr = Address(i)
		cfg.Wire.DSCP = c.DSCP
		cfg.Output = func(_ time.Duration, port int, frame []byte) { f.Send(i, port, frame) }
		for p := range c.Planes {
			cfg.Ports = append(cfg.Ports, mrc.Port{MAC: MAC(i, p+1), Gateway: Gateway, LineRate: c.Rate})
		}
		h, err := mrc.NewHost(cfg)
		if err != nil {
			t.Fatal(err)
		}
		// All write to the same place: what arrives is looked at elsewhere.
		if _, err := h.RegisterMR(0, rkey, e.sink, endpoint.AccessRemoteWrite); err != nil {
			t.Fatal(err)
		}
		e.hosts = append(e.hosts, &host{Host: h})
		if err := f.Attach(i, e.hosts[i]); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

// connect has a host write to another at a time, over and over. edit may change the configuration of the sender's queue pair and of the receiver's.
func (e *experiment) connect(from, to, writes int, at time.Duration, p spray.Profile, edit func(sender, receiver *mrc.QPConfig)) *flow {
	e.t.Helper()
	c := e.fabric.cfg
	number := uint32(len(e.flows))
	configure := func(peer int, side uint64) (mrc.QPConfig, *nscc.QPCC) {
		cc, err := nscc.New(nscc.DefaultConfig(network(c)))
		if err != nil {
			e.t.Fatal(err)
		}
		paths, err := spray.New(spray.DefaultConfig(c.Seed<<24|side<<16|uint64(number)), p)
		if err != nil {
			e.t.Fatal(err)
		}
		cfg := mrc.DefaultQPConfig()
		cfg.QPN, cfg.RemoteQPN, cfg.RemoteAddr = 0x100+number, 0x100+number, Address(peer)
		cfg.Congestion, cfg.Sprayer = cc, paths
		rtt := c.RTT(dataFrame)
		for cfg.AckTimeout = 1; 1024*time.Nanosecond<<cfg.AckTimeout < 100*rtt; {
			cfg.AckTimeout++
		}
		cfg.ProbeTimeout = 4 * rtt
		if rtt > time.Millisecond {
			cfg.TimestampUnit = 0 // a timestamp's 16 bits do not hold a round trip and the queues'
		}
		return cfg, cc
	}
	x := &flow{from: from, left: writes, octets: writes * len(e.data), first: at, last: -1, t: e.t}
	x.done = func() { e.left-- }
	sender, cc := configure(to, 0)
	receiver, _ := configure(from, 1)
	if edit != nil {
		edit(&sender, &receiver)
	}
	x.cc = cc
	var err error
	if x.qp, err = e.hosts[from].CreateQP(sender); err != nil {
		e.t.Fatal(err)
	}
	if x.peer, err = e.hosts[to].CreateQP(receiver); err != nil {
		e.t.Fatal(err)
	}
	e.flows = append(e.flows, x)
	e.hosts[from].flows = append(e.hosts[from].flows, x)
	e.left++
	e.fabric.At(at, func() {
		for range writes {
			if err := x.qp.PostSend(at, endpoint.WorkRequest{Op: endpoint.OpWrite, Data: e.data, RKey: rkey}); err != nil {
				e.t.Error(err)
			}
		}
		e.fabric.Wake(from)
	})
	return x
}

// finish runs until all flows are complete, and checks what holds in every network without faults: nothing was lost, no timer expired.
func (e *experiment) finish(limit time.Duration) {
	e.t.Helper()
	if !e.fabric.Run(limit, func() bool { return e.left == 0 }) {
		for _, x := range e.flows {
			if x.last < 0 {
				e.t.Logf("not complete: %v, %d octets in flight, %v; %+v", x.qp.Schedule(), x.qp.InFlight(), x.cc, x.qp.Counters())
			}
		}
		e.t.Fatalf("%d of %d flows not complete after %v; %+v", e.left, len(e.flows), limit, e.fabric.Total())
	}
	if total := e.fabric.Total(); total.Dropped != 0 {
		e.t.Errorf("%d packets dropped", total.Dropped)
	}
	if s := e.fabric.Stats(); s != (FabricStats{}) {
		e.t.Errorf("%+v", s)
	}
	if s := e.sum(); s.Timeouts != 0 || s.NAKsReceived != 0 || s.ProbesLost != 0 || s.NoPath != 0 {
		e.t.Errorf("%d timeouts, %d NAKs, %d probes lost, %d answers without a path", s.Timeouts, s.NAKsReceived, s.ProbesLost, s.NoPath)
	}
}

// sum is what the senders counted, and of the receivers what concerns answers.
func (e *experiment) sum() (s mrc.QPCounters) {
	for _, x := range e.flows {
		c, p := x.qp.Counters(), x.peer.Counters()
		s.RequestsSent += c.RequestsSent
		s.RequestsResent += c.RequestsResent
		s.NACKsReceived += c.NACKsReceived
		s.SACKsReceived += c.SACKsReceived
		s.NAKsReceived += c.NAKsReceived
		s.Timeouts += c.Timeouts
		s.SACKLosses += c.SACKLosses
		s.ProbeLosses += c.ProbeLosses
		s.ProbesSent += c.ProbesSent
		s.ProbesLost += c.ProbesLost
		s.NoPath += p.NoPath
		s.Duplicates += p.Duplicates
	}
	return s
}

// span is from the first packet sent to the last acknowledgement.
func (e *experiment) span() time.Duration {
	first, last := e.flows[0].first, e.flows[0].last
	for _, x := range e.flows {
		first, last = min(first, x.first), max(last, x.last)
	}
	return last - first
}

// capacity is what a host's ports carry, in bits per second.
func (e *experiment) capacity() float64 {
	return float64(uint64(e.fabric.cfg.Planes) * e.fabric.cfg.Rate)
}

// goodput is the octets written, as a share of what one host's ports carry in the span.
func (e *experiment) goodput() float64 {
	octets := 0
	for _, x := range e.flows {
		octets += x.octets
	}
	return float64(octets) * 8 / e.span().Seconds() / e.capacity()
}

// fairness is Jain's index over the rates of the flows.
func (e *experiment) fairness() float64 {
	var rates []float64
	for _, x := range e.flows {
		rates = append(rates, float64(x.octets)/(x.last-x.first).Seconds())
	}
	return Jain(rates)
}

// rates runs for a time and returns the octets that flows wrote in it, as shares of what a host's ports carry.
func (e *experiment) rates(d time.Duration, flows ...*flow) []float64 {
	written := func(x *flow) uint64 { return x.peer.Counters().PayloadReceived }
	var before []uint64
	for _, x := range flows {
		before = append(before, written(x))
	}
	e.fabric.Run(e.fabric.Now()+d, nil)
	var shares []float64
	for i, x := range flows {
		shares = append(shares, float64(written(x)-before[i])*8/d.Seconds()/e.capacity())
	}
	return shares
}

// spinePaths is a profile of every path between two leaves: a structured EV for each spine on each plane.
func spinePaths(t testing.TB, c Config) spray.Profile {
	t.Helper()
	p := spray.Profile{MinActive: 1}
	for spine := range c.Spines {
		v, err := packet.EV(0).With(*c.Spine, uint32(spine))
		if err != nil {
			t.Fatal(err)
		}
		for port := range c.Planes {
			p.EVs = append(p.EVs, spray.EV{Value: v, Port: port + 1})
		}
	}
	return p
}
