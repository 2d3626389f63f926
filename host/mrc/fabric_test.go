package mrc_test

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/nscc"
	"github.com/weft-sdn/weft/host/spray"
	"github.com/weft-sdn/weft/test/seeds"
)

func newSet(t testing.TB, seed uint64, planes int) mrc.Sprayer {
	s, err := spray.New(spray.DefaultConfig(seed), spray.Auto(seed, 16, planes))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newCongestion(t testing.TB, n nscc.Network) mrc.Congestion {
	c, err := nscc.New(nscc.DefaultConfig(n))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestWritesWithNSCC: what TestWrites asks for, with the real congestion control and choice of
// paths.
func TestWritesWithNSCC(t *testing.T) {
	first, n := seeds.Range(t, 1, 20)
	for seed := first; seed < first+n; seed++ {
		_, err := mrc.RunWrites(t, seed, func(_, pmtu int) mrc.Congestion {
			return newCongestion(t, nscc.Network{Rate: 100e9, RTT: 20 * time.Microsecond, MTU: pmtu + 100,
				Trimming: true})
		}, func(seed uint64, planes int) mrc.Sprayer { return newSet(t, seed, planes) })
		if err != nil {
			t.Fatalf("seed %d (WEFT_SEED=%d): %v", seed, seed, err)
		}
	}
}

// TestIncast: 15 hosts write to one at once. Trimming loses nothing, no timer expires, and the
// bottleneck is well used.
func TestIncast(t *testing.T) {
	const rate, delay = 400e9, time.Microsecond
	r, err := mrc.RunIncast(t, 1, 15, 2, 4<<20, rate, delay, func() mrc.Congestion {
		return newCongestion(t, nscc.Network{Rate: 2 * rate, RTT: 4200 * time.Nanosecond, MTU: 4096,
			Trimming: true})
	}, func(seed uint64, planes int) mrc.Sprayer { return newSet(t, seed, planes) })
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", r)
	if n := r.Counters.RequestsResent; n != uint64(r.Trimmed) {
		t.Errorf("%d packets sent again, %d were trimmed", n, r.Trimmed)
	}
	if r.Dropped != 0 || r.Counters.Timeouts != 0 || r.Goodput < 0.9 {
		t.Errorf("%d dropped, %d timeouts, goodput %.3f of the bottleneck", r.Dropped,
			r.Counters.Timeouts, r.Goodput)
	}
}
