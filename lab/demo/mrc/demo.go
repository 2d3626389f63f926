package mrc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/lab/demo/flow"
)

// Options say what the demo of MRC does.
type Options struct {
	Fabric lab.ClosConfig // without a rate: links of lab.DemoLinks
	Mode   ev.Mode
	// Switches are what the switches run. Default lab.SwitchesP4; the others take root.
	Switches lab.Switches
	// octets that each host writes to each other; default: for a thousand packets an uplink
	Bytes int
	Out   io.Writer    // progress and tables for people
	Log   *slog.Logger // gets what the controller logs; nil: nothing
	// Pcap is a directory for a capture file of every link (see lab.Pcap); empty: none are made.
	Pcap string
}

// withDefaults completes the options of a valid fabric.
func (o Options) withDefaults() Options {
	o.Fabric = o.Fabric.WithDefaults()
	rate, delay := lab.DemoLinks(o.Fabric)
	if o.Fabric.Rate == 0 {
		o.Fabric.Rate = rate
	}
	if o.Fabric.Delay == 0 {
		o.Fabric.Delay = delay
	}
	o.Switches = cmp.Or(o.Switches, lab.SwitchesP4)
	if o.Bytes == 0 {
		o.Bytes = bytesFor(o.Fabric, 1000)
	}
	if o.Out == nil {
		o.Out = io.Discard
	}
	return o
}

// bytesFor returns how much each host writes to each peer so that a T0's uplink carries so many
// packets, evenly spread.
func bytesFor(c lab.ClosConfig, packets int) int {
	perLeaf := max(1, c.Hosts/c.T0)
	uplinks := c.Planes * c.T0 * uplinksOf(c)
	flows := max(1, c.Hosts*(c.Hosts-perLeaf))
	return (packets*uplinks/flows + 1) * lab.MRCMTU
}

// uplinks are the links up of a T0.
func uplinksOf(c lab.ClosConfig) int {
	if c.Tiers == 3 {
		return max(1, c.T1/c.Pods)
	}
	return c.T1
}

// timeout bounds the demo as lab.Patience counts, so that a hang becomes an error.
const timeout = 10 * time.Minute

// liveSettle is what a controller in real time may take for a failure, on a machine with other
// work.
const liveSettle = 400 * time.Millisecond

// Run runs a lab.Clos of MRC hosts in real time, and prints what it does to o.Out. The error names
// a broken expectation.
func Run(ctx context.Context, o Options) (*Result, error) {
	if err := o.Fabric.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	ctx, cancel := lab.Patience(ctx, timeout)
	defer cancel()
	network := lab.Clos(o.Fabric)
	if err := network.SetSwitches(o.Switches); err != nil {
		return nil, err
	}
	network.MRC = lab.MRCSettings(&network, o.Mode)
	d := newDemo(o)
	d.describe(network.MRC.Classes)
	live, err := lab.StartLive(ctx, lab.LiveOptions{Network: network, Listen: "127.0.0.1:0",
		Log: o.Log, Progress: d.say})
	if err != nil {
		return nil, err
	}
	if o.Pcap != "" {
		err = live.Capture(ctx, o.Pcap)
	}
	if err == nil {
		err = live.Ready(ctx)
	}
	var result *Result
	if err == nil {
		result, err = d.live(ctx, live)
	}
	closed := live.Close() // what matters of it has been told, but for the captures
	if o.Pcap != "" {
		err = errors.Join(err, closed)
	}
	return result, err
}

// live is the demo on a network that is ready.
func (d *demo) live(ctx context.Context, live *lab.Live) (*Result, error) {
	if d.Mode == ev.ModeECMP {
		d.say("hosts hold the profiles they subscribed to: switches hash, so their EVs are of their " +
			"own making")
	} else {
		d.say("every host holds the EV profiles it subscribed to")
	}
	d.settle = liveSettle
	result, err := d.run(ctx, live)
	if errors.Is(err, context.DeadlineExceeded) {
		err = d.late(context.WithoutCancel(ctx), err)
	}
	return result, err
}

// late reports why the demo has not come to its end in time: hosts whose traffic stands still have
// said so before.
func (d *demo) late(ctx context.Context, err error) error {
	var now, slipped time.Duration
	if stopped := d.stage.Do(ctx, func(w *lab.World) error {
		now, slipped = w.Now(), w.Slipped()
		return nil
	}); stopped != nil {
		return errors.Join(err, stopped)
	}
	return fmt.Errorf("demo: it is not over after %v, without the time in which the machine was busy "+
		"with other work; the network's time ran at %.0f %% of the real clock's: %w",
		timeout, 100*now.Seconds()/(now+slipped).Seconds(), err)
}

// demo is a demo that runs.
type demo struct {
	Options
	stage  flow.Stage
	hosts  []string
	rtt    time.Duration
	qp     mrc.QPConfig
	settle time.Duration // between failures at least
	result Result
	phases []*phase
	spread []uplinks
	losses []*setback
	// slipped is how far the world fell behind the real clock while hosts wrote.
	slipped time.Duration
}

func newDemo(o Options) *demo {
	return &demo{Options: o, result: Result{Demo: "mrc", Mode: o.Mode.String(), Hosts: o.Fabric.Hosts}}
}

func (d *demo) say(format string, args ...any) { fmt.Fprintf(d.Out, "  "+format+"\n", args...) }

func (d *demo) describe(c inventory.Classes) {
	f := d.Fabric
	shape := fmt.Sprintf("%d T0 and %d T1", f.T0, f.T1)
	if f.Tiers == 3 {
		shape = fmt.Sprintf("%d T0, %d T1 in %d pods, and %d T2", f.T0, f.T1, f.Pods, f.T2)
	}
	fmt.Fprintf(d.Out, "%d planes of %s, %d hosts with a port in each; mode %v\n", f.Planes, shape,
		f.Hosts, d.Mode)
	if n := (f.Hosts + f.T0 - 1) / f.T0; n > uplinksOf(f) {
		d.say("a T0 has %d hosts and %d links up, which are the bottleneck of an all-to-all", n,
			uplinksOf(f))
	}
	d.say("links of %s and %v each way; %d packets of a queue are data, marked from %d to %d, and "+
		"trimmed beyond",
		bitRate(f.Rate), f.Delay, c.DataPackets, c.ECNMin, c.ECNMax)
}

// bitRate is a rate for people.
func bitRate(bits uint64) string {
	switch {
	case bits >= 1e9:
		return fmt.Sprintf("%.4g Gb/s", float64(bits)/1e9)
	default:
		return fmt.Sprintf("%.4g Mb/s", float64(bits)/1e6)
	}
}
