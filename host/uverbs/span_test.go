//go:build linux

package uverbs

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"testing"

	"golang.org/x/sys/unix"
	"golang.org/x/time/rate"

	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/test/seeds"
)

// newFileMover is a mover of a file in place of the memory of a process. calls counts accesses.
func newFileMover(t *testing.T, octets []byte) (m *mover, file *os.File, calls *int) {
	t.Helper()
	file, err := os.Create(t.TempDir() + "/memory")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	if _, err := file.Write(octets); err != nil {
		t.Fatal(err)
	}
	waits := newPatience()
	waits.armed.Store(true) // no timer: the NIC waits for as long as it takes
	m = newMover(&memory{fd: int(file.Fd())}, waits, &user{slow: rate.NewLimiter(rate.Inf, 0)})
	t.Cleanup(m.close)
	calls = new(int)
	reads, writes := m.reads, m.writes
	m.reads = func(p []byte, at uint64) error { *calls++; return reads(p, at) }
	m.writes = func(p []byte, at uint64) error { *calls++; return writes(p, at) }
	return m, file, calls
}

// TestSpans: writes and small messages that touch or overlap in memory take one access, and leave
// the octets that single accesses leave.
func TestSpans(t *testing.T) {
	first, n := seeds.Range(t, 1, 50)
	for seed := first; seed < first+n; seed++ {
		rng := rand.New(rand.NewPCG(seed, 0))
		want := make([]byte, 600_000)
		m, file, calls := newFileMover(t, want)
		var parts []verbs.Part
		at, accesses := uint64(0), 0
		for range 1 + rng.IntN(60) {
			switch rng.IntN(3) {
			case 0:
				at = rng.Uint64N(500_000)
			case 1:
				at -= min(at, rng.Uint64N(5000)) // into the last one, or before
			}
			p := verbs.Part{VA: at + 4096, Octets: make([]byte, 1+rng.IntN(4096))}
			for i := range p.Octets {
				p.Octets[i] = byte(rng.Uint32())
			}
			copy(want[at:], p.Octets)
			parts = append(parts, p)
			at += uint64(len(p.Octets))
			accesses++
		}
		base := uint64(0)
		base -= 4096
		if n, err := m.writeMany(parts, base); n != len(parts) || err != nil {
			t.Fatalf("seed %d: %d of %d writes, %v", seed, n, len(parts), err)
		}
		got := make([]byte, len(want))
		if _, err := file.ReadAt(got, 0); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("seed %d: other octets than one by one, %v", seed, err)
		}
		if accesses > 20 && *calls >= accesses {
			t.Errorf("seed %d: %d accesses for %d writes", seed, *calls, accesses)
		}
		var messages []*gather
		r := &region{mover: m}
		for range 20 {
			at -= min(at, rng.Uint64N(300))
			messages = append(messages, &gather{total: 200,
				list: []piece{{sge: sge{Addr: at, Length: 200}, region: r}}})
		}
		m.fetch(messages)
		for _, g := range messages {
			if at := g.list[0].Addr; !bytes.Equal(g.small, want[at:at+200]) {
				t.Fatalf("seed %d: another message at %d", seed, at)
			}
		}
	}
}

// TestSpanRefused: writes before the one that fails count, and no other.
func TestSpanRefused(t *testing.T) {
	m, _, _ := newFileMover(t, nil)
	writes := m.writes
	m.writes = func(p []byte, at uint64) error {
		if at == 300 {
			return unix.EFAULT
		}
		return writes(p, at)
	}
	var parts []verbs.Part
	for _, at := range []uint64{100, 101, 200, 300, 301, 400} {
		parts = append(parts, verbs.Part{VA: at, Octets: []byte{1}})
	}
	if n, err := m.writeMany(parts, 0); n != 3 || !errors.Is(err, unix.EFAULT) {
		t.Errorf("%d written, %v: want 3, EFAULT", n, err)
	}
}
