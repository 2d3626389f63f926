package dataplane

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/dataplane/engine"

	"github.com/weft-sdn/weft/dataplane/drop"
)

// order returns the third octet of the packets that left, which the test
// numbers, read behind the header copies.p4 adds.
func (r *bed) order() []string {
	var n []string
	for _, s := range r.sent {
		n = append(n, s.data[26:28])
	}
	r.sent = nil
	return n
}

// queueRig delays port 1 to 1,000 packets a second in every queue.
func queueRig(t *testing.T, cfg Config) *bed {
	r := newRigWith(t, loadFile(t, "copies"), cfg)
	r.s.SetQueueRate(1, -1, 1000)
	return r
}

func TestQueueRate(t *testing.T) {
	r := queueRig(t, Config{})
	for i := range 4 {
		r.s.Receive(0, 1, unhex(t, fmt.Sprintf("0000%02x", 8*i)))
	}
	next, pending := r.s.Advance(0)
	if !pending || next != time.Millisecond {
		t.Fatalf("next %v %v", next, pending)
	}
	if got := r.order(); !slices.Equal(got, []string{"00"}) {
		t.Fatalf("at once: %v", got)
	}
	if r.s.Advance(999 * time.Microsecond); len(r.sent) != 0 {
		t.Fatal("early")
	}
	next, pending = r.s.Advance(time.Millisecond)
	if got := r.order(); !slices.Equal(got, []string{"08"}) || next != 2*time.Millisecond || !pending {
		t.Fatalf("after 1 ms: %v, next %v", got, next)
	}
	// Late calls find everything due, in order.
	_, pending = r.s.Advance(10 * time.Millisecond)
	if got := r.order(); !slices.Equal(got, []string{"10", "18"}) || pending {
		t.Fatalf("after 10 ms: %v", got)
	}
	// Another port is not held up.
	g := MulticastGroup{ID: 9, Replicas: []Replica{{Port: 2}}}
	if err := r.s.InsertMulticastGroup(g); err != nil {
		t.Fatal(err)
	}
	r.s.Receive(10*time.Millisecond, 1, unhex(t, "000018"))
	r.s.Receive(10*time.Millisecond, 1, unhex(t, "000020"))
	r.s.Receive(10*time.Millisecond, 1, unhex(t, "030028"))
	r.s.Advance(10 * time.Millisecond)
	if got := r.order(); !slices.Equal(got, []string{"18", "28"}) {
		t.Fatalf("two ports: %v", got)
	}
}

func TestQueuePriorities(t *testing.T) {
	r := queueRig(t, Config{})
	r.s.SetQueueRate(1, 7, 0)
	// The lowest bits of the third octet are the priority. The first of each
	// queue leaves at once, whatever the other queues do.
	for _, p := range []string{"08", "10", "19", "21", "2f", "37"} {
		r.s.Receive(0, 1, unhex(t, "0000"+p))
	}
	r.s.Advance(0)
	if got := r.order(); !slices.Equal(got, []string{"08", "19", "2f", "37"}) {
		t.Fatalf("at once: %v", got)
	}
	r.s.Advance(time.Millisecond)
	if got := r.order(); !slices.Equal(got, []string{"21", "10"}) {
		t.Fatalf("after 1 ms: %v, want the higher priority first", got)
	}
}

func TestQueueDepth(t *testing.T) {
	r := queueRig(t, Config{QueueDepth: 3})
	for i := range 6 {
		r.s.Receive(0, 1, unhex(t, fmt.Sprintf("0000%02x", 8*i)))
	}
	r.s.Receive(0, 1, unhex(t, "000029")) // another queue of the same port
	r.s.Advance(0)
	if n := r.s.Stats().Drops[drop.QueueFull]; n != 2 {
		t.Fatalf("%d dropped, want 2: one left at once, three wait", n)
	}
	// The metadata tells how many were there before, and how many stay behind.
	r.sent = nil
	r.s.Advance(time.Second)
	var depths []string
	for _, s := range r.sent {
		depths = append(depths, s.data[18:22])
	}
	if !slices.Equal(depths, []string{"0002", "0101", "0200"}) {
		t.Fatalf("depths %v", depths)
	}
	r.s.SetQueueDepth(engine.NoPort, -1, 0)
	for range 100 {
		r.s.Receive(time.Second, 1, unhex(t, "000000"))
	}
	r.s.Advance(time.Second)
	if n := r.s.Stats().Drops[drop.QueueFull]; n != 2 {
		t.Fatalf("%d dropped without a limit", n-2)
	}
}

func TestPriorityOutOfRange(t *testing.T) {
	r := newRigWith(t, loadFile(t, "copies"), Config{Priorities: 4})
	r.expect(1, "000004")
	if st := r.s.Stats(); st.Drops[drop.BadPriority] != 1 {
		t.Fatalf("%+v", st)
	}
}

func TestPortState(t *testing.T) {
	r := copiesRig(t)
	r.s.SetPortUp(1, false)
	r.expect(4, "000000") // out of a port that is down
	r.expect(1, "000000") // in by it
	if st := r.s.Stats(); st.Drops[drop.PortDown] != 2 {
		t.Fatalf("%+v", st)
	}
	r.s.SetPortUp(1, true)
	if got := r.send(1, "000000"); len(got) != 1 {
		t.Fatal("still down")
	}
	// A replica moves to its backup.
	g := MulticastGroup{ID: 9,
		Replicas: []Replica{{Port: 2, Backups: []Backup{{Port: 3}, {Port: 5, Instance: 7}}}}}
	if err := r.s.ModifyMulticastGroup(g); err != nil {
		t.Fatal(err)
	}
	for _, down := range []uint32{2, 3} {
		r.s.SetPortUp(down, false)
	}
	if got := r.send(4, "030000"); len(got) != 1 || got[0].port != 5 {
		t.Fatalf("%v", got)
	}
}

func TestRefusedFrames(t *testing.T) {
	r := newRigWith(t, loadFile(t, "copies"), Config{MTU: 10, InputQueue: 2})
	r.s.Receive(0, 1, nil)
	r.s.Receive(0, 1, make([]byte, 11))
	for range 3 {
		r.s.Receive(0, 1, make([]byte, 10))
	}
	r.s.Advance(0)
	st := r.s.Stats()
	if st.Drops[drop.Empty] != 1 || st.Drops[drop.Oversize] != 1 || st.Drops[drop.InputFull] != 1 ||
		len(r.sent) != 2 {
		t.Fatalf("%+v, %d sent", st, len(r.sent))
	}
}

// A flood on one port costs another neither its places nor its turn.
func TestFloodOfOnePort(t *testing.T) {
	r := newRigWith(t, loadFile(t, "copies"), Config{InputQueue: 100})
	out := &arrivalOrder{}
	r.s.SetOutput(out)
	for range 1000 {
		r.s.Receive(0, 4, unhex(t, "000000"))
	}
	for range 3 {
		r.s.Receive(0, 5, unhex(t, "000008"))
	}
	r.s.Advance(0)
	if st := r.s.Stats(); st.Drops[drop.InputFull] != 900 || len(out.tags) != 103 {
		t.Fatalf("%d left, %+v", len(out.tags), st)
	}
	if got := string(out.tags[:8]); got != "\x00\x08\x00\x08\x00\x08\x00\x00" {
		t.Errorf("the last octets of what left first are %x", got)
	}
}

// arrivalOrder notes the last octet of what leaves.
type arrivalOrder struct{ tags []byte }

func (o *arrivalOrder) Transmit(_ time.Duration, _ uint32, b []byte) {
	o.tags = append(o.tags, b[len(b)-1])
}
func (o *arrivalOrder) Digest(time.Duration, int, [][]byte) {}

func TestNewProgramStartsEmpty(t *testing.T) {
	r := queueRig(t, Config{})
	for range 3 {
		r.s.Receive(0, 1, unhex(t, "000000"))
	}
	r.s.Advance(0)
	if err := r.s.InsertMulticastGroup(MulticastGroup{ID: 3}); err != nil {
		t.Fatal(err)
	}
	r.sent = nil
	r.s.SetProgram(r.p)
	if _, pending := r.s.Advance(time.Second); pending || len(r.sent) != 0 {
		t.Fatalf("packets of the old program: %v", r.sent)
	}
	if _, err := r.s.MulticastGroup(3); err == nil {
		t.Fatal("a group of the old program")
	}
	if got := r.send(1, "000008"); len(got) != 1 {
		t.Fatal("the new one does not run")
	}
}
