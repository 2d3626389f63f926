package lab

import (
	"context"
)

// A stage is a network that runs, in real or in virtual time, for those who have its hosts do
// something.
type stage interface {
	// do runs f on the world's goroutine.
	do(ctx context.Context, f func(w *World) error) error
	// until lets the network run until done, which is asked on the world's goroutine every now and
	// then, says so.
	until(ctx context.Context, what string, done func(w *World) (bool, error)) error
	// lose has something fail; switches that see it withdraw what is gone, as routers do.
	lose(ctx context.Context, l Loss) error
}

func (l *Live) until(ctx context.Context, what string, done func(w *World) (bool, error)) error {
	return l.Wait(ctx, what, func() (ok bool, err error) {
		err = l.do(ctx, func(w *World) error {
			ok, err = done(w)
			return err
		})
		return ok, err
	})
}

func (l *Live) lose(ctx context.Context, loss Loss) error {
	var witnesses []string
	if err := l.do(ctx, func(w *World) (err error) {
		witnesses, err = w.Lose(loss)
		return err
	}); err != nil {
		return err
	}
	for _, name := range witnesses {
		if err := l.advertise(ctx, name); err != nil {
			return err
		}
	}
	for _, name := range loss.Switches {
		if err := l.hangUp(name); err != nil {
			return err
		}
	}
	return nil
}
