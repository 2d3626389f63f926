// Package multicast is the demo of RDMA multicast over SRv6 that "weft demo multicast" runs.
package multicast

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/host/rc"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/p4"
)

// Options say what the multicast demo does.
type Options struct {
	Bytes int           // octets to transfer; default 16 MiB
	Mode  api.GroupMode // default provisioned
	Out   io.Writer     // progress and tables for people
	Pcap  string        // directory for a capture file of every link (see lab.Pcap); empty: none
}

func (o Options) withDefaults() Options {
	if o.Bytes == 0 {
		o.Bytes = defaultBytes
	}
	if o.Mode == "" {
		o.Mode = api.ModeProvisioned
	}
	if o.Out == nil {
		o.Out = io.Discard
	}
	return o
}

// Result has the counts of the lab's wires.
type Result struct {
	Demo      string `json:"demo"`
	Receivers int    `json:"receivers"`
	// Delivered is the number of receivers that hold exactly the source's octets.
	Delivered int `json:"delivered"`
	Bytes     int `json:"bytes"`
	// Corrupt is the number of octets that differ, at all receivers.
	Corrupt int `json:"corrupt"`
	// ICRCErrors counts packets that endpoints and switches refused for a bad ICRC.
	ICRCErrors    uint64            `json:"icrcErrors"`
	SourcePackets uint64            `json:"sourcePackets"`
	LinkPackets   map[string]uint64 `json:"linkPackets"` // data packets from A to B, by "A-B"
	// ACKs and NAKs.
	AcksFromReceivers uint64  `json:"acksFromReceivers"`
	AcksAtSource      uint64  `json:"acksAtSource"`
	EarlyAcks         uint64  `json:"earlyAcks"`
	Seconds           float64 `json:"seconds"` // from the first packet to the last acknowledgement

	largestReceiver uint64 // most ACKs and NAKs of one receiver
	neededPackets   uint64 // that the data fill, on each transfer
}

const (
	defaultBytes = 16 << 20
	groupName    = "demo"
	// timeout bounds the demo as lab.Patience counts, so that a hang becomes an error.
	timeout = 2 * time.Minute
)

// Run runs the draft's Figure 1 and sends one RoCEv2 write to five receivers. It prints what it
// does to o.Out. The error names a broken expectation.
func Run(ctx context.Context, o Options) (_ *Result, err error) {
	o = o.withDefaults()
	ctx, cancel := lab.Patience(ctx, timeout)
	defer cancel()
	say := func(format string, args ...any) { fmt.Fprintf(o.Out, "  "+format+"\n", args...) }

	fmt.Fprintf(o.Out, "Figure 1: S1 - N6 - {N4, N5} - {N1, N2, N3} - R1..R5\n")
	live, err := lab.StartLive(ctx, lab.LiveOptions{Network: lab.Figure1(), Listen: "127.0.0.1:0",
		Progress: say})
	if err != nil {
		return nil, err
	}
	defer func() {
		closed := live.Close() // what matters of it has been told, but for the captures
		if o.Pcap != "" {
			err = errors.Join(err, closed)
		}
	}()
	if o.Pcap != "" {
		if err := live.Capture(ctx, o.Pcap); err != nil {
			return nil, err
		}
	}
	if err := live.Ready(ctx); err != nil {
		return nil, err
	}
	snapshot := live.Service.Controller().Topology()
	say("the controller has learned %d nodes, %d links and %d prefixes, and programmed every switch",
		len(snapshot.Nodes), len(snapshot.Links), len(snapshot.Prefixes))

	d, err := newDemo(o, live, say)
	if err == nil {
		err = d.begin(ctx)
	}
	if err != nil {
		return nil, err
	}
	if err := d.Write(ctx); err != nil {
		return nil, err
	}
	result, err := d.count(ctx)
	if err != nil {
		return nil, err
	}
	d.print(result)
	return result, result.check()
}

type demo struct {
	Options
	*Transfer
	traffic *lab.Traffic
}

func newDemo(o Options, l *lab.Live, say func(format string, args ...any)) (*demo, error) {
	d := &demo{Options: o, traffic: lab.NewTraffic(), Transfer: &Transfer{
		Live: l, Say: say, Name: groupName, Mode: o.Mode, Hosts: lab.GroupConfig{
			Proxy: netip.MustParseAddr("2001:db8:ffff::1"), DesignatedQPN: 0x00beef, Source: hosts[0],
			Receivers:  hosts[1:],
			InitialPSN: 0xfffe00, // wraps on the way
		}}}
	d.Data = make([]byte, o.Bytes)
	_, err := rand.NewChaCha8([32]byte{1}).Read(d.Data)
	return d, err
}

// hosts are the source and the receivers, those of lab.Figure1.
var hosts = []string{"S1", "R1", "R2", "R3", "R4", "R5"}

// Suits reports whether Traffic can run on a network: it needs the hosts of lab.Figure1.
func Suits(n *lab.Network) bool {
	for _, name := range hosts {
		if !slices.ContainsFunc(n.Hosts, func(h lab.Host) bool { return h.Name == name }) {
			return false
		}
	}
	return true
}

// Traffic makes the demo's group in a network with Figure 1's hosts and has its source write again
// and again, with a pause between, until ctx ends. A receiver that is dead holds the source up
// until it lives again.
func Traffic(ctx context.Context, l *lab.Live, o Options, pause time.Duration) error {
	o = o.withDefaults()
	d, err := newDemo(o, l, func(format string, args ...any) {
		fmt.Fprintf(o.Out, format+"\n", args...)
	})
	if err == nil {
		err = d.begin(ctx)
	}
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		if err := d.Write(ctx); err != nil {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
	return nil
}

// begin makes the queue pairs and the group, and has the wires counted.
func (d *demo) begin(ctx context.Context) error {
	err := d.Live.Do(ctx, func(w *lab.World) error {
		w.AddTap(d.traffic)
		return nil
	})
	if err != nil {
		return err
	}
	return d.Begin(ctx)
}

// count collects what the wires, the hosts and the switches have seen.
func (d *demo) count(ctx context.Context) (*Result, error) {
	r := &Result{
		Demo: "multicast", Receivers: len(d.Group.Receivers), Bytes: d.Bytes, Seconds: d.Took.Seconds(),
		LinkPackets:   map[string]uint64{},
		neededPackets: d.Packets() * uint64(d.Transfers),
	}
	err := d.Live.Clock.Do(ctx, func(time.Duration) {
		for _, receiver := range d.Group.Receivers {
			wrong := d.Wrong(receiver)
			if r.Corrupt += wrong; wrong == 0 {
				r.Delivered++
			}
			r.ICRCErrors += receiver.Host.Counters().Refused[rc.RefusedICRC]
			edge, _ := d.Live.World.Network.Uplink(receiver.Host.Name)
			responses := d.traffic.Responses(receiver.Host.Name + "-" + edge)
			r.AcksFromReceivers += responses
			r.largestReceiver = max(r.largestReceiver, responses)
		}
		r.ICRCErrors += d.Group.Source.Counters().Refused[rc.RefusedICRC]
		for _, s := range d.Live.World.Network.Switches {
			if sw, err := d.Live.World.Switch(s.Name); err == nil { // the name is the network's own
				r.ICRCErrors += sw.Drops()[p4.DropReasonIcrc]
			}
		}
		for name, n := range d.traffic.Data {
			r.LinkPackets[name] = n
		}
		r.SourcePackets = d.traffic.Data["S1-N6"]
		r.AcksAtSource = d.traffic.Responses("N6-S1")
		r.EarlyAcks, _ = d.Group.EarlyAcks()
	})
	return r, err
}

// check reports what is not as the demo promises.
func (r *Result) check() error {
	var wrong []string
	if r.Delivered != r.Receivers {
		wrong = append(wrong, fmt.Sprintf("%d of %d receivers hold the source's octets", r.Delivered,
			r.Receivers))
	}
	if r.ICRCErrors > 0 {
		wrong = append(wrong, fmt.Sprintf("%d ICRC errors", r.ICRCErrors))
	}
	if r.EarlyAcks > 0 {
		wrong = append(wrong, fmt.Sprintf("%d early ACKs", r.EarlyAcks))
	}
	if r.AcksAtSource > r.largestReceiver {
		wrong = append(wrong, fmt.Sprintf(
			"%d ACKs at the source, more than the %d of the busiest receiver", r.AcksAtSource,
			r.largestReceiver))
	}
	if r.Corrupt > 0 {
		wrong = append(wrong, fmt.Sprintf("%d octets are not the source's", r.Corrupt))
	}
	if r.SourcePackets > r.neededPackets {
		wrong = append(wrong, fmt.Sprintf("the source sent %d packets, want %d", r.SourcePackets,
			r.neededPackets))
	}
	for link, n := range r.LinkPackets {
		if n > r.SourcePackets {
			wrong = append(wrong, fmt.Sprintf("%d data packets on %s, want each of the source's %d once", n,
				link, r.SourcePackets))
		}
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		return fmt.Errorf("demo: %s", strings.Join(wrong, "; "))
	}
	return nil
}

// print shows the tree and what went over it.
func (d *demo) print(r *Result) {
	fmt.Fprintln(d.Out)
	t := tabwriter.NewWriter(d.Out, 2, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "link\tdata packets\tMiB\tACKs back\tNAKs back\t")
	for _, w := range d.Live.World.Wires() {
		data := d.traffic.Data[w.Name()]
		if data == 0 {
			continue
		}
		back := w.To + "-" + w.From
		fmt.Fprintf(t, "%s -> %s\t%d\t%.1f\t%d\t%d\t\n", w.From, w.To, data,
			float64(d.traffic.DataBytes[w.Name()])/(1<<20), d.traffic.ACKs[back], d.traffic.NAKs[back])
	}
	t.Flush()
	fmt.Fprintln(d.Out)
	t = tabwriter.NewWriter(d.Out, 2, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "switch\trole\tSID\tbranches\t")
	for _, n := range d.Tree.Nodes {
		var branches []string
		for _, b := range n.Branches {
			if b.Child != "" {
				branches = append(branches, b.Child)
			} else {
				branches = append(branches, d.hostName(b.Receiver))
			}
		}
		slices.Sort(branches)
		fmt.Fprintf(t, "%s\t%s\t%v\t%s\t\n", n.Switch, n.Behavior, n.SID, strings.Join(branches, " "))
	}
	t.Flush()
	fmt.Fprintf(d.Out, "\n  %d of %d receivers hold the same %d octets after %.2f s; S1 sent each "+
		"packet once and saw one stream of %d ACKs (the receivers sent %d).\n",
		r.Delivered, r.Receivers, r.Bytes, r.Seconds, r.AcksAtSource, r.AcksFromReceivers)
}

func (d *demo) hostName(a netip.Addr) string {
	for _, h := range d.Live.World.Network.Hosts {
		if h.Address == a {
			return h.Name
		}
	}
	return a.String()
}
