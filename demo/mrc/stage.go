package mrc

import (
	"context"

	"github.com/weft-sdn/weft/lab"
)

// A stage is a network that runs, in real time ([lab.Live]) or in virtual time.
type stage interface {
	// Do runs f on the world's goroutine.
	Do(ctx context.Context, f func(w *lab.World) error) error
	// Until lets the network run until done, which is asked on the world's goroutine every now and
	// then, reports true or fails.
	Until(ctx context.Context, what string, done func(w *lab.World) (bool, error)) error
	// Lose makes something fail. Switches that see it withdraw what is lost, as routers do.
	Lose(ctx context.Context, l lab.Loss) error
}
