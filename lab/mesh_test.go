package lab

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/nscc"
)

// fabric is a programmed Clos in virtual time.
func fabric(t *testing.T, c ClosConfig, seed uint64) *World {
	t.Helper()
	w, err := NewWorld(Clos(c), Options{Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	control, err := NewControl(w, DefaultLatencies())
	if err != nil {
		t.Fatal(err)
	}
	if err := control.Start(); err != nil {
		t.Fatal(err)
	}
	ready := func() bool {
		for _, s := range control.Core().Switches() {
			if !s.Synced {
				return false
			}
		}
		return true
	}
	if !w.Run(time.Second, ready) {
		t.Fatal("the switches are not programmed within a second")
	}
	return w
}

// TestMesh: all hosts of a Clos write to all others over two planes, hashed by flow label and
// ports.
func TestMesh(t *testing.T) {
	if testing.Short() {
		t.Skip("many packets on one goroutine")
	}
	const rate, delay = 100e9, time.Microsecond
	w := fabric(t, ClosConfig{Rate: rate, Delay: delay}, 1)
	spread := w.NewSpread()
	w.AddTap(spread)
	cfg := MeshConfig{QP: mrc.DefaultQPConfig(),
		Congestion: nscc.DefaultConfig(nscc.Network{Rate: 2 * rate, RTT: 12 * time.Microsecond,
			MTU: 4096})}
	for i, a := range w.Network.Hosts {
		for j, b := range w.Network.Hosts {
			if i != j {
				cfg.Flows = append(cfg.Flows, FlowConfig{From: a.Name, To: b.Name, Bytes: 128 << 10})
			}
		}
	}
	m, err := w.NewMesh(cfg)
	if err != nil {
		t.Fatal(err)
	}
	began := w.Now()
	if err := m.Start(); err != nil {
		t.Fatal(err)
	}
	if !w.Run(began+time.Second, func() bool {
		if err := m.Pump(); err != nil {
			t.Fatal(err)
		}
		return m.Done()
	}) {
		t.Fatal("the writes do not end")
	}
	if n := m.Corrupt(); n > 0 {
		t.Errorf("%d flows are corrupt", n)
	}
	for _, f := range m.Flows {
		if c := f.QP.Counters(); f.QP.Failed() || c.RequestsResent > 0 || c.Timeouts > 0 ||
			f.Ended <= f.Began {
			t.Errorf("%s to %s, %v to %v: %+v", f.From, f.To, f.Began, f.Ended, c)
		}
	}
	jain := spread.Jain()
	if len(jain) != 2 {
		t.Errorf("%d stages, want those of two planes", len(jain))
	}
	for stage, index := range jain {
		if index < 0.95 || index > 1 {
			t.Errorf("plane %d, tier %d: Jain's index %.3f, want 0.95 or more", stage.Plane, stage.Tier,
				index)
		}
	}
}

// TestForget: a receiver that keeps nothing acknowledges every octet.
func TestForget(t *testing.T) {
	const rate, octets = 100e9, 64 << 10
	w := fabric(t, ClosConfig{Planes: 1, Rate: rate, Delay: time.Microsecond}, 1)
	m, err := w.NewMesh(MeshConfig{Flows: []FlowConfig{{From: "H1", To: "H4", Bytes: octets}},
		Forget: true, QP: mrc.DefaultQPConfig(), Congestion: nscc.DefaultConfig(nscc.Network{
			Rate: rate, RTT: 12 * time.Microsecond, MTU: 4096})})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Start(); err != nil {
		t.Fatal(err)
	}
	w.Run(w.Now()+time.Second, func() bool { err = m.Pump(); return err != nil || m.Done() })
	f := m.Flows[0]
	if got := f.SinkQP.Counters().PayloadReceived; err != nil || !m.Done() || got != octets ||
		f.Memory != nil || m.Corrupt() > 0 {
		t.Errorf("%v; %d octets arrived, %d are kept, %d flows corrupt", err, got, len(f.Memory),
			m.Corrupt())
	}
}

func TestClos(t *testing.T) {
	n := Clos(ClosConfig{Planes: 3, T0: 2, T1: 2, Hosts: 4})
	if err := n.Complete(); err != nil {
		t.Fatal(err)
	}
	if len(n.Switches) != 12 || len(n.Hosts) != 4 || len(n.Links) != 3*(2*2+4) {
		t.Fatalf("%d switches, %d hosts, %d links", len(n.Switches), len(n.Hosts), len(n.Links))
	}
	var uplinks []string
	for sw := range n.Uplinks("H3") {
		uplinks = append(uplinks, sw)
	}
	if want := []string{"P1-T0-2", "P2-T0-2", "P3-T0-2"}; !slices.Equal(uplinks, want) {
		t.Errorf("H3 hangs off %v, want %v", uplinks, want)
	}
	inv := n.Inventory(nil)
	if err := inv.Validate(); err != nil {
		t.Error(err)
	}
	if h := inv.Hosts[2]; h.Switch != "P1-T0-2" || len(h.Planes) != 2 ||
		h.Planes[1].Switch != "P3-T0-2" || h.Planes[1].MAC == h.MAC {
		t.Errorf("%+v", h)
	}
	tiers, planes := n.Tiers(), n.planes()
	if tiers["P2-T0-1"] != 0 || tiers["P2-T1-2"] != 1 || planes["P1-T1-1"] != 1 ||
		planes["P3-T0-2"] != 3 {
		t.Errorf("tiers %v, planes %v", tiers, planes)
	}
}

func TestJain(t *testing.T) {
	for _, tt := range []struct {
		x    []float64
		want float64
	}{{nil, 0}, {[]float64{0, 0}, 0}, {[]float64{3, 3, 3}, 1}, {[]float64{1, 0, 0, 0}, 0.25},
		{[]float64{1, 3}, 0.8}} {
		if got := Jain(tt.x); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("Jain's index of %v is %v, want %v", tt.x, got, tt.want)
		}
	}
}

func TestSpread(t *testing.T) {
	one, two, other := &Wire{}, &Wire{}, &Wire{}
	s := &Spread{stage: map[*Wire]Stage{one: {1, 0}, two: {1, 0}, other: {2, 0}},
		octets: map[*Wire]uint64{one: 10, two: 10}}
	if got := s.Jain(); len(got) != 1 || got[Stage{1, 0}] != 1 {
		t.Errorf("%v, want 1 for plane 1 alone", got)
	}
	s.packets = map[*Wire]uint64{one: 3, two: 2}
	if got := s.Fewest(); len(got) != 2 || got[Stage{1, 0}] != 2 || got[Stage{2, 0}] != 0 {
		t.Errorf("%v, want 2 and 0", got)
	}
	s.octets[two] = 0
	if got := s.Jain()[Stage{1, 0}]; got != 0.5 {
		t.Errorf("%v, want 0.5: one of two carries all", got)
	}
}
