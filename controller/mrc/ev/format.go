package ev

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/weft-sdn/weft/packet"
)

// Local uSIDs (LIB, RFC 9800 section 5): the same value means something else on
// every switch. Values below are global (GIB): one node each.
const (
	// FirstLocal is the first local uSID, and End.DT6 to the hosts of a leaf.
	FirstLocal uint16 = 0xE000
	// LocalBits are the upper bits that all local uSIDs share with FirstLocal.
	LocalBits = 3
	// maxNumber is the greatest number of a link, and of a port of a host.
	maxNumber = 0x7FF
	// keepBase + port: over that port to a host, with the outer header.
	keepBase = FirstLocal + 0x0800
	// decapBase + port: over that port to a host, without the outer header.
	decapBase = FirstLocal + 0x1000
)

// TableUSID is the uSID of every leaf that takes the outer headers off and
// routes the inner packet (uDT6): the last of a path, whatever the host.
const TableUSID = FirstLocal

// LinkUSID is the uA of the link with a number, on every switch.
func LinkUSID(number uint16) uint16 { return FirstLocal + number }

// KeepUSID is the uA of a leaf's port to a host, which gets the packet with its
// outer headers. The port is 1 to 2047.
func KeepUSID(port uint16) uint16 { return keepBase + port }

// DecapUSID is the uDX6 of a leaf's port to a host, which gets the packet
// without its outer headers. The port is 1 to 2047.
func DecapUSID(port uint16) uint16 { return decapBase + port }

// DefaultBlock is the block of uSIDs of a mode: of SRv6's own prefix (RFC 9602).
func DefaultBlock(m Mode) netip.Prefix {
	if m == ModeF1616 {
		return netip.MustParsePrefix("5f00::/16")
	}
	return netip.MustParsePrefix("5f00:100::/32")
}

// HopKind is what the uSIDs of a path stand for.
type HopKind uint8

const (
	// HopLinks: a uA a link, and the last uSID. It tells parallel links apart.
	HopLinks HopKind = iota
	// HopNodes: a uN a switch, the first leaf among them, and the last uSID, as
	// in the examples of section 9.3.5.
	HopNodes
)

// A Format is how the EVs of a fabric are laid out.
type Format struct {
	Mode Mode
	// Fields of a structured EV by tier: the switches of tier t take Fields[t].
	// All tiers but the top need one, in any order of offsets. Nil: fields of
	// the widths that [Assign] finds needed, tier 0 first, from the most
	// significant bit on.
	Fields []packet.EVField
	// Block of the uSIDs; zero: [DefaultBlock].
	Block netip.Prefix
	// Hops of mode usid-structured is HopNodes.
	Hops HopKind
	// Numbering of mode usid-structured, by tier; nil: [DefaultNumbering].
	Numbering []TierNumbers
}

// Validate reports whether the format can be.
func (f *Format) Validate() error {
	if f.Mode >= modes {
		return fmt.Errorf("mode: %v, want one of %v: %w", f.Mode, modeNames, ErrMalformed)
	}
	if f.Mode != ModeStructured && len(f.Fields) > 0 {
		return fmt.Errorf("fields: %d with mode %v, want none: %w", len(f.Fields), f.Mode, ErrMalformed)
	}
	if !f.Mode.SRv6() && f.Block.IsValid() {
		return fmt.Errorf("block: %v with mode %v, want none: %w", f.Block, f.Mode, ErrMalformed)
	}
	if f.Block.IsValid() {
		if _, err := f.Mode.USID().SID(f.Block, FirstLocal); err != nil {
			return fmt.Errorf("block: %w", err)
		}
	}
	if f.Mode != ModeUSIDStructured && len(f.Numbering) > 0 {
		return fmt.Errorf("numbering: of %d tiers with mode %v, want none: %w", len(f.Numbering), f.Mode,
			ErrMalformed)
	}
	if err := validateNumbering(f.Numbering); err != nil {
		return err
	}
	if f.Hops > HopNodes {
		return fmt.Errorf("hops: %d, want %d for links or %d for nodes: %w", f.Hops, HopLinks, HopNodes,
			ErrMalformed)
	}
	for t, field := range f.Fields {
		if err := field.Validate(); err != nil {
			return fmt.Errorf("fields[%d]: %w", t, err)
		}
		for u, other := range f.Fields[:t] {
			if field.Offset < other.Offset+other.Width && other.Offset < field.Offset+field.Width {
				return fmt.Errorf("fields[%d]: bits %d to %d are in fields[%d] too: %w", t, field.Offset,
					field.Offset+field.Width-1, u, ErrMalformed)
			}
		}
	}
	return nil
}

// widths returns the bit widths of the parts of an EV in a packet, the most significant first. n is
// the number of uSIDs in an SRv6 path.
func (f *Format) widths(n int) []uint8 {
	switch {
	case f.Mode == ModeStructured:
		return f.fieldWidths()
	case f.Mode.SRv6():
		return f.containerWidths(n)
	}
	return []uint8{16}
}

// fieldWidths returns the widths of the fields and of the gaps between fields.
func (f *Format) fieldWidths() []uint8 {
	fields := slices.Clone(f.Fields)
	slices.SortFunc(fields, func(a, b packet.EVField) int { return a.Offset - b.Offset })
	var widths []uint8
	at := 0
	for _, field := range fields {
		if field.Offset > at {
			widths = append(widths, uint8(field.Offset-at))
		}
		widths = append(widths, uint8(field.Width))
		at = field.Offset + field.Width
	}
	if len(widths) == 0 {
		widths = []uint8{packet.EVBits}
	}
	return widths
}

// containerWidths returns the bit widths of block and uSIDs. The first of two containers is full.
func (f *Format) containerWidths(n int) []uint8 {
	const usidBits = 16
	usid := f.Mode.USID()
	first, second := f.containers(n)
	if second > 0 {
		first = usid.Capacity()
	}
	widths := []uint8{uint8(usid.BlockBits())}
	for range first {
		widths = append(widths, usidBits)
	}
	if second > 0 {
		widths = append(widths, uint8(usid.BlockBits()))
		for range second {
			widths = append(widths, usidBits)
		}
	}
	return widths
}

// containers returns how many of n uSIDs go into each container. The uN of a
// leaf goes with the last uSID: the leaf takes both in one step, and looks only
// once at the next container.
func (f *Format) containers(n int) (first, second int) {
	last := 1
	if f.Hops == HopNodes {
		last = 2
	}
	if f.Mode != ModeSRH || n <= last {
		return n, 0
	}
	first = min(n-last, f.Mode.USID().Capacity())
	return first, n - first
}

// maxUSIDs is the number of uSIDs that a path may take.
func (f *Format) maxUSIDs() int {
	if f.Mode == ModeSRH {
		return f.Mode.USID().MaxUSIDs()
	}
	return f.Mode.USID().Capacity()
}
