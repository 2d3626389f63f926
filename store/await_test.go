package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/store"
)

// TestAwait: Await waits for a store that is unavailable for a while, for example during a leader
// change, but not after other errors or with a full disk.
func TestAwait(t *testing.T) {
	gone := fmt.Errorf("%w: etcdserver: leader changed", store.ErrUnavailable)
	full := fmt.Errorf("%w: %w", store.ErrUnavailable, store.ErrNoRoom)
	other := errors.New("other")
	for _, c := range []struct {
		name  string
		fails int
		err   error
		want  error
		took  time.Duration
		told  int
	}{
		{"at once", 0, gone, nil, 0, 0},
		{"after three tries", 3, gone, nil, 600 * time.Millisecond, 1},
		{"never", 1000, gone, gone, 30 * time.Second, 1},
		{"full", 3, full, full, 0, 0},
		{"other", 3, other, other, 0, 0},
	} {
		bubble.Test(t, func(t *testing.T) {
			begun, calls, told := time.Now(), 0, 0
			err := store.Await(t.Context(), func(error) { told++ }, func() error {
				if calls++; calls <= c.fails {
					return c.err
				}
				return nil
			})
			if took := time.Since(begun); !errors.Is(err, c.want) || took != c.took || told != c.told {
				t.Errorf("%s: %v after %v, told %d times; want %v after %v, %d times", c.name, err, took, told,
					c.want, c.took, c.told)
			}
		})
	}
	bubble.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		if err := store.Await(ctx, func(error) {}, func() error { return gone }); !errors.Is(err, gone) ||
			time.Since(begun) != time.Second {
			t.Errorf("interrupted: %v after %v", err, time.Since(begun))
		}
	})
}
