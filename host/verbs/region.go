package verbs

import (
	"fmt"
	"io"
)

// Access defines what remote peers may do with a memory region.
type Access uint8

// Access rights. A region without any serves as a local buffer only.
const (
	AccessRemoteWrite Access = 1 << iota
)

// Region is a registered memory region.
type Region struct {
	va      uint64
	rkey    uint32
	buf     []byte
	foreign Foreign
	access  Access
	valid   bool
}

// A Foreign provides memory outside the program, for example in another process.
type Foreign struct {
	// Memory takes octets at offsets of the region. An error means that the memory is gone; an error
	// that wraps ErrLater means that the memory does not answer now: the host drops the packet. After
	// Underway the host writes the octets of the packet no second time.
	Memory io.WriterAt
	Size   uint64 // octets
	// Domain is the protection domain: only queue pairs of the same domain have access (IBTA volume 1,
	// section 10.2.3). 0: all queue pairs have access.
	Domain uint32
}

// Nothing is memory of any size that reads as zeros and keeps nothing: for [Foreign].Memory and
// [WorkRequest].From.
type Nothing struct{}

// ReadAt implements io.ReaderAt.
func (Nothing) ReadAt(p []byte, _ int64) (int, error) {
	clear(p)
	return len(p), nil
}

// WriteAt implements io.WriterAt.
func (Nothing) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }

// Admits reports whether peers of queue pairs in a protection domain may write n octets at va: the
// region is registered and remotely writable, and contains all n octets. A nil region admits
// nothing. Domain 0 matches every domain.
func (r *Region) Admits(domain uint32, va uint64, n int) bool {
	if r == nil || !r.valid || r.access&AccessRemoteWrite == 0 {
		return false
	}
	if domain != 0 && r.foreign.Domain != 0 && domain != r.foreign.Domain {
		return false
	}
	offset, size := va-r.va, r.size() // beyond any size when va is below the region
	return offset <= size && uint64(n) <= size-offset
}

// Place writes octets at va after Admits allowed the write. Its errors are those of Foreign.Memory.
func (r *Region) Place(va uint64, p []byte) error {
	if r.foreign.Memory == nil {
		copy(r.buf[va-r.va:], p)
		return nil
	}
	_, err := r.foreign.Memory.WriteAt(p, int64(va-r.va))
	return err
}

func (r *Region) size() uint64 {
	if r.foreign.Memory != nil {
		return r.foreign.Size
	}
	return uint64(len(r.buf))
}

// Buf is the region's memory; its first octet has the region's virtual address.
func (r *Region) Buf() []byte { return r.buf }

// Registered reports whether the region has not been withdrawn.
func (r *Region) Registered() bool { return r.valid }

// Writable is the memory at [va, va+n), or nil when it is not all inside the region, or remote
// peers may not write there, or the region is no longer registered; a nil region has none.
func (r *Region) Writable(va uint64, n int) []byte {
	if !r.Admits(0, va, n) || r.foreign.Memory != nil {
		return nil
	}
	return r.buf[va-r.va:][:n]
}

// Regions are the memory regions of a host by remote key. The zero value has none.
type Regions struct {
	byKey map[uint32]*Region
}

// Register adds a region. Errors: ErrExists for a key in use, ErrConfig when the region does not
// fit 64 bits of address.
func (s *Regions) Register(va uint64, rkey uint32, buf []byte, access Access) (*Region, error) {
	return s.add(&Region{va: va, rkey: rkey, buf: buf, access: access})
}

// RegisterForeign adds a region of memory that is not the program's own; its errors are those of
// Register.
func (s *Regions) RegisterForeign(va uint64, rkey uint32, f Foreign, access Access) (*Region,
	error) {
	return s.add(&Region{va: va, rkey: rkey, foreign: f, access: access})
}

func (s *Regions) add(r *Region) (*Region, error) {
	if _, ok := s.byKey[r.rkey]; ok {
		return nil, fmt.Errorf("R_Key %#x: %w", r.rkey, ErrExists)
	}
	if size := r.size(); size > 0 && r.va+(size-1) < r.va {
		return nil, fmt.Errorf("region of %d octets at %#x passes the end of the address space: %w",
			size, r.va, ErrConfig)
	}
	r.valid = true
	if s.byKey == nil {
		s.byKey = make(map[uint32]*Region)
	}
	s.byKey[r.rkey] = r
	return r, nil
}

// Deregister withdraws a region, also from messages being received. It ignores an unknown key.
func (s *Regions) Deregister(rkey uint32) {
	if r, ok := s.byKey[rkey]; ok {
		r.valid = false
		delete(s.byKey, rkey)
	}
}

// Region is the region of a remote key, or nil.
func (s *Regions) Region(rkey uint32) *Region { return s.byKey[rkey] }

// A Part is octets for an address of a region.
type Part struct {
	VA     uint64
	Octets []byte
}

// PlaceAll is Place for several writes, in their order. n is how many were placed before the error.
func (r *Region) PlaceAll(parts []Part) (n int, err error) {
	if many, ok := r.foreign.Memory.(ManyWriter); ok {
		return many.WriteMany(parts, r.va)
	}
	for n, p := range parts {
		if err := r.Place(p.VA, p.Octets); err != nil {
			return n, err
		}
	}
	return len(parts), nil
}

// ManyWriter is Foreign.Memory that writes faster together than one by one.
type ManyWriter interface {
	// WriteMany writes parts in their order, base being the address of the region's first octet.
	// n is how many were written before an error, as of WriteAt.
	WriteMany(parts []Part, base uint64) (n int, err error)
}
