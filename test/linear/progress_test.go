package linear

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
)

// progressTime is how long a controller of a majority that is well among itself may accept no
// change, on a busy machine: an election of the store, the two TTLs after which a decider that the
// others do not reach has given up, and clients that wait for answers in vain.
const progressTime = 20 * time.Second

const ruleProgress = "while a majority is well among itself, each of it accepts changes"

// progress is when each controller accepted changes.
type progress struct {
	mu       sync.Mutex
	accepted [][]time.Duration // by controller, in the order of time
}

// probe makes changes at a controller until ctx ends, of a resource that it alone changes.
func (l *load) probe(ctx context.Context, n *node, id int) {
	c := n.client(answerTime)
	work := context.WithoutCancel(ctx)
	l.keys.mu.Lock()
	x := l.keys.fresh()
	l.keys.mu.Unlock()
	for ctx.Err() == nil {
		l.keys.mu.Lock()
		x = l.keys.turn(x)
		l.keys.mu.Unlock()
		if o := l.do(work, c, n, x, operation{Client: id, Action: put}); o.Outcome == done {
			l.progress.mu.Lock()
			at := &l.progress.accepted[n.number-1]
			*at = append(*at, o.Return)
			l.progress.mu.Unlock()
		}
		wait(ctx, 200*time.Millisecond)
	}
	l.keys.mu.Lock()
	defer l.keys.mu.Unlock()
	l.keys.before = append(l.keys.before, x)
}

// last returns when a controller has accepted a change last; negative: never.
func (p *progress) last(n *node) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.accepted[n.number-1]
	if len(at) == 0 {
		return -1
	}
	return at[len(at)-1]
}

// after returns when a controller has accepted its first change after a time; negative: not yet.
func (p *progress) after(n *node, from time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, at := range p.accepted[n.number-1] {
		if at > from {
			return at
		}
	}
	return -1
}

// longest returns the longest time between two changes that a controller accepted, of those times
// that meet the span between from and until; the last time ends with the first change after until.
func (p *progress) longest(n *node, from, until time.Duration) (gap time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := time.Duration(0)
	for _, at := range p.accepted[n.number-1] {
		if at > from && before <= until {
			gap = max(gap, at-before)
		}
		before = at
	}
	return gap
}

// accepts waits until each of some controllers has accepted a change after a time, and returns the
// longest of these times. A controller that accepts none within patience counts with that.
func (l *load) accepts(ctx context.Context, nodes []*node,
	from time.Duration) (took time.Duration) {
	for _, n := range nodes {
		at := l.progress.after(n, from)
		for ; at < 0 && l.h.now() < from+patience && ctx.Err() == nil; at = l.progress.after(n, from) {
			wait(ctx, 20*time.Millisecond)
		}
		if at < 0 {
			at = l.h.now()
		}
		took = max(took, at-from)
	}
	return took
}

// well reports whether each controller has accepted a change a moment ago.
func (l *load) well() bool {
	return !slices.ContainsFunc(l.b.nodes, func(n *node) bool {
		at := l.progress.last(n)
		return at < 0 || at < l.h.now()-time.Second
	})
}

// advanced waits until each controller that a fault spares has accepted a change after the fault,
// and notes the longest time without an accepted change at a controller. It fails when that is too
// long.
func (l *load) advanced(ctx context.Context, f *fault, at *node, from,
	until time.Duration) (most time.Duration) {
	spared := f.spared(l.b, at)
	l.accepts(ctx, spared, until)
	for _, n := range spared {
		gap := l.progress.longest(n, from, until)
		if l.progress.last(n) <= until {
			gap = l.h.now() - from
		}
		if most = max(most, gap); gap > progressTime {
			l.fail(ruleProgress, "%s accepted no change for %v during %s at %s", n.name, gap, f.kind,
				at.name)
		}
	}
	return most
}

// lasting returns a fault that lasts until each controller that it spares has accepted a change
// under it, and somewhat longer than that may take at most.
func (l *load) lasting(f fault) fault {
	once := f.do
	f.do = func(ctx context.Context, b *bed, at *node, r *rand.Rand, _ time.Duration) error {
		ctx, over := context.WithCancel(ctx)
		defer over()
		// By then a controller has answered all requests of before the fault.
		from := l.h.now() + answerTime + time.Second
		go func() {
			for ctx.Err() == nil && slices.ContainsFunc(f.spared(b, at), func(n *node) bool {
				return l.progress.last(n) <= from
			}) {
				wait(ctx, 50*time.Millisecond)
			}
			over()
		}()
		return once(ctx, b, at, r, progressTime+answerTime)
	}
	return f
}

// spared returns the controllers that are a majority and well among themselves during the fault.
func (f *fault) spared(b *bed, at *node) []*node {
	switch {
	case f.fabric:
		return b.nodes
	case f.all:
		return nil
	}
	return slices.DeleteFunc(slices.Clone(b.nodes), func(n *node) bool { return n == at })
}

// table writes what came of runs: one line for each fault.
func table(all []summary) string {
	kinds := make(map[string]bool)
	operations := 0
	for i := range all {
		operations += all[i].Operations
		for kind := range all[i].Faults {
			kinds[kind] = true
		}
	}
	out := &strings.Builder{}
	fmt.Fprintf(out, "%d operations in %d runs. LONGEST is the longest time for which a controller "+
		"of a majority that was well accepted no change, BACK that after the fault until all three "+
		"accepted changes.\n%-22s %6s %9s %9s\n", operations, len(all), "FAULT", "TIMES", "LONGEST",
		"BACK")
	for _, f := range faults {
		if !kinds[f.kind] {
			continue
		}
		times, longest, back := 0, 0.0, 0.0
		for i := range all {
			times += all[i].Faults[f.kind]
			longest = max(longest, all[i].Longest[f.kind])
			back = max(back, all[i].Back[f.kind])
		}
		says := fmt.Sprintf("%.2f s", longest)
		if f.all {
			says = "-" // no majority is well
		}
		fmt.Fprintf(out, "%-22s %6d %9s %7.2f s\n", f.kind, times, says, back)
	}
	return out.String()
}
