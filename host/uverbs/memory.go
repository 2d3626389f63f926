//go:build linux

package uverbs

import (
	"errors"
	"fmt"
	"io"
	"math"

	"golang.org/x/sys/unix"

	"github.com/weft-sdn/weft/host/verbs"
)

// memory accesses the memory of a process by a descriptor opened by the process. After exec the
// memory is empty, whichever program then runs under the PID.
type memory struct {
	pid int // for the log
	fd  int // of /proc/PID/mem; -1: none
}

// read fills p with the octets at an address of the process.
func (m *memory) read(p []byte, at uint64) error { return m.move(unix.Pread, p, at) }

// write writes p to an address of the process.
func (m *memory) write(p []byte, at uint64) error { return m.move(unix.Pwrite, p, at) }

func (m *memory) move(by func(int, []byte, int64) (int, error), p []byte, at uint64) error {
	if len(p) == 0 {
		return nil
	}
	if m.fd < 0 {
		return unix.ESRCH
	}
	n, err := 0, error(unix.EFAULT)
	if at <= math.MaxInt64 {
		n, err = by(m.fd, p, int64(at))
	}
	if err == nil && n != len(p) || errors.Is(err, unix.EIO) { // as procfs says it
		err = unix.EFAULT
	}
	if err != nil {
		return fmt.Errorf("%d octets at %#x of process %d: %w", len(p), at, m.pid, err)
	}
	return nil
}

// close is the end of the memory.
func (m *memory) close() {
	if m.fd >= 0 {
		_ = unix.Close(m.fd)
		m.fd = -1
	}
}

// region is a memory region of a process.
type region struct {
	mover  *mover
	is     memoryRegion
	domain uint32
	valid  bool
}

// WriteAt places octets that a peer has sent.
func (r *region) WriteAt(p []byte, offset int64) (int, error) {
	if err := r.mover.write(p, r.is.Addr+uint64(offset)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// WriteMany is WriteAt for several parts, which peers have sent together.
func (r *region) WriteMany(parts []verbs.Part, base uint64) (n int, err error) {
	return r.mover.writeMany(parts, r.is.Addr-base)
}

// has reports whether n octets from an address of the process lie inside the region.
func (r *region) has(at uint64, n uint32) bool {
	offset := at - r.is.IOVA
	return r.valid && offset <= r.is.Length && uint64(n) <= r.is.Length-offset
}

// piece is an element of a scatter/gather list, with its region.
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
	small []byte // the message, if the NIC has read it already
}

// address is where an element with a region lies in the process.
func (p *piece) address() uint64 { return p.region.is.Addr + (p.Addr - p.region.is.IOVA) }

// isSmall reports whether fetch may read the message.
func (g *gather) isSmall() bool {
	return len(g.list) == 1 && g.total > 0 && g.total <= smallOctets && g.list[0].region != nil &&
		g.list[0].region.has(g.list[0].Addr, g.list[0].Length)
}

// ReadAt fills p from an offset of the message.
func (g *gather) ReadAt(p []byte, offset int64) (n int, err error) {
	for i := range g.list {
		if e := &g.list[i]; e.Length > 0 && (e.region == nil || !e.region.has(e.Addr, e.Length)) {
			return 0, fmt.Errorf("L_Key %#x, %d octets at %#x: %w", e.LKey, e.Length, e.Addr, unix.EACCES)
		}
	}
	if g.small != nil {
		return copy(p, g.small[offset:]), nil
	}
	if int64(len(p)) < g.total && len(p) <= aheadOctets && g.ahead.read(g, p, offset) {
		return len(p), nil
	}
	return g.read(p, offset)
}

// fill fills a buffer of aheadOctets from an offset of the message, and may exchange the buffer.
func (g *gather) fill(p *[]byte, offset int64) error {
	if e := &g.list[0]; len(g.list) == 1 {
		return e.region.mover.fill(p, e.address()+uint64(offset))
	}
	_, err := g.read(*p, offset)
	return err
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
		if err := e.region.mover.read(part, e.address()+at); err != nil {
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
	// aheadOctets is the size of a read from a message; the read costs little more than the read for a
	// packet.
	aheadOctets = 64 << 10
	// aheadBuffers bounds the queue pairs of a NIC that read ahead at a time.
	aheadBuffers = 64
)

// aheadFor holds the part of a message that a queue pair has read but not yet sent. Reading ahead
// is safe because the memory of a request must not change until the request completes.
type aheadFor struct {
	pool   *aheadPool
	of     *gather
	from   int64
	octets []byte // nil: it has no buffer
}

// aheadPool holds the read-ahead buffers of a NIC.
type aheadPool struct {
	spare [][]byte
	used  int
}

// read fills p from octets read ahead; false: the caller must read p directly.
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
	if err := g.fill(&a.octets, offset); err != nil {
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
