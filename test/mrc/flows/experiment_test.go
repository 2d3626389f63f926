package flows

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/dataplane/drop"
	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/nscc"
	"github.com/weft-sdn/weft/host/spray"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/p4"
)

// experiment is hosts of a fabric that write to each other.
type experiment struct {
	*fabric
	*lab.Mesh
	t testing.TB
}

// write has hosts write. profile, if not nil, is what a flow sprays over; else every path.
func (f *fabric) write(t testing.TB, seed uint64,
	profile func(i int, from, to string) spray.Profile, flows ...lab.FlowConfig) *experiment {
	t.Helper()
	return f.writeWith(t, seed, profile, func(*mrc.QPConfig) {}, flows...)
}

// writeWith is write; edit may change what all queue pairs have in common.
func (f *fabric) writeWith(t testing.TB, seed uint64,
	profile func(i int, from, to string) spray.Profile, edit func(*mrc.QPConfig),
	flows ...lab.FlowConfig) *experiment {
	t.Helper()
	if profile == nil {
		profile = func(i int, from, to string) spray.Profile {
			return f.profile(t, from, to, seed<<16|uint64(i))
		}
	}
	qp := mrc.DefaultQPConfig()
	rtt := f.rtt()
	for qp.AckTimeout = 1; 1024*time.Nanosecond<<qp.AckTimeout < 100*rtt; {
		qp.AckTimeout++
	}
	qp.ProbeTimeout = 4 * rtt
	if rtt > time.Millisecond {
		qp.TimestampUnit = 0 // a timestamp's 16 bits do not hold a round trip and the queues'
	}
	edit(&qp)
	m, err := f.NewMesh(lab.MeshConfig{
		Flows: flows, QP: qp, Congestion: nscc.DefaultConfig(f.network()), Forget: f.forget,
		Profile: func(i int, from, to *lab.MRCNode) spray.Profile {
			return profile(i, from.Name, to.Name)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &experiment{fabric: f, Mesh: m, t: t}
}

// run lets the flows come to their end, and checks what holds in every network without faults:
// nothing is lost, no timer expires, and every octet is where it belongs, if receivers keep octets.
func (e *experiment) run(limit time.Duration) {
	e.t.Helper()
	e.start()
	if !e.pump(limit) {
		for _, x := range e.Flows {
			if x.Ended == 0 {
				e.t.Logf("not complete: %s to %s, %v, %d octets in flight; %+v", x.From, x.To, x.QP.Schedule(),
					x.QP.InFlight(), x.QP.Counters())
			}
		}
		e.t.Fatalf("not complete after %v: %.3f; %+v", limit, e.Progress(), e.counts())
	}
	if n := e.Corrupt(); n > 0 {
		e.t.Errorf("%d flows are corrupt", n)
	}
	if c := e.counts(); c.dropped != 0 {
		e.t.Errorf("%d packets dropped", c.dropped)
	}
	for _, s := range e.Network.Switches {
		sw, err := e.Switch(s.Name)
		if err != nil {
			e.t.Fatal(err)
		}
		if drops, stats := sw.Drops(), sw.Device().Switch().Stats(); len(drops) > 0 ||
			stats.Drops[drop.QueueFull]+stats.Drops[drop.BadPriority]+stats.Drops[drop.InputFull] > 0 {
			e.t.Errorf("%s: %v, %+v", s.Name, drops, stats)
		}
	}
	if s := e.sum(); s.Timeouts != 0 || s.NAKsReceived != 0 || s.ProbesLost != 0 || s.NoPath != 0 {
		e.t.Errorf("%d timeouts, %d NAKs, %d probes lost, %d answers without a path", s.Timeouts,
			s.NAKsReceived, s.ProbesLost, s.NoPath)
	}
}

func (e *experiment) start() {
	e.t.Helper()
	if err := e.Mesh.Start(); err != nil {
		e.t.Fatal(err)
	}
}

// pump runs for a time or until the flows end, and reports whether the flows have ended.
func (e *experiment) pump(d time.Duration) bool {
	e.t.Helper()
	return e.Run(e.Now()+d, func() bool {
		if err := e.Pump(); err != nil {
			e.t.Fatal(err)
		}
		return e.Done()
	})
}

// classCounts are packets of the data class.
type classCounts struct{ marked, trimmed, dropped uint64 }

// counts is what the switches have counted of the classes at all ports.
func (e *experiment) counts() (c classCounts) {
	for _, s := range e.Network.Switches {
		sw, err := e.Switch(s.Name)
		if err != nil {
			e.t.Fatal(err)
		}
		for _, of := range []struct {
			name string
			sum  *uint64
		}{{p4.CounterClassMarks, &c.marked}, {p4.CounterClassTrims, &c.trimmed},
			{p4.CounterClassDrops, &c.dropped}} {
			for _, x := range e.Network.Links {
				for _, end := range []struct {
					name string
					port uint32
				}{{x.A, x.PortA}, {x.B, x.PortB}} {
					if end.name == s.Name {
						*of.sum += sw.Counted(of.name, p4.ClassCell(end.port, plan.DataClass)) +
							sw.Counted(of.name, p4.ClassCell(end.port, plan.ControlClass))
					}
				}
			}
		}
	}
	return c
}

// sum is what the senders counted, and of the receivers what concerns answers.
func (e *experiment) sum() (s mrc.QPCounters) {
	for _, x := range e.Flows {
		c, p := x.QP.Counters(), x.SinkQP.Counters()
		s.RequestsSent += c.RequestsSent
		s.NACKsReceived += c.NACKsReceived
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
	first, last := e.Flows[0].Began, e.Flows[0].Ended
	for _, x := range e.Flows {
		first, last = min(first, x.Began), max(last, x.Ended)
	}
	return last - first
}

// capacity is what a host's ports carry, in bits per second.
func (e *experiment) capacity() float64 { return float64(uint64(e.planes) * e.rate) }

// goodput returns the written octets as a share of one host's port capacity in the span.
func (e *experiment) goodput() float64 {
	octets := 0
	for _, x := range e.Flows {
		octets += x.Bytes
	}
	return float64(octets) * 8 / e.span().Seconds() / e.capacity()
}

// fairness is Jain's index over the rates of the flows.
func (e *experiment) fairness() float64 {
	var rates []float64
	for _, x := range e.Flows {
		rates = append(rates, float64(x.Bytes)/(x.Ended-x.Began).Seconds())
	}
	return lab.Jain(rates)
}

// rates runs for a time and returns the octets written by each flow in this time, as shares of a
// host's port capacity.
func (e *experiment) rates(d time.Duration, flows ...*lab.Flow) []float64 {
	written := func(x *lab.Flow) uint64 { return x.SinkQP.Counters().PayloadReceived }
	var before []uint64
	for _, x := range flows {
		before = append(before, written(x))
	}
	e.pump(d)
	var shares []float64
	for i, x := range flows {
		shares = append(shares, float64(written(x)-before[i])*8/d.Seconds()/e.capacity())
	}
	return shares
}
