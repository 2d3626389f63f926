package verbs

import "fmt"

// Access defines what remote peers may do with a memory region.
type Access uint8

// Access rights. A region without any serves as a local buffer only.
const (
	AccessRemoteWrite Access = 1 << iota
)

// Region is a registered memory region.
type Region struct {
	va     uint64
	rkey   uint32
	buf    []byte
	access Access
	valid  bool
}

// Buf is the region's memory; its first octet has the region's virtual address.
func (r *Region) Buf() []byte { return r.buf }

// Registered reports whether the region has not been withdrawn.
func (r *Region) Registered() bool { return r.valid }

// Writable is the memory at [va, va+n), or nil when it is not all inside the region, or remote
// peers may not write there, or the region is no longer registered; a nil region has none.
func (r *Region) Writable(va uint64, n int) []byte {
	if r == nil || !r.valid || r.access&AccessRemoteWrite == 0 {
		return nil
	}
	offset := va - r.va // beyond any size when va is below the region
	if size := uint64(len(r.buf)); offset > size || uint64(n) > size-offset {
		return nil
	}
	return r.buf[offset : offset+uint64(n)]
}

// Regions are the memory regions of a host by remote key. The zero value has none.
type Regions struct {
	byKey map[uint32]*Region
}

// Register adds a region. Errors: ErrExists for a key in use, ErrConfig when the region does not
// fit 64 bits of address.
func (s *Regions) Register(va uint64, rkey uint32, buf []byte, access Access) (*Region, error) {
	if _, ok := s.byKey[rkey]; ok {
		return nil, fmt.Errorf("R_Key %#x: %w", rkey, ErrExists)
	}
	if len(buf) > 0 && va+uint64(len(buf)-1) < va {
		return nil, fmt.Errorf("region of %d octets at %#x passes the end of the address space: %w",
			len(buf), va, ErrConfig)
	}
	r := &Region{va: va, rkey: rkey, buf: buf, access: access, valid: true}
	if s.byKey == nil {
		s.byKey = make(map[uint32]*Region)
	}
	s.byKey[rkey] = r
	return r, nil
}

// Deregister withdraws a region, also from messages being received. Withdrawing one that does not
// exist succeeds.
func (s *Regions) Deregister(rkey uint32) {
	if r, ok := s.byKey[rkey]; ok {
		r.valid = false
		delete(s.byKey, rkey)
	}
}

// Region is the region of a remote key, or nil.
func (s *Regions) Region(rkey uint32) *Region { return s.byKey[rkey] }
