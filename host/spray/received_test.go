package spray_test

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/spray"
	"github.com/weft-sdn/weft/packet"
)

// TestReceived: what a controller sends is what a queue pair sprays over, in every format and mode.
func TestReceived(t *testing.T) {
	stev := hostapi.Profile{
		Name: "a", Mode: hostapi.ModeExplicit, Format: hostapi.Format{Mode: hostapi.FormatSTEV,
			Widths: []uint8{8, 24}}, Count: 2, MinActive: 1,
		EVs: []hostapi.EV{hostapi.NewEV(0x01020304, 1), hostapi.NewEV(0x05060708, 2)},
	}
	t.Run("EXP", func(t *testing.T) {
		p := stev.WithDenied(stev.EVs[1:])
		got, evs, err := spray.Received(p, hostapi.Ports(1, 2))
		if err != nil {
			t.Fatal(err)
		}
		want := []spray.EV{{Value: 0x01020304, Port: 1}, {Value: 0x05060708, Port: 2, Denied: true}}
		if len(got.EVs) != 2 || got.EVs[0] != want[0] || got.EVs[1] != want[1] || got.MinActive != 1 ||
			evs[1] != p.EVs[1] {
			t.Errorf("%+v", got)
		}
		set, err := spray.New(spray.DefaultConfig(1), got)
		if err != nil || set.Usable() != 1 {
			t.Errorf("%v, %d usable", err, set.Usable())
		}
	})
	t.Run("UDP", func(t *testing.T) {
		p := stev
		p.Format = hostapi.Format{Mode: hostapi.FormatUDP, Widths: []uint8{16}}
		p.EVs = []hostapi.EV{hostapi.NewEV(0xC0010000, 1), hostapi.NewEV(0xC0020000, 2)}
		got, _, err := spray.Received(&p, 0)
		if err != nil || got.EVs[1].Value != packet.NewEV(0xC002, 0) {
			t.Errorf("%+v, %v", got, err)
		}
	})
	t.Run("SRv6", func(t *testing.T) {
		p := stev
		p.Format = hostapi.Format{Mode: hostapi.FormatSRv6, Widths: []uint8{128, 128}}
		first, second := netip.MustParseAddr("5f00:100:e001:e002:e000::"),
			netip.MustParseAddr("5f00:100:e003::")
		short, long := hostapi.EV{Port: 1}, hostapi.EV{Port: 2}
		copy(short.Value[:], first.AsSlice())
		copy(long.Value[:], first.AsSlice())
		copy(long.Value[16:], second.AsSlice())
		p.EVs = []hostapi.EV{short, long}
		got, _, err := spray.Received(&p, 0)
		if err != nil || got.EVs[0].Route.Dst != first || got.EVs[0].Route.SRH != nil ||
			got.EVs[1].Route.SRH == nil {
			t.Errorf("%+v, %v", got, err)
		}
	})
	t.Run("GEN", func(t *testing.T) {
		p := stev
		p.Mode, p.EVs, p.Count = hostapi.ModeGenerated, nil, 24
		p.Fields = []hostapi.Field{{Width: 8, InitVal: 0x80, MinVal: 1, MaxVal: 4, Mask: 7},
			{Width: 16, MaxVal: 2, Mask: 0x30}}
		denied := p.Generate(hostapi.Ports(1, 2))[5]
		gen := p.WithDenied([]hostapi.EV{denied})
		got, evs, err := spray.Received(gen, hostapi.Ports(1, 2))
		if err != nil || len(got.EVs) != 24 {
			t.Fatalf("%+v, %v", got, err)
		}
		seen := map[spray.EV]bool{}
		for i, v := range got.EVs {
			first, second := uint32(v.Value)>>24, uint32(v.Value)&0xFFFFFF
			if first < 0x81 || first > 0x84 || second&^0x30 != 0 || second>>4 > 2 || v.Port < 1 ||
				v.Port > 2 || v.Denied != (evs[i] == denied) || seen[v] {
				t.Errorf("EVs[%d] %+v", i, v)
			}
			seen[v] = true
		}
	})
	t.Run("AUTO", func(t *testing.T) {
		if _, _, err := spray.Received(&hostapi.Profile{Name: "a", Mode: hostapi.ModeAuto},
			2); !errors.Is(err, spray.ErrProfile) {
			t.Error(err)
		}
	})
	t.Run("no ports", func(t *testing.T) {
		p := stev
		p.Mode, p.EVs, p.Fields = hostapi.ModeGenerated, nil,
			[]hostapi.Field{{Width: 8, MaxVal: 3, Mask: 3}}
		if _, _, err := spray.Received(&p, 0); !errors.Is(err, spray.ErrProfile) {
			t.Error(err)
		}
	})
}
