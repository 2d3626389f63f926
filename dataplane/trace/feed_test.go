package trace_test

import (
	"fmt"
	"testing"

	"github.com/weft-sdn/weft/dataplane/trace"
)

// fakeSwitch receives packets that end at once, and knows its tracer.
type fakeSwitch struct {
	tracer trace.Tracer
	last   trace.ID
}

func (s *fakeSwitch) set(t trace.Tracer) { s.tracer = t }

// receive begins a packet and returns what ends it; nil: nobody wants it.
func (s *fakeSwitch) receive(port uint32) func() {
	if s.tracer == nil || !s.tracer.Wants(port, nil) {
		return nil
	}
	s.last++
	id, t := s.last, s.tracer
	t.Begin(trace.Packet{ID: id, Origin: trace.Received, Port: port})
	return func() { t.End(id, trace.Outcome{Result: trace.Dropped}) }
}

// got returns a subscriber's records, and whether its feed is open.
func got(s *trace.Subscription) string {
	text := ""
	for {
		select {
		case i, ok := <-s.C:
			switch {
			case !ok:
				return text + " end"
			case i.Record != nil:
				text += fmt.Sprintf(" %d", i.ID)
			default:
				text += fmt.Sprintf(" lost:%d", i.Lost)
			}
		default:
			return text
		}
	}
}

// TestFeed: each subscriber gets the packets it wants, and a switch nobody looks
// at has no tracer.
func TestFeed(t *testing.T) {
	sw := &fakeSwitch{}
	f := trace.NewFeed(sw.set)
	expect := func(s *trace.Subscription, want string) {
		t.Helper()
		if g := got(s); g != want {
			t.Errorf("got%s, want%s", g, want)
		}
	}
	if sw.tracer != nil {
		t.Fatal("traced from the start")
	}
	one, two := uint32(1), uint32(2)
	a := f.Subscribe(trace.Filter{Port: &one, Count: 2})
	b := f.Subscribe(trace.Filter{})
	first := sw.receive(1) // 1, of both
	sw.receive(2)()        // 2, of b
	second := sw.receive(1)
	if third := sw.receive(1); third == nil { // 4: a has enough
		t.Fatal("b wants it")
	} else {
		third()
	}
	expect(a, "")
	expect(b, " 2 4")
	second()
	expect(a, " 3")
	first()
	expect(a, " 1 end")
	expect(b, " 3 1")
	c := f.Subscribe(trace.Filter{Port: &two, Count: 1})
	f.Unsubscribe(b)
	f.Unsubscribe(b) // once is enough
	expect(b, " end")
	if sw.receive(1) != nil {
		t.Error("nobody wants a packet of port 1")
	}
	pending := sw.receive(2)
	f.Unsubscribe(c)
	if sw.tracer != nil {
		t.Error("traced though nobody looks")
	}
	pending() // of whom nobody hears any more
	expect(c, " end")

	d, e := f.Subscribe(trace.Filter{}), f.Subscribe(trace.Filter{Count: 1})
	f.Close()
	expect(d, " end")
	expect(e, " end")
}

// TestFeedLosses: who does not read loses records, and is told how many.
func TestFeedLosses(t *testing.T) {
	sw := &fakeSwitch{}
	f := trace.NewFeed(sw.set)
	slow := f.Subscribe(trace.Filter{})
	for range 100 {
		sw.receive(1)()
	}
	read := 0
	for len(slow.C) > 0 {
		if i := <-slow.C; i.Record == nil || i.ID != trace.ID(read+1) {
			t.Fatalf("item %d is %+v", read, i)
		}
		read++
	}
	if read == 0 || read == 100 {
		t.Fatalf("%d records waited", read)
	}
	sw.receive(1)()
	if g, want := got(slow), fmt.Sprintf(" lost:%d 101", 100-read); g != want {
		t.Errorf("got%s, want%s", g, want)
	}
	for range 100 {
		sw.receive(1)()
	}
	f.Unsubscribe(slow)
	for i := range slow.C {
		if i.Record == nil {
			if i.Lost != uint64(100-read) {
				t.Errorf("%d lost at the end, want %d", i.Lost, 100-read)
			}
			return
		}
	}
	t.Error("the last losses are not told")
}
