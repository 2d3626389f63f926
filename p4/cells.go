package p4

import "fmt"

// ClassCell is the cell of a port and a class in the counters of classes, and of a port and a
// priority in those of PFC.
func ClassCell(port uint32, class uint8) int64 { return int64(port)<<3 | int64(class) }

// CellName returns what the P4 program calls a cell of one of its counters: the reason of a drop,
// the kind of an event, port and class. Other counters' cells have no names: "". (P4Info names the
// enum of a counter's index only where a header has a field of that enum.)
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
