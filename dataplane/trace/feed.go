package trace

import (
	"context"
	"slices"
	"time"
)

// Filter defines which packets a subscriber wants.
type Filter struct {
	Port  *uint32 // received there; nil: on any port
	Count int     // so many; 0: without end
}

// Item is a record, or the number of records that were lost before the next
// one because the subscriber was too slow.
type Item struct {
	*Record
	Lost uint64 `json:"lost,omitempty"`
}

// feedBuffer is how many records may wait for a subscriber.
const feedBuffer = 64

// Feed hands the records of a live switch to subscribers, none of whom can hold
// the switch up. All its methods but Follow belong to the goroutine that owns the
// switch; other goroutines read the channels of subscriptions.
type Feed struct {
	set  func(Tracer) // of the switch
	subs []*Subscription
	a    *Assembler

	asked []*Subscription        // that want the packet about to begin
	waits map[ID][]*Subscription // for packets that have begun
}

// Subscription delivers traces to one subscriber.
type Subscription struct {
	// C has the records. The feed closes C after the last record.
	C chan Item

	filter  Filter
	left    int // packets to select; < 0: without end
	waiting int // selected and not at their end
	lost    uint64
}

// NewFeed returns a feed that switches tracing on and off by set: a switch that
// nobody looks at does no more work.
func NewFeed(set func(Tracer)) *Feed {
	f := &Feed{set: set, waits: map[ID][]*Subscription{}}
	f.a = NewAssembler(f.deliver)
	return f
}

// Subscribe adds a subscriber.
func (f *Feed) Subscribe(want Filter) *Subscription {
	s := &Subscription{C: make(chan Item, feedBuffer+1), filter: want, left: want.Count}
	if want.Count <= 0 {
		s.left = -1
	}
	if f.subs = append(f.subs, s); len(f.subs) == 1 {
		f.set(f)
	}
	return s
}

// Do runs a function on the goroutine that owns a switch; it fails, and f does not
// run, when ctx ends first or the switch is no more.
type Do func(ctx context.Context, f func(now time.Duration)) error

// Follow subscribes from another goroutine until ctx ends.
func (f *Feed) Follow(ctx context.Context, do Do, want Filter) (<-chan Item, error) {
	var s *Subscription
	if err := do(ctx, func(time.Duration) { s = f.Subscribe(want) }); err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() {
		// A switch that has ended has closed its feed.
		_ = do(context.WithoutCancel(ctx), func(time.Duration) { f.Unsubscribe(s) })
	})
	return s.C, nil
}

// Unsubscribe removes a subscriber, unless it has gone already, and closes its
// channel.
func (f *Feed) Unsubscribe(s *Subscription) {
	i := slices.Index(f.subs, s)
	if i < 0 {
		return
	}
	f.subs = slices.Delete(f.subs, i, i+1)
	for id, waiting := range f.waits {
		f.waits[id] = slices.DeleteFunc(waiting, func(o *Subscription) bool { return o == s })
	}
	if s.lost > 0 {
		s.C <- Item{Lost: s.lost} // for which deliver has left room
	}
	close(s.C)
	if len(f.subs) == 0 {
		f.set(nil)
		f.a = NewAssembler(f.deliver) // nothing more is said of what was under way
		clear(f.waits)
	}
}

// Close removes all subscribers.
func (f *Feed) Close() {
	for len(f.subs) > 0 {
		f.Unsubscribe(f.subs[0])
	}
}

// Wants implements Tracer.
func (f *Feed) Wants(port uint32, _ []byte) bool {
	f.asked = nil
	for _, s := range f.subs {
		if s.left != 0 && (s.filter.Port == nil || *s.filter.Port == port) {
			f.asked = append(f.asked, s)
		}
	}
	return len(f.asked) > 0
}

// Begin implements Tracer.
func (f *Feed) Begin(p Packet) {
	if p.Parent == 0 {
		for _, s := range f.asked {
			if s.waiting++; s.left > 0 {
				s.left--
			}
		}
		f.waits[p.ID], f.asked = f.asked, nil
	}
	f.a.Begin(p)
}

// Step implements Tracer.
func (f *Feed) Step(id ID, s Step) { f.a.Step(id, s) }

// End implements Tracer.
func (f *Feed) End(id ID, o Outcome) { f.a.End(id, o) }

// Forget implements Tracer.
func (f *Feed) Forget() { f.a.Forget() }

func (f *Feed) deliver(r *Record) {
	waiting := f.waits[r.ID]
	delete(f.waits, r.ID)
	for _, s := range waiting {
		s.deliver(r)
		if s.waiting--; s.left == 0 && s.waiting == 0 {
			f.Unsubscribe(s)
		}
	}
}

// deliver hands a record over, or counts it as lost.
func (s *Subscription) deliver(r *Record) {
	room := feedBuffer - len(s.C)
	if s.lost > 0 {
		room-- // what was lost is told before what comes after it
	}
	if room <= 0 {
		s.lost++
		return
	}
	if s.lost > 0 {
		s.C <- Item{Lost: s.lost}
		s.lost = 0
	}
	s.C <- Item{Record: r}
}
