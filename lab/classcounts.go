package lab

import (
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/dataplane/drop"
	"github.com/weft-sdn/weft/p4"
)

// ClassCounts counts packets of MRC's classes at the switches of a network.
type ClassCounts struct {
	Marked  uint64 // got CE
	Trimmed uint64
	// DroppedUntrimmed found the data class full and were not trimmed; DroppedTrimmed were, and
	// found the control class full, as control packets may.
	DroppedUntrimmed, DroppedTrimmed uint64
}

func (c ClassCounts) Minus(o ClassCounts) ClassCounts {
	return ClassCounts{c.Marked - o.Marked, c.Trimmed - o.Trimmed,
		c.DroppedUntrimmed - o.DroppedUntrimmed, c.DroppedTrimmed - o.DroppedTrimmed}
}

// Classes returns the counts of all switches so far, at all ports. Packets that overran a queue of
// the target itself count as not trimmed.
func (w *World) Classes() (c ClassCounts) {
	for _, wire := range w.wires {
		n := w.switches[wire.From]
		if n == nil {
			continue
		}
		data, control := p4.ClassCell(wire.FromPort, plan.DataClass),
			p4.ClassCell(wire.FromPort, plan.ControlClass)
		c.Marked += n.Counted(p4.CounterClassMarks, data)
		c.Trimmed += n.Counted(p4.CounterClassTrims, data)
		c.DroppedUntrimmed += n.Counted(p4.CounterClassDrops, data)
		c.DroppedTrimmed += n.Counted(p4.CounterClassDrops, control)
	}
	for _, s := range w.Network.Switches {
		c.DroppedUntrimmed += w.switches[s.Name].device.Switch().Stats().Drops[drop.QueueFull]
	}
	return c
}
