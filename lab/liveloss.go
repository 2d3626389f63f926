package lab

import (
	"context"
)

// Until lets the network run until done, which is asked on the world's goroutine every now and
// then, reports true or fails.
func (l *Live) Until(ctx context.Context, what string, done func(w *World) (bool, error)) error {
	return l.Wait(ctx, what, func() (ok bool, err error) {
		err = l.Do(ctx, func(w *World) error {
			ok, err = done(w)
			return err
		})
		return ok, err
	})
}

// Lose makes something fail. Switches that see it withdraw what is lost, as routers do.
func (l *Live) Lose(ctx context.Context, loss Loss) error {
	var witnesses []string
	if err := l.Do(ctx, func(w *World) (err error) {
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
