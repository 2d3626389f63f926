package dataplane

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// FuzzLoadProgram: whatever the input, LoadProgram returns a program that runs
// or an error.
func FuzzLoadProgram(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		f.Fatal("no programs")
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		var small bytes.Buffer
		if err := json.Compact(&small, b); err != nil {
			f.Fatal(err)
		}
		f.Add(small.Bytes())
	}
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"__meta__":{"version":[2,23]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		loadAndRun(b)
	})
}

// loadAndRun loads a program and, if that works, puts a few frames through it.
func loadAndRun(b []byte) bool {
	p, err := LoadProgram(b)
	if err != nil {
		return false
	}
	s := New(Config{RecirculationBurst: 100, RecirculationRate: 1}, &sink{})
	s.SetProgram(p)
	for i, n := range []int{1, 3, 20, 64, 200} {
		frame := make([]byte, n)
		for j := range frame {
			frame[j] = byte(i * j)
		}
		s.Receive(0, uint32(i), frame)
	}
	s.Advance(time.Second)
	return true
}

// TestMutatedPrograms damages programs where it hurts more than at random
// octets: numbers, names and whole lines.
func TestMutatedPrograms(t *testing.T) {
	const seed = 9
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	var seeds [][]byte
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no programs")
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, b)
	}
	ran := 0
	for range 1000 {
		b := bytes.Clone(seeds[rng.IntN(len(seeds))])
		for range 1 + rng.IntN(3) {
			b = damage(rng, b)
		}
		if loadAndRun(b) {
			ran++
		}
	}
	if ran == 0 || ran == 1000 {
		t.Errorf("%d of 1000 damaged programs ran", ran)
	}
}

func damage(rng *rand.Rand, b []byte) []byte {
	at := rng.IntN(len(b))
	digit := func() int {
		for i := at; i < len(b); i++ {
			if b[i] >= '0' && b[i] <= '9' {
				return i
			}
		}
		return 0
	}
	swap := func(sep string, step int) []byte {
		parts := bytes.Split(b, []byte(sep))
		x, y := rng.IntN(len(parts)/step)*step, rng.IntN(len(parts)/step)*step
		parts[x+step-1] = parts[y+step-1]
		return bytes.Join(parts, []byte(sep))
	}
	switch rng.IntN(5) {
	case 0:
		b[digit()] = byte('0' + rng.IntN(10))
	case 1:
		i := digit()
		b = slices.Insert(b, i, []byte("987654321")[:rng.IntN(9)]...)
	case 2:
		b = swap("\n", 1)
	case 3:
		b = swap("\"", 2)
	default:
		b[at] = byte(rng.Uint32())
	}
	return b
}

// FuzzPacket: no sequence of frames makes a switch fail. The input is frames,
// each with a port and a length in front.
func FuzzPacket(f *testing.F) {
	names := []string{"basic", "parse", "copies", "state", "checksum", fabricJSON}
	var programs []*Program
	for _, n := range names {
		programs = append(programs, loadFile(f, n))
	}
	for i := range names {
		f.Add(uint8(i), []byte("\x01\x05\x00abcde\x02\x03\x00\x05\x00\x01"))
	}
	for _, a := range fabricSeeds(f) {
		b := binary.LittleEndian.AppendUint16([]byte{byte(a.port)}, uint16(len(a.frame)))
		f.Add(uint8(5), append(b, a.frame...))
	}
	f.Fuzz(func(t *testing.T, which uint8, in []byte) {
		p := programs[int(which)%len(programs)]
		r := newRigWith(t, p, Config{RecirculationBurst: 50, RecirculationRate: 1})
		if p == programs[5] {
			r = edgeRigOf(t, p, 3)
		}
		for len(in) >= 3 {
			port, n := uint32(in[0]), int(binary.LittleEndian.Uint16(in[1:]))
			in = in[3:]
			n = min(n, len(in))
			r.s.Receive(r.now, port, in[:n])
			r.s.Advance(r.now)
			r.now += time.Millisecond
			in = in[n:]
		}
		if r.s.ctx.sp != 0 {
			t.Fatalf("%d words of scratch left over", r.s.ctx.sp)
		}
		for _, s := range r.sent {
			if len(s.data) > 2*(10240+512) {
				t.Fatalf("a frame of %d octets", len(s.data)/2)
			}
		}
	})
}
