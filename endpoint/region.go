package endpoint

import "fmt"

// Access says what remote peers may do with a memory region.
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

// at is the memory at [va, va+n), or nil when it is not all inside the region or the region is no longer registered.
func (r *Region) at(va uint64, n int) []byte {
	if !r.valid {
		return nil
	}
	offset := va - r.va // beyond any size when va is below the region
	if size := uint64(len(r.buf)); offset > size || uint64(n) > size-offset {
		return nil
	}
	return r.buf[offset : offset+uint64(n)]
}

// RegisterMR makes buf accessible to peers that know rkey, its first octet at virtual address va. The host writes to
// buf during Receive. Errors: ErrExists for a key in use, ErrConfig when the region does not fit 64 bits of address.
func (h *Host) RegisterMR(va uint64, rkey uint32, buf []byte, access Access) (*Region, error) {
	if _, ok := h.regions[rkey]; ok {
		return nil, fmt.Errorf("host %s: R_Key %#x: %w", h.cfg.Name, rkey, ErrExists)
	}
	if len(buf) > 0 && va+uint64(len(buf)-1) < va {
		return nil, fmt.Errorf("host %s: region of %d octets at %#x passes the end of the address space: %w", h.cfg.Name, len(buf), va, ErrConfig)
	}
	r := &Region{va: va, rkey: rkey, buf: buf, access: access, valid: true}
	h.regions[rkey] = r
	return r, nil
}

// DeregisterMR withdraws a region, also from messages being received. Withdrawing one that does not exist succeeds.
func (h *Host) DeregisterMR(rkey uint32) {
	if r, ok := h.regions[rkey]; ok {
		r.valid = false
		delete(h.regions, rkey)
	}
}
