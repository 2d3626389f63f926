//go:build linux

package uverbs

import (
	"fmt"
	"io"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// memory is that of a process. Once its connection is closed there is none: another process may
// have its number by then.
type memory struct {
	pid  int
	gone atomic.Bool
}

// read fills p with the octets at an address of the process.
func (m *memory) read(p []byte, at uint64) error { return m.move(unix.ProcessVMReadv, p, at) }

// write writes p to an address of the process.
func (m *memory) write(p []byte, at uint64) error { return m.move(unix.ProcessVMWritev, p, at) }

func (m *memory) move(by func(int, []unix.Iovec, []unix.RemoteIovec, uint) (int, error), p []byte,
	at uint64) error {
	if len(p) == 0 {
		return nil
	}
	if m.gone.Load() {
		return unix.ESRCH
	}
	local := [1]unix.Iovec{{Base: &p[0]}}
	local[0].SetLen(len(p))
	remote := [1]unix.RemoteIovec{{Base: uintptr(at), Len: len(p)}}
	n, err := by(m.pid, local[:], remote[:], 0)
	if err == nil && n != len(p) {
		err = unix.EFAULT
	}
	if err != nil {
		return fmt.Errorf("%d octets at %#x of process %d: %w", len(p), at, m.pid, err)
	}
	return nil
}

// region is a memory region of a process.
type region struct {
	memory *memory
	is     memoryRegion
	domain uint32
	valid  bool
}

// WriteAt places octets that a peer has sent.
func (r *region) WriteAt(p []byte, offset int64) (int, error) {
	if err := r.memory.write(p, r.is.Addr+uint64(offset)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// has reports whether n octets from an address of the process lie inside the region.
func (r *region) has(at uint64, n uint32) bool {
	offset := at - r.is.IOVA
	return r.valid && offset <= r.is.Length && uint64(n) <= r.is.Length-offset
}

// piece is an element of a scatter/gather list, with the region that it names.
type piece struct {
	sge
	region *region // nil: there is none of that key in the protection domain
}

// gather reads a message from where its list says; each read checks that the regions are still
// there. An error is a local protection error (IBTA volume 1, section 10.7.2.2).
type gather struct {
	list  []piece
	total int64 // octets of the message
	ahead *aheadFor
}

// ReadAt fills p from an offset of the message.
func (g *gather) ReadAt(p []byte, offset int64) (n int, err error) {
	for i := range g.list {
		if e := &g.list[i]; e.Length > 0 && (e.region == nil || !e.region.has(e.Addr, e.Length)) {
			return 0, fmt.Errorf("L_Key %#x, %d octets at %#x: %w", e.LKey, e.Length, e.Addr, unix.EACCES)
		}
	}
	if int64(len(p)) < g.total && len(p) <= aheadOctets && g.ahead.read(g, p, offset) {
		return len(p), nil
	}
	return g.read(p, offset)
}

// read fills p from the memory of the process.
func (g *gather) read(p []byte, offset int64) (n int, err error) {
	at := uint64(offset)
	for i := 0; i < len(g.list) && n < len(p); i++ {
		e := &g.list[i]
		if at >= uint64(e.Length) {
			at -= uint64(e.Length)
			continue
		}
		part := p[n:min(len(p), n+int(uint64(e.Length)-at))]
		if err := e.region.memory.read(part, e.region.is.Addr+(e.Addr-e.region.is.IOVA)+at); err != nil {
			return n, err
		}
		n += len(part)
		at = 0
	}
	if n < len(p) {
		return n, io.ErrUnexpectedEOF
	}
	return n, nil
}

const (
	// aheadOctets is how much of a message is read at once, which costs little more than a packet.
	aheadOctets = 64 << 10
	// aheadBuffers is how many queue pairs of a NIC read ahead at a time.
	aheadBuffers = 64
)

// aheadFor is what a queue pair has read of a message beyond what it has sent: the memory of a
// request must not change until that is complete.
type aheadFor struct {
	pool   *aheadPool
	of     *gather
	from   int64
	octets []byte // nil: it has no buffer
}

// aheadPool is the buffers of a NIC.
type aheadPool struct {
	spare [][]byte
	used  int
}

// read fills p from what is read ahead; false when p has to be read by itself.
func (a *aheadFor) read(g *gather, p []byte, offset int64) bool {
	if a.of != g || offset < a.from || offset+int64(len(p)) > a.from+int64(len(a.octets)) {
		if !a.fetch(g, offset) {
			return false
		}
	}
	copy(p, a.octets[offset-a.from:])
	if offset+int64(len(p)) == g.total {
		a.drop()
	}
	return true
}

func (a *aheadFor) fetch(g *gather, offset int64) bool {
	if a.octets == nil {
		if a.octets = a.pool.take(); a.octets == nil {
			return false
		}
	}
	a.of, a.from = g, offset
	a.octets = a.octets[:min(aheadOctets, g.total-offset)]
	if _, err := g.read(a.octets, offset); err != nil {
		a.drop()
		return false
	}
	return true
}

// drop gives the buffer back.
func (a *aheadFor) drop() {
	if a.octets != nil {
		a.pool.give(a.octets)
	}
	a.of, a.octets = nil, nil
}

func (p *aheadPool) take() []byte {
	if n := len(p.spare); n > 0 {
		b := p.spare[n-1]
		p.spare = p.spare[:n-1]
		return b
	}
	if p.used == aheadBuffers {
		return nil
	}
	p.used++
	return make([]byte, aheadOctets)
}

func (p *aheadPool) give(b []byte) { p.spare = append(p.spare, b[:aheadOctets]) }

// inline is a message that stood in the entry itself.
type inline []byte

// ReadAt fills p from an offset of the message.
func (d inline) ReadAt(p []byte, offset int64) (int, error) { return copy(p, d[offset:]), nil }
