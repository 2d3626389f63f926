// Package job is the demo of jobs that "weft demo job" runs.
package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/lab/demo/flow"
	"github.com/weft-sdn/weft/lab/demo/multicast"
)

// Options say what the demo of jobs does.
type Options struct {
	Out io.Writer    // progress and tables for people
	Log *slog.Logger // gets what the controller logs; nil: nothing
}

// The demo's fabric, its jobs and what happens to them. The machines of both jobs are in all racks.
var (
	fabric = lab.ClosConfig{Planes: 2, T0: 4, T1: 2, Hosts: 16}
	ring   = workload{name: "train", doing: "a ring of data parallel ranks",
		hosts: "H[1-2,5-6,9-10,13-14]", pattern: api.PatternRing, sends: true}
	experts = workload{name: "experts", doing: "all ranks to all, as experts do",
		hosts: "H[3-4,7-8,11-12,15-16]", pattern: api.PatternAllToAll}
	proxy = netip.MustParseAddr("2001:db8:ffff::1") // of the group for weights
)

const (
	drained = "P1-T1-2"
	// works names a maintenance on the T1, and maintained gives the duration.
	works      = "works"
	maintained = 4 * time.Second
	// victim is the host that dies: rank 2 of the ring.
	victim = "H5"
	// weights are the octets that rank 0 of the ring sends to the others.
	weights = 1 << 20
	// group names the communicator for the weights, whose NICs have names after their hosts.
	group      = "weights"
	weightsNIC = "-w"
	// designatedQPN is the queue pair that its source sends to.
	designatedQPN = 0x00beef
	// window is for how long goodput is measured, of the network's time.
	window = time.Second
	// mostDip is how much goodput the other job may lose, in percent: more than what queues and
	// processors vary.
	mostDip = 20
	// looks is how often a readiness is timed.
	looks = 20
	// timeout bounds the demo as lab.Patience counts, so that a hang becomes an error.
	timeout = 2 * time.Minute
)

// A workload is a job, and its traffic.
type workload struct {
	name, doing, hosts string
	pattern            api.JobPattern
	// sends: rank 0 sends weights to the others, by queue pairs that are not known before it runs.
	sends bool
	pairs []api.JobQueuePair

	ranks []string // hosts of the lab
	mesh  *lab.Mesh
	meter *flow.Meter
}

// demo is a demo that runs.
type demo struct {
	Options
	live   *lab.Live
	rest   *client.Client
	jobs   []*workload
	other  *workload // the job that the dead host is not in
	result Result
}

// Run runs two jobs on a fabric in real time, and prints what it does to o.Out. The error names a
// broken expectation.
func Run(ctx context.Context, o Options) (*Result, error) {
	if o.Out == nil {
		o.Out = io.Discard
	}
	began := time.Now()
	ctx, cancel := lab.Patience(ctx, timeout)
	defer cancel()
	train, moe := ring, experts
	d := &demo{Options: o, jobs: []*workload{&train, &moe}, other: &moe,
		result: Result{Demo: "job", Jobs: 2}}
	for _, j := range d.jobs {
		if err := j.place(); err != nil {
			return nil, err
		}
	}
	network := network(train.ranks)
	fmt.Fprintf(o.Out,
		"%d planes of %d T0 and %d T1, %d hosts with a port in each, and %d RoCEv2 NICs for weights\n",
		fabric.Planes, fabric.T0, fabric.T1, fabric.Hosts, len(network.Hosts)-fabric.Hosts)
	var err error
	d.live, err = lab.StartLive(ctx, lab.LiveOptions{Network: network, Listen: "127.0.0.1:0",
		Log: o.Log, Progress: d.say})
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.live.Close() }() // what matters of it has been told
	if d.rest, err = client.New(client.Config{Server: d.live.URL()}); err != nil {
		return nil, err
	}
	defer d.rest.Close()
	if err := d.live.Ready(ctx); err != nil {
		return nil, err
	}
	if err := d.play(ctx); err != nil {
		return nil, err
	}
	d.result.Seconds = time.Since(began).Seconds()
	d.tell()
	return &d.result, d.result.check()
}

func (d *demo) say(format string, args ...any) { fmt.Fprintf(d.Out, "  "+format+"\n", args...) }

// network returns the fabric, in which some hosts have a NIC for RoCEv2 besides: MRC has no
// multicast, and the group's RC needs queue pairs of its own. H1's NIC for the group, H1-w, sits at
// H1's T0 in plane 1.
func network(with []string) lab.Network {
	c := fabric
	c.Rate, c.Delay = lab.DemoLinks(c)
	n := lab.Clos(c)
	mrc := n
	for i, h := range n.Hosts {
		if !slices.Contains(with, h.Name) {
			continue
		}
		n.Hosts = append(n.Hosts, lab.Host{Name: h.Name + weightsNIC, Transport: lab.RoCE})
		n.Links = append(n.Links, lab.Link{A: fmt.Sprintf("P1-T0-%d", c.Leaf(i)),
			B: h.Name + weightsNIC, Rate: c.Rate, Delay: c.Delay})
	}
	n.MRC = lab.MRCSettings(&mrc, ev.ModeStructured)
	return n
}

// play has everything happen, and fills in the result.
func (d *demo) play(ctx context.Context) error {
	if err := d.start(ctx); err != nil {
		return err
	}
	t, err := d.broadcast(ctx)
	if err != nil {
		return err
	}
	if err := d.write(ctx); err != nil {
		return err
	}
	if err := d.maintain(ctx); err != nil {
		return err
	}
	if err := d.die(ctx); err != nil {
		return err
	}
	return d.end(ctx, t)
}

// start gives the controller the jobs, waits until it says GO, and starts them.
func (d *demo) start(ctx context.Context) error {
	for _, j := range d.jobs {
		made, err := d.rest.Jobs().Create(ctx, j.name, j.spec(api.JobPlaced), client.Write{})
		if err != nil {
			return err
		}
		f := made.Status.Follows
		d.say("POST /v1/jobs: %s, %d ranks on %s, %s: %d pairs of NICs talk, %d of racks", j.name,
			len(j.ranks), j.hosts, j.doing, f.Pairs, f.RackPairs)
	}
	if _, err := d.await(ctx, "the fabric is ready for both jobs", func(r []*api.JobReadiness) bool {
		return r[0].Go && r[1].Go
	}); err != nil {
		return err
	}
	d.result.Go = true
	if err := d.timeReadiness(ctx); err != nil {
		return err
	}
	d.say("GO for both; an answer takes %.1f ms", d.result.ReadinessMs)
	for _, j := range d.jobs {
		if _, err := d.rest.Jobs().Put(ctx, j.name, j.spec(api.JobRunning), client.Write{}); err != nil {
			return err
		}
	}
	profiles, err := d.rest.EVProfiles().List(ctx, nil)
	d.result.Profiles = len(profiles)
	return err
}

// timeReadiness measures how long the controller takes to say whether the fabric is ready: the
// median of some requests for the job that has most pairs.
func (d *demo) timeReadiness(ctx context.Context) error {
	var took []time.Duration
	for range looks {
		began := time.Now()
		if _, err := d.rest.JobReadiness(ctx, d.other.name); err != nil {
			return err
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	d.result.ReadinessMs = float64(took[len(took)/2].Microseconds()) / 1e3
	return nil
}

// broadcast sends the weights from rank 0 of the ring to the others, by a multicast group that the
// controller makes for the job: when the program has made its queue pairs, it adds their numbers.
func (d *demo) broadcast(ctx context.Context) (*multicast.Transfer, error) {
	var nics []string
	for _, h := range d.jobs[0].ranks {
		nics = append(nics, h+weightsNIC)
	}
	j := d.jobs[0]
	t := &multicast.Transfer{Live: d.live, Say: d.say, Name: j.name + "-" + group,
		Mode: api.ModeProvisioned,
		Data: make([]byte, weights), Hosts: lab.GroupConfig{Proxy: proxy, DesignatedQPN: designatedQPN,
			Source: nics[0], Receivers: nics[1:],
		}, Make: func(ctx context.Context, s *api.MulticastGroupSpec) error {
			j.pairs = []api.JobQueuePair{{QPN: s.Source.QPN}}
			for _, r := range s.Receivers {
				j.pairs = append(j.pairs, api.JobQueuePair{QPN: r.QPN})
			}
			_, err := d.rest.Jobs().Put(ctx, j.name, j.spec(api.JobRunning), client.Write{})
			return err
		}}
	if _, err := rand.NewChaCha8([32]byte{1}).Read(t.Data); err != nil {
		return nil, err
	}
	if err := t.Begin(ctx); err != nil {
		return nil, err
	}
	if err := t.Write(ctx); err != nil {
		return nil, err
	}
	groups, err := d.rest.Groups().List(ctx, nil)
	if err != nil {
		return nil, err
	}
	for i := range groups {
		if groups[i].Status.Is(api.Programmed) {
			d.result.Groups++
		}
	}
	d.say("%d receivers have the weights after %v", len(t.Group.Receivers),
		t.Took.Round(time.Millisecond))
	return t, nil
}

// write has both jobs write, and lets them get on.
func (d *demo) write(ctx context.Context) error {
	err := d.live.Do(ctx, func(w *lab.World) error {
		for _, j := range d.jobs {
			if err := j.begin(w); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.say("both jobs write, over %d and %d queue pairs", len(d.jobs[0].mesh.Flows),
		len(d.jobs[1].mesh.Flows))
	return d.pass(ctx, window)
}

// maintain takes a T1 out of use for a window, which is said to the jobs before, and waits until it
// is in use again.
func (d *demo) maintain(ctx context.Context) error {
	before, err := d.goodput(ctx)
	if err != nil {
		return err
	}
	from := time.Now()
	spec := api.MaintenanceSpec{Objects: []api.MaintenanceObject{{Node: drained}}, From: from,
		Until: from.Add(maintained)}
	trial, err := d.rest.Maintenances().Create(ctx, works, spec, client.Write{DryRun: true})
	if err != nil {
		return err
	}
	for _, j := range trial.Status.Jobs {
		d.say("a trial: without %s, %d pairs of racks of %s lose paths, and keep %.0f %% of them at "+
			"least", drained, j.Lose, j.Name, 100*j.Left)
	}
	if _, err := d.rest.Maintenances().Create(ctx, works, spec, client.Write{}); err != nil {
		return err
	}
	r, err := d.await(ctx, "the drain shows", func(r []*api.JobReadiness) bool {
		return !slices.ContainsFunc(r, func(r *api.JobReadiness) bool {
			return !blocked(r, "switch") || blocked(r, "fabric") // hosts have not been told all of it
		})
	})
	if err != nil {
		return err
	}
	d.say("%s is drained under traffic: %s", drained, reasons(r[0]))
	during, err := d.goodput(ctx)
	if err != nil {
		return err
	}
	for i, j := range d.jobs {
		d.say("%s goes on, at %s instead of %s", j.name, megabits(during[i]), megabits(before[i]))
	}
	if _, err = d.await(ctx, "the T1 is in use again", func(r []*api.JobReadiness) bool {
		return r[0].Go && r[1].Go
	}); err != nil {
		return err
	}
	d.say("the window has ended, and %s is in use again: GO for both", drained)
	return nil
}

// blocked reports whether something of a kind is in the way of a job.
func blocked(r *api.JobReadiness, kind string) bool {
	return slices.ContainsFunc(r.Blockers, func(b api.JobBlocker) bool { return b.Kind == kind })
}

// die kills a host of the ring under traffic.
func (d *demo) die(ctx context.Context) error {
	before, err := d.goodput(ctx)
	if err != nil {
		return err
	}
	if err := d.live.Kill(ctx, lab.Part{Kind: lab.PartHost, Name: victim}); err != nil {
		return err
	}
	after, err := d.goodput(ctx)
	if err != nil {
		return err
	}
	r, err := d.await(ctx, "the death shows", func(r []*api.JobReadiness) bool {
		return !r[0].Go && len(r[0].Blockers) == 1 && r[1].Go
	})
	if err != nil {
		return err
	}
	d.result.NoGoCause = reasons(r[0])
	d.result.cause = r[0].Blockers[0].Object
	d.say("%s dies: NO-GO for %s, %s; GO for %s", victim, ring.name, d.result.NoGoCause, d.other.name)
	d.result.OtherJobDipPct = dip(before[1], after[1])
	d.say("%s writes at %s instead of %s, %s at %s instead of %s", ring.name, megabits(after[0]),
		megabits(before[0]), d.other.name, megabits(after[1]), megabits(before[1]))
	return nil
}

// end has both jobs finish, and looks at every octet.
func (d *demo) end(ctx context.Context, t *multicast.Transfer) error {
	other := d.other.mesh
	err := d.live.Do(ctx, func(*lab.World) error {
		for _, j := range d.jobs {
			j.mesh.Finish()
		}
		return nil
	})
	if err == nil {
		err = flow.Until(ctx, d.live, d.other.name+" has finished", other.Done, other)
	}
	if err != nil {
		return err
	}
	for _, j := range d.jobs {
		if _, err := d.rest.Jobs().Put(ctx, j.name, j.spec(api.JobDone), client.Write{}); err != nil {
			return err
		}
	}
	return d.live.Do(ctx, func(*lab.World) error {
		for _, r := range t.Group.Receivers {
			d.result.Corrupt += t.Wrong(r)
		}
		for _, j := range d.jobs {
			d.result.Corrupt += flow.Corrupt(j.mesh)
			for _, f := range j.mesh.Flows {
				if j == d.other && (f.QP.Failed() || f.SinkQP.Failed()) {
					d.result.failed++
				}
			}
			j.meter.Stop()
			j.mesh.Close()
		}
		return nil
	})
}

// await asks for the readiness of both jobs until it is as wanted.
func (d *demo) await(
	ctx context.Context, what string, wanted func([]*api.JobReadiness) bool,
) (r []*api.JobReadiness, err error) {
	err = d.live.Wait(ctx, what, func() (bool, error) {
		if err := d.pump(ctx); err != nil {
			return false, err
		}
		next := make([]*api.JobReadiness, len(d.jobs))
		for i, j := range d.jobs {
			of, err := d.rest.JobReadiness(ctx, j.name)
			if err != nil {
				return false, err
			}
			next[i] = of
		}
		r = next
		return wanted(r), nil
	})
	if err != nil && r != nil {
		err = errors.Join(err, fmt.Errorf("demo: %s: %s; %s: %s", d.jobs[0].name, reasons(r[0]),
			d.jobs[1].name, reasons(r[1])))
	}
	return r, err
}

// pump lets the jobs write on, once they do.
func (d *demo) pump(ctx context.Context) error {
	return d.live.Do(ctx, func(*lab.World) error {
		for _, j := range d.jobs {
			if j.mesh == nil {
				continue
			}
			if err := j.mesh.Pump(); err != nil {
				return err
			}
		}
		return nil
	})
}

// pass lets so much of the network's time pass while the jobs write.
func (d *demo) pass(ctx context.Context, long time.Duration) error {
	w := d.jobs[0].mesh.World()
	end := time.Duration(-1)
	return flow.Until(ctx, d.live, "time passes", func() bool {
		if end < 0 {
			end = w.Now() + long
		}
		return w.Now() >= end
	}, d.jobs[0].mesh, d.jobs[1].mesh)
}

// goodput returns what the jobs bring in the next window, in octets a second.
func (d *demo) goodput(ctx context.Context) (out []float64, err error) {
	w := d.jobs[0].mesh.World()
	var from time.Duration
	now := func(at *time.Duration) error {
		return d.live.Do(ctx, func(*lab.World) error {
			*at = w.Now()
			return nil
		})
	}
	if err := now(&from); err != nil {
		return nil, err
	}
	if err := d.pass(ctx, window); err != nil {
		return nil, err
	}
	err = d.live.Do(ctx, func(*lab.World) error {
		for _, j := range d.jobs {
			out = append(out, j.meter.Rate(from, from+window))
		}
		return nil
	})
	return out, err
}
