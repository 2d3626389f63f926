// Package blackhole is the demo of a link that forwards nothing that "weft demo blackhole" runs.
package blackhole

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/lab/demo/flow"
)

// Options say what the demo does.
type Options struct {
	Fabric lab.ClosConfig // without a rate: 100 Mb/s
	Mode   ev.Mode        // one with uSIDs
	Seed   uint64         // draws the link, its direction and the time
	Loss   float64        // share of packets that the link loses, 1 by default
	Out    io.Writer      // progress for people; nil: nowhere
}

// Result has the results of the demo. Times are the lab's, but for Seconds.
type Result struct {
	Demo string `json:"demo"`
	// NamedMs is from the fault to the verdict; 0: there was none.
	NamedMs float64 `json:"namedMs"`
	// Kind and Object are what the controller concluded.
	Kind   string `json:"kind"`
	Object string `json:"object"`
	// DeniedMs is from the fault until the last host used no path over the link; 0: some still do.
	DeniedMs float64 `json:"deniedMs"`
	// FalseAccusations is links, switches and cables that were named and are well.
	FalseAccusations int `json:"falseAccusations"`
	// GoodputKept is the all-to-all's goodput after the verdict, divided by the goodput before the
	// fault.
	GoodputKept float64 `json:"goodputKept"`
	Corrupt     int     `json:"corrupt"` // octets that are not what was written
	Probes      uint64  `json:"probes"`  // of hosts to themselves
	Seconds     float64 `json:"seconds"` // wall time

	want float64 // of GoodputKept, by the links that are left
}

const (
	demoRate  = 100_000_000
	demoDelay = 2 * time.Microsecond
	// aRound is how often a host probes each of its targets.
	aRound = time.Millisecond
	// probeTimeout is more than a probe waits behind a data packet at each hop.
	probeTimeout = 3 * time.Millisecond
	// measure is how long goodput is measured, before and after.
	measure = 150 * time.Millisecond
	// settle is the time between the denial and the second measurement.
	settle = 100 * time.Millisecond
	// patience bounds the wait for a verdict: that of a link that loses 0.1 %.
	patience = 20 * time.Second
)

// demo is a run.
type demo struct {
	Options
	world   *lab.World
	control *lab.Control
	mesh    *lab.Mesh
	bad     *lab.Wire       // nil before the fault
	fault   time.Duration   // when it began
	named   map[string]bool // what was accused, by name
	result  *Result
}

// Run runs a Clos under all-to-all load in virtual time, has one direction of a link lose packets
// with its ports up, and waits until hosts have found other paths. The error names a broken
// expectation.
func Run(ctx context.Context, o Options) (*Result, error) {
	if o.Out == nil {
		o.Out = io.Discard
	}
	if o.Loss == 0 {
		o.Loss = 1
	}
	if !o.Mode.SRv6() {
		return nil, fmt.Errorf("demo: mode %v has no uSIDs, by which hosts probe themselves", o.Mode)
	}
	began := time.Now()
	d := &demo{Options: o, named: map[string]bool{}, result: &Result{Demo: "blackhole"}}
	if err := d.start(); err != nil {
		return nil, err
	}
	if err := d.run(ctx); err != nil {
		return nil, err
	}
	d.result.Seconds = time.Since(began).Seconds()
	d.print()
	return d.result, d.check()
}

func (d *demo) say(format string, args ...any) {
	fmt.Fprintf(d.Out, "%8.1f ms  %s\n", millis(d.world.Now()), fmt.Sprintf(format, args...))
}

func millis(t time.Duration) float64 {
	return math.Round(float64(t)/float64(time.Microsecond)) / 1e3
}

// start starts the fabric and its controller, and waits until every host knows its paths.
func (d *demo) start() error {
	c := d.Fabric.WithDefaults()
	if c.Rate == 0 {
		c.Rate = demoRate
	}
	if c.Delay == 0 {
		c.Delay = demoDelay
	}
	var err error
	if d.world, err = lab.NewWorld(lab.Clos(c), lab.Options{Seed: d.Seed, Managed: true}); err != nil {
		return err
	}
	if d.control, err = lab.NewControl(d.world, lab.DefaultLatencies()); err != nil {
		return err
	}
	m := inventory.DefaultMRC(d.Mode.String())
	m.Classes = d.world.Network.Classes()
	// A host probes its T0s and a part of the links up: three hosts probe each link.
	uplinks := (3*c.T0*c.T1*c.Planes + c.Hosts - 1) / c.Hosts
	m.Probes.Self = int(time.Second/aRound) * (c.Planes + uplinks)
	m.Probes.SelfTimeout = api.Duration(probeTimeout)
	d.control.MRC = &m
	if err := d.control.Start(); err != nil {
		return err
	}
	if !d.world.Run(10*time.Second, d.ready) {
		return errors.Join(errors.New("demo: the fabric is not ready within 10 s"), d.control.Err())
	}
	return nil
}

// run is the story.
func (d *demo) run(ctx context.Context) (err error) {
	w, rng := d.world, rand.New(rand.NewPCG(d.Seed, 54))
	hosts := w.Network.MRCHosts()
	if d.mesh, err = w.NewMesh(lab.MeshConfig{Flows: lab.AllToAll(hosts, 64<<10),
		Message: 32 << 10, Repeat: true, QP: flow.QueuePairs(&w.Network)}); err != nil {
		return err
	}
	if err := d.mesh.Start(); err != nil {
		return err
	}
	d.say("%d hosts write all-to-all, and probe each link from three hosts every %v", len(hosts),
		aRound)
	if err := d.pass(ctx, settle+time.Duration(rng.Int64N(int64(aRound))), nil); err != nil {
		return err
	}
	before, err := d.goodput(ctx)
	if err != nil {
		return err
	}
	d.bad = d.choose(rng)
	shares := func(losses ...lab.Loss) float64 {
		s, err := w.Network.AllToAllShares(losses...)
		if err != nil {
			return 0
		}
		return s.Total()
	}
	d.result.want = shares(lab.Loss{Links: [][2]string{{d.bad.From, d.bad.To}}}) / shares()
	d.bad.Faults.Loss = d.Loss
	d.fault = w.Now()
	d.say("from now on %s loses %g of its packets, with its ports up", d.bad.Name(), d.Loss)
	if err := d.pass(ctx, patience, func() bool { return d.result.NamedMs > 0 }); err != nil {
		return err
	}
	if err := d.pass(ctx, settle, d.obeyed); err != nil {
		return err
	}
	if d.obeyed() {
		d.result.DeniedMs = millis(w.Now() - d.fault)
		d.say("no host uses it any more")
	}
	if err := d.pass(ctx, settle, nil); err != nil {
		return err
	}
	after, err := d.goodput(ctx)
	if err != nil {
		return err
	}
	d.result.GoodputKept = math.Round(after/before*1e4) / 1e4
	d.mesh.Finish()
	if err := d.pass(ctx, patience, d.mesh.Done); err != nil {
		return err
	}
	d.result.Corrupt = flow.Corrupt(d.mesh)
	for _, l := range d.control.Paths.Core().Links() {
		if t := l.Status.Truth; t != nil && t.Probes != nil {
			p := t.Probes
			d.result.Probes += p.Passed + p.Lost
		}
	}
	return d.control.Err()
}

// choose draws a direction of a link between switches.
func (d *demo) choose(rng *rand.Rand) *lab.Wire {
	var between []*lab.Wire
	for _, w := range d.world.Wires() {
		if strings.Contains(w.From, "-T") && strings.Contains(w.To, "-T") {
			between = append(between, w)
		}
	}
	return between[rng.IntN(len(between))]
}

// pass lets time pass, or until done says so, under traffic, and notes what is accused.
func (d *demo) pass(ctx context.Context, t time.Duration, done func() bool) error {
	const look = 100 * time.Microsecond
	for end := d.world.Now() + t; d.world.Now() < end; {
		if err := errors.Join(ctx.Err(), d.mesh.Pump()); err != nil {
			return err
		}
		d.world.Run(min(end, d.world.Now()+look), nil)
		d.watch()
		if done != nil && done() {
			return nil
		}
	}
	return nil
}

// watch notes what the controller accuses that it did not accuse before.
func (d *demo) watch() {
	for _, s := range d.control.Paths.Core().Suspects() {
		object := objectOf(&s)
		if d.named[object] {
			continue
		}
		d.named[object] = true
		r := d.result
		if d.bad == nil || object != d.bad.From+"-"+d.bad.To && object != d.bad.To+"-"+d.bad.From {
			r.FalseAccusations++
			d.say("%s is accused, and is well: %s", object, s.Kind)
			continue
		}
		if r.Kind == "" {
			r.Kind, r.Object, r.NamedMs = s.Kind, object, millis(d.world.Now()-d.fault)
		}
		d.say("%s is named: %s, %d of %d probes of %d hosts are lost; denied: %v%s", object, s.Kind,
			s.Evidence.Lost, s.Evidence.Sent, s.Evidence.Paths, s.Denied, note(s.Why))
	}
}

func note(why string) string {
	if why == "" {
		return ""
	}
	return " (" + why + ")"
}

// objectOf names a suspect's object in the form of wire names.
func objectOf(s *api.Suspect) string {
	switch {
	case s.Node != "":
		return s.NodeName
	case s.Host != "":
		return fmt.Sprintf("port %d of %s", s.HostPort, s.Host)
	}
	return s.FromName + "-" + s.ToName
}

// ready reports whether every switch is programmed, every host knows its paths, and probes have
// crossed every link.
func (d *demo) ready() bool {
	if !d.control.Programmed() || !d.control.Instructed() {
		return false
	}
	links := d.control.Paths.Core().Links()
	for _, l := range links {
		if t := l.Status.Truth; t == nil || t.Probes == nil || t.Probes.Passed == 0 {
			return false
		}
	}
	return len(links) > 0
}

// obeyed reports whether every host holds what the controller wants, and the link is denied.
func (d *demo) obeyed() bool {
	if !d.control.Instructed() {
		return false
	}
	for _, l := range d.control.Paths.Core().Links() {
		if l.Status.FromName == d.bad.From && l.Status.ToName == d.bad.To {
			return l.Status.Denied
		}
	}
	return false
}

// goodput returns the octets a second that arrive while it is measured.
func (d *demo) goodput(ctx context.Context) (float64, error) {
	m, from := flow.NewMeter(d.world, d.mesh.Flows, measure), d.world.Now()
	err := d.pass(ctx, measure, nil)
	m.Stop()
	return m.Rate(from, d.world.Now()), err
}

// print sums up.
func (d *demo) print() {
	r := d.result
	fmt.Fprintf(d.Out, "\n  Named after %.1f ms, denied after %.1f ms. %d probes, %d false "+
		"accusations.\n  Goodput is %.1f %% of that before; the links that are left "+
		"carry %.1f %%.\n", r.NamedMs, r.DeniedMs, r.Probes, r.FalseAccusations, 100*r.GoodputKept,
		100*r.want)
}

// keptOfWant is the share of the remaining links' capacity that traffic must reach.
const keptOfWant = 0.95

// check reports what is not as the demo promises.
func (d *demo) check() error {
	var errs []error
	bad := func(is bool, format string, args ...any) {
		if is {
			errs = append(errs, fmt.Errorf("demo: "+format, args...))
		}
	}
	r, hole := d.result, d.Loss == 1
	bad(r.NamedMs == 0, "%s loses packets and is not named", d.bad.Name())
	bad(hole && r.NamedMs > 10, "%s is named after %v ms, want 10", d.bad.Name(), r.NamedMs)
	bad(hole && r.Kind != "blackHole", "%s is called %q, want blackHole", d.bad.Name(), r.Kind)
	bad(!hole && r.Kind == "blackHole", "%s is called %q, want grey", d.bad.Name(), r.Kind)
	bad(hole && r.DeniedMs == 0, "hosts still use %s", d.bad.Name())
	bad(r.FalseAccusations > 0, "%d accusations are false", r.FalseAccusations)
	bad(r.Corrupt > 0, "%d octets are not what was written", r.Corrupt)
	bad(hole && r.GoodputKept < keptOfWant*r.want, "goodput is %.3f of that before, want %.3f",
		r.GoodputKept, keptOfWant*r.want)
	return errors.Join(errs...)
}
