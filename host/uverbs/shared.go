//go:build linux

package uverbs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// shared is memory that the NIC and a process share. The process can neither make it shorter nor
// longer; what stands in it may change at any time.
type shared struct {
	fd     int // -1: handed over
	octets []byte
}

// ringEntries is where the entries of a ring begin.
const ringEntries = 4096

// share makes shared memory of a size in octets.
func share(name string, size int) (*shared, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	s := &shared{fd: fd}
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		return nil, errors.Join(fmt.Errorf("ftruncate: %w", err), s.close())
	}
	// without these a process could take pages away under the NIC
	const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		return nil, errors.Join(fmt.Errorf("F_ADD_SEALS: %w", err), s.close())
	}
	s.octets, err = unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("mmap: %w", err), s.close())
	}
	return s, nil
}

func (s *shared) close() error {
	var err error
	if s.octets != nil {
		err = unix.Munmap(s.octets)
		s.octets = nil
	}
	if s.fd >= 0 {
		err = errors.Join(err, unix.Close(s.fd))
		s.fd = -1
	}
	return err
}

// word is an index or flag at an offset, a multiple of 4.
func (s *shared) word(at int) *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Pointer(&s.octets[at : at+4][0]))
}

// long is a bitmap at an offset, a multiple of 8.
func (s *shared) long(at int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&s.octets[at : at+8][0]))
}

// put32 writes a field that only the NIC ever writes, before the process knows of the memory.
func (s *shared) put32(at int, v uint32) { binary.NativeEndian.PutUint32(s.octets[at:], v) }

// Offsets of struct nic_doorbell.
const (
	doorbellSize  = 4096
	bellSleeping  = 0
	bellGone      = 4
	bellDirty     = 64
	dirtyWords    = 64
	maxQueuePairs = dirtyWords * 64
)

// Offsets of struct nic_cq_ring.
const (
	cqDepth    = 0
	cqEntry    = 4
	cqHead     = 64
	cqOverflow = 68
	cqTail     = 128
	cqArmed    = 192
)

// Offsets of struct nic_qp_ring.
const (
	qpSQDepth  = 0
	qpSQEntry  = 4
	qpRQDepth  = 8
	qpRQEntry  = 12
	qpRQOffset = 16
	qpSQHead   = 64
	qpRQHead   = 68
	qpSQTail   = 128
	qpRQTail   = 132
	qpState    = 136
)

// powerOfTwo returns the least power of two from n on.
func powerOfTwo(n uint32) uint32 {
	p := uint32(1)
	for p < n {
		p <<= 1
	}
	return p
}
