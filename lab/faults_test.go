package lab

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
)

// arrivals is a tap that records the numbers of the frames arriving on a wire, in order of arrival.
type arrivals struct {
	wire  *Wire
	order []byte
	times []time.Duration
	wrong int // frames that are not as they were sent
}

func (a *arrivals) Sent(time.Duration, *Wire, []byte) {}

func (a *arrivals) Arrived(now time.Duration, w *Wire, frame []byte) {
	if w != a.wire {
		return
	}
	a.order, a.times = append(a.order, frame[len(frame)-1]), append(a.times, now)
	if slices.ContainsFunc(frame[:len(frame)-1], func(octet byte) bool { return octet != 0 }) {
		a.wrong++
	}
}

func pointer[T any](v T) *T { return &v }

// TestFaults puts each fault on one direction of a link, and sends frames in both directions.
func TestFaults(t *testing.T) {
	const frames, gap = 200, 10 * time.Microsecond
	for _, c := range []struct {
		name   string
		change FaultChange
		check  func(t *testing.T, s LinkState, a *arrivals)
	}{
		{"down", FaultChange{Down: pointer(true)}, func(t *testing.T, s LinkState, a *arrivals) {
			if s.Up || !s.Down || s.Lost != frames || len(a.order) != 0 {
				t.Errorf("%+v: %d frames arrived over a link that is cut", s, len(a.order))
			}
		}},
		{"loss", FaultChange{Loss: pointer(0.25)}, func(t *testing.T, s LinkState, a *arrivals) {
			if s.Lost < 20 || s.Lost > 90 || len(a.order) != frames-int(s.Lost) ||
				!slices.IsSorted(a.order) {
				t.Errorf("%d lost of %d, %d arrived, want a quarter lost", s.Lost, frames, len(a.order))
			}
		}},
		{"delay", FaultChange{Delay: pointer(api.Duration(5 * time.Millisecond))},
			func(t *testing.T, s LinkState, a *arrivals) {
				if len(a.times) != frames || a.times[0] != 6*time.Millisecond ||
					a.times[frames-1] != 6*time.Millisecond+(frames-1)*gap {
					t.Errorf("the first arrived after %v, want 5ms more than the 1ms of the link", a.times[0])
				}
			}},
		{"corrupt", FaultChange{Corrupt: pointer(1.0)}, func(t *testing.T, s LinkState, a *arrivals) {
			if s.Corrupted != frames || a.wrong < frames*9/10 { // a flip may hit the number at the end
				t.Errorf("%d of %d frames are corrupted, %d arrived wrong", s.Corrupted, frames, a.wrong)
			}
		}},
		{"duplicate", FaultChange{Duplicate: pointer(1.0)}, func(t *testing.T, s LinkState, a *arrivals) {
			if s.Duplicated != frames || len(a.order) != 2*frames {
				t.Errorf("%d frames arrived of %d duplicated", len(a.order), s.Duplicated)
			}
		}},
		{"reorder", FaultChange{Reorder: pointer(0.3)}, func(t *testing.T, s LinkState, a *arrivals) {
			if s.Jitter == 0 || s.Reordered == 0 || len(a.order) != frames || slices.IsSorted(a.order) {
				t.Errorf("%d of %d frames were overtaken, with a jitter of %v", s.Reordered, frames, s.Jitter)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, err := NewWorld(Network{
				Switches: []Switch{{Name: "A"}, {Name: "B"}},
				Links:    []Link{{A: "A", B: "B", Delay: time.Millisecond}},
			}, Options{Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			there, _ := w.Wire("A", "B")
			back, _ := w.Wire("B", "A")
			one, other := &arrivals{wire: there}, &arrivals{wire: back}
			w.AddTap(one)
			w.AddTap(other)
			ref := LinkRef{A: "A", B: "B", Direction: DirectionAB}
			if _, err := w.ChangeFaults(ref, c.change); err != nil {
				t.Fatal(err)
			}
			send := func() {
				began := w.Now()
				for i := range frames {
					w.At(began+time.Duration(i)*gap, func() {
						frame := make([]byte, 64)
						frame[63] = byte(i)
						there.Inject(frame)
						back.Inject(frame)
					})
				}
				w.Run(began+time.Second, nil)
			}
			send()
			links := w.Links()
			c.check(t, links[0], one)
			if len(other.order) != frames || !slices.IsSorted(other.order) || other.wrong > 0 ||
				links[1].faulty() {
				t.Errorf("the other direction has %+v", links[1])
			}
			if _, err := w.ClearFaults(&ref); err != nil {
				t.Fatal(err)
			}
			*one = arrivals{wire: there}
			send()
			if len(one.order) != frames || !slices.IsSorted(one.order) || one.wrong > 0 ||
				w.Links()[0].faulty() {
				t.Errorf("the fault is cleared, and the direction has %+v", w.Links()[0])
			}
		})
	}
}

// TestFaultDirections: each switch sees its direction of a cut, and ChangeFaults returns the
// switches with something to withdraw.
func TestFaultDirections(t *testing.T) {
	w, err := NewWorld(Figure1(), Options{Carrier: true})
	if err != nil {
		t.Fatal(err)
	}
	up := func(a, b string) bool {
		wire, err := w.Wire(a, b)
		if err != nil {
			t.Fatal(err)
		}
		return w.switches[a].Device().Switch().PortUp(wire.FromPort)
	}
	for _, c := range []struct {
		direction   Direction
		there, back bool // whether the ports of N6 and N4 stay up
	}{{DirectionAB, false, true}, {DirectionBA, true, false}, {DirectionBoth, false, false},
		{"", false, false}} {
		ref := LinkRef{A: "N6", B: "N4", Direction: c.direction}
		seen, err := w.ChangeFaults(ref, FaultChange{Down: pointer(true)})
		if err != nil || !slices.Equal(seen, []string{"N4", "N6"}) {
			t.Errorf("%q: %v, %v", c.direction, seen, err)
		}
		if up("N6", "N4") != c.there || up("N4", "N6") != c.back {
			t.Errorf("%q: ports are up: %v, %v", c.direction, up("N6", "N4"), up("N4", "N6"))
		}
		// Again: nothing changes, and there is nothing to withdraw.
		if seen, err := w.ChangeFaults(ref, FaultChange{Down: pointer(true)}); err != nil ||
			len(seen) > 0 {
			t.Errorf("%q again: %v, %v", c.direction, seen, err)
		}
		if seen, err := w.ClearFaults(nil); err != nil || !slices.Equal(seen, []string{"N4", "N6"}) ||
			!up("N6", "N4") || !up("N4", "N6") {
			t.Errorf("%q cleared: %v, %v", c.direction, seen, err)
		}
	}
}

// TestFaultErrors: an error names the fault and the right value, and nothing changes.
func TestFaultErrors(t *testing.T) {
	w, err := NewWorld(Network{
		Switches: []Switch{{Name: "A"}, {Name: "B"}, {Name: "C"}},
		Links:    []Link{{A: "A", B: "B"}, {A: "A", B: "B"}, {A: "B", B: "C"}},
	}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	down := FaultChange{Down: pointer(true)}
	for _, c := range []struct {
		ref    LinkRef
		change FaultChange
		want   string
	}{
		{LinkRef{A: "X", B: "B"}, down, `a is "X": want one of A, B, C`},
		{LinkRef{A: "A", B: "C"}, down, `b is "C": want a node with a link to A, one of B`},
		{LinkRef{A: "A", B: "B"}, down, `port: want the port at A of one of its links to B, one of 1, 2`},
		{LinkRef{A: "A", B: "B", Port: 3}, down,
			`port is 3: want the port at A of one of its links to B, one of 1, 2`},
		{LinkRef{A: "A", B: "B", Port: 1, Direction: "up"}, down,
			`direction is "up": want both, a-b or b-a`},
		{LinkRef{A: "B", B: "C"}, FaultChange{},
			`down: want at least one of down, loss, delay, jitter, reorder, duplicate and corrupt`},
		{LinkRef{A: "B", B: "C"}, FaultChange{Down: pointer(true), Loss: pointer(1.5)},
			`loss is 1.5: want a probability from 0 to 1`},
		{LinkRef{A: "B", B: "C"}, FaultChange{Corrupt: pointer(-0.1), Reorder: pointer(2.0)},
			`reorder is 2: want a probability from 0 to 1; corrupt is -0.1`},
		{LinkRef{A: "B", B: "C"}, FaultChange{Delay: pointer(api.Duration(-1))},
			`delay is -1ns: want 0s to 10s`},
		{LinkRef{A: "B", B: "C"}, FaultChange{Jitter: pointer(api.Duration(time.Minute))},
			`jitter is 1m0s: want 0s to 10s`},
	} {
		var refused *api.Error
		if _, err := w.ChangeFaults(c.ref, c.change); !errors.As(err, &refused) ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.ref, err, c.want)
		}
	}
	for _, s := range w.Links() {
		if s.faulty() || !s.Up {
			t.Errorf("%+v after faults that were refused", s)
		}
	}
	if _, err := w.ChangeFaults(LinkRef{A: "A", B: "B", Port: 2}, down); err != nil {
		t.Fatal(err)
	}
	for i, s := range w.Links() {
		if want := i != 2 && i != 3; s.Up != want {
			t.Errorf("%+v: the second link between A and B is cut", s)
		}
	}
	for _, c := range []struct {
		part Part
		want string
	}{
		{Part{"rack", "A"}, `kind is "rack": want switch, host or bgp`},
		{Part{PartSwitch, "D"}, `name is "D": want a switch of the lab, one of A, B, C`},
		{Part{PartHost, "A"}, `name is "A": want a host of the lab`},
	} {
		if err := c.part.check(&w.Network); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %s", c.part, err, c.want)
		}
	}
}

// TestStreamFaults: a stream counts no packet with a wrong ICRC, and none at a dead host; a dead
// host sends none.
func TestStreamFaults(t *testing.T) {
	w, err := NewWorld(Network{
		Switches: []Switch{{Name: "A"}}, Hosts: []Host{{Name: "S"}, {Name: "R"}},
		Links: []Link{{A: "S", B: "A"}, {A: "R", B: "A"}},
	}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := w.NewStream(StreamConfig{From: "S", To: "R", QPN: 7, Payload: 256, Rate: 1e6})
	if err != nil {
		t.Fatal(err)
	}
	var frame []byte
	w.AddTap(sentTap(func(f []byte) { frame = slices.Clone(f) }))
	s.Start()
	last, _ := w.Wire("A", "R")
	arrive := func(received, corrupt uint64, what string) {
		t.Helper()
		last.Inject(frame)
		w.Run(w.Now(), nil)
		if s.Received != received || s.Corrupt != corrupt {
			t.Errorf("%s: %d received, %d of them corrupt; want %d and %d", what, s.Received, s.Corrupt,
				received, corrupt)
		}
	}
	arrive(1, 0, "a packet")
	last.Faults.Corrupt = 1
	arrive(1, 0, "a packet that a link corrupted")
	last.Faults.Corrupt = 0
	w.hosts["R"].Stop()
	arrive(1, 0, "a packet to a dead host")
	w.hosts["R"].Start()
	arrive(2, 0, "a packet to a host that lives again")
	w.hosts["S"].Stop()
	sent := s.Sent
	w.Run(w.Now()+time.Second, nil)
	if s.Sent != sent {
		t.Errorf("a dead host sent %d packets", s.Sent-sent)
	}
	w.hosts["S"].Start()
	w.Run(w.Now()+time.Second, nil)
	if s.Sent == sent {
		t.Error("a host that lives again sends nothing")
	}
}

// sentTap is called with every frame that is put on a wire.
type sentTap func(frame []byte)

func (s sentTap) Sent(_ time.Duration, _ *Wire, frame []byte) { s(frame) }
func (s sentTap) Arrived(time.Duration, *Wire, []byte)        {}
