package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/reconcile"
	"github.com/weft-sdn/weft/southbound/entry"
)

// link carries out the works of one switch.
type link struct {
	c      *Controller
	name   string
	sw     Switch
	cancel context.CancelFunc

	// mu guards the fields below it.
	mu      sync.Mutex
	session int // counts the times it came up or went down
	known   int // the session that the core knows of
	up      bool
	closed  bool
	left    bool  // it went down, and the core has not heard of it
	why     error // why it went down
	todo    []errand
	packets []entry.PacketOut
	ports   []PortTask
	asked   chan struct{} // of capacity 1: there is something in ports
	woken   chan struct{} // of capacity 1: there is something in todo
	posted  chan struct{} // of capacity 1: there is something in packets
}

// errand is a work, or without one the reading of a switch that has come up.
type errand struct {
	session int
	work    *reconcile.Task
}

// maxPackets bounds the packet-outs that wait for a switch. Those over it are
// lost, as they can be on the way.
const maxPackets = 65536

// readPause lies between attempts to read a switch that is up.
const readPause = 500 * time.Millisecond

// open starts the relation to a switch, and its goroutines.
func (c *Controller) open(ctx context.Context, g *errgroup.Group, sw inventory.Switch) (*link, error) {
	ctx, cancel := context.WithCancel(ctx)
	l := &link{c: c, name: sw.Name, cancel: cancel, asked: make(chan struct{}, 1), woken: make(chan struct{}, 1), posted: make(chan struct{}, 1)}
	opened, err := c.opts.Southbound.Open(ctx, sw, func(e SwitchEvent) { l.event(ctx, e) })
	if err != nil {
		cancel()
		return nil, fmt.Errorf("switch %s: %w", sw.Name, err)
	}
	l.sw = opened
	g.Go(func() error { l.write(ctx); return nil })
	g.Go(func() error { l.sendPackets(ctx); return nil })
	g.Go(func() error { l.setPorts(ctx); return nil })
	return l, nil
}

// close ends the relation. The handler of events may be waiting for the caller,
// the core's goroutine, so its context ends first.
func (l *link) close() error {
	l.cancel()
	l.mu.Lock()
	l.closed, l.up = true, false
	l.session++
	l.todo, l.packets = nil, nil
	l.mu.Unlock()
	return l.sw.Close()
}

// event takes what happens to the switch.
func (l *link) event(ctx context.Context, e SwitchEvent) {
	if e.PacketIn != nil {
		p := *e.PacketIn
		l.c.post(ctx, func(c *Core) { c.PacketIn(l.name, p) })
		return
	}
	if e.Digest != nil {
		d := *e.Digest
		l.c.post(ctx, func(c *Core) { c.Digest(l.name, d) })
		return
	}
	if e.Ports != nil {
		if l.c.opts.Ports != nil {
			l.c.opts.Ports(ctx, l.name, *e.Ports)
		}
		l.c.post(ctx, func(c *Core) { c.SetPorts(l.name, *e.Ports) })
		return
	}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return
	}
	l.session++
	l.up = e.Up
	l.todo, l.packets = nil, nil
	if e.Up {
		l.todo = []errand{{session: l.session}}
		wake(l.woken)
	} else {
		l.left, l.why = true, e.Err
	}
	l.mu.Unlock()
	if !e.Up {
		l.c.post(ctx, l.leave)
	}
}

// leave reports to the core that the switch went down, unless that is done already. It comes before
// the next session, which may arrive with others that were queued earlier.
func (l *link) leave(core *Core) {
	l.mu.Lock()
	left, why := l.left, l.why
	l.left = false
	l.mu.Unlock()
	if left {
		core.SwitchDisconnected(l.name, why)
	}
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// give queues a work of the core.
func (l *link) give(w reconcile.Task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.up || l.known != l.session {
		return // the core is about to hear of it
	}
	if n := min(len(w.Packets), maxPackets-len(l.packets)); n > 0 {
		l.packets = append(l.packets, w.Packets[:n]...)
		wake(l.posted)
	}
	if w.ID != 0 {
		w.Packets = nil
		l.todo = append(l.todo, errand{l.session, &w})
		wake(l.woken)
	}
}

// setPort queues settings of a port.
func (l *link) setPort(t PortTask) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.ports = append(l.ports, t)
		wake(l.asked)
	}
}

// setPorts is the goroutine that writes settings of ports, which neither waits for other writes nor
// holds them up.
func (l *link) setPorts(ctx context.Context) {
	for {
		select {
		case <-l.asked:
		case <-ctx.Done():
			return
		}
		l.mu.Lock()
		tasks := l.ports
		l.ports = nil
		l.mu.Unlock()
		for _, t := range tasks {
			refused, err := l.sw.SetPort(ctx, t.Interface, &t.Settings)
			l.c.post(ctx, func(c *Core) { c.PortDone(PortResult{ID: t.ID, Switch: t.Switch, Refused: refused, Err: err}) })
		}
	}
}

// current reports whether a session is the present one.
func (l *link) current(session int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session == session && l.up
}

// meet is current, and reports that the core knows of the session: what it gives from now on is for the
// switch as it was read then.
func (l *link) meet(session int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session != session || !l.up {
		return false
	}
	l.known = session
	return true
}

// write is the goroutine that writes and reads.
func (l *link) write(ctx context.Context) {
	for {
		select {
		case <-l.woken:
		case <-ctx.Done():
			return
		}
		for {
			l.mu.Lock()
			if len(l.todo) == 0 {
				l.mu.Unlock()
				break
			}
			j := l.todo[0]
			l.todo = l.todo[1:]
			l.mu.Unlock()
			if j.work == nil {
				l.connect(ctx, j.session)
			} else {
				l.carryOut(ctx, j)
			}
		}
	}
}

// connect reads a switch that has come up, until that works or it is down.
func (l *link) connect(ctx context.Context, session int) {
	for l.current(session) {
		contents, err := l.sw.Read(ctx)
		if err == nil {
			l.c.arrive(ctx, arrival{l, session, contents})
			return
		}
		select {
		case <-time.After(readPause):
		case <-ctx.Done():
			return
		}
	}
}

// arrival is a switch that has come up and was read.
type arrival struct {
	l        *link
	session  int
	contents entry.Contents
}

// arrive hands a switch that was read to the core, with all others that wait for that: what follows
// from them is computed once.
func (c *Controller) arrive(ctx context.Context, a arrival) {
	c.mu.Lock()
	c.arrivals = append(c.arrivals, a)
	c.mu.Unlock()
	c.post(ctx, func(core *Core) {
		c.mu.Lock()
		all := c.arrivals
		c.arrivals = nil
		c.mu.Unlock()
		for _, a := range all {
			if a.l.meet(a.session) {
				a.l.leave(core)
				core.switchConnected(a.l.name, a.contents)
			}
		}
		if len(all) > 0 {
			core.settle()
		}
	})
}

// carryOut does a work and reports its outcome.
func (l *link) carryOut(ctx context.Context, j errand) {
	w := j.work
	r := reconcile.Result{Switch: w.Switch, ID: w.ID}
	done := 0
	var wrote []entry.Update // that the switch accepted
	var places []int         // of these in w
	for _, b := range w.Batches {
		if !l.current(j.session) {
			r.Err = errors.New("the connection was lost")
			break
		}
		refused, err := l.sw.Write(ctx, b)
		bad := make(map[int]bool, len(refused))
		for _, f := range refused {
			bad[f.Update] = true
			f.Update += done
			r.Refused = append(r.Refused, f)
		}
		for i, u := range b {
			if !bad[i] {
				wrote, places = append(wrote, u), append(places, done+i)
			}
		}
		done += len(b)
		if err != nil {
			r.Err = err
			break
		}
	}
	// A switch that says yes and does nothing must not count as programmed.
	if len(wrote) > 0 && r.Err == nil {
		var without []entry.Refusal
		without, r.Err = l.sw.Confirm(ctx, wrote)
		for _, f := range without {
			f.Update = places[f.Update]
			r.Refused = append(r.Refused, f)
		}
	}
	if w.Read && r.Err == nil {
		r.Contents, r.Err = l.sw.Read(ctx)
	}
	l.c.post(ctx, func(c *Core) { c.Done(r) })
}

// sendPackets is the goroutine that hands over packet-outs, which must not wait
// for writes.
func (l *link) sendPackets(ctx context.Context) {
	for {
		select {
		case <-l.posted:
		case <-ctx.Done():
			return
		}
		l.mu.Lock()
		packets := l.packets
		l.packets = nil
		l.mu.Unlock()
		for _, p := range packets {
			if l.sw.PacketOut(ctx, p) != nil {
				break // it is down, and so are the packets
			}
		}
	}
}
