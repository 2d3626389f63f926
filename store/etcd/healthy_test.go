package etcd

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/weft-sdn/weft/internal/bubble"
)

// TestWhenHealthy: a change of the members waits while etcd calls itself unhealthy, as long as the
// caller does, and not for another error.
func TestWhenHealthy(t *testing.T) {
	other := errors.New("another")
	for name, c := range map[string]struct {
		answers []error // one a call; the last for all after it
		limit   time.Duration
		calls   int
		want    error
	}{
		"at once":     {[]error{nil}, time.Minute, 1, nil},
		"later":       {[]error{rpctypes.ErrUnhealthy, rpctypes.ErrUnhealthy, nil}, time.Minute, 3, nil},
		"never":       {[]error{rpctypes.ErrUnhealthy}, 5 * time.Second / 2, 3, rpctypes.ErrUnhealthy},
		"another":     {[]error{other}, time.Minute, 1, other},
		"then failed": {[]error{rpctypes.ErrUnhealthy, other}, time.Minute, 2, other},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), c.limit)
				defer cancel()
				calls := 0
				err := again(ctx, func() error {
					answer := c.answers[min(calls, len(c.answers)-1)]
					calls++
					return answer
				}, rpctypes.ErrUnhealthy)
				if !errors.Is(err, c.want) || calls != c.calls {
					t.Errorf("%v after %d calls, want %v after %d", err, calls, c.want, c.calls)
				}
			})
		})
	}
}
