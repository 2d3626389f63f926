package mrc

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-sdn/weft/packet"
)

// TestTrackerStart: the initial values of table 7-5.
func TestTrackerStart(t *testing.T) {
	for _, rq := range []uint32{0, 1, 500, packet.PSNMask} {
		k := newTracker(rq, 128)
		before := packet.PSNAdd(rq, -1)
		if k.cack != before || k.maxRcv != before || k.lowestUnsacked != before || k.ooo != 0 {
			t.Errorf("rq_psn %#x: %+v", rq, k)
		}
	}
	s, _ := newResponding(t, nil)
	if s.qp.CackPSN() != 499 || s.qp.rcvdBytes != 0 || s.qp.sackTrigger != 0 {
		t.Errorf("responder starts with %#x, %d, %d", s.qp.CackPSN(), s.qp.rcvdBytes, s.qp.sackTrigger)
	}
}

// TestSACKWorkedExample is the example of OCP MRC 1.0, §7.5.2.2: with cack_psn 405 and
// lowest_unsacked_psn above 673, PSNs 673, 704, 705 and 680 arrive and cause a SACK. Its
// sack_offset of 268 takes a max_rcv_psn of at least 737; with 705, the rule gives 236.
func TestSACKWorkedExample(t *testing.T) {
	for _, c := range []struct {
		maxRcv uint32
		offset int16
	}{{737, 268}, {800, 268}, {736, 267}, {705, 236}} {
		k := newTracker(406, 1024)
		k.lowestUnsacked = 690
		if c.maxRcv > 705 {
			k.receive(c.maxRcv)
		}
		for _, psn := range []uint32{673, 704, 705} {
			k.receive(psn)
			k.noteUnsacked(psn, false)
		}
		k.receive(680) // causes the SACK
		if k.lowestUnsacked != 673 {
			t.Errorf("max_rcv_psn %d: lowest_unsacked_psn %d, want 673", c.maxRcv, k.lowestUnsacked)
		}
		base := k.sackBase()
		if got := packet.PSNOffset(base, k.cack); got != c.offset || k.lowestUnsacked != base+64 {
			t.Errorf("max_rcv_psn %d: sack_offset %d, want %d; then lowest_unsacked_psn %d", c.maxRcv, got,
				c.offset, k.lowestUnsacked)
		}
		bits := k.sackBits(base)
		for psn := base; psn < base+64; psn++ {
			want := slices.Contains([]uint32{673, 704, 705, 680, c.maxRcv}, psn)
			if bits>>(psn-base)&1 != 0 != want {
				t.Errorf("max_rcv_psn %d: bit of %d is not %v", c.maxRcv, psn, want)
			}
		}
	}
}

// dumb is the tracker with a map, and the pseudo-code of §7.5.2.2 word for word over numbers that
// do not wrap.
type dumb struct {
	start                  uint32
	cack, maxRcv, unsacked int // less start
	got                    map[int]bool
	size                   int
}

func (d *dumb) ooo() int {
	n := 0
	for psn := range d.got {
		if psn > d.cack {
			n++
		}
	}
	return n
}

func (d *dumb) receive(psn int, sack bool) (base int) {
	d.got[psn] = true
	d.maxRcv = max(d.maxRcv, psn)
	advanced := false
	for d.got[d.cack+1] {
		d.cack++
		advanced = true
	}
	if !sack {
		if advanced {
			if d.cack >= d.unsacked {
				d.unsacked = d.cack
			}
		} else if psn < d.unsacked {
			d.unsacked = psn
		}
		return 0
	}
	base = d.unsacked
	if base+64 >= d.maxRcv {
		base = max(d.maxRcv-64, d.cack)
	}
	base = max(base, d.cack)
	d.unsacked = base + 64
	return base
}

// TestTrackerAgainstTwin: the tracker and a dumb twin say the same of random packets, through the
// wrap of PSNs.
func TestTrackerAgainstTwin(t *testing.T) {
	const size = 256
	sacks, full := 0, 0
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 4))
		start := [2]uint32{rng.Uint32N(1 << 24), 1<<24 - rng.Uint32N(200)}[rng.IntN(2)] & packet.PSNMask
		k := newTracker(start, size)
		d := &dumb{start: start, cack: -1, maxRcv: -1, unsacked: -1, got: map[int]bool{}, size: size}
		spread := 1 + rng.IntN(size)
		for range 500 {
			n := d.cack + 1 + rng.IntN(spread)
			if rng.IntN(4) == 0 {
				n = d.cack + 1
			}
			psn := packet.PSNAdd(start, n)
			want := fresh
			if d.got[n] {
				want = duplicate
			}
			if got := k.standing(psn); got != want {
				t.Fatalf("seed %d: PSN %#x stands %v, want %v", seed, psn, got, want)
			}
			if want == duplicate {
				continue
			}
			sack := rng.IntN(4) == 0
			base := d.receive(n, sack)
			k.receive(psn)
			advanced := false
			for k.advance() {
				advanced = true
			}
			if sack {
				sacks++
				got := k.sackBase()
				if got != packet.PSNAdd(start, base) {
					t.Fatalf("seed %d: sack_base %#x, want %#x", seed, got, packet.PSNAdd(start, base))
				}
				if base > d.cack+size-64 {
					t.Fatalf("seed %d: sack_base %d beyond the window after %d", seed, base, d.cack)
				}
				bits := k.sackBits(got)
				for i := range 64 {
					if has := d.got[base+i] || base+i == d.cack; bits>>i&1 != 0 != has {
						t.Fatalf("seed %d: bit %d of base %d (cack %d) is not %v", seed, i, base, d.cack, has)
					}
				}
				if bits == 1<<64-1 {
					full++
				}
			} else {
				k.noteUnsacked(psn, advanced)
			}
			if k.cack != packet.PSNAdd(start, d.cack) || k.maxRcv != packet.PSNAdd(start, d.maxRcv) ||
				k.ooo != d.ooo() ||
				k.lowestUnsacked != packet.PSNAdd(start, d.unsacked) {
				t.Fatalf("seed %d: %+v, want %+v", seed, k, d)
			}
		}
	}
	if sacks < 5000 {
		t.Errorf("the test tests little: %d SACKs", sacks)
	}
}
