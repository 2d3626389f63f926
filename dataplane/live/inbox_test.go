package live

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// Frames come out whole and in order, whatever the sizes of the batches they are
// put in by, and what does not fit is counted.
func TestPortQueue(t *testing.T) {
	const limit = 50
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	b := newInbox([]uint32{1}, limit)
	q := b.ports[0]
	var put, taken, dropped uint64
	var waiting []uint64
	for range 5000 {
		var batch [][]byte
		room := limit - len(waiting)
		for range rng.IntN(20) {
			f := make([]byte, 8+rng.IntN(3000))
			binary.BigEndian.PutUint64(f, put)
			if len(batch) < room {
				waiting = append(waiting, put)
			} else {
				dropped++
			}
			put++
			batch = append(batch, f)
		}
		b.put(q, batch)
		for _, f := range batch {
			clear(f) // the queue has copies
		}
		for range rng.IntN(20) {
			f, ok := q.next()
			if ok != (len(waiting) > 0) {
				t.Fatalf("next: %v with %d waiting", ok, len(waiting))
			}
			if !ok {
				break
			}
			if n := binary.BigEndian.Uint64(f); n != waiting[0] {
				t.Fatalf("frame %d, want %d", n, waiting[0])
			}
			waiting = waiting[1:]
			taken++
		}
	}
	if q.drops() != dropped || taken+dropped+uint64(len(waiting)) != put {
		t.Errorf("%d put, %d taken, %d dropped (want %d)", put, taken, q.drops(), dropped)
	}
	if dropped == 0 || taken == 0 {
		t.Error("the test saw no drops, or nothing but drops")
	}
}

// A flood of long frames is bounded in octets too.
func TestPortQueueOctets(t *testing.T) {
	b := newInbox([]uint32{1}, 1<<20)
	long := make([]byte, 9000)
	for range 2 * maxWaiting / len(long) {
		b.put(b.ports[0], [][]byte{long})
	}
	if n := b.ports[0].waiting.Load() * int64(len(long)); n < maxWaiting ||
		n > maxWaiting+int64(len(long)) {
		t.Errorf("%d octets wait, want %d", n, maxWaiting)
	}
}

type sink struct{ Port }

func (sink) Send(frames [][]byte) (taken, octets int) { return len(frames), 0 }

// Nothing is allocated for a frame on its way in and out.
func TestQueuesAllocateNothing(t *testing.T) {
	b := newInbox([]uint32{1}, 4096)
	q := b.ports[0]
	o := outbox{port: sink{}}
	batch := make([][]byte, 64)
	for i := range batch {
		batch[i] = make([]byte, 64+100*i)
	}
	if n := testing.AllocsPerRun(1000, func() {
		b.put(q, batch)
		for {
			f, ok := q.next()
			if !ok {
				break
			}
			o.put(f)
		}
		o.flush()
	}); n != 0 {
		t.Errorf("%g allocations for 64 frames", n)
	}
	// Full one time and all but empty the next.
	long := make([]byte, 4254)
	if n := testing.AllocsPerRun(100, func() {
		for range outOctets/len(long) + 1 {
			o.put(long)
		}
		o.put(long)
		o.flush()
	}); n != 0 {
		t.Errorf("%g allocations for long frames that leave", n)
	}
}
