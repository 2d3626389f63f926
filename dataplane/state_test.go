package dataplane

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/dataplane/engine"

	"github.com/weft-sdn/weft/dataplane/drop"
	"github.com/weft-sdn/weft/dataplane/extern"
)

// op is a packet of state.p4: operation, index and value.
func op(n, index int, value string) string {
	return fmt.Sprintf("%02x%08x%032s", n, index, value)
}

// result splits what state.p4 answers into its value and its small value.
func (r *bed) result(n, index int, value string) (string, uint64) {
	r.t.Helper()
	got := r.send(4, op(n, index, value))
	if len(got) != 1 || len(got[0].data) != 48 {
		r.t.Fatalf("operation %d: %v", n, got)
	}
	v, _ := new(big.Int).SetString(got[0].data[32:], 16)
	return got[0].data[:32], v.Uint64()
}

const (
	v128 = "00112233445566778899aabbccddeeff"
	zero = "00000000000000000000000000000000"
)

func TestRegisters(t *testing.T) {
	r := newBed(t, "state")
	r.result(1, 7, v128)
	if got, _ := r.result(2, 7, zero); got != v128 {
		t.Errorf("wide register: %s", got)
	}
	if got, _ := r.result(2, 8, zero); got != zero {
		t.Errorf("a register nobody wrote: %s", got)
	}
	r.result(3, 69_999, "1ffff")
	if _, got := r.result(4, 69_999, zero); got != 0x1ffff {
		t.Errorf("narrow register: %#x", got)
	}
	// Out of range: reads leave the destination, writes do nothing.
	r.result(3, 70_000, "1")
	r.result(1, 1000, v128)
	if got, small := r.result(2, 1000, zero); got != zero || small != 0 {
		t.Errorf("register out of range: %s %d", got, small)
	}
	if n := r.s.Stats().OutOfRange; n == 0 {
		t.Error("an access out of range is not counted")
	}
	if _, got := r.result(5, 3, "1"); got != ^uint64(0) {
		t.Errorf("0 - 1 in 16 bits, as 64: %#x", got)
	}
	if _, got := r.result(5, 3, "2"); got != ^uint64(2) {
		t.Errorf("-1 - 2 in 16 bits, as 64: %#x", got)
	}
	if _, got := r.result(5, 0, "8000"); got != 0xffffffffffff8000 {
		t.Errorf("0 - (-32768) in 16 bits: %#x", got)
	}
	if _, got := r.result(5, 0, "1"); got != 0x7fff {
		t.Errorf("-32768 - 1 in 16 bits: %#x", got)
	}

	reg := slices.IndexFunc(r.p.Registers(), func(i engine.RegisterInfo) bool {
		return i.Name == "I.wide"
	})
	if err := r.s.SetRegister(reg, 12, unhex(t, v128)); err != nil {
		t.Fatal(err)
	}
	if got, _ := r.result(2, 12, zero); got != v128 {
		t.Errorf("written by control, read by packet: %s", got)
	}
	b, err := r.s.Register(reg, 12)
	if err != nil || hex.EncodeToString(b) != v128 {
		t.Errorf("%x, %v", b, err)
	}
	if _, err := r.s.Register(reg, 1000); !errors.Is(err, engine.ErrRange) {
		t.Errorf("index 1000 of 1000: %v", err)
	}
	if err := r.s.SetRegister(reg, 0, unhex(t, "01"+v128)); !errors.Is(err, engine.ErrBadValue) {
		t.Errorf("136 bits into 128: %v", err)
	}
}

func TestCounters(t *testing.T) {
	r := newBed(t, "state")
	for range 3 {
		r.result(6, 299, zero)
	}
	r.result(6, 300, zero) // out of range
	v, err := r.s.Counter(engine.Element(0, 299))
	if err != nil || v != (engine.CounterValue{Packets: 3, Bytes: 3 * 21}) {
		t.Errorf("%+v, %v", v, err)
	}
	if err := r.s.SetCounter(engine.Element(0, 299), engine.CounterValue{Packets: 10}); err != nil {
		t.Fatal(err)
	}
	r.result(6, 299, zero)
	v, _ = r.s.Counter(engine.Element(0, 299))
	if v != (engine.CounterValue{Packets: 11, Bytes: 21}) {
		t.Errorf("%+v", v)
	}
	if _, err := r.s.Counter(engine.Element(0, 300)); !errors.Is(err, engine.ErrRange) {
		t.Errorf("index 300 of 300: %v", err)
	}
}

func TestMeters(t *testing.T) {
	r := newBed(t, "state")
	m := slices.IndexFunc(r.p.Meters(), func(i engine.MeterInfo) bool { return i.Name == "I.metered" })
	color := func() uint64 {
		_, c := r.result(7, 2, zero)
		return c
	}
	if c := color(); c != extern.Green {
		t.Fatalf("unconfigured: %d", c)
	}
	// 1,000 packets/s with a burst of 2; peak 2,000 with a burst of 4.
	if err := r.s.SetMeter(engine.Element(m, 2),
		&engine.MeterConfig{CIR: 1000, CBurst: 2, PIR: 2000, PBurst: 4}); err != nil {
		t.Fatal(err)
	}
	want := []uint64{0, 0, 1, 1, 2, 2}
	for i, w := range want {
		if c := color(); c != w {
			t.Errorf("packet %d: colour %d, want %d", i, c, w)
		}
	}
	r.now = time.Millisecond
	for i, w := range []uint64{0, 1, 2} {
		if c := color(); c != w {
			t.Errorf("1 ms later, packet %d: colour %d, want %d", i, c, w)
		}
	}
	err := r.s.SetMeter(engine.Element(m, 2), &engine.MeterConfig{CIR: 2, PIR: 1})
	if !errors.Is(err, engine.ErrBadValue) {
		t.Errorf("committed above peak: %v", err)
	}
	if err := r.s.SetMeter(engine.Element(m, 2), nil); err != nil || color() != extern.Green {
		t.Errorf("unconfigured again: %v", err)
	}
}

func TestDirectMeterAndIdleTimeout(t *testing.T) {
	r := newBed(t, "state")
	tab := r.table("metered_table")
	e := r.entry(key("00000005"), 0, r.call("colour"))
	e.IdleTimeout = time.Second
	e.Metadata = []byte("mine")
	if err := r.s.InsertEntry(tab, e); err != nil {
		t.Fatal(err)
	}
	if err := r.s.SetMeter(engine.CellOf(tab, e.Match, 0),
		&engine.MeterConfig{CIR: 1000, CBurst: 21, PIR: 1000,
			PBurst: 42}); err != nil {
		t.Fatal(err)
	}
	for i, w := range []uint64{0, 1, 2} {
		if _, c := r.result(16, 5, zero); c != w {
			t.Errorf("packet %d: colour %d, want %d", i, c, w)
		}
	}
	idle := func(now time.Duration) int {
		n := 0
		for x := range r.s.IdleEntries(now) {
			if x.Table != tab || string(x.Entry.Metadata) != "mine" || x.Entry.IdleTimeout != time.Second {
				t.Errorf("%+v", x)
			}
			n++
		}
		return n
	}
	for _, c := range []struct {
		at   time.Duration
		want int
	}{{999 * time.Millisecond, 0}, {time.Second, 1}, {1500 * time.Millisecond, 0},
		{2 * time.Second, 1}} {
		if n := idle(c.at); n != c.want {
			t.Errorf("at %v: %d idle entries, want %d", c.at, n, c.want)
		}
	}
	r.now = 3 * time.Second
	r.result(16, 5, zero)
	if n := idle(3500 * time.Millisecond); n != 0 {
		t.Error("idle right after a hit")
	}
	if d, err := r.s.SinceHit(3500*time.Millisecond, tab, e.Match, 0); err != nil ||
		d != 500*time.Millisecond {
		t.Errorf("%v since the last hit, %v", d, err)
	}
}

func TestHashAlgorithms(t *testing.T) {
	r := newBed(t, "state")
	// Computed with other implementations of the same algorithms.
	for _, c := range []struct {
		op, index int
		value     string
		want      uint64
	}{
		{8, 0, v128, 1 + 0x8407759b},
		{12, 0, v128, 0x0011223344556677},
		{11, 0, v128, 0x0011 ^ 0x2233 ^ 0x4455 ^ 0x6677 ^ 0x8899 ^ 0xaabb ^ 0xccdd ^ 0xeeff ^ 0x0100},
	} {
		if _, got := r.result(c.op, c.index, c.value); got != c.want {
			t.Errorf("operation %d: %#x, want %#x", c.op, got, c.want)
		}
	}
}

func TestRandomStaysInRange(t *testing.T) {
	r := newBed(t, "state")
	seen := map[uint64]bool{}
	for range 200 {
		_, v := r.result(13, 13, zero)
		if v < 10 || v > 13 {
			t.Fatalf("random(10, 13) = %d", v)
		}
		seen[v] = true
	}
	if len(seen) != 4 {
		t.Errorf("only %v in 200 draws", seen)
	}
	if _, v := r.result(13, 5, zero); v != 0 {
		t.Errorf("random(10, 5) wrote %d", v)
	}
}

func TestAssertion(t *testing.T) {
	r := newBed(t, "state")
	r.result(17, 1, zero)
	r.expect(4, op(17, 0, zero))
	if st := r.s.Stats(); st.Drops[drop.AssertFailed] != 1 {
		t.Errorf("%+v", st)
	}
}

func TestStateAgainstSimpleSwitch(t *testing.T) {
	if testing.Short() {
		t.Skip("starts another process")
	}
	o := newOracle(t, "state")
	o.insert("metered_table", key("00000005"), 0, o.call("colour"))
	const seed = 5
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 4000 {
		b := make([]byte, 21)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		ops := []byte{1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 18}
		b[0] = ops[rng.IntN(len(ops))]
		copy(b[1:5], []byte{0, 0, 0, byte(rng.IntN(4))})
		o.packet(uint32(rng.IntN(2)), b)
	}
	o.compare([]uint32{0, 1})
}
