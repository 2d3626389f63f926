package run

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/weft-sdn/weft/dataplane/live"
)

// forgetElections has a switch forget the election ids of its controllers on each SIGUSR1, until
// end is called.
func forgetElections(ctx context.Context, runner *live.Runner, log *slog.Logger) (end func()) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-asked:
			case <-ctx.Done():
				return
			}
			if err := runner.Do(ctx,
				func(time.Duration) { runner.Sessions().ForgetElections() }); err == nil {
				log.Warn("the election ids of controllers are forgotten, and none is primary until it takes " +
					"part again")
			}
		}
	}()
	return func() {
		signal.Stop(asked)
		cancel()
		<-done
	}
}
