package dataplane

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// info is the header parse.p4 puts in front: error code, path, label.
func info(code, path, label string) string { return "000000" + code + path + label }

func TestParserPaths(t *testing.T) {
	const none = "000000"
	for _, c := range []struct{ name, in, out string }{
		{"stack loop", "01 00 00  00000a 000015 ff", info("00", "01", none) +
			"01 00 00 00000a 000015 ff"},
		{"stack to its end", "01 00 00  000002 000004 000006 000009", info("00", "01", none) +
			"01 00 00 000002 000004 000006 000009"},
		{"stack overflow", "01 00 00  000002 000004 000006 000008 000001",
			info("02", "01", none) + "01 00 00 000002 000004 000006 000008 000001"},
		{"push_front", "01 01 00  000002 000003", info("00", "01", none) +
			"01 01 00 00000a 000002 000003"},
		{"push_front out of a full stack", "01 01 00 000002 000004 000006 000009",
			info("00", "01", none) + "01 01 00 00000a 000002 000004 000006"},
		{"pop_front", "01 02 00  000002 000005", info("00", "01", none) + "01 02 00 000005"},
		{"pop_front of all", "01 03 00  000002 000005", info("00", "01", none) + "01 03 00"},
		{"push_front of two", "01 04 00  000002 000005", info("00", "01", none) +
			"01 04 00 000000 000002 000005"},
		{"index at run time", "01 05 01  000002 abcde4 00000f", info("00", "01", "abcde4") +
			"01 05 01 000002 fffffe 00000f"},
		{"varbit", "02 00 00  03 112233 55 66", info("00", "02", none) + "02 00 00 03 112233 55 66"},
		{"empty varbit", "02 00 00  00 55 66", info("00", "02", none) + "02 00 00 00 55 66"},
		{"varbit too long for the packet", "02 00 00  05 112233 55", info("01", "01", none) +
			"02 00 00 05 112233 55"},
		{"verify", "02 00 00  ee 112233 55", info("04", "01", none) + "02 00 00 ee 112233 55"},
		{"lookahead past the end", "02 00 00", info("01", "01", none) + "02 00 00"},
		{"wide key", "03 00 00  00112233445566778899 20", info("00", "03", none) +
			"03 00 00 00112233445566778899 20"},
		{"wide key, masked, range", "03 00 00  001122334455667788aa 48", info("00", "04", none) +
			"03 00 00 001122334455667788aa 48"},
		{"wide key, no case", "03 00 00  001122334455667788aa 4a", info("00", "01", none) +
			"03 00 00 001122334455667788aa 4a"},
		{"advance", "04 13 00  0002 aabb", info("00", "05", none) + "04 13 00 aabb"},
		{"advance past the end", "04 12 00  0005 aabb", info("01", "01", none) + "04 12 00 0005 aabb"},
		{"masked key", "04 10 00  0002 aabb", info("00", "01", none) + "04 10 00 0002 aabb"},
		{"union, first member", "05 00 00  01 77 88", info("00", "01", none) + "05 00 00 01 aa 88"},
		{"union, another member made valid", "05 00 00  02 7788 99", info("00", "01", none) +
			"05 00 00 00 bb 99"},
		{"no case of a select: BMv2 accepts", "05 00 00  03 7788 99", info("00", "01", none) +
			"05 00 00 03 7788 99"},
		{"cut in the first header", "05 00", info("01", "01", none) + "05 00"},
		{"value set, no member", "09 00 00 aa", info("00", "01", none) + "09 00 00 aa"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newBed(t, "parse")
			r.expect(3, c.in, sent{1, c.out})
		})
	}
}

func TestValueSet(t *testing.T) {
	r := newBed(t, "parse")
	if err := r.s.SetValueSet(0, [][]byte{{9}, {0x20}}); err != nil {
		t.Fatal(err)
	}
	r.expect(3, "09 00 00 aa", sent{1, info("00", "06", "000000") + "09 00 00 aa"})
	r.expect(3, "20 00 00 aa", sent{1, info("00", "06", "000000") + "20 00 00 aa"})
	r.expect(3, "21 00 00 aa", sent{1, info("00", "01", "000000") + "21 00 00 aa"})
	if err := r.s.SetValueSet(0, [][]byte{{1, 0}}); err == nil {
		t.Fatal("a value of 9 bits was taken for one of 8")
	}
	got, err := r.s.ValueSet(0)
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %v", got, err)
	}
}

func TestParserAgainstSimpleSwitch(t *testing.T) {
	if testing.Short() {
		t.Skip("starts another process")
	}
	o := newOracle(t, "parse")
	const seed = 3
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 4000 {
		b := make([]byte, 3+rng.IntN(20))
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		b[0] = byte(1 + rng.IntN(4))    // what a union select reads past the end is BMv2's secret
		b[1] = byte(rng.IntN(5)) | 0x10 // not 5: an invalid element reads as what BMv2 had there before
		b[2] &= 3
		switch rng.IntN(3) {
		case 0:
			copy(b[3:], unhex(t, "0011223344556677889920"))
		case 1:
			if len(b) > 5 {
				b[3], b[5] = byte(rng.IntN(8)), b[5]&^byte(rng.IntN(2))
			}
		}
		// BMv2 reads whatever follows a packet too short to look ahead into.
		if (b[0] == 2 || b[0] == 4) && len(b) < 6 {
			continue
		}
		o.packet(uint32(rng.IntN(2)), b)
	}
	o.compare([]uint32{0, 1})
}

func TestParserLoopsEnd(t *testing.T) {
	r := newBed(t, "parse")
	// A long stack of labels ends at the stack's size whatever the packet says.
	r.send(1, "01 00 00 "+strings.Repeat("000000", 1000))
	if len(r.sent) != 1 {
		t.Fatalf("%d frames", len(r.sent))
	}
}
