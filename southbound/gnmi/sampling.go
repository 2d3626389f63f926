package gnmi

import (
	"context"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"golang.org/x/time/rate"
)

// sidsRetry is the longest time until a switch that has no SIDs to count is asked again: it gets
// them soon.
const sidsRetry = 30 * time.Second

// count samples the counters of a stream until ctx ends. If the switch has no counters, or fails,
// count asks again later.
func (w *Watcher) count(ctx context.Context, client gpb.GNMIClient, d *Dialect, name string) {
	retry := w.cfg.Retry
	if name == sidsStream {
		retry = min(retry, sidsRetry)
	}
	w.cfg.Backoff.Keep(ctx, func(ctx context.Context) (time.Duration, error) {
		served, err := w.sample(ctx, client, d, name)
		if refused(err) {
			pause(ctx, retry)
			w.mu.Lock()
			delete(w.asked.accepted, name)
			w.mu.Unlock()
		}
		return served, err
	}, func(error, time.Duration) {})
}

// sample keeps the subscription of a stream of counters.
func (w *Watcher) sample(ctx context.Context, client gpb.GNMIClient, d *Dialect,
	name string) (served time.Duration, err error) {
	all := counters{sw: w.cfg.Switch, tree: d.tree}
	var began time.Time
	timer := time.NewTimer(0)
	<-timer.C
	defer timer.Stop()
	flush := func() {
		timer.Stop()
		w.mu.Lock()
		numbers := w.numbers
		w.mu.Unlock()
		if batch := all.flush(func(iface string) uint32 { return numbers[iface] },
			time.Now()); len(batch) > 0 {
			w.cfg.Samples(batch)
		}
	}
	err = w.subscribe(ctx, client, d, name, pace{rate.NewLimiter(counterRate, counterBurst)},
		timer.C, func(m *gpb.SubscribeResponse) error {
			if m == nil {
				flush()
				return nil
			}
			if began.IsZero() {
				began = time.Now()
				all.keeps = !w.sampled(name)
			}
			if m.GetUpdate() == nil {
				return nil
			}
			idle := len(all.pending) == 0
			if err := all.take(m.GetUpdate(), flush); err != nil {
				return err
			}
			if idle && len(all.pending) > 0 {
				timer.Reset(min(gatherTime, w.cfg.SampleInterval/2))
			}
			return nil
		})
	if !began.IsZero() {
		served = time.Since(began)
	}
	return served, err
}

// sampled reports whether the switch takes SAMPLE for all counters of a stream: then a count that
// it leaves out is not known.
func (w *Watcher) sampled(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.asked.report.Paths {
		if p.Stream == name && p.Mode != "" && p.Mode != gpb.SubscriptionMode_SAMPLE.String() {
			return false
		}
	}
	return true
}
