package extern

import "testing"

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
		if r.Words(70_000) != nil {
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

// TestRegister: an entry reads as the low bits of what was written last, another one as 0.
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
