package table

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"

	"github.com/weft-sdn/weft/dataplane/bitfield"
)

// ErrBadValue reports that a match or priority does not fit the table: a value is too wide, of the
// wrong kind, or missing.
var ErrBadValue = errors.New("bad value")

// Match is the value of one key field in an entry, ordered by Key.Fields. Values are big-endian;
// leading zero octets may be left out or added on input and are always there (ceil(width/8) octets)
// on output.
type Match struct {
	// Value is the value of an Exact or Ternary field, the prefix of an LPM field, the low end of a
	// Range field. Bits outside the mask or prefix must be zero.
	Value []byte
	// Mask is the mask of a Ternary field. An empty mask is all zeroes: don't care.
	Mask []byte
	// High is the inclusive high end of a Range field. Value and High both empty is the whole
	// range: don't care.
	High []byte
	// PrefixLen is the prefix length of an LPM field in bits. 0 is don't care.
	PrefixLen int
}

// Packed is the match of an entry in the form that a lookup uses. Callers reuse a Packed.
type Packed struct {
	key, mask []uint64
	ranges    []keyRange
	prefix    int // as of an entry
}

// Key returns the words of the key; they are valid until the next Pack.
func (p *Packed) Key() []uint64 { return p.key }

// Pack checks a match and packs it into p. A match that does not fit the key is ErrBadValue, and
// names the table and the field.
func (k *Key) Pack(match []Match, p *Packed) error {
	if len(match) != len(k.Fields) {
		return fmt.Errorf("table %s: %d match fields, want %d: %w", k.table, len(match), len(k.Fields),
			ErrBadValue)
	}
	if k.Words == 0 {
		return fmt.Errorf("table %s has no key: %w", k.table, ErrBadValue)
	}
	p.key = append(p.key[:0], make([]uint64, k.Words)...)
	p.mask = append(p.mask[:0], make([]uint64, k.Words)...)
	p.ranges, p.prefix = nil, 0
	for i := range k.Fields {
		f := &k.Fields[i]
		if err := p.add(k, f, &match[i]); err != nil {
			return fmt.Errorf("table %s, key %s: %w", k.table, f.Name, err)
		}
	}
	return nil
}

// fit checks that a big-endian value has at most width bits.
func fit(v []byte, width int) error {
	if bitfield.Width(v) > width {
		return fmt.Errorf("%#x does not fit %d bits: %w", bytes.TrimLeft(v, "\x00"), width, ErrBadValue)
	}
	return nil
}

func (p *Packed) add(k *Key, f *Field, m *Match) error {
	if err := fit(m.Value, f.Width); err != nil {
		return err
	}
	switch f.Kind {
	case Exact:
		for i := range f.Parts {
			q := &f.Parts[i]
			p.key[q.Word] |= bitfield.Word(m.Value, q.Low/8) & bitfield.Mask(q.Bits) << q.Shift
			p.mask[q.Word] |= bitfield.Mask(q.Bits) << q.Shift
		}
		return nil
	case LPM:
		if m.PrefixLen < 0 || m.PrefixLen > f.Width {
			return fmt.Errorf("prefix length %d of %d bits: %w", m.PrefixLen, f.Width, ErrBadValue)
		}
		p.prefix = k.prefix0 + m.PrefixLen
		return p.masked(f, m.Value, bitfield.Prefix(f.Width, m.PrefixLen))
	case Ternary:
		if err := fit(m.Mask, f.Width); err != nil {
			return err
		}
		return p.masked(f, m.Value, m.Mask)
	}
	return p.addRange(f, m)
}

// masked packs a value with a mask, which must cover it.
func (p *Packed) masked(f *Field, value, mask []byte) error {
	for i := range f.Parts {
		q := &f.Parts[i]
		v, m := bitfield.Word(value, q.Low/8), bitfield.Word(mask, q.Low/8)
		if v&^m&bitfield.Mask(q.Bits) != 0 {
			return fmt.Errorf("%#x has bits outside the mask %#x: %w", value,
				bitfield.Right(mask, (f.Width+7)/8), ErrBadValue)
		}
		p.key[q.Word] |= v & bitfield.Mask(q.Bits) << q.Shift
		p.mask[q.Word] |= m & bitfield.Mask(q.Bits) << q.Shift
	}
	return nil
}

func (p *Packed) addRange(f *Field, m *Match) error {
	if err := fit(m.High, f.Width); err != nil {
		return err
	}
	if f.Width == 0 {
		return nil
	}
	lo, hi := m.Value, m.High
	if len(lo) == 0 && len(hi) == 0 {
		hi = bitfield.Prefix(f.Width, f.Width)
	}
	if n := (f.Width + 7) / 8; bytes.Compare(bitfield.Right(lo, n), bitfield.Right(hi, n)) > 0 {
		return fmt.Errorf("range %#x..%#x is empty: %w", new(big.Int).SetBytes(lo),
			new(big.Int).SetBytes(hi), ErrBadValue)
	}
	r := keyRange{part: f.Parts[0], lo: bitfield.Word(lo, 0), hi: bitfield.Word(hi, 0)}
	if len(f.Parts) > 1 {
		r.wide = &wideRange{parts: f.Parts}
		for i := range f.Parts {
			r.wide.lo = append(r.wide.lo, bitfield.Word(lo, 8*i))
			r.wide.hi = append(r.wide.hi, bitfield.Word(hi, 8*i))
		}
	}
	p.ranges = append(p.ranges, r)
	return nil
}

// hash returns a hash of everything that identifies an entry in a table of a kind.
func (p *Packed) hash(kind Kind, priority int32) uint64 {
	h := hashWords(p.key)
	switch kind {
	case Exact:
		return h
	case LPM:
		return mix(h, uint64(p.prefix))
	}
	h = mix(mix(h, hashWords(p.mask)), uint64(priority))
	for i := range p.ranges {
		h = mix(mix(h, p.ranges[i].lo), p.ranges[i].hi)
	}
	return h
}
