package lab

import (
	"context"
	"time"
)

// A stage is a network that runs, in real or in virtual time, for those who have its hosts do
// something.
type stage interface {
	// do runs f on the world's goroutine.
	do(ctx context.Context, f func(w *World) error) error
	// until lets the network run until done, which is asked on the world's goroutine every now and
	// then, says so.
	until(ctx context.Context, what string, done func(w *World) (bool, error)) error
	// lose has something fail; switches that see it withdraw what is gone, as routers do. It returns
	// when in the world's time it failed.
	lose(ctx context.Context, l Loss) (time.Duration, error)
}

func (l *Live) do(ctx context.Context, f func(w *World) error) (err error) {
	if stopped := l.Clock.Do(ctx, func(time.Duration) { err = f(l.World) }); stopped != nil {
		return stopped
	}
	return err
}

func (l *Live) until(ctx context.Context, what string, done func(w *World) (bool, error)) error {
	return l.poll(ctx, what, func() (ok bool, err error) {
		err = l.do(ctx, func(w *World) error {
			ok, err = done(w)
			return err
		})
		return ok, err
	})
}

func (l *Live) lose(ctx context.Context, loss Loss) (at time.Duration, err error) {
	var witnesses []string
	if err := l.do(ctx, func(w *World) error {
		at = w.now
		witnesses, err = w.Lose(loss)
		return err
	}); err != nil {
		return 0, err
	}
	for _, name := range witnesses {
		if err := l.advertise(ctx, name); err != nil {
			return 0, err
		}
	}
	for _, name := range loss.Switches {
		if err := l.hangUp(name); err != nil {
			return 0, err
		}
	}
	return at, nil
}
