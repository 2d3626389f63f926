package device

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/weft-sdn/weft/api/hostapi"
)

// TestPathFileOfAPlant: the file of a host among 131,072 has a row a rack, and each row gives back
// the EVs. Four planes with 512 T0s and 256 T1s each; a rack has 256 hosts.
func TestPathFileOfAPlant(t *testing.T) {
	const racks, hosts, planes, perPlane = 512, 256, 4, 32
	address := func(rack, host int) netip.Addr {
		return netip.MustParseAddr(fmt.Sprintf("2001:db8:%x::%x", rack+1, host+1))
	}
	evs := func(rack int) (out []hostapi.EV) {
		for plane := range planes {
			for up := range perPlane {
				out = append(out, ev(fmt.Sprintf("fcbb:bbbb:%x:%x:%x::", plane<<12|1,
					0x4000|plane<<12|up*8, plane<<12|0x200|rack), uint8(plane+1)))
			}
		}
		slices.SortFunc(out, hostapi.EV.Compare)
		return out
	}
	var paths []Path
	for rack := range racks {
		each := evs(rack)
		for host := range hosts {
			paths = append(paths, Path{netip.PrefixFrom(address(rack, host), 128), each})
		}
	}
	paths[700].EVs = paths[700].EVs[:64] // a peer that lacks ports
	f := &PathFile{Source: netip.MustParseAddr("2001:db8::1"), Have: 4}
	text, err := f.Encode(paths)
	if err != nil {
		t.Fatal(err)
	}
	var file map[netip.Addr]map[string][]Template
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	rows := file[f.Source]
	decoded := make(map[netip.Prefix][]hostapi.EV, len(rows))
	for name, templates := range rows {
		to, err := netip.ParsePrefix(name)
		if err != nil {
			to = netip.PrefixFrom(netip.MustParseAddr(name), 128)
		}
		for i := range templates {
			each, err := templates[i].EVs()
			if err != nil {
				t.Fatal(err)
			}
			decoded[to] = append(decoded[to], each...)
		}
		slices.SortFunc(decoded[to], hostapi.EV.Compare)
	}
	for _, p := range paths {
		var got []hostapi.EV
		for bits := 128; bits >= 0 && got == nil; bits-- {
			got = decoded[netip.PrefixFrom(p.Destination.Addr(), bits).Masked()]
		}
		if !slices.Equal(got, p.EVs) {
			t.Fatalf("%v: %d EVs, want %d", p.Destination, len(got), len(p.EVs))
		}
	}
	if most := racks + 17; len(rows) > most || len(text)/len(rows) > 900 {
		t.Errorf("%d rows of %d octets, want at most %d of 900", len(rows), len(text)/len(rows), most)
	}
	t.Logf("%d rows, %d octets, %d a row", len(rows), len(text), len(text)/len(rows))
}
