package nscc

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/packet"
)

// TestApply: the QPCC applies increases after more than AdjustBytes received octets, or after more
// than AdjustPeriod; the QPCC adds the unconditional increase once a period, from the end of the
// period on.
func TestApply(t *testing.T) {
	const period, octets = 10 * time.Microsecond, 8000
	for _, c := range []struct {
		name     string
		passed   time.Duration
		received int64
		applied  bool
		eta      bool
	}{
		{"little, too soon", period, octets, false, false},
		{"much, too soon", period - 1, octets + 1, true, false},
		{"much, at the end", period, octets + 1, true, true},
		{"little, late", period + 1, 1, true, true},
	} {
		q := newQPCC(t, func(cfg *Config) {
			cfg.AdjustPeriod, cfg.AdjustBytes, cfg.Eta = period, octets, 1000
		})
		const begin = time.Millisecond
		q.lastAdjust, q.received, q.inc = begin, c.received, 3*float64(q.cwnd)
		before := q.cwnd
		q.apply(begin+c.passed, 0.5)
		want := before
		if c.applied {
			want += 3
		}
		if c.eta {
			want += 500
		}
		if q.cwnd != want || (q.inc == 0) != c.applied || (q.received == 0) != c.applied ||
			(q.lastAdjust == begin+c.passed) != c.eta {
			t.Errorf("%s: window %d, want %d; %v, %d, %v", c.name, q.cwnd, want, q.inc, q.received,
				q.lastAdjust)
		}
	}
}

// TestPenaltiesCount: each SACK with a penalty and with news counts, and takes its share of the
// news out of the window; 127 takes all, and more counts as that.
func TestPenaltiesCount(t *testing.T) {
	q := newQPCC(t, nil)
	for i, c := range []struct {
		newly   int64
		penalty uint8
		ignore  bool
		takes   int64
		share   float64
		counted uint64
	}{
		{1270, 0, false, 0, 1, 0}, {1270, 1, false, 10, 126.0 / 127, 1}, {0, 127, false, 0, 1, 1},
		{-1, 127, false, 0, 1, 1}, {1, 127, false, 1, 0, 2}, {1270, 255, false, 1270, 0, 3},
		{1270, 127, true, 0, 1, 3},
	} {
		q.cfg.IgnorePenalty = c.ignore
		before := q.cwnd
		share := q.penalise(c.newly, c.penalty, false)
		if q.cwnd != before-c.takes || share != c.share || uint64(q.Stats().Penalties) != c.counted {
			t.Errorf("SACK %d: takes %d, leaves %v of increases, %d counted; want %d, %v, %d", i,
				before-q.cwnd, share, q.Stats().Penalties, c.takes, c.share, c.counted)
		}
	}
}

// TestPenaltyRestores: the window that a penalty began with comes back with the first SACK without
// one, where the last SACK with one asked for that, and it was not greater then.
func TestPenaltyRestores(t *testing.T) {
	for _, restore := range []bool{false, true} {
		for _, grown := range []int64{0, 50_000} {
			q := newQPCC(t, nil)
			q.cwnd = 60_000
			q.penalise(20_000, packet.MaxRcvCwndPenalty, !restore)
			q.penalise(10_000, packet.MaxRcvCwndPenalty, restore)
			if q.cwnd != 30_000 {
				t.Fatalf("window %d", q.cwnd)
			}
			q.cwnd += grown
			q.penalise(1, 0, false)
			want := 30_000 + grown
			if restore {
				want = max(want, 60_000)
			}
			if q.cwnd != want {
				t.Errorf("restore %v: window %d, want %d", restore, q.cwnd, want)
			}
			q.cwnd = 20_000
			if q.penalise(1, 0, true); q.cwnd != 20_000 {
				t.Errorf("restore %v: window %d after the penalty's end", restore, q.cwnd)
			}
		}
	}
}

// TestMinCwndOfProfile: where a profile leaves the least window to the device, it is the device's
// own, but no greater than the greatest of the profile.
func TestMinCwndOfProfile(t *testing.T) {
	own := DefaultConfig(reference)
	own.MinCwnd = 20_000
	for _, c := range []struct{ sentMin, sentMax, want int }{
		{0, 100_000, 20_000}, {0, 20_000, 20_000}, {0, 19_999, 19_999}, {9000, 19_999, 9000},
		{9000, 100_000, 9000},
	} {
		sent := own.Profile()
		sent.MinCwnd, sent.MaxCwnd = uint32(c.sentMin), uint32(c.sentMax)
		if got, err := own.WithProfile(sent); err != nil || got.MinCwnd != c.want {
			t.Errorf("%+v: %d, %v", c, got.MinCwnd, err)
		}
	}
}

// TestWhatIsOfBefore: after the window was set, marks say nothing until as many octets were heard
// of as were in flight then.
func TestWhatIsOfBefore(t *testing.T) {
	for _, ignored := range []int64{99, 100, 101} {
		c := newQPCC(t, func(cfg *Config) { cfg.DisableQA = false })
		c.adapt = quickAdapt{running: true, end: time.Hour, toIgnore: 100, ignored: ignored}
		if skip := c.quickAdapt(0, false, true, 0); skip != (ignored < 100) {
			t.Errorf("%d octets of 100 were heard of: left out %v", ignored, skip)
		}
	}
}
