package flows

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/dataplane/drop"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/test/seeds"
)

// grey makes a link lose 1 % of its packets in one direction, and returns the time until the
// controller names the link. Naming anything else, before or in the next second, is an error, and
// so is naming nothing within 5 s.
func grey(seed uint64) (after time.Duration, story string, err error) {
	x, err := newLoop(lab.ClosConfig{}, modes[seed%uint64(len(modes))], slow, seed)
	if err != nil {
		return 0, "", err
	}
	flows := x.pairs(5, 2<<20)
	for i := range flows { // in turns, so that there are packets all the time
		flows[i].After = time.Duration(i%5)*1300*time.Millisecond +
			time.Duration(x.rng.Int64N(int64(time.Second)))
	}
	m, err := x.NewMesh(lab.MeshConfig{Flows: flows, Message: 64 << 10})
	if err != nil {
		return 0, "", err
	}
	if err := m.Start(); err != nil {
		return 0, "", err
	}
	if err := x.run(m, time.Duration(500+x.rng.IntN(1000))*time.Millisecond, nil); err != nil {
		return 0, "", err
	}
	wires := x.between()
	bad := wires[x.rng.IntN(len(wires))]
	bad.Faults.Loss = 0.01
	since := x.Now()
	err = x.run(m, 5*time.Second, func() bool {
		return x.named[bad.Name()] > 0 && x.Now() > x.named[bad.Name()]+time.Second
	})
	story = fmt.Sprintf("%s of %d packets lost %d, progress %.2f", bad.Name(), bad.Sent, bad.Lost,
		m.Progress())
	switch at := x.named[bad.Name()]; {
	case err != nil:
		return 0, story, err
	case at == 0:
		return 0, story, fmt.Errorf("%s is not named, but %v", bad.Name(), x.named)
	case len(x.named) > 1:
		return 0, story, fmt.Errorf("%s is not named alone: %v", bad.Name(), x.named)
	default:
		return at - since, story, nil
	}
}

// each runs a story for every seed, on all processors, and returns how many failed.
func each(t *testing.T, first, n uint64, story func(seed uint64) error) int {
	var next, failed atomic.Uint64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < n; i = next.Add(1) - 1 {
				if err := story(first + i); err != nil {
					failed.Add(1)
					t.Logf("seed %d (WEFT_SEED=%d go test -run '^%s$' ./test/mrc/flows): %v", first+i, first+i,
						t.Name(), err)
				}
			}
		})
	}
	wg.Wait()
	return int(failed.Load())
}

// TestGreyLink: within 5 s, in 99 of 100 seeds, the controller names only the link with 1 % packet
// loss in one direction, and names the direction.
func TestGreyLink(t *testing.T) {
	first, n := seeds.Range(t, 1, 2)
	var mu sync.Mutex
	var longest, sum time.Duration
	failed := each(t, first, n, func(seed uint64) error {
		after, story, err := grey(seed)
		t.Logf("seed %d: named after %v: %s", seed, after, story)
		mu.Lock()
		defer mu.Unlock()
		longest, sum = max(longest, after), sum+after
		return err
	})
	t.Logf("%d of %d seeds failed; named after %v on average, %v at most", failed, n,
		sum/time.Duration(n), longest)
	if failed > int(n)/100 {
		t.Errorf("%d of %d seeds failed, want 1 of 100", failed, n)
	}
}

// drops is how many packets switches have dropped, by their programs or for want of room.
func (x *loop) drops() (sum uint64) {
	for _, s := range x.Network.Switches {
		sw, _ := x.Switch(s.Name)
		for _, n := range sw.Drops() {
			sum += n
		}
		stats := sw.Device().Switch().Stats()
		sum += stats.Drops[drop.QueueFull] + stats.Drops[drop.BadPriority] + stats.Drops[drop.InputFull]
	}
	return sum
}

// congested runs two incasts of all hosts for 5 s, plus writes from every host, without a fault.
// Naming a link is an error, and so is a switch that drops a packet instead of trimming the packet.
func congested(seed uint64) (story string, err error) {
	x, err := newLoop(lab.ClosConfig{}, modes[seed%uint64(len(modes))], slow, seed)
	if err != nil {
		return "", err
	}
	before := x.drops() // probes of switches that had no routes yet
	flows := x.pairs(1, 1<<20)
	for range 2 {
		to := x.Network.Hosts[x.rng.IntN(len(x.Network.Hosts))].Name
		for _, h := range x.Network.Hosts {
			if h.Name != to {
				flows = append(flows, lab.FlowConfig{From: h.Name, To: to, Bytes: 2 << 20})
			}
		}
	}
	m, err := x.NewMesh(lab.MeshConfig{Flows: flows, Message: 64 << 10})
	if err != nil {
		return "", err
	}
	if err := m.Start(); err != nil {
		return "", err
	}
	err = x.run(m, 5*time.Second, nil)
	var trimmed, marked uint64
	for _, s := range x.Network.Switches {
		sw, _ := x.Switch(s.Name)
		for port := range uint32(32) {
			trimmed += sw.Counted(p4.CounterClassTrims, p4.ClassCell(port, plan.DataClass))
			marked += sw.Counted(p4.CounterClassMarks, p4.ClassCell(port, plan.DataClass))
		}
	}
	dropped := x.drops() - before
	story = fmt.Sprintf("%d trimmed, %d marked, %d dropped, progress %.2f", trimmed, marked, dropped,
		m.Progress())
	switch {
	case err != nil:
	case len(x.named) > 0:
		err = fmt.Errorf("%v are named", x.named)
	case trimmed == 0 || marked == 0 || dropped > 0:
		err = fmt.Errorf("no congestion, or one that loses packets: %s", story)
	}
	return story, err
}

// TestCongestionIsNotGrey: incasts that fill queues, with marks and trimming, make no link a
// suspect.
func TestCongestionIsNotGrey(t *testing.T) {
	first, n := seeds.Range(t, 1, 2)
	if failed := each(t, first, n, func(seed uint64) error {
		story, err := congested(seed)
		t.Logf("seed %d: %s", seed, story)
		return err
	}); failed > 0 {
		t.Errorf("%d of %d seeds failed", failed, n)
	}
}
