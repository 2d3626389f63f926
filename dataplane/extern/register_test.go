package extern

import (
	"bytes"
	"slices"
	"testing"
)

// TestPagesOnFirstWrite checks that arrays take memory for what was written only, and that indices
// out of range read zero and take no writes.
func TestPagesOnFirstWrite(t *testing.T) {
	for _, width := range []int{8, 64, 128} {
		r := NewRegister(70_000, width)
		if r.Octets(69_999); r.pages != nil {
			t.Errorf("%d bits: a read made %d pages", width, len(r.pages))
		}
		r.SetWords(70_000, []uint64{1, 2})
		r.SetOctets(69_999, []byte{7})
		made := 0
		for _, p := range r.pages {
			if p != nil {
				made++
			}
		}
		if made != 1 {
			t.Errorf("%d bits: %d pages after one write", width, made)
		}
		if b := r.Octets(69_999); b[len(b)-1] != 7 || len(b) != width/8 {
			t.Errorf("%d bits: entry reads as %x", width, b)
		}
		if r.Words(70_000) != nil && slices.Max(r.Words(70_000)) != 0 {
			t.Errorf("%d bits: an entry out of range has a value", width)
		}
	}
	c := NewCounter(70_000)
	c.Add(70_000, 1)
	if c.pages != nil {
		t.Errorf("a count out of range made %d pages", len(c.pages))
	}
	c.Add(1, 100)
	if v := c.Read(1); v != (CounterValue{Packets: 1, Bytes: 100}) || c.pages[0] == nil ||
		c.pages[1] != nil {
		t.Errorf("%+v", v)
	}
}

// TestRegister: an entry reads as the low bits of the last written value; an entry beyond the
// register reads as 0.
func TestRegister(t *testing.T) {
	r := NewRegister(1000, 12)
	for _, at := range []uint64{0, 1, 255, 256, 999, 1000, 1 << 60} {
		if v := r.Get(at); v != 0 {
			t.Errorf("entry %d is %#x before it was written", at, v)
		}
		r.Set(at, 0x1234)
		r.Set(at, 0xABCD)
		want := uint64(0xBCD)
		if at >= 1000 {
			want = 0
		}
		if v := r.Get(at); v != want {
			t.Errorf("entry %d is %#x, want %#x", at, v, want)
		}
	}
	if v := r.Get(600); v != 0 {
		t.Errorf("an entry of a page that was not written is %#x", v)
	}
}

// TestPages: an array takes as many pages as its entries need, and every entry lies in exactly one
// page.
func TestPages(t *testing.T) {
	if pageEntries != 256 {
		t.Errorf("%d entries a page", pageEntries)
	}
	for size, pages := range map[int]int{1: 1, 255: 1, 256: 1, 257: 2, 512: 2, 513: 3} {
		last := uint64(size - 1)
		c := NewCounter(size)
		c.Add(last, 7)
		c.Add(uint64(size), 7)
		c.Add(last, 8)
		if len(c.pages) != pages || len(c.pages[pages-1]) != pageEntries {
			t.Errorf("%d counters: %d pages, want %d", size, len(c.pages), pages)
		}
		for i := range uint64(size) {
			want := CounterValue{}
			if i == last {
				want = CounterValue{Packets: 2, Bytes: 15}
			}
			if v := c.Read(i); v != want {
				t.Errorf("%d counters: counter %d is %+v, want %+v", size, i, v, want)
			}
		}
		if v := c.Read(uint64(pages) * pageEntries); v != (CounterValue{}) {
			t.Errorf("%d counters: one beyond their pages is %+v", size, v)
		}
		for _, width := range []int{1, 64, 65} {
			r := NewRegister(size, width)
			if r.Size != size || r.Width != width || r.Words(last) != nil {
				t.Errorf("%+v", r)
			}
			r.SetWords(last, []uint64{1, 1})
			r.SetWords(uint64(size), []uint64{1, 1})
			words := (width + 63) / 64
			if len(r.pages) != pages || len(r.pages[pages-1]) != words*pageEntries {
				t.Errorf("%d registers of %d bits: %d pages, want %d", size, width, len(r.pages), pages)
			}
			for i := range uint64(pages+1) * pageEntries {
				set := slices.ContainsFunc(r.Words(i), func(w uint64) bool { return w != 0 })
				if set != (i == last) {
					t.Errorf("%d registers of %d bits: register %d is %v", size, width, i, r.Words(i))
				}
			}
		}
	}
	c := NewCounter(3 * pageEntries)
	if v := c.Read(0); v != (CounterValue{}) {
		t.Errorf("of no pages: %+v", v)
	}
	c.Add(pageEntries, 1)
	if zero := (CounterValue{}); c.pages[0] != nil || c.Read(0) != zero ||
		c.Read(2*pageEntries) != zero {
		t.Errorf("pages that were not written: %v", c.pages)
	}
	r := NewRegister(3*pageEntries, 8)
	r.Set(pageEntries, 1)
	if r.pages[0] != nil || r.Get(0) != 0 || r.Words(2*pageEntries) != nil {
		t.Errorf("pages that were not written: %v", r.pages)
	}
}

// TestWideRegisters: an entry reads as the low bits of the last written octets or words, and shares
// no bit with its neighbors.
func TestWideRegisters(t *testing.T) {
	ones := bytes.Repeat([]byte{0xFF}, 40)
	for _, width := range []int{1, 7, 8, 9, 63, 64, 65, 127, 128, 129, 200} {
		want := slices.Clone(ones[:(width+7)/8])
		want[0] = 0xFF >> (-width & 7)
		for _, by := range []string{"octets", "few octets", "words"} {
			r := NewRegister(3, width)
			switch by {
			case "octets":
				r.SetOctets(1, ones)
			case "few octets":
				r.SetOctets(1, ones) // which the next ones replace
				r.SetOctets(1, []byte{1})
				clear(want)
				want[len(want)-1] = 1
			case "words":
				r.SetWords(1, []uint64{1})
			}
			if b := r.Octets(1); !bytes.Equal(b, want) {
				t.Errorf("%d bits set by %s: %x, want %x", width, by, b, want)
			}
			for _, i := range []uint64{0, 2} {
				if b := r.Octets(i); len(b) != len(want) || slices.Max(b) != 0 {
					t.Errorf("%d bits set by %s: register %d is %x", width, by, i, b)
				}
			}
			r.SetWords(1, []uint64{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)})
			all := slices.Clone(ones[:(width+7)/8])
			all[0] = 0xFF >> (-width & 7)
			w := r.Words(1)
			if b := r.Octets(1); !bytes.Equal(b, all) || len(w) != (width+63)/64 ||
				w[len(w)-1] != ^uint64(0)>>(-width&63) {
				t.Errorf("%d bits: %x, want %x; words %x", width, b, all, w)
			}
		}
	}
}
