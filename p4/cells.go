package p4

// CellName returns what the P4 program calls a cell of one of its counters: the reason of a drop,
// the kind of an event. Other counters' cells have no names: "". (P4Info names the enum of a
// counter's index only where a header has a field of that enum.)
func CellName(counter string, index int64) string {
	if index < 0 || index > 0xff {
		return ""
	}
	switch counter {
	case CounterIngressDrops, CounterEgressDrops:
		return namesDropReason[DropReason(index)]
	case CounterMtEvents:
		return namesMtEvent[MtEvent(index)]
	}
	return ""
}
