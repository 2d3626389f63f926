package telemetry

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/weft-sdn/weft/southbound/gnmi"
)

// Config bounds a Store.
type Config struct {
	// Memory is how many octets objects and values may take, positive. Objects come first: objects
	// without room are counted and not kept. Then the oldest values go.
	Memory int64
}

// DefaultMemory has room for about 350,000 ports and queues that are idle, or for a day of 50,000
// queues with four metrics in use.
const DefaultMemory = 1 << 30

// Store keeps values. Its methods may be called from any goroutine.
type Store struct {
	cfg Config

	// mu guards shards.
	mu     sync.RWMutex
	shards map[string]*shard

	objects  atomic.Int64
	reserved atomic.Int64 // octets of objects with all columns of the present minute and half-hour
	kept     atomic.Int64 // octets of segments
	stats    stats
	buffers  sync.Pool
}

type stats struct {
	samples, late, gaps, restarts, evicted, refused atomic.Uint64
}

// Stats counts accepted and dropped samples, and the kept history.
type Stats struct {
	// Objects counts objects with values. Octets bounds their memory, with kept segments.
	Objects, Octets int64
	// Samples counts the samples of ports, and the readings, taken by the store; Late counts those
	// that came after a newer sample. Gaps counts objects with samples too far apart for a rate,
	// Restarts counts ports with counters that restarted or went back.
	Samples, Late, Gaps, Restarts uint64
	// Evicted segments were dropped before their time, and Refused objects not kept, for want of
	// memory.
	Evicted, Refused uint64
}

// New returns an empty store.
func New(cfg Config) *Store {
	return &Store{cfg: Config{Memory: cmp.Or(cfg.Memory, DefaultMemory)},
		shards: make(map[string]*shard)}
}

// Stats returns what became of samples so far.
func (st *Store) Stats() Stats {
	c := &st.stats
	return Stats{
		Objects: st.objects.Load(), Octets: st.reserved.Load() + st.kept.Load(),
		Samples: c.samples.Load(), Late: c.late.Load(), Gaps: c.gaps.Load(), Restarts: c.restarts.Load(),
		Evicted: c.evicted.Load(), Refused: c.refused.Load(),
	}
}

// Take takes samples of ports of one switch, as [gnmi.Samples] does.
func (st *Store) Take(batch []gnmi.Sample) {
	if len(batch) == 0 {
		return
	}
	s := st.shard(batch[0].Switch)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range batch {
		s.take(st, &batch[i])
	}
	st.stats.samples.Add(uint64(len(batch)))
}

// SetSwitch sets the time between the samples of a switch, and the speeds of its ports in bit/s.
// The speeds bound the growth of counters. The store keeps the map of speeds.
func (st *Store) SetSwitch(name string, interval time.Duration, speeds map[uint32]uint64) {
	s := st.shard(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interval, s.speeds = interval, speeds
}

// Speeds reports whether the speed of any port is known.
func (st *Store) Speeds() bool {
	for _, s := range st.all() {
		s.mu.Lock()
		known := len(s.speeds) > 0
		s.mu.Unlock()
		if known {
			return true
		}
	}
	return false
}

// shard returns the shard of a switch, and makes a missing shard.
func (st *Store) shard(name string) *shard {
	if s := st.find(name); s != nil {
		return s
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	s := st.shards[name]
	if s == nil {
		s = newShard(name)
		st.shards[name] = s
	}
	return s
}

func (st *Store) find(name string) *shard {
	st.mu.RLock()
	defer st.mu.RUnlock()
	return st.shards[name]
}

// all returns the shards by name.
func (st *Store) all() []*shard {
	st.mu.RLock()
	defer st.mu.RUnlock()
	out := make([]*shard, 0, len(st.shards))
	for _, s := range st.shards {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b *shard) int { return cmp.Compare(a.name, b.name) })
	return out
}

// objectOctets is the most memory of an object without its segments.
func objectOctets(k key) int64 {
	const perMetric = 8 + 1 + 4 + 4 + 4 + 4 + 2*(fineSpan+fineGrace) + 2*coarseSpan
	const fixed = int64(unsafe.Sizeof(object{})) + 2*int64(unsafe.Sizeof(key{})) + 16
	n := fixed + int64(len(k.name)) + perMetric*int64(len(metrics[k.kind]))
	return n * 5 / 4 // slices that grow have room to spare
}

// reserve takes the memory of an object; false: there is no room.
func (st *Store) reserve(k key) bool {
	n := objectOctets(k)
	if st.reserved.Add(n) > st.cfg.Memory {
		st.reserved.Add(-n)
		st.stats.refused.Add(1)
		return false
	}
	st.objects.Add(1)
	return true
}

// unreserve gives back the memory of an object.
func (st *Store) unreserve(k key) {
	st.reserved.Add(-objectOctets(k))
	st.objects.Add(-1)
}

// share is the memory for the segments of some objects.
func (st *Store) share(objects int) int64 {
	room := st.cfg.Memory - st.reserved.Load()
	return int64(float64(room) * float64(objects) / float64(max(1, st.objects.Load())))
}

// scratch returns an empty buffer, which release takes back.
func (st *Store) scratch() []byte {
	if b, ok := st.buffers.Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return nil
}

func (st *Store) release(b []byte) { st.buffers.Put(&b) }

// Expire drops what is too old. Call it now and then: switches that are gone do not.
func (st *Store) Expire(now time.Time) {
	for _, s := range st.all() {
		s.mu.Lock()
		s.expire(st, now.Unix())
		s.forget(st, now)
		s.mu.Unlock()
	}
}
