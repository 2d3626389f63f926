package live

import (
	"context"
	"time"

	"github.com/weft-sdn/weft/dataplane/trace"
)

// Trace subscribes to what happens to packets. The channel is closed when those
// wanted have been told, when ctx ends and when the runner is closed. Nobody
// who is slow to read it holds the switch up: what there is no room for is lost
// and counted.
func (r *Runner) Trace(ctx context.Context, want trace.Filter) (<-chan trace.Item, error) {
	var s *trace.Subscription
	if err := r.Do(ctx, func(time.Duration) { s = r.feed.Subscribe(want) }); err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() {
		// After Close there is nothing left to end.
		_ = r.Do(context.WithoutCancel(ctx), func(time.Duration) { r.feed.Unsubscribe(s) })
	})
	return s.C, nil
}
