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

// Await repeats f while f returns [ErrUnavailable], as during a change of the store's leader, for
// half a minute; failed gets the first such error. Await may repeat f after a write with an unknown
// outcome. Await does not wait for room on a disk.
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
