package extern

// CounterValue is the state of one counter.
type CounterValue struct {
	Packets, Bytes uint64
}

// NewCounter returns an array of size counters, all zero.
func NewCounter(size int) Counter { return Counter{Size: size} }

// Counter is one array of counters.
type Counter struct {
	Size  int // counters; it does not change
	pages [][]CounterValue
}

// Add counts a packet of some octets; out of range nothing happens.
func (k *Counter) Add(i uint64, octets int) {
	if i >= uint64(k.Size) {
		return
	}
	v := k.At(i)
	v.Packets++
	v.Bytes += uint64(octets)
}

// At returns counter i, which must be in range, to be changed.
func (k *Counter) At(i uint64) *CounterValue {
	if k.pages == nil {
		k.pages = make([][]CounterValue, (k.Size+pageEntries-1)/pageEntries)
	}
	p := &k.pages[i/pageEntries]
	if *p == nil {
		*p = make([]CounterValue, pageEntries)
	}
	return &(*p)[i%pageEntries]
}

// Read returns the value of counter i, 0 while nothing was counted.
func (k *Counter) Read(i uint64) CounterValue {
	if p := i / pageEntries; p < uint64(len(k.pages)) && k.pages[p] != nil {
		return k.pages[p][i%pageEntries]
	}
	return CounterValue{}
}
