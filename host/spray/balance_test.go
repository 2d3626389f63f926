package spray

import (
	"math"
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/packet"
)

// congestPort sends packets over a set whose ports have room in turn, marks or trims what goes by
// port 1, and returns how many the set sent by each port after a while.
func congestPort(t *testing.T, sets []*Set, signal mrc.Signal, packets int) (by [3]int) {
	t.Helper()
	for i := range packets {
		s := sets[i%len(sets)]
		port := 1 + i/len(sets)%2
		free := packet.PortMask(0).With(port)
		take := s.Take(free, AllPorts&^free)
		if take&^free != 0 {
			t.Fatalf("takes ports %v of %v", take, free)
		}
		if take == 0 {
			continue
		}
		p, ok := s.Next(0, mrc.UseData, take)
		if !ok || p.Port != port {
			t.Fatalf("port %d, %v, want %d", p.Port, ok, port)
		}
		if i >= packets/2 {
			by[port]++
		}
		if port == 1 {
			s.Feedback(0, p.ID, signal)
		} else {
			s.Feedback(0, p.ID, mrc.SignalArrived)
		}
	}
	return by
}

// TestBalance: packets wait for a better port instead of a congested port. The set still tries the
// congested port, which gets its half again when its packets arrive unmarked.
func TestBalance(t *testing.T) {
	for _, signal := range []mrc.Signal{mrc.SignalMarked, mrc.SignalTrimmed} {
		sets := []*Set{newSet(t, profile(8, 2), func(*Config) {})}
		if by := congestPort(t, sets, mrc.SignalArrived, 4000); by != [3]int{0, 1000, 1000} {
			t.Errorf("without marks: %v, want half by each port", by)
		}
		// The least weight is a sixteenth, and a quarter of the best is tolerated: a quarter of the
		// turns.
		if by := congestPort(t, sets, signal, 4000); by[2] != 1000 || by[1] < 240 || by[1] > 260 {
			t.Errorf("port 1 %v: %v, want 1000 by port 2 and a quarter of that by port 1", signal, by)
		}
		if by := congestPort(t, sets, mrc.SignalArrived, 4000); by != [3]int{0, 1000, 1000} {
			t.Errorf("after the marks: %v, want half by each port", by)
		}
	}
}

// TestBalanceByTime: without marks, a set avoids a port whose packets take more than twice as long,
// like a marked port. The set keeps a port that takes less than twice as long, two equally slow
// ports, and a slow port whose switches can mark but did not.
func TestBalanceByTime(t *testing.T) {
	const ms = time.Millisecond
	for _, x := range []struct {
		name   string
		times  [3]time.Duration
		marked bool
		want   float64
	}{
		{"slow", [3]time.Duration{1: 41 * ms, 2: 20 * ms}, false, leastWeight},
		{"nearly as quick", [3]time.Duration{1: 39 * ms, 2: 20 * ms}, false, 1},
		{"slow alike", [3]time.Duration{1: 900 * ms, 2: 900 * ms}, false, 1},
		{"marking", [3]time.Duration{1: 900 * ms, 2: ms}, true, 1},
	} {
		s := newSet(t, profile(8, 2), func(*Config) {})
		s.balance.told[1] = x.marked
		for range 1000 {
			p, ok := s.Next(0, mrc.UseData, AllPorts)
			if !ok {
				t.Fatal("no path")
			}
			s.Took(p.ID, x.times[p.Port])
			s.Feedback(0, p.ID, mrc.SignalArrived)
		}
		if w := s.balance.weight; w[1] != x.want || w[2] != 1 {
			t.Errorf("%s: weights %v, want %v for port 1 and 1 for port 2", x.name, w[1:3], x.want)
		}
	}
	s := newSet(t, profile(8, 2), func(*Config) {})
	s.Took(mrc.PathID(1<<15), time.Second) // of a path that is gone
	p, _ := s.Next(0, mrc.UseData, AllPorts)
	if s.Feedback(0, p.ID, mrc.SignalMarked); !s.balance.told[p.Port] || s.balance.told[3-p.Port] {
		t.Errorf("told %v after a mark by port %d", s.balance.told[1:3], p.Port)
	}
}

// TestBalanceTolerates: no port is avoided for few marks more, nor when all are congested alike.
func TestBalanceTolerates(t *testing.T) {
	s := newSet(t, profile(8, 2), func(*Config) {})
	for port, weight := range map[int]float64{1: 0.3, 2: 1} {
		s.balance.weight[port] = weight
	}
	one := packet.PortMask(0).With(1)
	if s.Take(one, AllPorts&^one) != one {
		t.Error("a port with more than a quarter of the best weight is avoided")
	}
	s.balance.weight = [len(s.balance.weight)]float64{1: leastWeight, 2: leastWeight}
	if s.Take(one, AllPorts&^one) != one {
		t.Error("a port is avoided for one that is no better")
	}
}

// sendBy sends packets by ports that have room in turn, a quarter of them marked or none, and
// returns how many went by each.
func sendBy(s *Set, packets int, marked bool) (by [3]int) {
	if marked {
		return sendMarked(s, packets, [3]int{1: 4, 2: 4})
	}
	return sendMarked(s, packets, [3]int{})
}

// sendMarked is sendBy with one in every[port] packets marked; 0: no packet.
func sendMarked(s *Set, packets int, every [3]int) (by [3]int) {
	for i := range packets {
		free := packet.PortMask(0).With(1 + i%2)
		p, ok := s.Next(0, mrc.UseData, s.Take(free, AllPorts&^free))
		if !ok {
			continue
		}
		by[p.Port]++
		signal := mrc.SignalArrived
		if n := every[p.Port]; n > 0 && by[p.Port]%n == 0 {
			signal = mrc.SignalMarked
		}
		s.Feedback(0, p.ID, signal)
	}
	return by
}

// TestBalanceOfPaths: while switches mark packets, ports get packets in proportion to their usable
// values, because only these paths are left. Without marks, ports carry everything that the host
// sends.
func TestBalanceOfPaths(t *testing.T) {
	s := newSet(t, profile(8, 2), func(*Config) {})
	if by := sendBy(s, 4000, true); by[1] != 2000 || by[2] != 2000 {
		t.Errorf("all values: %v, want half by each port", by)
	}
	for i, denied := 0, 0; denied < 3; i++ {
		if s.evs[i].Port == 1 {
			if err := s.Deny(i); err != nil {
				t.Fatal(err)
			}
			denied++
		}
	}
	// Five values by port 1, and eight by port 2.
	sendBy(s, 400, true)
	if by := sendBy(s, 4000, true); by[2] != 2000 || by[1] < 1240 || by[1] > 1300 {
		t.Errorf("%v, want some five eighths by port 1 of what goes by port 2", by)
	}
	sendBy(s, 4000, false)
	if by := sendBy(s, 4000, false); by[1] != 2000 || by[2] != 2000 {
		t.Errorf("without marks: %v, want half by each port", by)
	}
}

// TestTrustInPaths: a port with fewer values than another port gets more than its share by values
// while switches mark fewer of its packets, until the numbers of values are equal, and gets just
// the share again when switches mark more. Ports with equal numbers of values learn no trust.
func TestTrustInPaths(t *testing.T) {
	s := newSet(t, profile(8, 2), func(*Config) {})
	sendMarked(s, 4000, [3]int{1: 4, 2: 2})
	if trust := s.balance.trust; trust[1] != 1 || trust[2] != 1 {
		t.Errorf("with as many values by each port: %v, want 1", trust[1:3])
	}
	for i, denied := 0, 0; denied < 4; i++ {
		if s.evs[i].Port == 1 {
			if err := s.Deny(i); err != nil {
				t.Fatal(err)
			}
			denied++
		}
	}
	// Four values by port 1, and eight by port 2.
	sendMarked(s, 400, [3]int{1: 2, 2: 4})
	if by := sendMarked(s, 4000, [3]int{1: 2, 2: 4}); by[2] != 2000 || by[1] > 1020 {
		t.Errorf("%v, want half by port 1 of what goes by port 2", by)
	}
	sendMarked(s, 4000, [3]int{1: 4, 2: 2})
	if by := sendMarked(s, 4000, [3]int{1: 4, 2: 2}); by[1] < 1980 || by[2] < 1980 {
		t.Errorf("with fewer marks by port 1: %v, want half by each port", by)
	}
	sendMarked(s, 4000, [3]int{1: 2, 2: 4})
	if by := sendMarked(s, 4000, [3]int{1: 2, 2: 4}); by[2] != 2000 || by[1] > 1020 {
		t.Errorf("with more marks by port 1 again: %v, want half of what goes by port 2", by)
	}
	for i := range s.Len() {
		if err := s.Allow(i); err != nil {
			t.Fatal(err)
		}
	}
	sendMarked(s, 400, [3]int{1: 4, 2: 2})
	if trust := s.balance.trust[1]; trust != 1 {
		t.Errorf("with all values back: %v, want 1", trust)
	}
}

// TestLoosening: a port is bound to its part of the values at once when an eighth of its packets
// are marked, and let go by a quarter of the difference a round trip.
func TestLoosening(t *testing.T) {
	s := newSet(t, profile(8, 1), nil)
	round := func(marked int) float64 {
		for i := range comparison {
			p := next(t, s)
			signal := mrc.SignalArrived
			if i < marked {
				signal = mrc.SignalMarked
			}
			s.Feedback(0, p.ID, signal)
		}
		return s.balance.bound[1]
	}
	for i, c := range []struct {
		marked int
		want   float64
	}{{0, 0}, {1, 0.5}, {2, 1}, {0, 0.75}, {0, 0.5625}, {1, 0.546875}, {16, 1}, {1, 0.875}} {
		if got := round(c.marked); got != c.want {
			t.Errorf("round %d, %d of %d marked: bound %v, want %v", i, c.marked, comparison, got, c.want)
		}
	}
}

// TestTrustIsLearned: trust in a port with fewer values moves by half of how much more of its
// packets are marked than by the mean port; more than all cannot be, although a trimmed one counts
// for two.
func TestTrustIsLearned(t *testing.T) {
	for signal, want := range map[mrc.Signal]float64{mrc.SignalArrived: 0.1, mrc.SignalMarked: 0.35,
		mrc.SignalTrimmed: 0.35} {
		s := newSet(t, profile(8, 2), nil)
		for i := range s.Len() {
			if s.evs[i].Port == 1 {
				_ = s.Deny(i)
				break
			}
		}
		s.balance.trust[1] = 0.1
		for i := range comparison {
			port := 1 + i%2
			p, ok := s.Next(0, mrc.UseData, packet.PortMask(0).With(port))
			if !ok {
				t.Fatal("no path")
			}
			if port == 1 {
				s.Feedback(0, p.ID, signal)
			} else {
				s.Feedback(0, p.ID, mrc.SignalArrived)
			}
		}
		if got := s.balance.trust[1]; got != want {
			t.Errorf("%v: trust %v, want %v", signal, got, want)
		}
	}
}

// TestSavedTurns: a port that had no room for a while gets two packets at most for that.
func TestSavedTurns(t *testing.T) {
	s := newSet(t, profile(8, 2), func(*Config) {})
	s.balance.weight[1] = leastWeight
	one, two := packet.PortMask(0).With(1), packet.PortMask(0).With(2)
	for range 100 {
		s.Next(0, mrc.UseData, two)
	}
	sent := 0
	for range 100 {
		if take := s.Take(one, two); take != 0 {
			s.Next(0, mrc.UseData, take)
			sent++
		}
	}
	if sent != 2 {
		t.Errorf("%d packets by a congested port, want 2", sent)
	}
}

// TestTakeWithoutOther: a congested port is taken when the better one is not up, leads nowhere, or
// is free too and may be chosen; a set that waits has a port to wait for. How good a port without
// values is makes no other worse.
func TestTakeWithoutOther(t *testing.T) {
	one, two := packet.PortMask(0).With(1), packet.PortMask(0).With(2)
	congested := func() *Set {
		s := newSet(t, profile(8, 2), func(*Config) {})
		s.balance.weight[1] = leastWeight
		return s
	}
	if s := congested(); s.Take(one, two) != 0 || s.Take(one|two, 0) != two {
		t.Error("a congested port is taken instead of a better one")
	}
	if s := congested(); s.Take(one, 0) != one {
		t.Error("waits for a port that is not busy")
	}
	s := congested()
	s.SetPorts(one)
	if s.Take(one, two) != one {
		t.Error("waits for a port that is down")
	}
	deny := func(s *Set, port int) {
		t.Helper()
		for i := range s.Len() {
			if s.evs[i].Port == port {
				if err := s.Deny(i); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	s = congested()
	deny(s, 2)
	if s.Take(one, two) != one {
		t.Error("waits for a port without values")
	}
	s = newSet(t, profile(8, 3), nil)
	s.balance.weight[1], s.balance.weight[2] = tolerated*0.6, 0.5 // tolerated beside 2, not 3
	deny(s, 3)
	if s.Take(one, two.With(3)) != one {
		t.Error("waits for a port that is no better than a port with values is to be")
	}
}

// TestShare: sets with a shared balance learn together, from as few packets as a single set; a set
// that leaves takes its packets in flight out of the balance.
func TestShare(t *testing.T) {
	b := NewBalance()
	var sets []*Set
	for i := range 16 {
		s := newSet(t, profile(8, 2), func(c *Config) { c.Seed = uint64(i) })
		s.Share(b)
		sets = append(sets, s)
	}
	congestPort(t, sets, mrc.SignalTrimmed, 16*12) // 12 turns of each
	if b.weight[1] > 0.2 || b.weight[2] != 1 {
		t.Errorf("weights %v, want at most 0.2 for port 1 and 1 for port 2", b.weight[1:3])
	}
	if _, ok := sets[0].Next(0, mrc.UseData, AllPorts); !ok || b.flying != 1 || sets[0].flying != 1 {
		t.Errorf("%d under way, want 1", b.flying)
	}
	sets[0].Share(nil)
	if b.flying != 0 || sets[0].balance == b || sets[0].balance.flying != 1 {
		t.Errorf("%d under way after the set left, %d with it", b.flying, sets[0].balance.flying)
	}
}

// TestWeightFollowsMarks: a port with at most a third of its packets marked keeps its whole weight;
// with more marks the weight settles where gain equals loss: raise x (1 - m) / (cut x m).
func TestWeightFollowsMarks(t *testing.T) {
	for marked, want := range map[int]float64{0: 1, 4: 1, 5: 1, 6: 5. / 6, 8: 0.5, 12: 1. / 6,
		16: leastWeight} {
		s := newSet(t, profile(8, 1), nil)
		b := s.balance
		for range 300 {
			for i := range comparison {
				marks := 0
				if i < marked {
					marks = 1
				}
				b.heard(s, 1, marks)
			}
		}
		if got := b.weight[1]; math.Abs(got-want) > 1e-9 {
			t.Errorf("%d of 16 marked: weight %v, want %v", marked, got, want)
		}
	}
}
