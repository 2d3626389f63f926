package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/weft-sdn/weft/internal/retry"
	"github.com/weft-sdn/weft/store"
)

// Config is how a controller takes part.
type Config struct {
	// Self is this controller; Joined and Instance are filled in.
	Self  Member
	Store store.Shared
	// TTL is how long a silent controller still counts as present. Default 2 s.
	TTL time.Duration
	// Margin is how long before the end of its lease a controller stops. Default a sixth of TTL.
	Margin time.Duration
	// Lead decides: the node calls it for each mandate of this controller; it returns when ctx ends.
	// An error ends the term.
	Lead func(ctx context.Context, m *Mandate) error
	// Switches returns the switches whose sessions the controllers share; nil: there are none.
	Switches func() []Switch
	// Generation returns a number above those of all owners before, which s keeps. The decider calls
	// it before it decides on owners.
	Generation func(ctx context.Context, s store.Store) (uint32, error)
	// Hold begins the session of a switch that this controller owns now, and does not wait for the
	// switch. Nothing may be written to the switch unless t allows it, nor after end has returned. The
	// session reports by held whether the installation holds the switch (Owner.Held).
	Hold func(ctx context.Context, sw string, o Owner, t *Tenure, held func(bool)) (end func(),
		err error)
	// Alarm, when not nil, returns the fault of this controller that all controllers must know; nil:
	// no fault.
	Alarm func() *Alarm
	// Ping, when not nil, reports why another controller cannot be reached, or refuses this
	// controller's requests. Equal reasons have equal words.
	Ping func(ctx context.Context, m Member) error
	// Changed, when not nil, receives the old and the new view when this controller's knowledge of the
	// cluster has changed. Changed must not block.
	Changed func(old, now View)
	// Log gets what goes wrong. Default: nothing is logged.
	Log *slog.Logger
}

const (
	defaultTTL = 2 * time.Second
	// relist is how often all records are read again: a watch may have lost some.
	relist = 30 * time.Second
	// yieldTTLs is the pause in TTLs between looks of a decider at the store's lead: a decider that
	// leads the store at two looks in a row yields.
	yieldTTLs = 3
	// alarmLooks is how often in a TTL a controller looks whether it has something to tell the others:
	// an alarm, or whom it reaches.
	alarmLooks = 8
	// farewell bounds the time taken to end a lease.
	farewell = time.Second
)

// Node is one controller among several. Its methods may be called from any goroutine.
type Node struct {
	cfg Config

	mu      sync.Mutex
	view    View
	tenure  *Tenure // nil: there is no lease
	changed chan struct{}
	uneven  unevenShare
}

// unevenShare describes an uneven distribution of switches, as the decider sees it.
type unevenShare struct {
	why   string // "" : nothing
	since time.Time
}

// unevenFor is how long switches may be shared out unevenly before somebody is told: a controller
// that joins gets its share a few switches at a time.
const unevenFor = time.Minute

// Uneven reports what has been wrong with the owners of switches for a minute; "" when nothing has,
// or this controller does not decide.
func (n *Node) Uneven() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.uneven.why == "" || time.Since(n.uneven.since) < unevenFor {
		return ""
	}
	return n.uneven.why
}

// setUneven notes what is wrong with the owners of switches.
func (n *Node) setUneven(why string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.uneven.why == "" {
		n.uneven.since = time.Now()
	}
	n.uneven.why = why
}

// New returns a node, which takes part while Run runs.
func New(c Config) *Node {
	if c.TTL == 0 {
		c.TTL = defaultTTL
	}
	if c.Margin == 0 {
		c.Margin = c.TTL / 6
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Node{cfg: c, changed: make(chan struct{})}
}

// View returns the controller's present view, and a channel that closes at the next change.
func (n *Node) View() (View, <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	v := n.view
	if n.tenure != nil {
		v.Until = n.tenure.lease.Until()
	}
	return v, n.changed
}

// TTL returns how long the lease lasts that is not renewed.
func (n *Node) TTL() time.Duration { return n.cfg.TTL }

// setView publishes what is known.
func (n *Node) setView(v View, t *Tenure) {
	n.mu.Lock()
	old := n.view
	n.view, n.tenure = v, t
	close(n.changed)
	n.changed = make(chan struct{})
	n.mu.Unlock()
	if n.cfg.Changed != nil {
		n.cfg.Changed(old, v)
	}
}

// Run takes part until ctx ends. Then it hands over in order: it stops deciding, and gives its
// lease back.
func (n *Node) Run(ctx context.Context) {
	// who decides and who owns a switch must be settled on a full disk too
	ctx = store.WithReserve(ctx)
	pauses := retry.Backoff{Initial: n.cfg.TTL / 30, Max: n.cfg.TTL, Multiplier: 1.6}
	pauses.Keep(ctx, func(ctx context.Context) (time.Duration, error) {
		begun := time.Now()
		err := n.join(ctx)
		return time.Since(begun), err
	}, func(err error, pause time.Duration) {
		n.cfg.Log.Warn("not part of the cluster", "reason", err, "retry", pause)
	})
}

// life is one lease of a node.
type life struct {
	n       *Node
	tenure  *Tenure
	self    Member
	reaches reaches
	// rec is what the store says; only the goroutine of join uses it.
	rec records
}

// join takes part with one lease, until that is lost or ctx ends.
func (n *Node) join(ctx context.Context) error {
	opening, cancel := context.WithTimeout(ctx, n.cfg.TTL)
	lease, err := n.cfg.Store.Lease(opening, n.cfg.TTL)
	cancel()
	if err != nil {
		return err
	}
	l := &life{n: n, tenure: &Tenure{lease: lease, margin: n.cfg.Margin}, self: n.cfg.Self,
		reaches: reaches{to: make(map[string]Reach)}}
	defer n.setView(View{}, nil)
	lived, end := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer end(nil)
	watching.Go(func() { l.tenure.watch(lived.Done(), end) })
	if n.cfg.Hold != nil {
		watching.Go(func() { l.hold(lived) })
	}
	if n.cfg.Ping != nil {
		watching.Go(func() { l.explore(lived) })
	}
	err = l.run(lived)
	if cause := context.Cause(lived); errors.Is(cause, ErrMandate) {
		err = cause
	}
	end(nil)
	watching.Wait() // the sessions of switches have ended
	l.leave(ctx)
	return err
}

// leave gives the lease back.
func (l *life) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	if l.self.Instance != 0 {
		l.self.Leaving = true
		if err := l.putSelf(ctx, store.Any); err != nil {
			l.n.cfg.Log.Debug("farewell", "reason", err)
		}
	}
	if err := l.tenure.lease.Close(ctx); err != nil {
		l.n.cfg.Log.Warn("the lease was not given back: it ends by itself", "reason", err)
	}
}

// run joins, follows the records, and decides when this controller is to.
func (l *life) run(ctx context.Context) error {
	var events <-chan store.Event
	again := time.NewTimer(0)
	defer again.Stop()
	stopWatch := func() {}
	defer func() { stopWatch() }()
	var term *term
	defer func() { term.stop() }()
	alarms := time.NewTicker(l.n.cfg.TTL / alarmLooks)
	defer alarms.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-term.done():
			return fmt.Errorf("term %d ended: %w", term.number, term.err)
		case <-alarms.C:
			told, err := l.tell(ctx)
			switch {
			case err != nil:
				return err
			case !told:
				continue
			}
		case <-again.C:
			stopWatch()
			var err error
			if events, stopWatch, err = l.list(ctx); err != nil {
				l.n.cfg.Log.Debug("reading the records of the cluster", "reason", err)
				events, stopWatch = nil, func() {}
				again.Reset(l.n.cfg.TTL / 10)
				continue
			}
			again.Reset(relist)
		case e, ok := <-events:
			if !ok {
				events = nil
				again.Reset(l.n.cfg.TTL / 10)
				continue
			}
			l.take(e)
			for more := true; more; { // what there is now is looked at together
				select {
				case e, ok := <-events:
					if more = ok; ok {
						l.take(e)
					}
				default:
					more = false
				}
			}
		}
		if why := l.yields(); term != nil && why != "" {
			// Another controller is better off and decides from here on. This controller keeps its switches.
			l.n.cfg.Log.Warn("another controller is to decide", "reason", why)
			term.stop()
			over := term.number
			term = nil
			if err := l.resign(ctx, over); err != nil {
				return err
			}
		}
		mine, err := l.campaign(ctx)
		if err != nil {
			return err
		}
		l.publish()
		switch {
		case term == nil && mine != 0:
			term = l.lead(ctx, mine)
		case term != nil && mine != term.number:
			return fmt.Errorf("term %d is over", term.number)
		}
	}
}

// list reads all records and watches from there on.
func (l *life) list(ctx context.Context) (<-chan store.Event, func(), error) {
	list, revision, err := l.n.cfg.Store.List(ctx, prefix)
	if err != nil {
		return nil, nil, err
	}
	l.rec = newRecords()
	for _, r := range list {
		if err := l.rec.set(r); err != nil {
			l.n.cfg.Log.Error("a record of the cluster cannot be read", "reason", err)
		}
	}
	ctx, stop := context.WithCancel(ctx)
	events, err := l.n.cfg.Store.Watch(ctx, prefix, revision)
	if err != nil {
		stop()
		return nil, nil, err
	}
	return events, stop, nil
}

func (l *life) take(e store.Event) {
	if e.Deleted {
		l.rec.remove(e.Record)
	} else if err := l.rec.set(e.Record); err != nil {
		l.n.cfg.Log.Error("a record of the cluster cannot be read", "reason", err)
	}
}

// campaign writes the missing records: this controller's own record, and the decider's record if no
// decider exists. It returns this controller's term; 0: the controller has no term.
func (l *life) campaign(ctx context.Context) (term int64, err error) {
	key := memberPrefix + l.self.Name
	other, there := l.rec.members[key]
	switch {
	case l.self.Instance != 0 && (!there || other.Instance != l.self.Instance):
		return 0, fmt.Errorf("%w: the record of this controller is gone", ErrMandate)
	case l.self.Instance == 0 && there:
		// The record belongs to a controller that died a moment ago, or to another controller of this
		// name.
		l.n.cfg.Log.Warn("another controller has this name, or this one's last lease lasts", "name",
			l.self.Name, "address", other.API)
		return 0, nil
	case l.self.Instance == 0:
		l.self.Joined = time.Now().UTC()
		if l.n.cfg.Alarm != nil {
			l.self.Alarm = l.n.cfg.Alarm()
		}
		if l.n.cfg.Self.First == 0 {
			// The present controllers have run until now, and this controller continues.
			for _, m := range l.rec.members {
				if l.self.First == 0 || m.First < l.self.First {
					l.self.First = m.First
				}
			}
		}
		revision, err := l.putRevision(ctx, store.Absent)
		if err != nil {
			return 0, tolerated(err)
		}
		l.self.Instance = revision
		l.self.First = cmp.Or(l.self.First, revision)
		l.n.cfg.Self.First = l.self.First
		l.rec.members[key] = l.self
	}
	d := l.rec.decider
	if d == (Decider{}) && l.yields() != "" {
		return 0, nil
	}
	if d == (Decider{}) {
		d = Decider{Name: l.self.Name, Instance: l.self.Instance, Since: time.Now().UTC()}
		value, err := json.Marshal(d)
		if err != nil {
			return 0, err
		}
		d.Term, err = l.tenure.lease.Put(ctx, deciderKey, value, store.Absent)
		if err != nil {
			return 0, tolerated(err)
		}
		l.rec.decides(d, d.Term)
	}
	if d.Name == l.self.Name && d.Instance == l.self.Instance {
		return d.Term, nil
	}
	return 0, nil
}

// tell informs the other controllers when this controller's alarm or reach has changed.
func (l *life) tell(ctx context.Context) (told bool, err error) {
	if l.self.Instance == 0 {
		return false, nil
	}
	alarm, said := l.self.Alarm, l.reaches.said()
	if l.n.cfg.Alarm != nil {
		alarm = l.n.cfg.Alarm()
	}
	if alarm.Same(l.self.Alarm) && maps.Equal(said, l.self.Reaches) {
		return false, nil
	}
	l.self.Alarm, l.self.Reaches = alarm, said
	if err := l.putSelf(ctx, store.Any); err != nil {
		return false, err
	}
	l.rec.members[memberPrefix+l.self.Name] = l.self
	return true, nil
}

// yields returns why another controller should decide; "": this controller may.
func (l *life) yields() string { return better(l.rec.sorted(), &l.self) }

// resign removes the decider's record of a term that has ended here.
func (l *life) resign(ctx context.Context, term int64) error {
	revision, err := l.n.cfg.Store.Delete(ctx, deciderKey, term)
	if err == nil {
		l.rec.decides(Decider{}, revision)
	} else if l.rec.decider.Term == term { // in a conflict the watch brings the newer record
		l.rec.decider = Decider{}
	}
	return tolerated(err)
}

// tolerated returns a write's error, but nil where another write was faster: the watch reports that
// write.
func tolerated(err error) error {
	if errors.Is(err, store.ErrConflict) {
		return nil
	}
	return err
}

func (l *life) putRevision(ctx context.Context, expect int64) (int64, error) {
	value, err := json.Marshal(l.self)
	if err != nil {
		return 0, err
	}
	return l.tenure.lease.Put(ctx, memberPrefix+l.self.Name, value, expect)
}

func (l *life) putSelf(ctx context.Context, expect int64) error {
	_, err := l.putRevision(ctx, expect)
	return err
}

func (l *life) publish() {
	v := l.rec.view()
	v.Instance = l.self.Instance
	l.n.setView(v, l.tenure)
}

// term is a term of this controller.
type term struct {
	number int64
	cancel context.CancelFunc
	ended  chan struct{} // closed when Lead has returned
	err    error         // of Lead; set before
}

// lead begins to decide.
func (l *life) lead(ctx context.Context, number int64) *term {
	ctx, cancel := context.WithCancel(ctx)
	t := &term{number: number, cancel: cancel, ended: make(chan struct{})}
	m := &Mandate{Term: number, Store: l.n.cfg.Store.Guarded(deciderKey, number), Tenure: l.tenure}
	go func() {
		defer close(t.ended)
		var sharing sync.WaitGroup
		if l.n.cfg.Switches != nil {
			sharing.Go(func() { l.n.share(ctx, m) })
		}
		sharing.Go(func() { l.n.yield(ctx) })
		t.err = l.n.cfg.Lead(ctx, m)
		cancel()
		sharing.Wait()
	}()
	return t
}

// yield moves the lead of the store from the decider to another controller, until ctx ends. If the
// decider then dies, the others need no election in the store first. yield acts when this
// controller has led for a while, because a new leader restarts every lease, including the lease of
// a controller that has just died.
func (n *Node) yield(ctx context.Context) {
	led := false
	for {
		select {
		case <-time.After(yieldTTLs * n.cfg.TTL):
		case <-ctx.Done():
			return
		}
		if !n.cfg.Store.Leads() || !led {
			led = n.cfg.Store.Leads()
			continue
		}
		led = false
		if err := n.cfg.Store.Yield(ctx); err != nil {
			n.cfg.Log.Debug("the decider leads the store", "reason", err)
		}
	}
}

// done is closed when the term has ended by itself; that of a nil term never is.
func (t *term) done() <-chan struct{} {
	if t == nil {
		return nil
	}
	return t.ended
}

// stop ends the term and waits until Lead has returned.
func (t *term) stop() {
	if t != nil {
		t.cancel()
		<-t.ended
	}
}
