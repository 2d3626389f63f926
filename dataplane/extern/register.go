package extern

import "github.com/weft-sdn/weft/dataplane/bitfield"

// Register is one register array.
type Register struct {
	Size  int // entries; it does not change
	Width int
	n     int // words of an entry
	pages [][]uint64
}

// pageEntries is how many entries of a register or counter are in a page.
const pageEntries = 256

// NewRegister returns an array of size entries of width bits, all zero.
func NewRegister(size, width int) Register {
	return Register{Size: size, Width: width, n: bitfield.Words(width)}
}

// Get returns an entry of at most 64 bits; out of range it is 0.
func (r *Register) Get(i uint64) uint64 {
	p := i / pageEntries
	if p >= uint64(len(r.pages)) {
		return 0
	}
	pg := r.pages[p]
	if pg == nil {
		return 0
	}
	return pg[i%pageEntries]
}

// page returns the page of an entry, made when absent.
func (r *Register) page(i uint64) []uint64 {
	if r.pages == nil {
		r.pages = make([][]uint64, (r.Size+pageEntries-1)/pageEntries)
	}
	p := &r.pages[i/pageEntries]
	if *p == nil {
		*p = make([]uint64, pageEntries*r.n)
	}
	return *p
}

// Set writes an entry of at most 64 bits; out of range nothing happens, as in BMv2.
func (r *Register) Set(i, v uint64) {
	if i < uint64(r.Size) {
		r.page(i)[i%pageEntries] = v & bitfield.Mask(r.Width)
	}
}

// Octets returns an entry, big-endian in ceil(width/8) octets.
func (r *Register) Octets(i uint64) []byte {
	n := (r.Width + 7) / 8
	b := make([]byte, n)
	bitfield.Store(b, 8*n-r.Width, r.Width, r.Words(i))
	return b
}

// SetOctets writes an entry, big-endian; what is beyond the width is cut off.
func (r *Register) SetOctets(i uint64, v []byte) {
	n := (r.Width + 7) / 8
	w := make([]uint64, r.n)
	bitfield.Load(bitfield.Right(v, n), 8*n-r.Width, r.Width, w)
	r.SetWords(i, w)
}

// Words returns the words of an entry of any width, the least significant first; nil stands for
// zero. They must not be changed.
func (r *Register) Words(i uint64) []uint64 {
	p := i / pageEntries
	if p >= uint64(len(r.pages)) || r.pages[p] == nil {
		return nil
	}
	at := int(i%pageEntries) * r.n
	return r.pages[p][at : at+r.n]
}

// SetWords writes an entry of any width; out of range nothing happens.
func (r *Register) SetWords(i uint64, v []uint64) {
	if i >= uint64(r.Size) {
		return
	}
	at := int(i%pageEntries) * r.n
	w := r.page(i)[at : at+r.n]
	copy(w, v)
	if top := r.Width % 64; top != 0 {
		w[r.n-1] &= bitfield.Mask(top)
	}
}
