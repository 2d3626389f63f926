package packet

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

const (
	usidLen = 2

	// MaxUSIDContainers is how many containers a path may take in MRC: the IPv6 destination address,
	// and one segment of an SRH (OCP MRC 1.0, §9.2 and §9.4.3).
	MaxUSIDContainers = 2
)

// USIDFormat is the format of a uSID container (RFC 9800 §4.1: a SID of the NEXT-CSID flavor): an
// IPv6 address of a block that the domain's SIDs have in common, the active uSID, and the uSIDs
// after it, filled up with zeros. What follows the active uSID is its Argument.
type USIDFormat uint8

// Formats MRC expects (OCP MRC 1.0, §11.4). A uSID has 16 bits in both.
const (
	F3216 USIDFormat = iota // block of 32 bits, 6 uSIDs
	F1616                   // block of 16 bits, 7 uSIDs
)

// String is the name of the format.
func (f USIDFormat) String() string {
	if f == F1616 {
		return "F1616"
	}
	return "F3216"
}

// BlockBits is the length of the block.
func (f USIDFormat) BlockBits() int { return 8 * f.blockLen() }

func (f USIDFormat) blockLen() int {
	if f == F1616 {
		return 2
	}
	return 4
}

// Capacity is the number of uSIDs in a container.
func (f USIDFormat) Capacity() int { return (SegmentLen - f.blockLen()) / usidLen }

// MaxUSIDs is the number of uSIDs in a path.
func (f USIDFormat) MaxUSIDs() int { return MaxUSIDContainers * f.Capacity() }

// SID returns the prefix that a node advertises and matches for one of its uSIDs, for every
// behavior: the addresses with this uSID active.
func (f USIDFormat) SID(block netip.Prefix, usid uint16) (netip.Prefix, error) {
	if err := f.check(block); err != nil {
		return netip.Prefix{}, err
	}
	if usid == 0 {
		return netip.Prefix{}, fmt.Errorf("uSID 0, want 1 to 65535: 0 ends a container: %w", ErrMalformed)
	}
	octets := block.Addr().As16()
	binary.BigEndian.PutUint16(octets[f.blockLen():], usid)
	return netip.PrefixFrom(netip.AddrFrom16(octets), f.BlockBits()+8*usidLen), nil
}

// check reports whether a prefix can be the block.
func (f USIDFormat) check(block netip.Prefix) error {
	if !isIPv6(block.Addr()) || block.Bits() != f.BlockBits() || block != block.Masked() {
		return fmt.Errorf("uSID block %v, want an IPv6 prefix of %d bits for %v, all bits after them "+
			"zero: %w", block, f.BlockBits(), f, ErrMalformed)
	}
	return nil
}

// Containers packs the uSIDs of a path, in the order of visit, into as few containers as they take.
// The first is the IPv6 destination address; a second belongs into an SRH (NewSRH, NewReducedSRH).
func (f USIDFormat) Containers(block netip.Prefix, usids ...uint16) ([]netip.Addr, error) {
	if err := f.check(block); err != nil {
		return nil, err
	}
	if n := len(usids); n == 0 {
		return nil, fmt.Errorf("uSID path: no uSIDs, want at least one: %w", ErrMalformed)
	} else if n > f.MaxUSIDs() {
		return nil, fmt.Errorf("uSID path: %d uSIDs, want at most %d in %d containers of %v: %w", n,
			f.MaxUSIDs(), MaxUSIDContainers, f, ErrTooLong)
	}
	var containers []netip.Addr
	octets, at := block.Addr().As16(), f.blockLen()
	for i, usid := range usids {
		if usid == 0 {
			return nil, fmt.Errorf("uSID path: uSID %d is 0, want 1 to 65535: 0 ends a container: %w", i,
				ErrMalformed)
		}
		binary.BigEndian.PutUint16(octets[at:], usid)
		at += usidLen
		if at == SegmentLen || i == len(usids)-1 {
			containers = append(containers, netip.AddrFrom16(octets))
			octets, at = block.Addr().As16(), f.blockLen()
		}
	}
	return containers, nil
}

// AppendUSIDs appends the uSIDs of a container to dst, in the order of visit. A container with a
// uSID after a 0 is malformed; AppendUSIDs then returns dst unchanged.
func (f USIDFormat) AppendUSIDs(dst []uint16, container netip.Addr) ([]uint16, error) {
	octets := container.As16()
	usids, ended := dst, false
	for at := f.blockLen(); at < SegmentLen; at += usidLen {
		usid := binary.BigEndian.Uint16(octets[at:])
		switch {
		case usid == 0:
			ended = true
		case ended:
			return dst, fmt.Errorf("uSID container %v: uSID %#04x after a 0, want zeros to the end: %w",
				container, usid, ErrMalformed)
		default:
			usids = append(usids, usid)
		}
	}
	return usids, nil
}

// Active is the active uSID of a container.
func (f USIDFormat) Active(container netip.Addr) uint16 {
	octets := container.As16()
	return binary.BigEndian.Uint16(octets[f.blockLen():])
}

// EndOfContainer reports whether the active uSID is the last: whether its Argument is 0.
func (f USIDFormat) EndOfContainer(container netip.Addr) bool {
	octets := container.As16()
	for _, octet := range octets[f.blockLen()+usidLen:] {
		if octet != 0 {
			return false
		}
	}
	return true
}

// Shift is the container without its active uSID: the Argument moves to the place after the block,
// and zeros follow.
func (f USIDFormat) Shift(container netip.Addr) netip.Addr {
	octets := container.As16()
	active := octets[f.blockLen():]
	copy(active, active[usidLen:])
	clear(active[len(active)-usidLen:])
	return netip.AddrFrom16(octets)
}
