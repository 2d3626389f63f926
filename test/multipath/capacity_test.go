package multipath

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
	"github.com/weft-sdn/weft/endpoint/nic"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/test/seeds"
)

// capacity is an all-to-all over a fabric of which something is lost, or drained.
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

// capacities are all of them, for a number of hosts and tiers.
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

// capacityWait is how long after the last host was told the goodput must be what is left.
const capacityWait = time.Second

// kept runs the all-to-all, and returns the goodput after the loss as a part of what the max-min fair
// shares of the rest come to: of all flows, and of those between racks alone.
func (c capacity) kept(seed uint64) (all, between float64, told time.Duration, err error) {
	cfg := lab.ClosConfig{Hosts: c.hosts, Tiers: c.tiers}
	l := links{}
	l.rate, l.delay = lab.DemoLinks(cfg)
	w, control, err := start(cfg, c.mode, l, true, seed, func(m *inventory.MRC, n *lab.Network) { *m = *lab.MRCSettings(n, c.mode) })
	if err != nil {
		return 0, 0, 0, err
	}
	n := &w.Network
	var flows []lab.FlowConfig
	octets := int(2*n.Congestion("H1").BDP())/pmtu*pmtu + pmtu
	for i, from := range n.Hosts {
		for j := range n.Hosts[1:] {
			flows = append(flows, lab.FlowConfig{From: from.Name, To: n.Hosts[(i+j+1)%len(n.Hosts)].Name, Bytes: octets})
		}
	}
	qp := nic.DefaultQPConfig()
	qp.AckTimeout, qp.ProbeTimeout = n.Timers()
	m, err := w.NewMesh(lab.MeshConfig{Flows: flows, Message: octets, Repeat: true, QP: qp})
	if err != nil {
		return 0, 0, 0, err
	}
	if err := m.Start(); err != nil {
		return 0, 0, 0, err
	}
	run := func(d time.Duration, done func() bool) (failed error) {
		w.Run(w.Now()+d, func() bool {
			failed = cmp.Or(m.Pump(), control.Err())
			return failed != nil || done != nil && done()
		})
		return failed
	}
	if err := run(capacityWait, nil); err != nil {
		return 0, 0, 0, err
	}
	lostAt := w.Now()
	if c.drain != "" {
		i := slices.IndexFunc(n.Switches, func(s lab.Switch) bool { return s.Name == c.drain })
		err = control.Paths.Drain(mrc.Target{Node: lab.NodeID(n.Switches[i])})
	} else {
		_, err = w.Lose(c.lost)
		for _, name := range c.lost.Switches {
			control.SwitchChanged(name)
		}
		control.NetworkChanged()
	}
	if err == nil {
		err = run(capacityWait/10, nil)
	}
	if err == nil {
		err = run(time.Second, func() bool { return instructed(control) })
	}
	if err == nil {
		told = w.Now() - lostAt
		err = run(capacityWait, nil)
	}
	if err != nil {
		return 0, 0, told, err
	}
	shares, err := n.AllToAllShares(c.lost)
	if err != nil {
		return 0, 0, told, err
	}
	received := func() (out []uint64) {
		for _, f := range m.Flows {
			out = append(out, f.SinkQP.Counters().PayloadReceived)
		}
		return out
	}
	before, from := received(), w.Now()
	measure := max(capacityWait, 20*n.RoundTrip())
	if err := run(measure, nil); err != nil {
		return 0, 0, told, err
	}
	leaf := func(host string) string { sw, _ := n.Uplink(host); return sw }
	var got, want, gotBetween, wantBetween float64
	for i, octets := range received() {
		f := m.Flows[i]
		rate := float64(octets-before[i]) * 8 / (w.Now() - from).Seconds() / (pmtu / float64(dataOctets+c.tunnel()))
		share := shares.Of(f.From, f.To)
		got, want = got+rate, want+share
		if leaf(f.From) != leaf(f.To) {
			gotBetween, wantBetween = gotBetween+rate, wantBetween+share
		}
		if f.QP.Failed() || f.SinkQP.Failed() {
			return 0, 0, told, fmt.Errorf("the queue pair from %s to %s is in error", f.From, f.To)
		}
	}
	return got / want, gotBetween / wantBetween, told, nil
}

// tunnel is the octets of the outer headers.
func (c capacity) tunnel() int {
	if c.mode.SRv6() {
		return packet.IPv6Len
	}
	return 0
}

// wholeCapacity says that the whole matrix is wanted.
func wholeCapacity() bool { return os.Getenv("WEFT_CAPACITY") == "all" }

// TestCapacityKept: after a link, a T1, a T2, a plane, or two things at once are lost, and after a T1 is
// drained, an all-to-all has 0.9 of what max-min fair sharing of the rest gives, a second after the last
// host was told. With WEFT_CAPACITY=all for 16 and 64 hosts and 2 and 3 tiers, which takes an hour.
func TestCapacityKept(t *testing.T) {
	seed := seeds.One(t, 1)
	three := capacities(16, 3, ev.ModeStructured)
	cases := []capacity{three[0], three[1], three[4]}
	if wholeCapacity() {
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
			all, between, told, err := c.kept(seed)
			t.Logf("kept %.3f, between racks %.3f; the last host was told after %v at most", all, between, told)
			if err != nil {
				t.Fatal(err)
			}
			if all < 0.9 || all > 1 {
				t.Errorf("%.3f of the capacity is kept, want 0.9 to 1", all)
			}
		})
	}
}
