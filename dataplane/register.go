package dataplane

import "github.com/weft-sdn/weft/dataplane/bitfield"

// register is one register array. Storage is in pages made on first write, so
// that an idle switch costs nothing.
type register struct {
	size  int
	width int
	n     int // words an entry
	pages [][]uint64
}

// pageEntries is how many entries of a register or counter are in a page.
const pageEntries = 256

func newRegister(info RegisterInfo) register {
	return register{size: info.Size, width: info.Width, n: bitfield.Words(info.Width)}
}

// get reads an entry of at most 64 bits; out of range it is 0.
func (r *register) get(i uint64) uint64 {
	p := i / pageEntries
	if p >= uint64(len(r.pages)) || i >= uint64(r.size) {
		return 0
	}
	pg := r.pages[p]
	if pg == nil {
		return 0
	}
	return pg[i%pageEntries]
}

// page returns the page of an entry, made when absent.
func (r *register) page(i uint64) []uint64 {
	if r.pages == nil {
		r.pages = make([][]uint64, (r.size+pageEntries-1)/pageEntries)
	}
	p := &r.pages[i/pageEntries]
	if *p == nil {
		*p = make([]uint64, pageEntries*r.n)
	}
	return *p
}

// set writes an entry of at most 64 bits; out of range nothing happens, as in
// BMv2.
func (r *register) set(i, v uint64) {
	if i < uint64(r.size) {
		r.page(i)[i%pageEntries] = v & bitfield.Mask(r.width)
	}
}

// words reads an entry of any width; nil stands for zero.
func (r *register) words(i uint64) []uint64 {
	p := i / pageEntries
	if p >= uint64(len(r.pages)) || i >= uint64(r.size) || r.pages[p] == nil {
		return nil
	}
	at := int(i%pageEntries) * r.n
	return r.pages[p][at : at+r.n]
}

// setWords writes an entry of any width.
func (r *register) setWords(i uint64, v []uint64) {
	if i >= uint64(r.size) {
		return
	}
	at := int(i%pageEntries) * r.n
	w := r.page(i)[at : at+r.n]
	copy(w, v)
	if top := r.width % 64; top != 0 {
		w[r.n-1] &= bitfield.Mask(top)
	}
}

// within tells that an array of a size has an element i, and counts when not.
func (s *Switch) within(i uint64, size int) bool {
	if i < uint64(size) {
		return true
	}
	s.stats.OutOfRange++
	return false
}

// counter is one indirect counter array, in pages too.
type counter struct {
	size  int
	pages [][]CounterValue
}

func (k *counter) add(i uint64, octets int) {
	if i >= uint64(k.size) {
		return
	}
	v := k.at(i)
	v.Packets++
	v.Bytes += uint64(octets)
}

func (k *counter) at(i uint64) *CounterValue {
	if k.pages == nil {
		k.pages = make([][]CounterValue, (k.size+pageEntries-1)/pageEntries)
	}
	p := &k.pages[i/pageEntries]
	if *p == nil {
		*p = make([]CounterValue, pageEntries)
	}
	return &(*p)[i%pageEntries]
}

func (k *counter) read(i uint64) CounterValue {
	if p := i / pageEntries; p < uint64(len(k.pages)) && k.pages[p] != nil {
		return k.pages[p][i%pageEntries]
	}
	return CounterValue{}
}
