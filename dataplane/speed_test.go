package dataplane

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/dataplane/drop"
)

// frameOverhead is what a frame takes on a wire beside its octets, in octets: preamble and start
// delimiter, check sequence, gap (IEEE 802.3).
const frameOverhead = 24

// wireTime returns how long a frame of some octets takes at a speed.
func wireTime(octets int, bitsPerSecond uint64) time.Duration {
	return time.Duration(uint64(octets+frameOverhead) * 8 * uint64(time.Second) / bitsPerSecond)
}

// TestPortSpeed checks that frames on a port follow each other like on a wire, and that frames on
// different ports never wait for each other.
func TestPortSpeed(t *testing.T) {
	const speed = 1_000_000 // a frame takes some hundred microseconds
	r := newRigWith(t, loadFile(t, "copies"), Config{})
	r.s.SetPortSpeed(1, speed)
	for i := range 4 {
		r.s.Receive(0, 1, unhex(t, fmt.Sprintf("0000%02x", 8*i)))
	}
	next, pending := r.s.Advance(0)
	if len(r.sent) != 1 {
		t.Fatalf("%d frames left at once, want 1", len(r.sent))
	}
	each := wireTime(len(r.sent[0].data)/2, speed)
	if !pending || next != each {
		t.Fatalf("next %v %v, want %v", next, pending, each)
	}
	if r.s.Advance(each - 1); len(r.sent) != 1 {
		t.Fatal("early")
	}
	r.s.Advance(each)
	// A late call finds everything that is due, as if it had not been late.
	next, pending = r.s.Advance(3*each + each/2)
	if got := r.order(); !slices.Equal(got, []string{"00", "08", "10", "18"}) || pending {
		t.Fatalf("%v, next %v %v", got, next, pending)
	}
	r.s.Receive(3*each+each/2, 1, unhex(t, "000020"))
	if next, pending = r.s.Advance(3*each + each/2); len(r.sent) != 0 || !pending || next != 4*each {
		t.Fatalf("%d frames, next %v %v, want one at %v", len(r.sent), next, pending, 4*each)
	}
	// Without a speed what waits leaves.
	r.s.SetPortSpeed(1, 0)
	if _, pending = r.s.Advance(3*each + each/2); len(r.sent) != 1 || pending {
		t.Fatalf("%d frames", len(r.sent))
	}
}

// TestPortSpeedPriorities checks that the highest priority gets the wire next, regardless of
// arrival, that a queue's own rate holds only that queue, and that queues fill up.
func TestPortSpeedPriorities(t *testing.T) {
	const speed = 10_000_000
	r := newRigWith(t, loadFile(t, "copies"), Config{QueueDepth: 2})
	r.s.SetPortSpeed(1, speed)
	// The lowest bits of the third octet are the priority.
	for _, p := range []string{"00", "08", "10", "18", "21", "2a"} {
		r.s.Receive(0, 1, unhex(t, "0000"+p))
		r.s.Advance(0)
	}
	if n := r.s.Stats().Drops[drop.QueueFull]; n != 1 {
		t.Fatalf("%d dropped, want 1: one left at once, two wait", n)
	}
	r.s.Advance(time.Second)
	if got := r.order(); !slices.Equal(got, []string{"00", "2a", "21", "08", "10"}) {
		t.Fatalf("%v", got)
	}
	r.s.SetQueueRate(1, 2, 10)
	for _, p := range []string{"02", "0a", "10", "18"} {
		r.s.Receive(time.Second, 1, unhex(t, "0000"+p))
	}
	r.s.Advance(time.Second)
	r.s.Advance(1050 * time.Millisecond)
	if got := r.order(); !slices.Equal(got, []string{"02", "10", "18"}) {
		t.Fatalf("%v", got)
	}
	if next, pending := r.s.Advance(1099 * time.Millisecond); !pending ||
		next != 1100*time.Millisecond {
		t.Fatalf("next %v %v", next, pending)
	}
	r.s.Advance(1100 * time.Millisecond)
	if got := r.order(); !slices.Equal(got, []string{"0a"}) {
		t.Fatalf("%v", got)
	}
}
