package flows

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/host/nic"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/test/seeds"
)

// capacity is a case: an all-to-all over a fabric of which something is lost, or drained.
type capacity struct {
	hosts, tiers int
	mode         ev.Mode
	name         string
	lost         lab.Loss
	drain        string // the name of a switch that is drained instead; it is what lost has, too
}

func (c capacity) String() string {
	return fmt.Sprintf("%d hosts, %d tiers, %v, %s", c.hosts, c.tiers, c.mode, c.name)
}

// capacities returns all cases of a number of hosts and tiers.
func capacities(hosts, tiers int, mode ev.Mode) (out []capacity) {
	add := func(name, drain string, lost lab.Loss) {
		out = append(out, capacity{hosts, tiers, mode, name, lost, drain})
	}
	link, t1 := [2]string{"P1-T0-1", "P1-T1-1"}, "P1-T1-4"
	add("a link", "", lab.Loss{Links: [][2]string{link}})
	add("a T1", "", lab.Loss{Switches: []string{t1}})
	add("a T1 drained", t1, lab.Loss{Switches: []string{t1}})
	if tiers == 3 {
		add("a T2", "", lab.Loss{Switches: []string{"P1-T2-1"}})
	}
	add("a link and a T1", "", lab.Loss{Links: [][2]string{link}, Switches: []string{t1}})
	var plane lab.Loss
	for _, s := range lab.Clos(lab.ClosConfig{Tiers: tiers}).Switches {
		if s.Name[:2] == "P1" {
			plane.Switches = append(plane.Switches, s.Name)
		}
	}
	add("a plane", "", plane)
	return out
}

// capacityWait is the time after the last host was told in which the goodput must reach what is
// left.
const capacityWait = time.Second

// settleTrips are the round trips in which windows find their size: what the first of 64 hosts put
// into queues leaves them in some 20.
const settleTrips = 50

// An exchange is flows that go on between the hosts of a managed fabric with the demo's links.
type exchange struct {
	*lab.Mesh
	world   *lab.World
	control *lab.Control
	tunnel  int // octets of the outer headers of a packet
}

// newExchange starts a fabric with a flow between each two hosts that want one, in each direction,
// and returns when the flows have run for a while.
func newExchange(cfg lab.ClosConfig, mode ev.Mode, seed uint64,
	want func(from, to string) bool) (*exchange, error) {
	return newExchangeBy(cfg, mode, seed, want, func(*inventory.Classes) {})
}

// newExchangeBy is newExchange with other queues of switches.
func newExchangeBy(cfg lab.ClosConfig, mode ev.Mode, seed uint64,
	want func(from, to string) bool, change func(*inventory.Classes)) (*exchange, error) {
	l := links{}
	l.rate, l.delay = lab.DemoLinks(cfg)
	w, control, err := start(cfg, mode, l, true, seed, func(m *inventory.MRC, n *lab.Network) {
		*m = *lab.MRCSettings(n, mode)
		change(&m.Classes)
	})
	if err != nil {
		return nil, err
	}
	x := &exchange{world: w, control: control}
	if mode.SRv6() {
		x.tunnel = packet.IPv6Len
	}
	n := &w.Network
	var flows []lab.FlowConfig
	octets := int(2*n.Congestion("H1").BDP())/pmtu*pmtu + pmtu
	for i, from := range n.Hosts {
		for j := range n.Hosts[1:] {
			if to := n.Hosts[(i+j+1)%len(n.Hosts)]; want(from.Name, to.Name) {
				flows = append(flows, lab.FlowConfig{From: from.Name, To: to.Name, Bytes: octets})
			}
		}
	}
	qp := nic.DefaultQPConfig()
	qp.AckTimeout, qp.ProbeTimeout = n.Timers()
	if x.Mesh, err = w.NewMesh(lab.MeshConfig{Flows: flows, Message: octets, Repeat: true,
		QP: qp}); err != nil {
		return nil, err
	}
	if err := x.Start(); err != nil {
		return nil, err
	}
	return x, x.run(max(capacityWait, settleTrips*n.RoundTrip()), nil)
}

// run lets time pass, until done if that is not nil.
func (x *exchange) run(d time.Duration, done func() bool) (failed error) {
	x.world.Run(x.world.Now()+d, func() bool {
		failed = cmp.Or(x.Pump(), x.control.Err())
		return failed != nil || done != nil && done()
	})
	return failed
}

// lose loses something, or drains a switch, and returns a while after all hosts were told.
func (x *exchange) lose(lost lab.Loss, drain string) (told time.Duration, err error) {
	n, lostAt := &x.world.Network, x.world.Now()
	if drain != "" {
		i := slices.IndexFunc(n.Switches, func(s lab.Switch) bool { return s.Name == drain })
		err = x.control.Paths.Drain(mrc.Target{Node: lab.NodeID(n.Switches[i])})
	} else {
		_, err = x.world.Lose(lost)
		for _, name := range lost.Switches {
			x.control.SwitchChanged(name)
		}
		x.control.NetworkChanged()
	}
	if err == nil {
		err = x.run(capacityWait/10, nil)
	}
	if err == nil {
		err = x.run(time.Second, x.control.Instructed)
	}
	told = x.world.Now() - lostAt
	if err == nil {
		err = x.run(capacityWait, nil)
	}
	return told, err
}

// received returns the octets that have arrived so far of each flow.
func (x *exchange) received() (out []uint64) {
	for _, f := range x.Flows {
		out = append(out, f.SinkQP.Counters().PayloadReceived)
	}
	return out
}

// rates returns what each flow takes of the links, in bits a second of whole packets that arrive
// for the first time.
func (x *exchange) rates() (rates []float64, err error) {
	before, from := x.received(), x.world.Now()
	if err := x.run(max(capacityWait, 20*x.world.Network.RoundTrip()), nil); err != nil {
		return nil, err
	}
	for i, octets := range x.received() {
		f := x.Flows[i]
		if f.QP.Failed() || f.SinkQP.Failed() {
			return nil, fmt.Errorf("the queue pair from %s to %s is in error", f.From, f.To)
		}
		payload := float64(octets-before[i]) * 8 / (x.world.Now() - from).Seconds()
		rates = append(rates, payload*float64(dataOctets+x.tunnel)/pmtu)
	}
	return rates, nil
}

// leaf returns the first switch of a host.
func (x *exchange) leaf(host string) string {
	sw, _ := x.world.Network.Uplink(host)
	return sw
}

// kept is the goodput after a loss, divided by the max-min fair shares of the remaining fabric: for
// all flows together, and for the flows between racks.
type kept struct{ all, between float64 }

// kept runs the all-to-all. It also returns the time when the last host learned of the loss.
func (c capacity) kept(seed uint64) (k kept, told time.Duration, err error) {
	x, err := newExchange(lab.ClosConfig{Hosts: c.hosts, Tiers: c.tiers}, c.mode, seed,
		func(string, string) bool { return true })
	if err != nil {
		return k, 0, err
	}
	if told, err = x.lose(c.lost, c.drain); err != nil {
		return k, told, err
	}
	shares, err := x.world.Network.AllToAllShares(c.lost)
	if err != nil {
		return k, told, err
	}
	rates, err := x.rates()
	if err != nil {
		return k, told, err
	}
	var got, want, gotBetween, wantBetween float64
	for i, rate := range rates {
		f := x.Flows[i]
		share := shares.Of(f.From, f.To)
		got, want = got+rate, want+share
		if x.leaf(f.From) != x.leaf(f.To) {
			gotBetween, wantBetween = gotBetween+rate, wantBetween+share
		}
	}
	return kept{got / want, gotBetween / wantBetween}, told, nil
}

// find returns the case of a name.
func find(cases []capacity, name string) capacity {
	return cases[slices.IndexFunc(cases, func(c capacity) bool { return c.name == name })]
}

// least returns the shares that a case must keep. Fabrics of more than 16 hosts miss the general
// target and must keep the shares that they reach (docs/scale.md).
func (c capacity) least() kept {
	want := kept{all: 0.95, between: 0.9}
	if c.hosts > 16 { // a flow between racks has a few packets in the time that is measured
		want = kept{all: 0.92, between: 0.85}
	}
	return want
}

// TestCapacityKept: after the loss of a link, a T1, a T2, a plane, or two things at once, and after
// a drain of a T1, an all-to-all keeps 0.95 of max-min fair sharing of the remaining fabric, one
// second after the last host learned of the loss. Its flows between racks keep 0.9 of their share
// (least has the exceptions). WEFT_CAPACITY=all runs every case for 16 and 64 hosts and 2 and 3
// tiers, which takes an hour. Otherwise the test runs cases of fabrics of 16 hosts: those that a
// target delay for all windows, or ports bound to the number of their paths, keep below that, and
// drains; with -short two of them.
func TestCapacityKept(t *testing.T) {
	seed := seeds.One(t, 1)
	cases := []capacity{
		find(capacities(16, 2, ev.ModeStructured), "a T1 drained"),
		find(capacities(16, 3, ev.ModeStructured), "a T2"),
		find(capacities(16, 3, ev.ModeF3216), "a T2"),
		find(capacities(16, 3, ev.ModeStructured), "a T1 drained"),
		find(capacities(16, 3, ev.ModeF3216), "a T1 drained"),
	}
	if testing.Short() {
		cases = cases[:2]
	}
	if os.Getenv("WEFT_CAPACITY") == "all" {
		cases = nil
		for _, hosts := range []int{16, 64} {
			for _, tiers := range []int{2, 3} {
				cases = append(cases, capacities(hosts, tiers, ev.ModeStructured)...)
			}
		}
		cases = append(cases, capacities(16, 3, ev.ModeF3216)...)
	}
	for _, c := range cases {
		t.Run(c.String(), func(t *testing.T) {
			k, told, err := c.kept(seed)
			t.Logf("kept %.3f, between racks %.3f; the last host was told after %v at most", k.all,
				k.between, told)
			if err != nil {
				t.Fatal(err)
			}
			least := c.least()
			if k.all < least.all || k.all > 1 {
				t.Errorf("%.3f of the capacity is kept, want %v to 1", k.all, least.all)
			}
			if k.between < least.between {
				t.Errorf("flows between racks have %.3f of their share, want %v", k.between, least.between)
			}
		})
	}
}
