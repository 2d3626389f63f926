// Package pfc is the demo of lossless tenants over SRv6 that "weft demo pfc" runs.
package pfc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/packet"
)

// Options say what the PFC demo does.
type Options struct {
	Out io.Writer // progress and tables for people
	// Pcap is a directory for captures of every link (see lab.Pcap), of each run in a subdirectory;
	// empty: none.
	Pcap string
	// Story selects figure and scenario of the draft; the zero Story is Figure 3 with scenario 1.
	Story Story
}

// Result has the results of the demo. Times are the lab's, but for Seconds.
type Result struct {
	Demo string `json:"demo"`
	// LostWithout packets of the tenant without the PFC policy, Lost with it; Corrupt arrived with
	// other octets.
	LostWithout uint64 `json:"lostWithout"`
	Lost        uint64 `json:"lost"`
	Corrupt     uint64 `json:"corrupt"`
	// OtherTenantDipPct is by how much the other tenant's goodput during the pause is below that of
	// the equal interval before.
	OtherTenantDipPct float64 `json:"otherTenantDipPct"`
	// XOFFToPauseMs is from the first XOFF that leaves the downstream node to the pause at R1.
	XOFFToPauseMs float64 `json:"xoffToPauseMs"`
	// TunnelsBefore the first packet of the tenant.
	TunnelsBefore int `json:"tunnelsBefore"`
	// LinkStops and LinkResumes are the PFC frames of the tenant's priority between a host and its
	// switch, with the policy; SentWhileStopped are packets that left nevertheless.
	LinkStops        int     `json:"linkStops"`
	LinkResumes      int     `json:"linkResumes"`
	SentWhileStopped int     `json:"sentWhileStopped"`
	TunnelRTTMs      float64 `json:"tunnelRttMs"`
	// HeadroomBytes of the queue towards DC2; MaxHeld octets waited at R1 at most.
	HeadroomBytes uint64  `json:"headroomBytes"`
	MaxHeld       uint64  `json:"maxHeld"`
	Seconds       float64 `json:"seconds"` // wall time
}

// Delay is the one-way delay of the demo's WAN.
const Delay = 10 * time.Millisecond

// The demo's network and traffic.
const (
	rate    = 1_000_000_000
	buffer  = 8 << 20
	pause   = 200 * time.Millisecond
	payload = 4096
	start   = 4 * time.Second // when the network is ready and the tunnels are measured
	refresh = 10 * time.Millisecond
)

// Run runs a network of the PFC draft twice: DC2 pauses a tenant, once without a PFC policy and
// once with one. The error names a broken expectation.
func Run(ctx context.Context, o Options) (*Result, error) {
	if o.Out == nil {
		o.Out = io.Discard
	}
	began, story := time.Now(), o.Story.withDefaults()
	fmt.Fprintf(o.Out, "%s\n", story.about)
	cache := new(p4rt.Cache)
	without, err := captured(ctx, story, cache, o.Pcap, "without-policy", false)
	if err != nil {
		return nil, err
	}
	with, err := captured(ctx, story, cache, o.Pcap, "with-policy", true)
	if err != nil {
		return nil, err
	}
	r := &Result{
		Demo: "pfc", LostWithout: without.a.Lost(), Lost: with.a.Lost(), Corrupt: without.a.Corrupt +
			with.a.Corrupt,
		OtherTenantDipPct: with.dip(), XOFFToPauseMs: millis(with.paused - with.xoff),
		TunnelsBefore: with.tunnelsBefore, LinkStops: with.stops, LinkResumes: with.resumes,
		SentWhileStopped: with.sentWhileStopped, Seconds: time.Since(began).Seconds(),
	}
	policy, err := with.control.Core().PFCPolicies().Get(losslessName)
	if err != nil {
		return nil, err
	}
	for _, t := range policy.Status.Tunnels {
		if t.From == story.far {
			r.TunnelRTTMs = millis(t.RTT.D())
		}
	}
	for _, n := range policy.Status.Nodes {
		switch {
		case n.Switch == story.far:
			r.HeadroomBytes = n.Watermarks.Headroom
		case n.Queue != nil:
			r.MaxHeld = n.Queue.MaxHeld
		}
	}
	printResult(o.Out, without, with, &policy, r)
	return r, errors.Join(r.check(), with.check(), with.checkTunnels(policy.Status.Tunnels))
}

func millis(d time.Duration) float64 {
	return math.Round(float64(d)/float64(time.Microsecond)) / 1e3
}

// run is one run.
type run struct {
	story   Story
	world   *lab.World
	control *lab.Control
	a, b    *lab.Stream

	before, during uint64        // octets of the other tenant
	xoff, paused   time.Duration // first XOFF out of the downstream node, and in at R1
	pauses         uint64        // PFC frames on their way to R1
	tunnelsBefore  int           // of the policy, before its first packet

	stopped          map[string]time.Duration // until when, by the link's sender
	stops, resumes   int
	sentWhileStopped int
}

// captured calls runOnce, with captures from the links in a subdirectory of dir unless dir is
// empty.
func captured(ctx context.Context, story Story, cache *p4rt.Cache, dir, name string,
	lossless bool) (*run, error) {
	if dir == "" {
		return runOnce(ctx, story, cache, nil, lossless)
	}
	dir = filepath.Join(dir, name)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("pfc: captures: %w", err)
	}
	var pcap *lab.Pcap
	r, err := runOnce(ctx, story, cache, func(w *lab.World) (err error) {
		if pcap, err = w.NewPcap(dir); err == nil {
			w.AddTap(pcap)
		}
		return err
	}, lossless)
	if pcap != nil {
		err = errors.Join(err, pcap.Close())
	}
	return r, err
}

// runOnce is a run with a PFC policy, or without. begin, if not nil, is called before anything is
// sent.
func runOnce(ctx context.Context, story Story, cache *p4rt.Cache, begin func(*lab.World) error,
	lossless bool) (*run, error) {
	w, err := lab.NewWorld(story.network(Delay, rate), lab.Options{Seed: 1, Cache: cache,
		PauseBuffer: buffer})
	if err != nil {
		return nil, err
	}
	if begin != nil {
		if err := begin(w); err != nil {
			return nil, err
		}
	}
	r := &run{story: story, world: w, stopped: map[string]time.Duration{}}
	if r.control, err = lab.NewControl(w, lab.DefaultLatencies()); err != nil {
		return nil, err
	}
	if err := r.control.Start(); err != nil {
		return nil, err
	}
	w.Run(2*time.Second+500*time.Millisecond, nil)
	if err := r.control.Change(func(c *controller.Core) error {
		return r.intents(c,
			lossless)
	}); err != nil {
		return nil, err
	}
	if r.a, err = w.NewStream(lab.StreamConfig{From: "DC1", To: "DC2", QPN: 0x100, Payload: payload,
		Rate: 400e6, Priority: 3}); err != nil {
		return nil, err
	}
	if r.b, err = w.NewStream(lab.StreamConfig{From: "B1", To: "B2", QPN: 0x200, Payload: payload,
		Rate: 300e6, Priority: 2}); err != nil {
		return nil, err
	}
	w.AddTap(r)
	from, to := start, start+pause
	w.At(from-pause-5*Delay, func() {
		if p, err := r.control.Core().PFCPolicies().Get(losslessName); err == nil {
			r.tunnelsBefore = len(p.Status.Tunnels)
		}
		r.a.Start()
		r.b.Start()
	})
	var mark uint64
	w.At(from-pause, func() { mark = r.b.Octets })
	w.At(from, func() { r.before, mark = r.b.Octets-mark, r.b.Octets; r.pause(to) })
	w.At(to, func() { r.during = r.b.Octets - mark })
	w.At(to+pause, func() { r.a.Stop(); r.b.Stop() })
	for end := to + 2*pause + 1500*time.Millisecond; w.Now() < end; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		w.Run(w.Now()+100*time.Millisecond, nil)
	}
	return r, r.control.Err()
}

// intents makes what an operator would by the API.
func (r *run) intents(c *controller.Core, lossless bool) error {
	i := r.story.intents(&r.world.Network, buffer)
	if _, _, err := c.SRv6Policies().Put(policyName, i.policy, resource.Precondition{}); err != nil {
		return err
	}
	for _, t := range i.tenants {
		if _, _, err := c.Tenants().Put(t.name, t.spec, resource.Precondition{}); err != nil {
			return err
		}
	}
	if !lossless {
		return nil
	}
	_, _, err := c.PFCPolicies().Put(losslessName, i.lossless, resource.Precondition{})
	return err
}

// pause has DC2 pause the tenant's priority until then, in time repeatedly.
func (r *run) pause(until time.Duration) { pauseTenant(r.world, until) }

// Sent implements Tap.
func (r *run) Sent(now time.Duration, w *lab.Wire, frame []byte) {
	if now < r.stopped[w.Name()] && frame[12] == packet.EtherTypeIPv6>>8 {
		r.sentWhileStopped++
	}
	if w.From == r.story.far && isTunnelled(frame) {
		if r.pauses++; r.xoff == 0 {
			r.xoff = now
		}
	}
}

// Arrived implements Tap.
func (r *run) Arrived(now time.Duration, w *lab.Wire, frame []byte) {
	if w.To == near && r.paused == 0 && isTunnelled(frame) {
		r.paused = now
	}
	if w.To == "DC1" || w.From == "DC2" {
		r.linkPause(now, w, frame)
	}
}

// linkPause takes a PFC frame of a link between a host and its switch: what the other end may send
// is stopped, or goes on (Figure 1 of the draft, steps c and e).
func (r *run) linkPause(now time.Duration, w *lab.Wire, frame []byte) {
	var pfc packet.PFC
	if _, err := pfc.ParseFrame(frame); err != nil || pfc.Classes != 1<<priorityA {
		return
	}
	back := w.To + "-" + w.From
	if quanta := pfc.Quanta[priorityA]; quanta > 0 {
		r.stops++
		r.stopped[back] = now + packet.PauseTime(quanta, w.Rate)
	} else {
		r.resumes++
		delete(r.stopped, back)
	}
}

func isTunnelled(frame []byte) bool {
	_, ok := lab.TunnelledPFC(frame)
	return ok
}

// dip is by how much the other tenant got less during the pause, in percent.
func (r *run) dip() float64 {
	if r.before == 0 {
		return 100
	}
	return math.Round((float64(r.before)-float64(r.during))/float64(r.before)*1e4) / 1e2
}

// checkTunnels reports whether the tunnels were made when the scenario says, and lead back by the
// nodes of the policy to R1's End.X.PFC.
func (r *run) checkTunnels(tunnels []api.PFCTunnel) error {
	before := 2
	if r.story.scenario == 2 {
		before = 0
	}
	if r.tunnelsBefore != before {
		return fmt.Errorf("demo: %d tunnels before the first packet, want %d", r.tunnelsBefore, before)
	}
	want := []string{r.story.far + ".End"}
	for _, n := range slices.Backward(r.story.via) {
		want = append(want, n+".End")
	}
	want = append(want, near+".End.X.PFC")
	for _, t := range tunnels {
		if t.From == r.story.far && slices.Equal(want, segments(t)) {
			return nil
		}
	}
	return fmt.Errorf("demo: no tunnel {%s} among %+v", strings.Join(want, ", "), tunnels)
}

// segments returns the segments of a tunnel in the draft's notation.
func segments(t api.PFCTunnel) []string {
	list := make([]string, len(t.Segments))
	for i, s := range t.Segments {
		list[i] = s.Node + "." + s.Behavior
	}
	return list
}

func (r *run) check() error {
	if r.a.Reordered+r.b.Reordered > 0 {
		return fmt.Errorf("demo: %d packets came after a later one", r.a.Reordered+r.b.Reordered)
	}
	if r.b.Lost() > 0 {
		return fmt.Errorf("demo: the other tenant has lost %d packets", r.b.Lost())
	}
	return nil
}

func (r *Result) check() error {
	var errs []error
	bad := func(is bool, format string, args ...any) {
		if is {
			errs = append(errs, fmt.Errorf("demo: "+format, args...))
		}
	}
	bad(r.LostWithout == 0, "nothing is lost without the policy")
	bad(r.Lost > 0, "%d packets are lost with the policy", r.Lost)
	bad(r.Corrupt > 0, "%d packets are not what was sent", r.Corrupt)
	bad(r.OtherTenantDipPct >= 1, "the other tenant has slowed down by %v %%", r.OtherTenantDipPct)
	bad(r.XOFFToPauseMs <= 0, "R1 was not paused")
	bad(r.LinkStops == 0 || r.LinkResumes == 0, "hosts and switches have sent %d PFC frames that "+
		"stop a link, and %d that resume it", r.LinkStops, r.LinkResumes)
	bad(r.SentWhileStopped > 0, "%d packets left while their priority was stopped", r.SentWhileStopped)
	return errors.Join(errs...)
}

func printResult(out io.Writer, without, with *run, p *api.PFCPolicy, r *Result) {
	fmt.Fprintf(out, "\n  DC2 pauses tenant a, priority 3, for %v; a sends 400 Mbit/s, b 300 Mbit/s "+
		"on the same links\n\n", pause)
	t := tabwriter.NewWriter(out, 2, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "PFC policy\tsent by a\treceived\tlost\tsent by b\treceived\tpauses %s to R1\t\n",
		with.story.far)
	for _, x := range []struct {
		name string
		run  *run
	}{{"no", without}, {"yes", with}} {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t\n", x.name, x.run.a.Sent, x.run.a.Received,
			x.run.a.Lost(), x.run.b.Sent, x.run.b.Received, x.run.pauses)
	}
	t.Flush()
	fmt.Fprintln(out)
	t = tabwriter.NewWriter(out, 2, 0, 3, ' ', 0)
	fmt.Fprintln(t, "  tunnel\tsegments\tround trip\tstate")
	for _, x := range p.Status.Tunnels {
		list := make([]string, len(x.Segments))
		for i, s := range x.Segments {
			list[i] = s.Node + "." + s.Behavior
		}
		fmt.Fprintf(t, "  %s to %s\t{%s}\t%.3f ms\t%s\n", x.From, x.To, strings.Join(list, ", "),
			millis(x.RTT.D()), x.State)
	}
	t.Flush()
	fmt.Fprintln(out)
	t = tabwriter.NewWriter(out, 2, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "queue\tbuffer\theadroom\tXOFF\tXON\theld at most\tpauses\t")
	for _, n := range p.Status.Nodes {
		held, pauses := uint64(0), uint64(0)
		if n.Queue != nil {
			held, pauses = n.Queue.MaxHeld, n.Queue.PausesReceived
		}
		m := n.Watermarks
		fmt.Fprintf(t, "%s/%d/%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", n.Switch, n.Port, n.Priority, m.Buffer,
			m.Headroom, m.XOFF, m.XON, held, pauses)
	}
	t.Flush()
	fmt.Fprintf(out, "\n  %s's first XOFF reached R1 after %.3f ms; tenant b got %.2f %% less "+
		"during the pause than before.\n", with.story.far, r.XOFFToPauseMs, r.OtherTenantDipPct)
}
