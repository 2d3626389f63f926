package ev

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/packet"
)

func TestModes(t *testing.T) {
	for m, want := range map[Mode]string{
		ModeECMP: "ecmp", ModeStructured: "stev", ModeF3216: "usid-f3216", ModeF1616: "usid-f1616",
		ModeSRH: "usid-srh", ModeUSIDStructured: "usid-structured",
	} {
		parsed, err := ParseMode(want)
		if err != nil || parsed != m || m.String() != want {
			t.Errorf("%v: parsed %v, %v; want %s", m, parsed, err, want)
		}
		text, err := m.MarshalText()
		var back Mode
		if err != nil || back.UnmarshalText(text) != nil || back != m {
			t.Errorf("%v is written %s and read %v", m, text, back)
		}
	}
	var m Mode
	if err := m.UnmarshalText([]byte("srv6")); err == nil ||
		!strings.Contains(err.Error(), "usid-f3216") {
		t.Errorf("mode srv6: %v", err)
	}
}

func TestFormatValidate(t *testing.T) {
	for _, c := range []struct {
		f     Format
		words string // in the error; empty: none
	}{
		{Format{Mode: ModeStructured}, ""},
		{Format{Mode: ModeStructured, Fields: []packet.EVField{{Offset: 0, Width: 10},
			{Offset: 10, Width: 8}, {Offset: 18, Width: 4}}}, ""},
		{Format{Mode: ModeStructured, Fields: []packet.EVField{{Offset: 22, Width: 10},
			{Offset: 0, Width: 22}}}, ""},
		{Format{Mode: ModeF1616, Block: netip.MustParsePrefix("fc00::/16")}, ""},
		{Format{Mode: modes}, "mode: mode 6, want one of"},
		{Format{Mode: ModeUSIDStructured, Numbering: DefaultNumbering()}, ""},
		{Format{Mode: ModeF3216, Numbering: DefaultNumbering()},
			"numbering: of 3 tiers with mode usid-f3216"},
		{Format{Mode: ModeF3216, Numbering: DefaultNumbering()[:1]},
			"numbering: of 1 tiers with mode usid-f3216"},
		{Format{Mode: ModeStructured, Fields: []packet.EVField{{Offset: 10, Width: 8},
			{Offset: 5, Width: 6}}}, "fields[1]: bits 5 to 10 are in fields[0] too"},
		{Format{Mode: ModeStructured, Fields: []packet.EVField{{Offset: 10, Width: 8},
			{Offset: 4, Width: 6}}}, ""},
		{Format{Mode: ModeECMP, Fields: []packet.EVField{{Width: 1}}}, "fields: 1 with mode ecmp"},
		{Format{Mode: ModeStructured, Block: block32}, "block: fc00:1::/32 with mode stev"},
		{Format{Mode: ModeF1616, Block: block32},
			"block: uSID block fc00:1::/32, want an IPv6 prefix of 16 bits"},
		{Format{Mode: ModeF3216, Hops: 2}, "hops: 2"},
		{Format{Mode: ModeStructured, Fields: []packet.EVField{{Offset: 0, Width: 33}}},
			"fields[0]: EV field: width 33, want 1 to 32"},
		{Format{Mode: ModeStructured, Fields: []packet.EVField{{Offset: 30, Width: 4}}},
			"fields[0]: EV field: offset 30"},
		{Format{Mode: ModeStructured, Fields: []packet.EVField{{Offset: 0, Width: 10},
			{Offset: 9, Width: 8}}}, "fields[1]: bits 9 to 16 are in fields[0] too"},
	} {
		err := c.f.Validate()
		if (err == nil) != (c.words == "") || err != nil && !strings.Contains(err.Error(), c.words) {
			t.Errorf("%+v: %v, want %q", c.f, err, c.words)
		}
	}
}

// Fields that lie apart leave gaps, which are fields of a profile too.
func TestFormatWidths(t *testing.T) {
	for _, c := range []struct {
		f    Format
		n    int
		want []uint8
	}{
		{Format{Mode: ModeStructured, Fields: []packet.EVField{{Offset: 22, Width: 10},
			{Offset: 3, Width: 8}}}, 0, []uint8{3, 8, 11, 10}},
		{Format{Mode: ModeStructured, Fields: []packet.EVField{{Offset: 0, Width: 10},
			{Offset: 10, Width: 8}, {Offset: 18, Width: 4}}}, 0, []uint8{10, 8, 4}},
		{Format{Mode: ModeStructured}, 0, []uint8{32}},
		{Format{Mode: ModeECMP}, 0, []uint8{16}},
		{Format{Mode: ModeF3216}, 3, []uint8{32, 16, 16, 16}},
		{Format{Mode: ModeF1616}, 7, []uint8{16, 16, 16, 16, 16, 16, 16, 16}},
		{Format{Mode: ModeSRH}, 1, []uint8{32, 16}},
		{Format{Mode: ModeSRH}, 3, []uint8{32, 16, 16, 16, 16, 16, 16, 32, 16}},
		{Format{Mode: ModeSRH, Hops: HopNodes}, 2, []uint8{32, 16, 16}},
		{Format{Mode: ModeSRH, Hops: HopNodes}, 3, []uint8{32, 16, 16, 16, 16, 16, 16, 32, 16, 16}},
		{Format{Mode: ModeSRH, Hops: HopNodes}, 9, []uint8{32, 16, 16, 16, 16, 16, 16, 32, 16, 16, 16}},
		{Format{Mode: ModeSRH}, 9, []uint8{32, 16, 16, 16, 16, 16, 16, 32, 16, 16, 16}},
	} {
		if got := c.f.widths(c.n); string(got) != string(c.want) {
			t.Errorf("%+v, %d uSIDs: widths %v, want %v", c.f, c.n, got, c.want)
		}
	}
}
