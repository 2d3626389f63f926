package packet

import (
	"math/bits"
	"math/rand/v2"
	"reflect"
	"testing"
)

// Table 9-1.
func TestEV(t *testing.T) {
	v := NewEV(0xABCD, 0x12345)
	if v != 0xABCD2345 {
		t.Errorf("EV = %#08x, want 0xabcd2345", uint32(v))
	}
	if v.SrcPort() != 0xABCD || v.FlowLabel() != 0x2345 {
		t.Errorf("source port %#04x, flow label %#05x; want 0xabcd, 0x02345", v.SrcPort(), v.FlowLabel())
	}
}

// Table 9-2: hops of 10, 8 and 4 bits.
func TestEVFields(t *testing.T) {
	fields, err := EVFields(10, 8, 4)
	if want := []EVField{{0, 10}, {10, 8}, {18, 4}}; err != nil || !reflect.DeepEqual(fields, want) {
		t.Fatalf("fields %v, %v; want %v", fields, err, want)
	}
	// 1010101010 11001100 0110 0000000000
	const want EV = 0xAAB31800
	v := EV(0)
	for i, value := range []uint32{0x2AA, 0xCC, 0x6} {
		if v, err = v.With(fields[i], value); err != nil {
			t.Fatal(err)
		}
	}
	if v != want {
		t.Errorf("EV = %#08x, want %#08x", uint32(v), uint32(want))
	}
	for i, value := range []uint32{0x2AA, 0xCC, 0x6} {
		if got := v.Field(fields[i]); got != value {
			t.Errorf("hop %d = %#x, want %#x", i, got, value)
		}
	}
	if got := v.SrcPort(); got != 0xAAB3 {
		t.Errorf("source port %#04x, want 0xaab3: hop1 crosses into the flow label", got)
	}
	if got := v.FlowLabel(); got != 0x1800 {
		t.Errorf("flow label %#05x, want 0x1800", got)
	}
}

func TestEVFieldsRefuse(t *testing.T) {
	for _, c := range []struct {
		widths []int
		words  []string
	}{
		{[]int{0}, []string{"field 0", "width 0", "1 to 32"}},
		{[]int{-1}, []string{"width -1"}},
		{[]int{33}, []string{"width 33"}},
		{[]int{16, 17}, []string{"field 1", "offset 16 with width 17", "0 to 15"}},
		{[]int{32, 1}, []string{"field 1", "offset 32 with width 1", "0 to 31"}},
	} {
		_, err := EVFields(c.widths...)
		wantError(t, err, ErrMalformed, c.words...)
	}
	if _, err := EVFields(16, 16); err != nil {
		t.Error(err)
	}
	wantError(t, EVField{Offset: -1, Width: 4}.Validate(), ErrMalformed, "offset -1")
}

func TestEVWithRefuses(t *testing.T) {
	const v EV = 0x12345678
	got, err := v.With(EVField{Offset: 4, Width: 3}, 8)
	if wantError(t, err, ErrTooLong, "3 bits at 4", "value 8", "at most 7"); got != v {
		t.Errorf("the value changed to %#08x", uint32(got))
	}
	got, err = v.With(EVField{Offset: 30, Width: 3}, 1)
	if wantError(t, err, ErrMalformed, "offset 30"); got != v {
		t.Errorf("the value changed to %#08x", uint32(got))
	}
}

// A field of every offset and width, against bits picked one by one.
func TestEVFieldBitByBit(t *testing.T) {
	const seed = 1
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for offset := range EVBits {
		for width := 1; width <= EVBits-offset; width++ {
			f, v := EVField{Offset: offset, Width: width}, EV(r.Uint32())
			want := uint32(0)
			for bit := offset; bit < offset+width; bit++ {
				want = want<<1 | uint32(v)>>(31-bit)&1
			}
			if got := v.Field(f); got != want {
				t.Fatalf("%#08x, bits %d to %d: %#x, want %#x", uint32(v), offset, offset+width-1, got, want)
			}
			if bits.OnesCount32(f.Max()) != width || f.Max()&1 == 0 {
				t.Fatalf("Max of %d bits = %#x", width, f.Max())
			}
			value := r.Uint32() & f.Max()
			got, err := v.With(f, value)
			if err != nil || got.Field(f) != value {
				t.Fatalf("%#08x with %#x in bits %d to %d: %#08x, %v", uint32(v), value, offset, offset+width-1,
					uint32(got), err)
			}
			if back, err := got.With(f, want); err != nil || back != v {
				t.Fatalf("%#08x with bits %d to %d restored: %#08x, %v", uint32(v), offset, offset+width-1,
					uint32(back), err)
			}
		}
	}
}

// A field nobody validated gives some value and does not panic.
func TestEVFieldUnchecked(t *testing.T) {
	for offset := -40; offset <= 40; offset++ {
		for width := -40; width <= 40; width++ {
			_ = EV(0xFFFFFFFF).Field(EVField{Offset: offset, Width: width})
		}
	}
}
