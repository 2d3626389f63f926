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

// connection carries out the tasks of one switch, over consecutive sessions with the switch.
type connection struct {
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

// errand is a task, or, without a task, the read of a switch that has come up.
type errand struct {
	session int
	work    *reconcile.Task
}

// maxPackets bounds the packet-outs that wait for a switch. The controller drops further
// packet-outs; the network can lose packet-outs, too.
const maxPackets = 65536

// readPause lies between attempts to read a switch that is up.
const readPause = 500 * time.Millisecond

// open starts the connection to a switch, and its goroutines.
func (c *Controller) open(
	ctx context.Context, g *errgroup.Group, sw inventory.Switch,
) (*connection, error) {
	ctx, cancel := context.WithCancel(ctx)
	conn := &connection{
		c: c, name: sw.Name, cancel: cancel, asked: make(chan struct{}, 1),
		woken: make(chan struct{}, 1), posted: make(chan struct{}, 1),
	}
	opened, err := c.opts.Southbound.Open(ctx, sw, func(e SwitchEvent) { conn.event(ctx, e) })
	if err != nil {
		cancel()
		return nil, fmt.Errorf("switch %s: %w", sw.Name, err)
	}
	conn.sw = opened
	g.Go(func() error { conn.write(ctx); return nil })
	g.Go(func() error { conn.sendPackets(ctx); return nil })
	g.Go(func() error { conn.setPorts(ctx); return nil })
	return conn, nil
}

// close ends the connection. The handler of events may be waiting for the caller,
// the core's goroutine, so its context ends first.
func (conn *connection) close() error {
	conn.cancel()
	conn.mu.Lock()
	conn.closed, conn.up = true, false
	conn.session++
	conn.todo, conn.packets = nil, nil
	conn.mu.Unlock()
	return conn.sw.Close()
}

// event takes what happens to the switch.
func (conn *connection) event(ctx context.Context, e SwitchEvent) {
	if e.PacketIn != nil {
		p := *e.PacketIn
		conn.c.post(ctx, func(c *Core) { c.PacketIn(conn.name, p) })
		return
	}
	if e.Digest != nil {
		d := *e.Digest
		conn.c.post(ctx, func(c *Core) { c.Digest(conn.name, d) })
		return
	}
	if e.Ports != nil {
		if conn.c.opts.Multipath != nil {
			conn.c.opts.Multipath.SetPorts(ctx, conn.name, *e.Ports)
		}
		conn.c.post(ctx, func(c *Core) { c.SetPorts(conn.name, *e.Ports) })
		return
	}
	if e.Neighbors != nil {
		conn.c.post(ctx, func(c *Core) { c.SetNeighbors(conn.name, e.Neighbors) })
		return
	}
	conn.mu.Lock()
	if conn.closed {
		conn.mu.Unlock()
		return
	}
	conn.session++
	conn.up = e.Up
	conn.todo, conn.packets = nil, nil
	if e.Up {
		conn.todo = []errand{{session: conn.session}}
		wake(conn.woken)
	} else {
		conn.left, conn.why = true, e.Err
	}
	conn.mu.Unlock()
	if !e.Up {
		conn.c.post(ctx, conn.leave)
	}
}

// leave reports to the core that the switch went down, unless that is done already. It comes before
// the next session, which may arrive with others that were queued earlier.
func (conn *connection) leave(core *Core) {
	conn.mu.Lock()
	left, why := conn.left, conn.why
	conn.left = false
	conn.mu.Unlock()
	if left {
		core.SwitchDisconnected(conn.name, why)
	}
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// give queues a work of the core.
func (conn *connection) give(w reconcile.Task) {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	if !conn.up || conn.known != conn.session {
		return // the core is about to hear of it
	}
	if n := min(len(w.Packets), maxPackets-len(conn.packets)); n > 0 {
		conn.packets = append(conn.packets, w.Packets[:n]...)
		wake(conn.posted)
	}
	if w.ID != 0 {
		w.Packets = nil
		conn.todo = append(conn.todo, errand{conn.session, &w})
		wake(conn.woken)
	}
}

// setPort queues settings of a port.
func (conn *connection) setPort(t PortTask) {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	if !conn.closed {
		conn.ports = append(conn.ports, t)
		wake(conn.asked)
	}
}

// setPorts is the goroutine that writes port settings. It neither waits for other writes nor delays
// them.
func (conn *connection) setPorts(ctx context.Context) {
	for {
		select {
		case <-conn.asked:
		case <-ctx.Done():
			return
		}
		conn.mu.Lock()
		tasks := conn.ports
		conn.ports = nil
		conn.mu.Unlock()
		for _, t := range tasks {
			refused, err := conn.sw.SetPort(ctx, t.Interface, &t.Settings)
			conn.c.post(ctx,
				func(c *Core) {
					c.PortDone(PortResult{ID: t.ID, Switch: t.Switch, Refused: refused, Err: err})
				})
		}
	}
}

// current reports whether a session is the present one.
func (conn *connection) current(session int) bool {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	return conn.session == session && conn.up
}

// meet is current, and notes that the core knows the session: from now on, the tasks of the core
// apply to the switch in the state of that read.
func (conn *connection) meet(session int) bool {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	if conn.session != session || !conn.up {
		return false
	}
	conn.known = session
	return true
}

// write is the goroutine that writes and reads.
func (conn *connection) write(ctx context.Context) {
	for {
		select {
		case <-conn.woken:
		case <-ctx.Done():
			return
		}
		for {
			conn.mu.Lock()
			if len(conn.todo) == 0 {
				conn.mu.Unlock()
				break
			}
			j := conn.todo[0]
			conn.todo = conn.todo[1:]
			conn.mu.Unlock()
			if j.work == nil {
				conn.connect(ctx, j.session)
			} else {
				conn.carryOut(ctx, j)
			}
		}
	}
}

// connect reads a switch that has come up, and retries until the read succeeds or the switch is
// down.
func (conn *connection) connect(ctx context.Context, session int) {
	for conn.current(session) {
		contents, err := conn.sw.Read(ctx)
		if err == nil {
			conn.c.arrive(ctx, arrival{conn, session, contents})
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
	conn     *connection
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
			if a.conn.meet(a.session) {
				a.conn.leave(core)
				core.switchConnected(a.conn.name, a.contents)
			}
		}
		if len(all) > 0 {
			core.settle()
		}
	})
}

// carryOut does a work and reports its outcome.
func (conn *connection) carryOut(ctx context.Context, j errand) {
	w := j.work
	r := reconcile.Result{Switch: w.Switch, ID: w.ID}
	done := 0
	var wrote []entry.Update // that the switch accepted
	var places []int         // of these in w
	for _, b := range w.Batches {
		if !conn.current(j.session) {
			r.Err = errors.New("the connection was lost")
			break
		}
		refused, err := conn.sw.Write(ctx, b)
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
		without, r.Err = conn.sw.Confirm(ctx, wrote)
		for _, f := range without {
			f.Update = places[f.Update]
			r.Refused = append(r.Refused, f)
		}
	}
	if w.Read && r.Err == nil {
		r.Contents, r.Err = conn.sw.Read(ctx)
	}
	conn.c.post(ctx, func(c *Core) { c.Done(r) })
}

// sendPackets is the goroutine that hands over packet-outs, which must not wait
// for writes.
func (conn *connection) sendPackets(ctx context.Context) {
	for {
		select {
		case <-conn.posted:
		case <-ctx.Done():
			return
		}
		conn.mu.Lock()
		packets := conn.packets
		conn.packets = nil
		conn.mu.Unlock()
		for _, p := range packets {
			if sw, ok := conn.sw.(P4Switch); !ok || sw.PacketOut(ctx, p) != nil {
				break // it is down, and so are the packets
			}
		}
	}
}
