package telemetry

import "encoding/binary"

// segment holds the values of all objects of a shard in one span of time, and never changes.
type segment struct {
	start int64 // Unix time in seconds
	data  []byte
	sizes []uint16 // of the blocks in data, by object
}

const segmentOverhead = 96 // octets: of the struct and its two allocations

func (s *segment) octets() int64 {
	return int64(cap(s.data)) + 2*int64(cap(s.sizes)) + segmentOverhead
}

// block returns the block of an object, empty for an object without values.
func (s *segment) block(object int) []byte {
	if object >= len(s.sizes) {
		return nil
	}
	at := 0
	for _, n := range s.sizes[:object] {
		at += int(n)
	}
	return s.data[at : at+int(s.sizes[object])]
}

// The widest span of a block.
const maxSpan = 60

// columns holds the values of one object in one span, by metric and place in the span.
type columns struct {
	// known are the metrics with values; other metrics have no values.
	known mask
	// present has a bit for each place with values.
	present uint64
	values  [maxMetrics][maxSpan]code
}

// at returns a value; ok is false in a gap.
func (c *columns) at(metric, place int) (v float64, ok bool) {
	if c.present>>place&1 == 0 || !c.known.has(metric) {
		return 0, false
	}
	x := c.values[metric][place]
	return x.value(), x != codeGap
}

// Forms of a column in a block. A column of zeros has none.
const (
	formConstant = iota // one code
	formSparse          // a count, and a place and a code for each that is not zero
	formFull            // a code for each place
)

// appendBlock appends the values of an object: the known metrics, the places with values, the
// columns that are not zero, and these. It appends nothing when there are no values.
func appendBlock(b []byte, c *columns, span int) []byte {
	all := uint64(1)<<span - 1
	if c.present&all == 0 || c.known == 0 {
		return b
	}
	var filled mask
	c.known.each(func(m int) {
		for i := range span {
			if c.present>>i&1 == 1 && c.values[m][i] != 0 {
				filled |= 1 << m
				return
			}
		}
	})
	b = binary.AppendUvarint(b, uint64(c.known))
	b = binary.AppendUvarint(b, c.present&all^all) // gaps: 0 is the usual case
	b = binary.AppendUvarint(b, uint64(filled))
	filled.each(func(m int) { b = appendColumn(b, c.values[m][:span], c.present) })
	return b
}

func appendColumn(b []byte, values []code, present uint64) []byte {
	first, constant, others := code(0), true, 0
	seen := false
	for i, v := range values {
		if present>>i&1 == 0 {
			continue
		}
		if !seen {
			first, seen = v, true
		}
		constant = constant && v == first
		if v != 0 {
			others++
		}
	}
	switch {
	case constant:
		return binary.LittleEndian.AppendUint16(append(b, formConstant), uint16(first))
	case 3*others+1 < 2*len(values):
		b = append(b, formSparse, byte(others))
		for i, v := range values {
			if present>>i&1 == 1 && v != 0 {
				b = binary.LittleEndian.AppendUint16(append(b, byte(i)), uint16(v))
			}
		}
		return b
	}
	b = append(b, formFull)
	for _, v := range values {
		b = binary.LittleEndian.AppendUint16(b, uint16(v))
	}
	return b
}

// decode reads the wanted columns of a block, at places from first up to end. The span must equal
// the span given to appendBlock.
func (c *columns) decode(b []byte, span, first, end int, wanted mask) {
	c.known, c.present = 0, 0
	if len(b) == 0 {
		return
	}
	next := func() uint64 {
		v, n := binary.Uvarint(b)
		b = b[n:]
		return v
	}
	c.known = mask(next())
	c.present = next() ^ (uint64(1)<<span - 1)
	filled := mask(next())
	(c.known & wanted &^ filled).each(func(m int) { clear(c.values[m][first:end]) })
	filled.each(func(m int) {
		if wanted.has(m) {
			b = decodeColumn(b, span, first, c.values[m][first:end])
		} else {
			b = decodeColumn(b, span, first, nil)
		}
	})
	c.known &= wanted
}

// decodeColumn reads the values of a column from place first on, and returns what follows the
// column.
func decodeColumn(b []byte, span, first int, values []code) []byte {
	form, b := b[0], b[1:]
	size := 2 * span
	switch form {
	case formConstant:
		size = 2
	case formSparse:
		size = 1 + 3*int(b[0])
	}
	if len(values) == 0 {
		return b[size:]
	}
	switch form {
	case formConstant:
		v := code(binary.LittleEndian.Uint16(b))
		for i := range values {
			values[i] = v
		}
	case formSparse:
		clear(values)
		for e := b[1:size]; len(e) > 0; e = e[3:] {
			if place := int(e[0]) - first; place >= 0 && place < len(values) {
				values[place] = code(binary.LittleEndian.Uint16(e[1:]))
			}
		}
	default:
		for i := range values {
			values[i] = code(binary.LittleEndian.Uint16(b[2*(first+i):]))
		}
	}
	return b[size:]
}
