package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	// lookPatience is the time between two looks at what the machine lets the process have.
	lookPatience = time.Second
	// leastShare bounds how long a limit of Patience may become by the clock: 16 times as long.
	leastShare = 1. / 16
)

// Patience returns a context that ends with [context.DeadlineExceeded] when the work under it had
// limit to run. A second counts by the share in which runnable threads of the process actually ran:
// on a machine busy with other work a second counts less, but at least 1/16, and when all threads
// wait for something it counts in full. Without Linux's schedstat, Patience counts clock time.
func Patience(parent context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return patience(parent, limit, processTimes)
}

// patience is Patience; times returns for how long threads ran, and were ready to and did not.
func patience(parent context.Context, limit time.Duration,
	times func() (ran, kept time.Duration)) (context.Context, context.CancelFunc) {
	p := &patient{Context: parent, done: make(chan struct{})}
	stop := make(chan struct{})
	go func() {
		tick := time.NewTicker(min(lookPatience, limit))
		defer tick.Stop()
		last := time.Now()
		ran, kept := times()
		for left := limit; left > 0; {
			select {
			case now := <-tick.C:
				nextRan, nextKept := times()
				left -= time.Duration(share(now.Sub(last), nextRan-ran, nextKept-kept) *
					float64(now.Sub(last)))
				last, ran, kept = now, nextRan, nextKept
			case <-parent.Done():
				p.end(parent.Err())
				return
			case <-stop:
				p.end(context.Canceled)
				return
			}
		}
		p.end(context.DeadlineExceeded)
	}()
	return p, sync.OnceFunc(func() { close(stop); <-p.done })
}

// share returns how much of a time counts, if threads ran and were kept from running for the given
// times.
func share(of, ran, kept time.Duration) float64 {
	ran, kept = max(ran, 0), max(kept, 0) // those of threads that have ended are gone
	if ran+kept < of/100 {
		return 1 // they wait for something else
	}
	return max(leastShare, float64(ran)/float64(ran+kept))
}

// patient is the context of Patience.
type patient struct {
	context.Context
	done chan struct{}
	err  error // set before done is closed
}

func (p *patient) end(err error) {
	p.err = err
	close(p.done)
}

// Done implements [context.Context].
func (p *patient) Done() <-chan struct{} { return p.done }

// Err implements [context.Context].
func (p *patient) Err() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// processTimes sums /proc/self/task/*/schedstat (Documentation/scheduler/sched-stats of Linux).
func processTimes() (ran, kept time.Duration) {
	files, err := filepath.Glob("/proc/self/task/*/schedstat")
	if err != nil {
		return 0, 0
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		var r, k int64
		if _, err := fmt.Sscan(string(text), &r, &k); err == nil {
			ran, kept = ran+time.Duration(r), kept+time.Duration(k)
		}
	}
	return ran, kept
}
