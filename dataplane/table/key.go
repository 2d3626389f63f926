package table

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/weft-sdn/weft/dataplane/bitfield"
)

// Kind defines how one field of a key is matched.
type Kind uint8

// Kinds of match. P4's optional is a Ternary field whose mask is all ones or all zeroes: BMv2 JSON
// does not tell them apart, P4Info does.
const (
	Exact Kind = iota
	LPM
	Ternary
	Range
)

// String returns the name P4 uses.
func (k Kind) String() string {
	switch k {
	case Exact:
		return "exact"
	case LPM:
		return "lpm"
	case Ternary:
		return "ternary"
	case Range:
		return "range"
	}
	return "unknown"
}

// Key describes the key of a table: its fields, and the places of their bits in the words that a
// lookup takes. A Key is immutable.
type Key struct {
	Words  int  // of a key
	Kind   Kind // of the table: the most general of its fields
	Fields []Field

	table   string   // name of the table, for errors
	masks   []uint64 // all ones where the key has bits
	prefix0 int      // bits of the key's words before a prefix of no bits, in an lpm table
}

// Field is one field of a key.
type Field struct {
	Name  string
	Width int // bits
	Kind  Kind
	Parts []Part // filled in by NewKey
}

// Part is a run of a field's bits inside a word of the key.
type Part struct {
	Word, Shift int
	Bits        int
	Low         int // of the field: bits Low..Low+Bits-1; a multiple of 64
}

// of returns the bits of the part in a key.
func (p *Part) of(key []uint64) uint64 { return key[p.Word] >> p.Shift & bitfield.Mask(p.Bits) }

// maxWords bounds the key of a table.
const maxWords = 64

// NewKey packs the fields of a table's key into as few words as it can, large parts first. The
// prefix field of an lpm table comes last, its first bit uppermost. NewKey refuses a second prefix
// field, and keys of more than 64 words.
func NewKey(table string, fields []Field) (Key, error) {
	k := Key{table: table, Fields: fields}
	type ref struct{ field, part int }
	var refs []ref
	prefixes := 0
	for i := range fields {
		f := &fields[i]
		k.Kind = max(k.Kind, f.Kind)
		if f.Kind == LPM {
			prefixes++
		}
		f.Parts = nil
		for low := 0; low < f.Width; low += 64 {
			refs = append(refs, ref{i, len(f.Parts)})
			f.Parts = append(f.Parts, Part{Bits: min(64, f.Width-low), Low: low})
		}
	}
	if prefixes > 1 {
		return Key{}, errors.New("several lpm keys (BMv2 takes one)")
	}
	part := func(r ref) *Part { return &fields[r.field].Parts[r.part] }
	slices.SortStableFunc(refs, func(a, b ref) int { return cmp.Compare(part(b).Bits, part(a).Bits) })
	var used []int
	place := func(p *Part, w int) {
		if w == len(used) {
			used = append(used, 0)
			k.masks = append(k.masks, 0)
		}
		p.Word, p.Shift = w, used[w]
		used[w] += p.Bits
		k.masks[w] |= bitfield.Mask(p.Bits) << p.Shift
	}
	for _, r := range refs {
		if k.Kind == LPM && fields[r.field].Kind == LPM {
			continue
		}
		w := 0
		for w < len(used) && used[w]+part(r).Bits > 64 {
			w++
		}
		place(part(r), w)
	}
	for i := range fields {
		if f := &fields[i]; k.Kind == LPM && f.Kind == LPM {
			for j := len(f.Parts) - 1; j >= 0; j-- {
				place(&f.Parts[j], len(used))
			}
			k.prefix0 = 64*len(used) - f.Width
		}
	}
	if k.Words = len(used); k.Words > maxWords {
		return Key{}, fmt.Errorf("key of more than %d words", maxWords)
	}
	return k, nil
}

// Prioritised reports whether entries of the table carry a priority.
func (k *Key) Prioritised() bool { return k.Kind >= Ternary }

// CheckPriority returns ErrBadValue for a priority in a table without priorities, and for a
// priority below 1 in a table with priorities.
func (k *Key) CheckPriority(priority int32) error {
	switch {
	case k.Prioritised() && priority <= 0:
		return fmt.Errorf("table %s: priority %d, want a positive one: %w", k.table, priority,
			ErrBadValue)
	case !k.Prioritised() && priority != 0:
		return fmt.Errorf("table %s: priority %d in a table without: %w", k.table, priority, ErrBadValue)
	}
	return nil
}

// Value returns the value of the field in the words of a key or mask, big-endian in
// ceil(Width/8) octets.
func (f *Field) Value(words []uint64) []byte {
	n := (f.Width + 7) / 8
	b := make([]byte, n)
	for _, p := range f.Parts {
		bitfield.Store64(b, 8*n-p.Low-p.Bits, p.Bits, words[p.Word]>>p.Shift)
	}
	return b
}
