package telemetry

import "math/bits"

// head holds the latest values of the objects of a shard, in columns for the metrics with a nonzero
// value.
type head struct {
	// step is the time of a place in seconds, span the number of places of a segment. A column has
	// width places, at least span: places after the span belong to the next segment.
	step        int64
	span, width int
	// start is the Unix time in seconds at which the segment begins; 0: there was no value yet.
	start   int64
	columns []uint32 // by base of the object and metric: place in slab; 0: all values are zero
	slab    []code
	free    []uint32
}

func newHead(step int64, span, width int) head {
	// the first column is unused
	return head{step: step, span: span, width: width, slab: make([]code, width)}
}

// end returns the time after the last place.
func (h *head) end() int64 { return h.start + int64(h.width)*h.step }

// place returns the place of a time in columns.
func (h *head) place(at int64) int { return int(at / h.step % int64(h.width)) }

// grow makes room for the columns of an object.
func (h *head) grow(metrics int) { h.columns = append(h.columns, make([]uint32, metrics)...) }

func (h *head) get(column, place int) code { return h.slab[int(h.columns[column])+place] }

func (h *head) set(column, place int, v code) {
	at := h.columns[column]
	if at == 0 {
		if v == 0 {
			return
		}
		if n := len(h.free); n > 0 {
			at, h.free = h.free[n-1], h.free[:n-1]
		} else {
			at = uint32(len(h.slab))
			h.slab = append(h.slab, make([]code, h.width)...)
		}
		h.columns[column] = at
	}
	h.slab[int(at)+place] = v
}

// gaps marks places of a column as gaps: places with values in other columns of the object, a bit
// each.
func (h *head) gaps(column int, present ...uint64) {
	for i, word := range present {
		for ; word != 0; word &= word - 1 {
			h.set(column, 64*i+bits.TrailingZeros64(word), codeGap)
		}
	}
}

// clear makes the places from one time until another zero, and frees columns that are zero then.
func (h *head) clear(from, to int64) {
	for column, at := range h.columns {
		if at == 0 {
			continue
		}
		values := h.slab[at : int(at)+h.width]
		for t := from; t < to; t += h.step {
			values[h.place(t)] = 0
		}
		if zeros(values) {
			h.columns[column] = 0
			h.free = append(h.free, at)
		}
	}
}

// drop frees a column.
func (h *head) drop(column int) {
	if at := h.columns[column]; at != 0 {
		clear(h.slab[at : int(at)+h.width])
		h.columns[column] = 0
		h.free = append(h.free, at)
	}
}

func zeros(values []code) bool {
	for _, v := range values {
		if v != 0 {
			return false
		}
	}
	return true
}
