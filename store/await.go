package store

import (
	"context"
	"errors"
	"time"
)

const (
	// awaitTime is how long [Await] waits for a store, and awaitPause lies between two tries.
	awaitTime  = 30 * time.Second
	awaitPause = 200 * time.Millisecond
)

// Await calls f again while it returns [ErrUnavailable], as that of a store whose leader changes,
// for half a minute; failed gets the first such error. f may be called again after a write whose
// outcome is unknown. A disk without room does not go away by waiting.
func Await(ctx context.Context, failed func(error), f func() error) error {
	for begun, told := time.Now(), false; ; {
		err := f()
		if !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrNoRoom) ||
			time.Since(begun) >= awaitTime {
			return err
		}
		if !told {
			failed(err)
			told = true
		}
		select {
		case <-time.After(awaitPause):
		case <-ctx.Done():
			return err
		}
	}
}
