package northbound

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weft-sdn/weft/api"
)

// Events keeps the latest events for clients that follow them. Publishing never
// waits for a client: one that falls behind by more than the ring is told so.
type Events struct {
	run string // tells the ids of this process from those of the one before

	// mu guards the fields below it.
	mu    sync.Mutex
	ring  []numbered
	next  uint64        // sequence number of the next event
	woken chan struct{} // closed and replaced when an event is published
}

// NewEvents returns an empty ring that keeps size events. run must differ from
// process to process, such as the start time of the process.
func NewEvents(size int, run time.Time) *Events {
	return &Events{
		run:  strconv.FormatInt(run.UnixNano(), 36),
		ring: make([]numbered, max(1, size)), woken: make(chan struct{}),
	}
}

// Publish adds an event.
func (e *Events) Publish(ev api.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ring[e.next%uint64(len(e.ring))] = withText(e.id(e.next), ev)
	e.next++
	close(e.woken)
	e.woken = make(chan struct{})
}

// Published returns how many events there have been.
func (e *Events) Published() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.next
}

// kept returns the events that there still are, oldest first.
func (e *Events) kept() []api.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	size := uint64(len(e.ring))
	out := make([]api.Event, 0, min(e.next, size))
	for n := e.next - min(e.next, size); n < e.next; n++ {
		out = append(out, e.ring[n%size].Event)
	}
	return out
}

// cursor is a client's place in the events.
type cursor struct {
	next uint64 // sequence number of the next event to deliver
	gap  bool   // events before it were lost
}

// from returns the place after the event of an id; without one, the end.
func (e *Events) from(id string) cursor {
	e.mu.Lock()
	defer e.mu.Unlock()
	if id == "" {
		return cursor{next: e.next}
	}
	run, seq, _ := strings.Cut(id, "-")
	if id == e.id(before) {
		return cursor{}
	}
	n, err := strconv.ParseUint(seq, 10, 64)
	if run != e.run || err != nil || n >= e.next {
		return cursor{next: e.next, gap: true}
	}
	return cursor{next: n + 1}
}

// numbered is an event with its text for the stream, made once for all clients: the form of the
// HTML standard, section 9.2.6.
type numbered struct {
	api.Event
	text string
}

// withText gives an event its sentence and an id, which may be empty.
func withText(id string, ev api.Event) numbered {
	ev.Say()
	data, err := json.Marshal(ev)
	if err != nil { // of texts and a time: cannot happen
		return numbered{Event: ev}
	}
	var b strings.Builder
	if id != "" {
		fmt.Fprintf(&b, "id: %s\n", id)
	}
	fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", ev.Type, data)
	return numbered{Event: ev, text: b.String()}
}

// after returns the events from a place on, oldest first, and the place after
// them. The ring closes woken when more events follow.
func (e *Events) after(
	c cursor, now time.Time,
) (evs []numbered, next cursor, woken <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if oldest := e.next - min(e.next, uint64(len(e.ring))); c.next < oldest {
		c = cursor{next: oldest, gap: true}
	}
	if c.gap {
		// The ID names the event before the place, so a client that resumes from the ID misses nothing.
		gap := api.Event{Type: api.EventGap, Message: "events were lost; look again at everything",
			Time: now.UTC()}
		evs = append(evs, withText(e.placeID(c), gap))
	}
	for n := c.next; n < e.next; n++ {
		evs = append(evs, e.ring[n%uint64(len(e.ring))])
	}
	return evs, cursor{next: e.next}, e.woken
}

// before stands for the number of an event before the first one.
const before = "start"

func (e *Events) id(n any) string { return fmt.Sprintf("%s-%v", e.run, n) }

// placeID is the id of the event before a place: a client that comes back with it misses nothing.
func (e *Events) placeID(c cursor) string {
	if c.next == 0 {
		return e.id(before)
	}
	return e.id(c.next - 1)
}
