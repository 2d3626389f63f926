package engine

import (
	"encoding/binary"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/weft-sdn/weft/dataplane/bitfield"
)

// benchTable makes the table of a program large enough, and its entries.
func benchTable(b *testing.B, name string, entries int) (*bed, int) {
	r := newBed(b, "basic")
	i := r.table(name)
	r.p.tables[i].size = entries
	return r, i
}

// routeKey is destination i of an address plan: a /48 of 10 areas, a /64 or a
// host.
func routeKey(i uint64) (addr []byte, prefix int) {
	addr = make([]byte, 16)
	binary.BigEndian.PutUint32(addr, 0x20010db8)
	binary.BigEndian.PutUint16(addr[4:], uint16(i%1021))
	prefix = 48
	if i%3 > 0 {
		binary.BigEndian.PutUint16(addr[6:], uint16(i))
		prefix = 64
	}
	if i%3 > 1 {
		binary.BigEndian.PutUint64(addr[8:], i)
		prefix = 128
	}
	return addr, prefix
}

// BenchmarkLookup measures one lookup: of an existing entry or, in a classifier, of a key without a
// matching entry.
func BenchmarkLookup(b *testing.B) {
	run := func(name string, table string, entries int, insert func(r *bed, t, i int),
		key func(i uint64) [][]byte, hit bool) {
		b.Run(name, func(b *testing.B) {
			r, ti := benchTable(b, table, entries)
			for i := range entries {
				insert(r, ti, i)
			}
			t, ts := r.p.tables[ti], &r.s.tables[ti]
			scratch := make([]uint64, t.key.Words)
			var keys [1024][]uint64
			for i := range keys {
				keys[i] = make([]uint64, t.key.Words)
				for f, v := range key(uint64(i*7919) % uint64(entries)) {
					pack(t.key.Fields[f], v, keys[i])
				}
			}
			b.ResetTimer()
			before := cpuTime(b)
			for i := range b.N {
				if (ts.entries.Lookup(keys[i%1024], scratch) != nil) != hit {
					b.Fatal("hit or miss, against expectation")
				}
			}
			b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
	insert := func(r *bed, t int, e Entry) {
		if err := r.s.InsertEntry(t, e); err != nil {
			b.Fatal(err)
		}
	}
	for _, n := range []int{1000, 1_000_000} {
		exact := func(i uint64) [][]byte {
			return [][]byte{{byte(i >> 21), byte(i >> 13)}, {byte(i>>8) & 31, byte(i)}}
		}
		run(map[int]string{1000: "exact-1k", 1_000_000: "exact-1M"}[n], "port", n,
			func(r *bed, t, i int) {
				k := exact(uint64(i))
				insert(r, t, Entry{Match: []Match{{Value: k[0]}, {Value: k[1]}},
					Target: Target{Action: r.call("set_vrf", "0001")}})
			}, exact, true)
	}
	run("lpm-10k", "route", 10_000, func(r *bed, t, i int) {
		a, p := routeKey(uint64(i))
		if p == 48 && i/3 >= 1021 {
			a[15], p = byte(i), 128
			binary.BigEndian.PutUint32(a[8:], uint32(i))
		}
		insert(r, t, Entry{Match: []Match{{Value: []byte{0, 1}}, {Value: a, PrefixLen: p}},
			Target: Target{Action: r.call("drop")}})
	}, func(i uint64) [][]byte { a, _ := routeKey(i); return [][]byte{{0, 1}, a} }, true)
	for _, c := range []struct {
		name  string
		masks int
	}{{"acl-500-of-4-masks-miss", 4}, {"acl-500-of-500-masks-miss", 500}} {
		run(c.name, "acl", 500, func(r *bed, t, i int) {
			rng := rand.New(rand.NewPCG(uint64(i), 0))
			m := i % c.masks
			mask := bitfield.Prefix(128, 128-m%64)
			mask[2+m/64] = 0
			v := make([]byte, 16)
			binary.BigEndian.PutUint32(v, 0x20010db8)
			binary.BigEndian.PutUint64(v[8:], rng.Uint64())
			v[7] = byte(i)
			insert(r, t, Entry{Priority: int32(i + 1), Target: Target{Action: r.call("drop")},
				Match: []Match{{Value: and(v, mask), Mask: mask},
					{Value: []byte{0}, High: []byte{0x0f, 0xff, 0xff}}, {Value: []byte{1}}}})
		}, func(i uint64) [][]byte {
			a, _ := routeKey(i)
			a[7] = 0xee
			binary.BigEndian.PutUint64(a[8:], i*0x123456789)
			return [][]byte{a, {0, 0, 5}, {1}}
		}, false)
	}
}

func BenchmarkInsertExact(b *testing.B) {
	r, t := benchTable(b, "port", b.N)
	e := Entry{Match: make([]Match, 2), Target: Target{Action: r.call("set_vrf", "0001")}}
	b.ReportAllocs()
	b.ResetTimer()
	before := cpuTime(b)
	defer func() { b.ReportMetric(float64(b.N)/(cpuTime(b)-before).Seconds(), "entries/cpu-s") }()
	for i := range b.N {
		if i == 1<<22 {
			b.Fatal("the key has no more values")
		}
		e.Match[0].Value = []byte{byte(i >> 21), byte(i >> 13)}
		e.Match[1].Value = []byte{byte(i>>8) & 31, byte(i)}
		if err := r.s.InsertEntry(t, e); err != nil {
			b.Fatal(err)
		}
	}
}

// cpuTime returns the processor time of this process.
func cpuTime(t testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
