package p4

import "fmt"

// ClassCell returns the cell of a port and a class in counters of classes, and the cell of a port
// and a priority in counters of PFC.
func ClassCell(port uint32, class uint8) int64 { return int64(port)<<3 | int64(class) }

// CellName returns the P4 program's name for a cell of a counter: the reason of a drop, the kind of
// an event, port and class. Cells of any other counter have no names: "". (P4Info names the enum of
// a counter's index only if a header has a field of this enum.)
func CellName(counter string, index int64) string {
	if index < 0 {
		return ""
	}
	switch counter {
	case CounterClassTx, CounterClassMarks, CounterClassTrims, CounterClassDrops:
		if index < Queues {
			return fmt.Sprintf("port %d class %d", index>>3, index&7)
		}
		return ""
	case CounterPfcXoffRx, CounterPfcXonRx, CounterPfcXoffTx, CounterPfcXonTx:
		if index < Queues {
			return fmt.Sprintf("port %d priority %d", index>>3, index&7)
		}
		return ""
	}
	if index > 0xff {
		return ""
	}
	switch counter {
	case CounterIngressDrops, CounterEgressDrops:
		return namesDropReason[DropReason(index)]
	case CounterMtEvents:
		return namesMtEvent[MtEvent(index)]
	case CounterIcmpEvents:
		return namesIcmpEvent[IcmpEvent(index)]
	case CounterNdEvents:
		return namesNdEvent[NdEvent(index)]
	}
	return ""
}
