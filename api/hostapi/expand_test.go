package hostapi

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func evOf(t testing.TB, digits string, port uint8) EV {
	t.Helper()
	octets, err := hex.DecodeString(digits)
	if err != nil {
		t.Fatal(err)
	}
	v := EV{Port: port}
	copy(v.Value[:], octets)
	return v
}

// Expansions by hand, by the rules of mrc_ctl_ev_profile_attr.
func TestExpand(t *testing.T) {
	stev := Format{Mode: FormatSTEV, Widths: []uint8{16, 16}}
	srv6 := Format{Mode: FormatSRv6, Widths: []uint8{32, 16, 16}}
	for _, c := range []struct {
		name     string
		p        Profile
		ev, want string
	}{
		{"no fields", Profile{Format: stev}, "aabbccdd", "aabbccdd"},
		{"all bits", Profile{Format: stev, Fields: []Field{{Width: 16, MaxVal: 0xffff, Mask: 0xffff},
			{Width: 16, MaxVal: 0xffff, Mask: 0xffff}}}, "12345678", "12345678"},
		{"over an initial value", Profile{Format: stev,
			Fields: []Field{{Width: 16, InitVal: 0x100, MaxVal: 15, Mask: 0xf},
				{Width: 16, InitVal: 0x2ff, MaxVal: 15, Mask: 0xf0}}}, "ab", "010a02bf"},
		{"bits apart", Profile{Format: stev,
			Fields: []Field{{Width: 16, InitVal: 0x1000, MaxVal: 0xff, Mask: 0x0f0f}}}, "b7", "1b07"},
		{"a fixed field first", Profile{Format: srv6, Fields: []Field{{Width: 32, InitVal: 0xfc000001},
			{Width: 16, InitVal: 0xe000, MaxVal: 0xff, Mask: 0xff}, {Width: 16, InitVal: 0xe001}}}, "2a",
			"fc000001e02ae001"},
		{"a field narrower than its place",
			Profile{Format: stev, Fields: []Field{{Width: 4, MaxVal: 15, Mask: 15},
				{Width: 4, MaxVal: 15, Mask: 15}}}, "c5", "000c0005"},
		{"a width of 32", Profile{Format: Format{Mode: FormatSTEV, Widths: []uint8{32}},
			Fields: []Field{{Width: 32, MaxVal: 1<<32 - 1, Mask: 1<<32 - 1}}}, "deadbeef", "deadbeef"},
	} {
		v, want := evOf(t, c.ev, 3), evOf(t, c.want, 3)
		got, err := c.p.Expand(v)
		if err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", c.name, got, err, want)
		}
		if back, err := c.p.Shrink(want); err != nil || back != v {
			t.Errorf("%s: back %v, %v; want %v", c.name, back, err, v)
		}
		bad := v
		bad.Value[EVBytes-1] = 1
		if _, err := c.p.Expand(bad); err == nil || !strings.Contains(err.Error(), "value: ") {
			t.Errorf("%s: %v expands: %v", c.name, bad, err)
		}
		if _, err := c.p.Shrink(bad); err == nil {
			t.Errorf("%s: %v shrinks", c.name, bad)
		}
	}
	p := Profile{Format: stev, Fields: []Field{{Width: 16, InitVal: 0x100, MaxVal: 15, Mask: 0xf}}}
	if _, err := p.Shrink(evOf(t, "0201", 1)); err == nil ||
		!strings.Contains(err.Error(), "one that the fields make") {
		t.Errorf("shrunk in spite of a fixed bit: %v", err)
	}
}

// randomProfile draws a valid generated profile.
func randomProfile(r *rand.Rand) *Profile {
	p := &Profile{Name: fmt.Sprint("p", r.IntN(9)), Mode: ModeGenerated,
		Format: Format{Mode: FormatSRv6}}
	for range 1 + r.IntN(8) {
		w := uint8(1 + r.IntN(32))
		f := Field{Width: uint8(1 + r.IntN(int(w)))}
		top := uint32(1)<<f.Width - 1
		f.InitVal = r.Uint32() & top
		if r.IntN(3) > 0 {
			f.Mask = r.Uint32() & top
			f.MaxVal = r.Uint32() & (uint32(1)<<f.Bits() - 1)
			f.MinVal = uint32(r.Uint64N(uint64(f.MaxVal) + 1))
		}
		p.Format.Widths, p.Fields = append(p.Format.Widths, w), append(p.Fields, f)
	}
	p.Count = 1 + r.IntN(200)
	return p
}

// Generated EVs belong to the profile, expand and shrink back, have the right number, and differ as
// far as possible.
func TestGenerate(t *testing.T) {
	const seed = 1
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 500 {
		p := randomProfile(r)
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		ports := PortMask(r.Uint32() &^ 1)
		evs := p.Generate(ports)
		if ports == 0 {
			if evs != nil {
				t.Fatalf("%d EVs without a port", len(evs))
			}
			continue
		}
		if len(evs) != p.Count {
			t.Fatalf("%d EVs, want %d", len(evs), p.Count)
		}
		universe := uint64(1)
		for _, f := range p.Fields {
			universe = min(universe*(uint64(f.MaxVal-f.MinVal)+1), 1<<32)
		}
		seen := map[EV]int{}
		for _, v := range evs {
			seen[v]++
			if !p.Has(v) || !ports.Has(int(v.Port)) {
				t.Fatalf("%+v generates %v for ports %#x", p.Fields, v, ports)
			}
			wire, err := p.Expand(v)
			if err != nil {
				t.Fatal(err)
			}
			if back, err := p.Shrink(wire); err != nil || back != v {
				t.Fatalf("%v expands to %v, which shrinks to %v, %v", v, wire, back, err)
			}
		}
		if want := min(uint64(p.Count), universe*uint64(ports.Len())); uint64(len(seen)) != want {
			t.Fatalf("%d different EVs of %d, want %d", len(seen), p.Count, want)
		}
	}
}

// More paths than EVs: values of the first field come equally often, and for each of these, values
// of the second field come equally often.
func TestGenerateSpreads(t *testing.T) {
	p := Profile{
		Name: "a-b", Mode: ModeGenerated, Count: 2 * 32, Format: Format{Mode: FormatSTEV,
			Widths: []uint8{4, 4}},
		Fields: []Field{{Width: 4, MaxVal: 15, Mask: 15}, {Width: 4, MinVal: 1, MaxVal: 8, Mask: 15}},
	}
	first := map[[2]uint32]int{}
	second := map[[2]uint32]int{}
	for _, v := range p.Generate(Ports(1, 4)) {
		first[[2]uint32{uint32(v.Port), v.bitsAt(0, 4)}]++
		second[[2]uint32{uint32(v.Port), v.bitsAt(4, 4)}]++
	}
	if len(first) != 2*16 || len(second) != 2*8 {
		t.Fatalf("%d and %d values of the fields, want 16 and 8 a port", len(first), len(second))
	}
	for x, n := range first {
		if n != 2 {
			t.Errorf("port %d, first field %d: %d EVs, want 32 / 16", x[0], x[1], n)
		}
	}
	for x, n := range second {
		if n != 4 {
			t.Errorf("port %d, second field %d: %d EVs, want 32 / 8", x[0], x[1], n)
		}
	}
}

// The library's own example (examples/ev_expansion of the directory MRC_DIR) prints the EVs of ten
// profiles and their expansions. Its generated EVs may exceed max_val, and their octets are in the
// machine's order. The expansion works on octets, so the test compares expansions.
func TestExpandAsReference(t *testing.T) {
	dir := os.Getenv("MRC_DIR")
	if dir == "" {
		t.Skip("MRC_DIR is not set: there is no reference to compare with")
	}
	bin := filepath.Join(t.TempDir(), "ev_expansion")
	source := filepath.Join(dir, "examples", "ev_expansion", "ev_expansion.c")
	if out, err := exec.Command("cc", "-o", bin, source).CombinedOutput(); err != nil {
		t.Fatalf("cc %s: %v\n%s", source, err, out)
	}
	text, err := exec.Command(bin).Output()
	if err != nil {
		t.Fatal(err)
	}
	var (
		p                 Profile
		evs               []EV
		profiles, checked int
		expanding         bool
		formatLine        = regexp.MustCompile(`^\s+\d+: width=(\d+)$`)
		fieldLine         = regexp.MustCompile(
			`^\s+\d+: width=(\d+), init_val=0x(\w+), min=0x(\w+) max=0x(\w+) mask=0x(\w+)$`)
		evLine       = regexp.MustCompile(`^\s+\d+: 0x(\w{64})$`)
		expandedLine = regexp.MustCompile(`^\s+0x(\w{64})$`)
	)
	number := func(s string, base int) uint32 {
		x, err := strconv.ParseUint(s, base, 32)
		if err != nil {
			t.Fatal(err)
		}
		return uint32(x)
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		line = strings.TrimRight(line, " ")
		switch {
		case strings.HasPrefix(line, "ev_fmt_prof:"):
			p, evs, expanding = Profile{Name: "reference", Mode: ModeGenerated, Count: 1}, nil, false
			profiles++
		case strings.HasPrefix(line, "  type: STEV"):
			p.Format.Mode = FormatSTEV
		case strings.HasPrefix(line, "  type: SRv6"):
			p.Format.Mode = FormatSRv6
		case strings.HasPrefix(line, "EXPANDED EVs:"):
			if err := p.Validate(); err != nil {
				t.Fatalf("profile %d: %v", profiles, err)
			}
			expanding = true
		}
		if m := formatLine.FindStringSubmatch(line); m != nil {
			p.Format.Widths = append(p.Format.Widths, uint8(number(m[1], 10)))
		} else if m := fieldLine.FindStringSubmatch(line); m != nil {
			p.Fields = append(p.Fields, Field{
				Width: uint8(number(m[1], 10)), InitVal: number(m[2], 16), MinVal: number(m[3], 16),
				MaxVal: number(m[4], 16), Mask: number(m[5], 16),
			})
		} else if m := evLine.FindStringSubmatch(line); m != nil && !expanding {
			evs = append(evs, evOf(t, m[1], 1))
		} else if m := expandedLine.FindStringSubmatch(line); m != nil && expanding {
			if len(evs) == 0 {
				t.Fatalf("profile %d: more expansions than EVs", profiles)
			}
			got, err := p.Expand(evs[0])
			if want := evOf(t, m[1], 1); err != nil || got != want {
				t.Errorf("profile %d: %v expands to %v, %v; the reference says %v", profiles, evs[0], got, err,
					want)
			}
			if back, err := p.Shrink(got); err != nil || back != evs[0] {
				t.Errorf("profile %d: %v shrinks to %v, %v; want %v", profiles, got, back, err, evs[0])
			}
			evs = evs[1:]
			checked++
		}
	}
	if profiles != 10 || checked != 80 {
		t.Errorf("%d EVs of %d profiles compared, want 80 of 10", checked, profiles)
	}
}

func TestParseEV(t *testing.T) {
	for _, text := range []string{"0x12340000@1", "0xfc000001e001e002e0@31", "0x00000000@0"} {
		v, err := ParseEV(text)
		if err != nil || v.String() != text {
			t.Errorf("%s: %v, %v", text, v, err)
		}
	}
	for _, text := range []string{"", "0x", "12@1", "0x1@1", "0x12", "0x12@", "0x12@32", "0x12@-1",
		"0xzz@1", "0x" + strings.Repeat("00", 33) + "@1"} {
		if v, err := ParseEV(text); err == nil || !strings.HasPrefix(err.Error(), "ev: ") {
			t.Errorf("%q: %v, %v", text, v, err)
		}
	}
}

func FuzzParseEV(f *testing.F) {
	f.Add("0x12340000@1")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := ParseEV(text)
		if err != nil {
			return
		}
		if again, err := ParseEV(v.String()); err != nil || again != v {
			t.Errorf("%q is %v, which is %v, %v", text, v, again, err)
		}
	})
}
