package ev

import (
	"fmt"
	"math/bits"

	"github.com/weft-sdn/weft/packet"
)

// fitFields makes the fields of a structured EV, or checks those given.
func (a *Assignment) fitFields() error {
	var greatest []uint16 // number by tier
	for _, node := range a.clos.Nodes() {
		tier, _ := a.clos.Tier(node.ID)
		for _, l := range a.clos.Up(node.ID) {
			for len(greatest) <= tier {
				greatest = append(greatest, 0)
			}
			number := a.numberOf(l)
			greatest[tier] = max(greatest[tier], number)
			if a.format.Fields == nil {
				continue
			}
			if tier >= len(a.format.Fields) {
				return fmt.Errorf("fields: %d, want one for tier %d of %s: %w", len(a.format.Fields), tier,
					node.DisplayName(), ErrNoRoom)
			}
			if f := a.format.Fields[tier]; uint32(number) > f.Max() {
				return fmt.Errorf("fields[%d]: %d bits hold no number above %d, and link %s has %d: %w", tier,
					f.Width, f.Max(), a.snap.LinkName(l.ID), number, ErrNoRoom)
			}
		}
	}
	if a.format.Fields != nil {
		return nil
	}
	widths := make([]int, len(greatest))
	total := 0
	for t, n := range greatest {
		widths[t] = max(bits.Len16(n), 1)
		total += widths[t]
	}
	if total > packet.EVBits {
		return fmt.Errorf("fields: widths %v, %d bits in all, want at most %d; links can be numbered "+
			"by order: %w", widths, total, packet.EVBits, ErrNoRoom)
	}
	fields, err := packet.EVFields(widths...)
	if err != nil {
		return err
	}
	a.format.Fields = fields
	return nil
}
