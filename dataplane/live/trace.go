package live

import (
	"context"

	"github.com/weft-sdn/weft/dataplane/trace"
)

// Trace subscribes to the traces of packets. The runner closes the channel after the last wanted
// trace, when ctx ends and when the runner is closed. A slow reader does not hold up the switch:
// the runner drops and counts traces without room in the channel.
func (r *Runner) Trace(ctx context.Context, want trace.Filter) (<-chan trace.Item, error) {
	return r.feed.Follow(ctx, r.Do, want)
}
