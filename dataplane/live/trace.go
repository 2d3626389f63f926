package live

import (
	"context"

	"github.com/weft-sdn/weft/dataplane/trace"
)

// Trace subscribes to what happens to packets. The channel is closed when those
// wanted have been told, when ctx ends and when the runner is closed. Nobody
// who is slow to read it holds the switch up: what there is no room for is lost
// and counted.
func (r *Runner) Trace(ctx context.Context, want trace.Filter) (<-chan trace.Item, error) {
	return r.feed.Follow(ctx, r.Do, want)
}
