package hostapi_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
)

// oracleProfiles is how many profiles are compared with OCP's example.
const oracleProfiles = 10_000

// TestExpandsAsOCP: random profiles of modes EXP and GEN make the EVs in packets that the example
// of OCP's repository makes (docs/examples/ev_expansion, at OCP_MRC_DIR).
func TestExpandsAsOCP(t *testing.T) {
	ocp := os.Getenv("OCP_MRC_DIR")
	if ocp == "" {
		t.Skip("OCP_MRC_DIR does not name OCP's repository")
	}
	cc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc")
	}
	bin := filepath.Join(t.TempDir(), "oracle")
	out, err := exec.CommandContext(t.Context(), cc, "-O1", "-fwrapv", "-w", "-o", bin, "-I"+
		filepath.Join(ocp, "examples", "ev_expansion"), filepath.Join("testdata", "oracle.c")).
		CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	var in bytes.Buffer
	var want []string
	for i := range oracleProfiles {
		p := oracleProfile(rng, i)
		if err := p.Validate(); err != nil {
			t.Fatalf("%+v: %v", p, err)
		}
		evs := p.EVs
		if p.Mode == hostapi.ModeGenerated {
			evs = p.Generate(hostapi.Ports(1, 2))
		}
		fmt.Fprintln(&in, len(p.Format.Widths), len(p.Fields), len(evs))
		for _, w := range p.Format.Widths {
			fmt.Fprintln(&in, w)
		}
		for _, f := range p.Fields {
			fmt.Fprintln(&in, f.Width, f.InitVal, f.MinVal, f.MaxVal, f.Mask)
		}
		for _, v := range evs {
			fmt.Fprintln(&in, hex.EncodeToString(v.Value[:]))
			wire, err := p.Expand(v)
			if err != nil {
				t.Fatalf("%+v: %v: %v", p, v, err)
			}
			want = append(want, "0x"+hex.EncodeToString(wire.Value[:]))
		}
	}
	cmd := exec.CommandContext(t.Context(), bin)
	cmd.Stdin = &in
	out, err = cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "0x") {
			got = append(got, line)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d EVs, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("EV %d: %s, OCP's %s", i, want[i], got[i])
		}
	}
}

// oracleProfile is a random profile with fields of up to 32 bits, as many as OCP's example takes.
func oracleProfile(rng *rand.Rand, number int) *hostapi.Profile {
	p := &hostapi.Profile{Name: fmt.Sprint(number), Format: hostapi.Format{
		Mode: hostapi.FormatMode(1 + rng.IntN(3))}}
	for bits := p.Format.Mode.MaxBits(); bits > 0 && len(p.Format.Widths) < 10; {
		w := 1 + rng.IntN(min(bits, 32))
		p.Format.Widths = append(p.Format.Widths, uint8(w))
		bits -= w
	}
	for _, limit := range p.Format.Widths[:1+rng.IntN(len(p.Format.Widths))] {
		f := hostapi.Field{Width: uint8(1 + rng.IntN(int(limit)))}
		top := uint32(uint64(1)<<f.Width - 1)
		f.InitVal = rng.Uint32() & top
		if rng.IntN(3) > 0 {
			f.Mask = rng.Uint32() & top
			most := uint32(uint64(1)<<f.Bits() - 1)
			f.MaxVal = rng.Uint32() & most
			f.MinVal = uint32(rng.Uint64N(uint64(f.MaxVal) + 1))
		}
		p.Fields = append(p.Fields, f)
	}
	p.Mode, p.Count = hostapi.ModeGenerated, 1+rng.IntN(4)
	if rng.IntN(2) == 0 {
		p.Mode = hostapi.ModeExplicit
		for range p.Count {
			v := hostapi.EV{Port: 1}
			for bit := range p.Bits() {
				v.Value[bit/8] |= byte(rng.IntN(2)) << (7 - bit%8)
			}
			p.EVs = append(p.EVs, v)
		}
	}
	return p
}
