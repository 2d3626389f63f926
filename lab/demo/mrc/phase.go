package mrc

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/spray"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/lab/demo/flow"
)

// A phase is flows from their first packet to their last acknowledgement, and what became of them.
type phase struct {
	name     string
	flows    int
	octets   int
	began    time.Duration // of the world's time
	took     time.Duration
	finished time.Duration // when flows that repeat were told to finish, of the world's time
	corrupt  int           // octets that are not what was written
	failed   int           // queue pairs in error, of both ends
	qp       mrc.QPCounters
	classes  lab.ClassCounts
	capacity float64 // octets a second that the phase's bottleneck could carry of payload
	meter    *flow.Meter
}

// goodput is octets a second.
func (p *phase) goodput() float64 {
	if p.took == 0 {
		return 0
	}
	return float64(p.octets) / p.took.Seconds()
}

// traffic has hosts write, and returns when all of it is acknowledged. meanwhile, if not nil, is
// called once the flows have begun.
func (d *demo) traffic(ctx context.Context, name string, cfg lab.MeshConfig,
	meanwhile func(*lab.Mesh) error) error {
	p := &phase{name: name, flows: len(cfg.Flows)}
	d.phases = append(d.phases, p)
	var m *lab.Mesh
	var slipped time.Duration // so far
	err := d.stage.Do(ctx, func(w *lab.World) (err error) {
		p.classes, slipped = w.Classes(), w.Slipped()
		cfg.QP = d.qp
		if m, err = w.NewMesh(cfg); err != nil {
			return err
		}
		p.began, p.meter = w.Now(), flow.NewMeter(w, m.Flows, d.rtt/2)
		return m.Start()
	})
	if err != nil {
		return err
	}
	if meanwhile != nil {
		err = meanwhile(m)
	}
	if err == nil {
		err = d.stage.Do(ctx, func(w *lab.World) error {
			p.finished = w.Now()
			m.Finish()
			return nil
		})
	}
	if err == nil {
		err = flow.Until(ctx, d.stage, "hosts have written all of "+name, m.Done, m)
	}
	// The counters show what went wrong, also after ctx has ended.
	return cmp.Or(err, d.stage.Do(context.WithoutCancel(ctx), func(w *lab.World) error {
		p.meter.Stop()
		p.count(w, m)
		d.slipped += w.Slipped() - slipped
		m.Close()
		return nil
	}))
}

// count notes what became of the flows.
func (p *phase) count(w *lab.World, m *lab.Mesh) {
	p.classes = w.Classes().Minus(p.classes)
	last := p.began
	p.corrupt = flow.Corrupt(m)
	for _, f := range m.Flows {
		last = max(last, f.Ended)
		p.octets += f.Acknowledged()
		for _, qp := range []*mrc.QP{f.QP, f.SinkQP} {
			if qp.Failed() {
				p.failed++
			}
		}
		c := f.QP.Counters()
		p.qp.RequestsSent += c.RequestsSent
		p.qp.RequestsResent += c.RequestsResent
		p.qp.NACKsReceived += c.NACKsReceived
		p.qp.Timeouts += c.Timeouts
	}
	p.took = last - p.began
}

// incast is every other host writing to the first.
func incast(hosts []string, bytes int) (flows []lab.FlowConfig) {
	for _, from := range hosts[1:] {
		flows = append(flows, lab.FlowConfig{From: from, To: hosts[0], Bytes: bytes})
	}
	return flows
}

// ports returns the octets of payload that the ports on so many hosts carry in a second.
func (d *demo) ports(hosts int) float64 {
	return float64(hosts*d.Fabric.Planes) * float64(d.Fabric.Rate) / 8 * lab.PayloadShare
}

// allToAllCapacity is the octets of payload that an all-to-all can bring in a second: as much as
// the ports of hosts carry, or less when T0s have more hosts than links up.
func (d *demo) allToAllCapacity() float64 {
	f := d.Fabric
	crossing := float64(f.Hosts-f.Hosts/f.T0) / float64(max(1, f.Hosts-1)) // the part that leaves a T0
	// links for a host, in a plane
	up := float64(f.T0*uplinksOf(f)) / float64(f.Hosts)
	return d.ports(f.Hosts) * min(1, up/max(crossing, 1e-9))
}

// oneEntropy makes a profile with one of the host's entropy values for the peer, drawn by the
// flow's number: what a queue pair has without spraying.
func oneEntropy(flow int, from, to *lab.MRCNode) spray.Profile {
	ports := len(from.Config().Ports)
	all := spray.Auto(uint64(flow), 1, ports)
	if p := from.State().ProfileTo(to.Config().Addr); p != nil && p.Mode != hostapi.ModeAuto {
		if received, _, err := spray.Received(p, from.Capabilities().Ports); err == nil {
			all = received
		}
	}
	drawn := rand.New(rand.NewPCG(uint64(flow), 0x6f6e65)).IntN(len(all.EVs))
	return spray.Profile{EVs: all.EVs[drawn:][:1]}
}
