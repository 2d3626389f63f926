package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/packet"
)

// PFCDemoOptions say what the PFC demo does.
type PFCDemoOptions struct {
	Out io.Writer // progress and tables for people
}

// PFCDemoResult is what was counted in the lab. Times are the lab's, but for Seconds.
type PFCDemoResult struct {
	Demo string `json:"demo"`
	// LostWithout packets of the tenant without the PFC policy, Lost with it; Corrupt arrived with other
	// octets.
	LostWithout uint64 `json:"lostWithout"`
	Lost        uint64 `json:"lost"`
	Corrupt     uint64 `json:"corrupt"`
	// OtherTenantDipPct is by how much the other tenant's goodput during the pause is below that of the
	// equal interval before.
	OtherTenantDipPct float64 `json:"otherTenantDipPct"`
	// XOFFToPauseMs is from the first XOFF that leaves R3 to the pause at R1.
	XOFFToPauseMs float64 `json:"xoffToPauseMs"`
	TunnelRTTMs   float64 `json:"tunnelRttMs"`
	// HeadroomBytes of R3's queue; MaxHeld octets waited at R1 at most.
	HeadroomBytes uint64  `json:"headroomBytes"`
	MaxHeld       uint64  `json:"maxHeld"`
	Seconds       float64 `json:"seconds"` // wall time
}

// PFCDemoDelay is that of the demo's WAN, one way.
const PFCDemoDelay = 10 * time.Millisecond

// The demo's network and traffic.
const (
	pfcDemoRate    = 1_000_000_000
	pfcDemoBuffer  = 8 << 20
	pfcDemoPause   = 200 * time.Millisecond
	pfcDemoPayload = 4096
	pfcDemoStart   = 4 * time.Second // when the network is ready and the tunnels are measured
	pfcDemoLink    = 10 * time.Millisecond
)

// RunPFCDemo runs Figure 3 of the PFC draft twice: DC2 pauses a tenant, once without a PFC policy and once
// with one. The error says what is not as it should be.
func RunPFCDemo(ctx context.Context, o PFCDemoOptions) (*PFCDemoResult, error) {
	if o.Out == nil {
		o.Out = io.Discard
	}
	began := time.Now()
	fmt.Fprintf(o.Out, "DC1 - R1 - R2 - R3 - DC2, and R1 - R4 - R5 - R3; R1 and R3 handle PFC, R2 knows nothing of it; %v of delay from R1 to R3\n", PFCDemoDelay)
	cache := new(p4rt.Cache)
	without, err := runPFCDemo(ctx, cache, false)
	if err != nil {
		return nil, err
	}
	with, err := runPFCDemo(ctx, cache, true)
	if err != nil {
		return nil, err
	}
	r := &PFCDemoResult{
		Demo: "pfc", LostWithout: without.a.Lost(), Lost: with.a.Lost(), Corrupt: without.a.Corrupt + with.a.Corrupt,
		OtherTenantDipPct: with.dip(), XOFFToPauseMs: millis(with.paused - with.xoff), Seconds: time.Since(began).Seconds(),
	}
	policy, err := with.control.Core().PFCPolicies().Get("lossless")
	if err != nil {
		return nil, err
	}
	for _, t := range policy.Status.Tunnels {
		if t.From == "R3" {
			r.TunnelRTTMs = millis(t.RTT.D())
		}
	}
	for _, n := range policy.Status.Nodes {
		switch {
		case n.Switch == "R3":
			r.HeadroomBytes = n.Watermarks.Headroom
		case n.Queue != nil:
			r.MaxHeld = n.Queue.MaxHeld
		}
	}
	printPFCDemo(o.Out, without, with, &policy, r)
	return r, errors.Join(r.check(), with.check())
}

func millis(d time.Duration) float64 { return math.Round(float64(d)/float64(time.Microsecond)) / 1e3 }

// pfcRun is one run.
type pfcRun struct {
	world   *World
	control *Control
	a, b    *Stream

	before, during uint64        // octets of the other tenant
	xoff, paused   time.Duration // first XOFF out of R3, and in at R1
	pauses         uint64        // PFC frames on their way from R3 to R1
}

func runPFCDemo(ctx context.Context, cache *p4rt.Cache, lossless bool) (*pfcRun, error) {
	w, err := NewWorld(PFCNetwork(PFCDemoDelay, pfcDemoRate), Options{Seed: 1, Cache: cache, PauseBuffer: pfcDemoBuffer})
	if err != nil {
		return nil, err
	}
	r := &pfcRun{world: w}
	if r.control, err = NewControl(w, DefaultLatencies()); err != nil {
		return nil, err
	}
	if err := r.control.Start(); err != nil {
		return nil, err
	}
	w.Run(2*time.Second+500*time.Millisecond, nil)
	if err := r.control.Change(func(c *controller.Core) error { return r.intents(c, lossless) }); err != nil {
		return nil, err
	}
	if r.a, err = w.NewStream(StreamConfig{From: "DC1", To: "DC2", QPN: 0x100, Payload: pfcDemoPayload, Rate: 400e6, Priority: 3}); err != nil {
		return nil, err
	}
	if r.b, err = w.NewStream(StreamConfig{From: "B1", To: "B2", QPN: 0x200, Payload: pfcDemoPayload, Rate: 300e6, Priority: 2}); err != nil {
		return nil, err
	}
	w.AddTap(r)
	from, to := pfcDemoStart, pfcDemoStart+pfcDemoPause
	w.At(from-pfcDemoPause-5*PFCDemoDelay, func() { r.a.Start(); r.b.Start() })
	var mark uint64
	w.At(from-pfcDemoPause, func() { mark = r.b.Octets })
	w.At(from, func() { r.before, mark = r.b.Octets-mark, r.b.Octets; r.pause(to) })
	w.At(to, func() { r.during = r.b.Octets - mark })
	w.At(to+pfcDemoPause, func() { r.a.Stop(); r.b.Stop() })
	for end := to + 2*pfcDemoPause + 1500*time.Millisecond; w.Now() < end; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		w.Run(w.Now()+100*time.Millisecond, nil)
	}
	return r, r.control.Err()
}

// intents makes what an operator would by the API.
func (r *pfcRun) intents(c *controller.Core, lossless bool) error {
	if _, _, err := c.SRv6Policies().Put("wan", api.SRv6PolicySpec{Headend: "R1", Endpoint: "R3", Segments: []api.PolicySegment{{Node: "R2"}}}, resource.Precondition{}); err != nil {
		return err
	}
	site := func(sw, host string) api.TenantSite {
		_, port := r.world.Network.Uplink(host)
		return api.TenantSite{Switch: sw, Port: port}
	}
	for _, t := range []struct {
		name     string
		slice    uint32
		priority uint8
		hosts    [2]string
	}{{"a", 1, 3, [2]string{"DC1", "DC2"}}, {"b", 2, 2, [2]string{"B1", "B2"}}} {
		spec := api.TenantSpec{Slice: t.slice, Priority: t.priority, Policies: []string{"wan"}, Sites: []api.TenantSite{site("R1", t.hosts[0]), site("R3", t.hosts[1])}}
		if _, _, err := c.Tenants().Put(t.name, spec, resource.Precondition{}); err != nil {
			return err
		}
	}
	if !lossless {
		return nil
	}
	_, _, err := c.PFCPolicies().Put("lossless", api.PFCPolicySpec{SRv6Policy: "wan", Tenant: "a", Buffer: pfcDemoBuffer}, resource.Precondition{})
	return err
}

// pause has DC2 pause the tenant's priority until then, in time again and again.
func (r *pfcRun) pause(until time.Duration) {
	wire, err := r.world.Wire("DC2", "R3")
	if err != nil {
		return // the network is the demo's own
	}
	host := r.world.Network.host("DC2")
	frame := packet.PFC{Classes: 1 << 3}
	if r.world.Now() < until {
		frame.Quanta[3] = math.MaxUint16
		r.world.At(min(until, r.world.Now()+pfcDemoLink), func() { r.pause(until) })
	}
	wire.Inject(frame.AppendFrame(nil, host.MAC))
}

// Sent implements Tap.
func (r *pfcRun) Sent(now time.Duration, w *Wire, frame []byte) {
	if w.From == "R3" && w.To == "R2" && isTunnelled(frame) {
		if r.pauses++; r.xoff == 0 {
			r.xoff = now
		}
	}
}

// Arrived implements Tap.
func (r *pfcRun) Arrived(now time.Duration, w *Wire, frame []byte) {
	if w.From == "R2" && w.To == "R1" && r.paused == 0 && isTunnelled(frame) {
		r.paused = now
	}
}

func isTunnelled(frame []byte) bool {
	_, ok := TunnelledPFC(frame)
	return ok
}

// TunnelledPFC returns the PFC frame that a frame carries in a tunnel; ok is false for any other.
func TunnelledPFC(frame []byte) (pfc packet.PFC, ok bool) {
	p, _, err := packet.ParseSRv6Frame(frame)
	if err == nil {
		_, err = pfc.ParseFrame(p.Frame)
	}
	return pfc, err == nil
}

// dip is by how much the other tenant got less during the pause, in percent.
func (r *pfcRun) dip() float64 {
	if r.before == 0 {
		return 100
	}
	return math.Round((float64(r.before)-float64(r.during))/float64(r.before)*1e4) / 1e2
}

func (r *pfcRun) check() error {
	if r.a.Reordered+r.b.Reordered > 0 {
		return fmt.Errorf("lab: %d packets came after a later one", r.a.Reordered+r.b.Reordered)
	}
	if r.b.Lost() > 0 {
		return fmt.Errorf("lab: the other tenant has lost %d packets", r.b.Lost())
	}
	return nil
}

func (r *PFCDemoResult) check() error {
	var errs []error
	bad := func(is bool, format string, args ...any) {
		if is {
			errs = append(errs, fmt.Errorf("lab: "+format, args...))
		}
	}
	bad(r.LostWithout == 0, "nothing is lost without the policy")
	bad(r.Lost > 0, "%d packets are lost with the policy", r.Lost)
	bad(r.Corrupt > 0, "%d packets are not what was sent", r.Corrupt)
	bad(r.OtherTenantDipPct >= 1, "the other tenant has slowed down by %v %%", r.OtherTenantDipPct)
	bad(r.XOFFToPauseMs <= 0, "R1 was not paused")
	return errors.Join(errs...)
}

func printPFCDemo(out io.Writer, without, with *pfcRun, p *api.PFCPolicy, r *PFCDemoResult) {
	fmt.Fprintf(out, "\n  DC2 pauses tenant a, priority 3, for %v; a sends 400 Mbit/s, b 300 Mbit/s on the same links\n\n", pfcDemoPause)
	t := tabwriter.NewWriter(out, 2, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "PFC policy\tsent by a\treceived\tlost\tsent by b\treceived\tpauses R3 to R1\t")
	for _, x := range []struct {
		name string
		run  *pfcRun
	}{{"no", without}, {"yes", with}} {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t\n", x.name, x.run.a.Sent, x.run.a.Received, x.run.a.Lost(), x.run.b.Sent, x.run.b.Received, x.run.pauses)
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
		fmt.Fprintf(t, "  %s to %s\t{%s}\t%.3f ms\t%s\n", x.From, x.To, strings.Join(list, ", "), millis(x.RTT.D()), x.State)
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
		fmt.Fprintf(t, "%s/%d/%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", n.Switch, n.Port, n.Priority, m.Buffer, m.Headroom, m.XOFF, m.XON, held, pauses)
	}
	t.Flush()
	fmt.Fprintf(out, "\n  R3's first XOFF reached R1 after %.3f ms; tenant b got %.2f %% less during the pause than before.\n", r.XOFFToPauseMs, r.OtherTenantDipPct)
}
